//! The one place where text is cut, cleaned and rid of the key before anybody sees it.

use std::{borrow::Cow, sync::OnceLock};

/// Bytes of a tool result that the model is shown whole.
pub const LIMIT: usize = 30_000;
/// Room for the words that stand where something was left out.
const NOTE: usize = 60;
/// Bytes of a foreign text that an error quotes.
const EXCERPT: usize = 300;
/// A shorter key is a placeholder such as `ollama`; looking for it would spoil innocent text.
const SHORTEST_KEY: usize = 16;

/// What to keep out of all text, once it is known.
pub static KEY: OnceLock<String> = OnceLock::new();

/// The text with `[key]` where the key stood.
pub fn redact(text: &str) -> Cow<'_, str> {
    match KEY.get().filter(|key| key.len() >= SHORTEST_KEY && text.contains(*key)) {
        Some(key) => text.replace(key, "[key]").into(),
        None => text.into(),
    }
}

/// The text without the key, escape sequences and control characters, save newline and tab.
pub fn clean(text: &str) -> String {
    // Line by line: a sequence that never ends must not swallow what comes after it.
    let text: String = text.split_inclusive('\n').map(::console::strip_ansi_codes).collect();
    let hidden = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    redact(&text.replace(hidden, "")).into_owned()
}

/// Head and tail of a text of more than `limit` bytes, with how much was left out between them;
/// `dropped` bytes are already gone. Cutting again changes nothing.
pub fn cut(text: &str, limit: usize, dropped: usize) -> String {
    if text.len() <= limit && dropped == 0 {
        return text.to_owned();
    }
    let half = limit.saturating_sub(NOTE) / 2;
    let (head, rest) = text.split_at(text.floor_char_boundary(half));
    let (middle, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(half)));
    format!("{head}\n[... {} bytes left out ...]\n{tail}", middle.len() + dropped)
}

/// The text with each run of white space as one blank.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning and the end of a foreign text, on one line, for an error to quote.
pub fn excerpt(text: &str) -> String {
    one_line(&cut(&one_line(text), EXCERPT, 0))
}
