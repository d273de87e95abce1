//! The lead's plan: a list that it writes anew each time, and that the person can follow.

use crate::cli::prelude::*;

/// A step of the plan, as the lead gives it.
#[derive(Deserialize)]
pub struct Item {
    content: String,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

/// Shows the plan to the person, and gives it as the lead will see it again.
pub fn show(items: &[Item]) -> String {
    let line = |Item { content, status }: &Item| match status {
        Status::Pending => format!("[ ] {}", one_line(content)),
        Status::InProgress => format!("[>] {}", one_line(content)),
        Status::Completed => format!("[x] {}", one_line(content)),
    };
    let plan = items.iter().map(line).collect::<Vec<_>>().join("\n");
    let plan = if plan.is_empty() { "(no steps)".to_owned() } else { plan };
    tell(1, &plan);
    plan
}
