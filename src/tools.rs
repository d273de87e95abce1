//! What any agent may ask for: one enum and one dispatch; the list is `tools.json`.

use crate::cli::prelude::*;

pub mod clip;
pub mod files;
pub mod paths;
pub mod plan;
pub mod sandbox;
pub mod schema;
pub mod search;
pub mod shell;

/// A plain tool call, understood. A child's calls are parsed into this type and no other: there is
/// no `subagent` variant for them to become. Variants and fields are named as in `tools.json`:
/// `{"name": "read", "arguments": {"path": "a.txt"}}` is `Read { path, .. }`. A test compares the two.
#[derive(Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "lowercase")]
pub enum Tool {
    Read { path: String, offset: Option<usize>, limit: Option<usize> },
    Write { path: String, content: String },
    Edit { path: String, old_string: String, new_string: String },
    Glob { pattern: String },
    Grep { pattern: String, path: Option<String> },
    Bash { command: String, timeout: Option<u64> },
}

/// Does what a call asks for. No model is among the arguments, so a tool cannot think or delegate.
/// `files` remembers what this agent has seen of each file.
pub fn run(call: &Call, files: &Files) -> Result<String> {
    match schema::parse::<Tool>(call)? {
        Tool::Read { path, offset, limit } => files.read(&path, offset, limit),
        Tool::Write { path, content } => files.write(&path, &content),
        Tool::Edit { path, old_string, new_string } => files.edit(&path, &old_string, &new_string),
        Tool::Glob { pattern } => search::glob(&pattern),
        Tool::Grep { pattern, path } => search::grep(&pattern, path.as_deref()),
        Tool::Bash { command, timeout } => shell::bash(&command, timeout),
    }
}
