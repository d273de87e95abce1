//! What the person sees: on stderr who does what, a whole line at a time; on stdout the answer.

use std::io::{ErrorKind::BrokenPipe, IsTerminal, stderr, stdout};

use ::console::{Term, truncate_str};
use colored::{Color, Colorize};

use crate::cli::prelude::*;

static LEVEL: OnceLock<u8> = OnceLock::new();

/// Says once how much is shown. 0: warnings and errors; 1: also a line for each thing that an agent
/// does; 2: also every request.
pub fn setup(level: u8) {
    let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // Left alone, colored asks whether stdout is a terminal, and we write to stderr.
    colored::control::set_override(stderr().is_terminal() && !plain);
    LEVEL.get_or_init(|| level);
}

/// Shows a text, in one write: lines of children at work side by side do not mix. A closed stderr
/// is no reason to stop.
pub fn tell(level: u8, text: &str) {
    if *LEVEL.get_or_init(|| 1) >= level {
        let _ = stderr().write_all(format!("{text}\n").as_bytes());
    }
}

/// Shows what an agent does, on one line of the terminal's width.
pub fn say(Agent { number, outcome, max_turns, .. }: &Agent, what: &str) {
    let name = truncate_str(&one_line(&outcome.role), 32, "...").into_owned();
    let name = if *number == 0 { name } else { format!("{name}#{number}") };
    // A line that does not go to a terminal may be longer; a terminal may not know its columns.
    let columns = Term::stderr().size_checked().map_or(200, |size| size.1);
    let line = format!("{name} {}/{max_turns} {}", outcome.turns, one_line(what));
    let line = truncate_str(&line, if columns == 0 { 80 } else { columns.into() }, "...");
    let color = if what.contains("failed: ") { Color::Red } else { Color::Cyan };
    tell(1, &line.replacen(&name, &name.color(color).to_string(), 1));
}

/// An agent calls a tool, on what the first text among the arguments says.
pub fn calling(agent: &Agent, call: &Call) {
    let arguments = call.arguments.as_ref().ok().and_then(Value::as_object);
    let subject = arguments.and_then(|arguments| arguments.values().find_map(Value::as_str));
    say(agent, &format!("{} {}", call.name, subject.unwrap_or_default()));
}

/// A request goes out. The first one of an agent is shown whole: there is nothing else that it
/// knows.
pub fn asking(agent: &Agent, body: &Body) {
    if LEVEL.get() == Some(&2) {
        let bytes = serde_json::to_string(body).unwrap_or_default().len();
        let (model, messages, tools) = (body.model, body.messages.len(), body.tools.len());
        say(agent, &format!("asks {model}: {messages} messages, {tools} tools, {bytes} bytes"));
        for message in body.messages.iter().filter(|_| agent.outcome.turns == 1) {
            let (role, text) = (&message["role"], message["content"].as_str().unwrap_or_default());
            tell(2, &format!("  {role}\n  | {}", clean(text).replace('\n', "\n  | ")));
        }
    }
}

/// Says how the run ended, for the lead and then its children, and gives the exit code. An error is
/// one from before the first request.
pub fn print(as_json: bool, result: Result<Vec<Outcome>>) -> i32 {
    let refused = result.is_err();
    let failed = |error| vec![Outcome { end: Some(End::Failed(error)), ..Outcome::default() }];
    let agents = result.unwrap_or_else(failed);
    let mut lead = object(&agents[0]);
    lead["subagents"] = agents[1..].iter().map(object).collect();
    if let Some(error) = lead["error"].as_str() {
        tell(0, &format!("{} {error}", "error:".red()));
    }
    let answer = lead["answer"].as_str().unwrap_or_default();
    let text = if as_json { lead.to_string() } else { answer.to_owned() };
    // A reader that has gone away has all it wanted.
    let printed = if text.is_empty() { Ok(()) } else { writeln!(stdout(), "{text}") };
    if let Some(why) = printed.err().filter(|why| why.kind() != BrokenPipe) {
        tell(0, &format!("error: cannot print the answer: {why}"));
        return 1;
    }
    match agents[0].end {
        None => 0,
        Some(End::TurnLimit(_)) => 3,
        Some(End::Silent | End::Failed(_)) => 1 + i32::from(refused),
    }
}

/// An agent in the object that `--json` prints. The names of the fields are a promise to scripts.
fn object(outcome: &Outcome) -> Value {
    let Outcome { role, end, text, turns, usage: [read, written] } = outcome;
    let answer = matches!(end, None | Some(End::TurnLimit(_))) && !text.is_empty();
    let answer = answer.then(|| clean(text).trim_end().to_owned());
    let error = end.as_ref().map(|end| clean(&end.to_string()));
    let tokens = || json!({ "prompt_tokens": read, "completion_tokens": written });
    json!({ "role": role, "answer": answer, "finished": end.is_none(), "turns": turns,
        "usage": (*read > 0).then(tokens), "error": error })
}
