//! What the person sees: on stderr who does what, a whole line at a time; on stdout the answer.

use std::io::{ErrorKind::BrokenPipe, IsTerminal, stderr, stdout};
use std::sync::mpsc::{self, RecvTimeoutError};

use ::console::{Term, measure_text_width, truncate_str};
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

/// Columns of the line that says who waits, while it stands there.
static WAITING: Mutex<usize> = Mutex::new(0);

/// Shows a text, in one write: lines of children at work side by side do not mix. A closed stderr
/// is no reason to stop.
pub fn tell(level: u8, text: &str) {
    if *LEVEL.get_or_init(|| 1) >= level {
        rewrite(&format!("{text}\n"), 0);
    }
}

/// Writes over the line that says who waits, with blanks: it may not use escape sequences.
fn rewrite(text: &str, columns: usize) {
    let mut shown = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let blank = if *shown > 0 { format!("\r{}\r", " ".repeat(*shown)) } else { String::new() };
    let _ = stderr().write_all(format!("{blank}{text}").as_bytes());
    *shown = columns;
}

/// Asks, and says meanwhile, on a terminal, who waits for what and for how long.
pub fn waiting<T>(agent: &Agent, ask: impl FnOnce() -> T) -> T {
    if LEVEL.get() == Some(&0) || !stderr().is_terminal() {
        return ask();
    }
    let (answered, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            while wait.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let seconds = start.elapsed().as_secs();
                let what = format!("waits for {}, {seconds} s", agent.model_name);
                let line = line(agent, &what);
                rewrite(&line, measure_text_width(&line));
            }
            rewrite("", 0);
        });
        let reply = ask();
        drop(answered);
        reply
    })
}

/// Shows what an agent does, on one line.
pub fn say(agent: &Agent, what: &str) {
    let (line, color) =
        (line(agent, what), if what.contains("failed: ") { Color::Red } else { Color::Cyan });
    let name = name(&agent.outcome);
    tell(1, &line.replacen(&name, &name.color(color).to_string(), 1));
}

/// Who, in which turn, and what, no wider than the terminal.
fn line(Agent { outcome, max_turns, .. }: &Agent, what: &str) -> String {
    // A line that does not go to a terminal may be longer; a terminal may not know its columns.
    let columns = Term::stderr().size_checked().map_or(200, |size| size.1);
    let line = format!("{} {}/{max_turns} {}", name(outcome), outcome.turns, one_line(what));
    truncate_str(&line, if columns == 0 { 80 } else { columns.into() }, "...").into_owned()
}

fn name(Outcome { role, number, .. }: &Outcome) -> String {
    let role = truncate_str(&one_line(role), 32, "...").into_owned();
    if *number == 0 { role } else { format!("{role}#{number}") }
}

/// A specialist has ended.
pub fn ended(agent: &Agent) {
    let Outcome { end, text, seconds, .. } = &agent.outcome;
    let how = end.as_ref().map_or("ends".to_owned(), |end| format!("failed: {end}"));
    if agent.outcome.number > 0 {
        say(agent, &format!("{how}, {seconds:.1} s: {text}"));
    }
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
        let names: Vec<_> = body.tools.iter().map(tools::schema::name).collect();
        tell(2, &format!("  tools: {}", names.join(", ")));
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
    if agents[0].turns > 0 {
        ledger(&agents);
    }
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

/// What each agent took, and what it brought that some of them were sent away with their work.
fn ledger(agents: &[Outcome]) {
    for agent in agents {
        let Outcome { turns, calls, usage, seconds, .. } = agent;
        let tokens = match usage {
            [0, 0] => "tokens unknown".to_owned(),
            [read, written] => format!("{read} tokens in, {written} out"),
        };
        let name = name(agent);
        tell(1, &format!("{name}: {turns} turns, {calls} tool calls, {tokens}, {seconds:.1} s"));
    }
    let read: u64 = agents[1..].iter().map(|child| child.usage[0]).sum();
    let back: u64 = agents[1..].iter().map(|child| child.last_tokens).sum();
    if read > 0 {
        tell(
            1,
            &format!(
                "The specialists read {read} tokens; of it all, answers of {back} tokens entered the lead's context."
            ),
        );
    }
}

/// An agent in the object that `--json` prints. The names of the fields are a promise to scripts.
fn object(outcome: &Outcome) -> Value {
    let Outcome { role, end, text, turns, usage: [read, written], .. } = outcome;
    let answer = matches!(end, None | Some(End::TurnLimit(_))) && !text.is_empty();
    let answer = answer.then(|| clean(text).trim_end().to_owned());
    let error = end.as_ref().map(|end| clean(&end.to_string()));
    let tokens = || json!({ "prompt_tokens": read, "completion_tokens": written });
    json!({ "role": role, "answer": answer, "finished": end.is_none(), "turns": turns,
        "usage": (*read > 0).then(tokens), "error": error })
}
