//! The lead's plan: a list that it writes anew each time, and that the person can follow.

use crate::cli::prelude::*;

/// A step of the plan, as the lead gives it.
#[derive(Deserialize)]
pub struct Item {
    content: String,
    status: Status,
}

/// How far it is, with the mark for it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending = b' ' as isize,
    InProgress = b'>' as isize,
    Completed = b'x' as isize,
}

/// Shows the plan to the person, and gives it as the lead will see it again.
pub fn show(items: &[Item]) -> String {
    let line = |at: &Item| format!("[{}] {}", at.status as u8 as char, one_line(&at.content));
    let plan = items.iter().map(line).collect::<Vec<_>>().join("\n");
    let plan = if plan.is_empty() { "(no steps)".to_owned() } else { plan };
    tell(1, &plan);
    plan
}
