//! What servers really send, made into a [`Reply`].
//!
//! The message is kept as it came, because servers want back what they sent: thinking that belongs
//! to its calls, signatures, fields nobody has heard of yet. Only what a server would refuse is
//! mended: a missing id, arguments that are no JSON object.

use crate::cli::prelude::*;

/// What a tool call looks like when a model writes it into its text.
const CALL_AS_TEXT: &str =
    "<tool_call <tools> <function <invoke [TOOL_CALLS] <|tool <|python_tag|> <｜tool";

/// Reads the body of a successful response.
pub fn parse(mut body: Value) -> Result<Reply> {
    let tokens = |key| body["usage"][key].as_u64().unwrap_or_default();
    let usage = ["prompt_tokens", "completion_tokens"].map(tokens);
    let finish = body["choices"][0]["finish_reason"].as_str().unwrap_or_default().to_owned();
    let Some(Value::Object(message)) = body.pointer_mut("/choices/0/message") else {
        bail!("the reply had no choices with a message: {}", excerpt(&body.to_string()));
    };
    let mut message = drop_blank(message);
    message.insert("role".into(), "assistant".into());
    if message.get("content").is_some_and(|content| !content.is_string() && !content[0].is_object())
    {
        message.insert("content".into(), Value::Null);
    }
    let refusal = message.get("refusal").and_then(Value::as_str).map(excerpt);
    let mut text = text(message.get("content"));
    let mut empty = Vec::new();
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut).unwrap_or(&mut empty);
    calls.retain(|call| call["function"].is_object());
    let id = |call: &Value| call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    let (sent, mut taken) = (calls.iter().filter_map(id).collect(), HashSet::new());
    let mut calls: Vec<_> = calls.iter_mut().map(|call| mend(call, &sent, &mut taken)).collect();
    let cut = finish == "length";
    if let (true, Some(call)) = (cut, calls.last_mut()) {
        call.arguments = Err("the call was cut off at the length limit of a reply".to_owned());
    }
    if calls.is_empty() {
        ensure!(refusal.is_none(), "the model refused: {}", refusal.unwrap_or_default());
        ensure!(finish != "content_filter", "a content filter stopped the reply: {text}");
        let json = from_str::<Value>(text.trim_start_matches("```json").trim_matches(['`', '\n']));
        let json = json.is_ok_and(|call| call["name"].is_string() && call["arguments"].is_object());
        let marked =
            |line: &str| CALL_AS_TEXT.split(' ').any(|mark| line.trim_start().starts_with(mark));
        let written = json || text.lines().any(marked);
        let note = written.then_some("a tool call was written as text, and not run");
        let note = note.or_else(|| cut.then_some("cut off at the length limit of a reply"));
        if let Some(note) = note.filter(|_| !text.is_empty()) {
            tell(0, &format!("warning: a reply is incomplete: {note}"));
            text += &format!("\n({note})");
        }
    }
    Ok(Reply { message: message.into(), text, calls, usage, sent: 0 })
}

/// The text of a message: a string, or a list of parts, some of which may be thinking.
fn text(content: Option<&Value>) -> String {
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    let parts = parts.filter(|part| part["type"] == "text");
    let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
    clean(content.and_then(Value::as_str).unwrap_or(&text)).trim_end().to_owned()
}

/// Servers pad messages with keys that hold nothing, and some refuse these when they come back.
fn drop_blank(fields: &mut Map<String, Value>) -> Map<String, Value> {
    let blank = |value: &Value| value.is_null() || value == "" || *value == json!([]);
    mem::take(fields).into_iter().filter(|(key, value)| key == "content" || !blank(value)).collect()
}

/// Reads a call and mends it where it stands, so that what goes back fits what was answered. `sent`
/// are the ids in the message, `taken` those of the calls before this one.
fn mend(call: &mut Value, sent: &HashSet<String>, taken: &mut HashSet<String>) -> Call {
    static FRESH: AtomicUsize = AtomicUsize::new(1);
    *call = call.as_object_mut().map(drop_blank).unwrap_or_default().into();
    let known = call["id"].as_str().filter(|id| taken.insert((*id).to_owned()));
    // Nine letters and digits, which is what the strictest server asks of an id.
    let mut fresh = iter::repeat_with(|| format!("call{:05}", FRESH.fetch_add(1, Relaxed)));
    let fresh = || fresh.find(|id| !sent.contains(id)).expect("they have no end");
    let id = known.map_or_else(fresh, str::to_owned);
    let mut function = call["function"].as_object().cloned().unwrap_or_default();
    // Some models write more than the name: `functions.read`, `read:0`, `<read>`.
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut parts =
        name.split(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '_' | '-'));
    let named =
        |part: &&str| part.len() <= 64 && part.contains(|char: char| char.is_ascii_alphabetic());
    let name = parts.rfind(named).unwrap_or("unknown").to_owned();
    function.insert("name".into(), name.clone().into());
    // Arguments travel as a string that holds an object. Some servers send the object itself,
    // nothing at all, or a string within the string.
    let text = match function.get("arguments").cloned().unwrap_or_default() {
        Value::String(text) => from_str::<String>(&text).unwrap_or(text),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let text = if text.trim().is_empty() { "{}" } else { &*text };
    let (back, arguments) = match from_str::<Value>(text) {
        Ok(value) if value.is_object() => (text, Ok(value)),
        Ok(_) => ("{}", Err("arguments must be a JSON object".to_owned())),
        Err(why) => ("{}", Err(format!("arguments are not valid JSON, or cut off: {why}"))),
    };
    call["id"] = id.clone().into();
    call["type"] = "function".into();
    function.insert("arguments".into(), back.into());
    call["function"] = function.into();
    Call { id, name, arguments }
}
