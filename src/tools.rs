//! What any agent may ask for: one enum, one list, one dispatch.

use crate::cli::prelude::*;

pub mod clip;
pub mod files;
pub mod sandbox;
pub mod schema;
pub mod search;
pub mod shell;

/// A tool call, understood. A child's calls are parsed into this type and no other. It has no
/// `subagent` variant: that a child starts children is not forbidden, it cannot be written down.
/// The names of variants and fields are those in `tools.json`.
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
pub fn run(call: &Call) -> Result<String> {
    match schema::parse(call)? {
        Tool::Read { path, offset, limit } => files::read(&path, offset, limit),
        Tool::Write { path, content } => files::write(&path, &content),
        Tool::Edit { path, old_string, new_string } => files::edit(&path, &old_string, &new_string),
        Tool::Glob { pattern } => search::glob(&pattern),
        Tool::Grep { pattern, path } => search::grep(&pattern, path.as_deref()),
        Tool::Bash { command, timeout } => shell::bash(&command, timeout),
    }
}

/// Told to whoever asks for a tool it does not have; a child asks for `subagent` now and then.
const NOTE: &str = "sub-agents cannot start sub-agents; your tools are";

/// Answers a call: shows it, runs it if the agent has that tool, and makes a text of the result. An
/// error is a text too: the model can act on it, the person need not.
pub fn answer(agent: &Agent, call: &Call, run: impl FnOnce(&Call) -> Result<String>) -> String {
    console::calling(agent, call);
    let names: Vec<&str> = agent.tools.iter().map(schema::name).collect();
    let unknown = || anyhow!("unknown tool {}; {NOTE}: {}", call.name, names.join(", "));
    let result = if names.contains(&&*call.name) { run(call) } else { Err(unknown()) };
    let text = result.unwrap_or_else(|error| {
        console::say(agent, &format!("{} failed: {error:#}", call.name));
        format!("Error: {error:#}")
    });
    cut(&clean(&text), LIMIT, 0)
}
