//! What outlives the run: one markdown file, for the lead alone.

use crate::cli::prelude::*;

/// Bytes of a task or a result that an entry keeps.
const KEPT: usize = 2 * 1024;
/// Bytes of old entries that the lead is shown.
const RECALLED: usize = 8 * 1024;

/// The newest whole entries that fit, for the lead's system prompt; empty if there are none. An
/// entry begins at a line `## `, whoever wrote it.
pub fn recall(file: &File) -> String {
    // A byte more than fits, so that older entries show themselves.
    let text = tail(file, RECALLED + 1).map_err(warn).unwrap_or_default();
    // Where entries begin; of these the first one from which the rest fits.
    let mut starts = iter::once(0).chain(text.match_indices("\n## ").map(|(at, _)| at + 1));
    let newest = starts.find(|start| text.len() - start <= RECALLED).unwrap_or(text.len());
    let note = if newest == 0 { "" } else { " (older entries are left out)" };
    let heading = format!("\nWhat you remember of earlier runs, oldest first{note}:\n");
    if text.trim().is_empty() { String::new() } else { heading + text.split_at(newest).1 }
}

/// Appends an entry, in one write, so that runs side by side do not mix. A run that came to no
/// result leaves none.
pub fn remember(file: &File, task: &str, Outcome { end, text, .. }: &Outcome) {
    let mark = match end {
        None => "",
        Some(End::TurnLimit(_)) if !text.is_empty() => "(incomplete) ",
        Some(End::TurnLimit(_) | End::Silent | End::Failed(_) | End::Interrupted) => return,
    };
    // A line that looks like the start of an entry gets a blank before it.
    let part = |text| cut(clean(text).trim(), KEPT, 0).replace("\n## ", "\n ## ");
    let now = clock::now().strftime("%Y-%m-%d %H:%M:%S");
    let entry = format!("\n## {now}\n**Task:** {}\n**Result:** {mark}{}\n", part(task), part(text));
    append(file, &entry).unwrap_or_else(warn);
}

/// Trouble with the file is a warning: it may not cost the answer.
pub fn warn(error: impl Into<Error>) {
    tell(0, &format!("warning: no memory: {:#}", error.into()));
}
