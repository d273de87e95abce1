//! What the person sees while it runs: on stderr who does what, a whole line at a time.

use std::io::{IsTerminal, stderr};
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

/// The next stop of the tour that `--demo -v` gives; there is no such stop where there is no tour.
pub static TOUR: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Shows a stop of the tour, if it is its turn.
pub fn tour(stop: usize) {
    if TOUR.compare_exchange(stop, stop + 1, Relaxed, Relaxed).is_ok() {
        tell(2, include_str!("tour.txt").split("\n\n").nth(stop).unwrap_or_default().trim_end());
    }
}

/// Who waits for the model, and since when.
static WAITING: Mutex<BTreeMap<usize, (String, Instant)>> = Mutex::new(BTreeMap::new());
/// Columns of the line that says so, while it stands there.
static COLUMNS: Mutex<usize> = Mutex::new(0);

/// Shows a text, in one write: lines of children at work side by side do not mix. A closed stderr
/// is no reason to stop.
pub fn tell(level: u8, text: &str) {
    if *LEVEL.get_or_init(|| 1) >= level {
        rewrite(&format!("{text}\n"), 0);
    }
}

/// Writes over the line that says who waits, with blanks: it may not use escape sequences.
fn rewrite(text: &str, columns: usize) {
    let mut shown = COLUMNS.lock().unwrap_or_else(PoisonError::into_inner);
    let blank = if *shown > 0 { format!("\r{}\r", " ".repeat(*shown)) } else { String::new() };
    let _ = stderr().write_all(format!("{blank}{text}").as_bytes());
    *shown = columns;
}

/// Asks, and says meanwhile, on a terminal, who waits for the model and for how long.
pub fn waiting<T>(agent: &Agent, ask: impl FnOnce() -> T) -> T {
    if LEVEL.get() == Some(&0) || !stderr().is_terminal() {
        return ask();
    }
    let all = || WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let Outcome { number, .. } = agent.outcome;
    let (answered, wait) = mpsc::channel::<()>();
    let reply = thread::scope(|scope| {
        all().insert(number, (name(&agent.outcome), Instant::now()));
        let tick = move || {
            while wait.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let who = |(who, at): &(_, Instant)| format!("{who} {} s", at.elapsed().as_secs());
                let who: Vec<_> = all().values().map(who).collect();
                let line = fit(&format!("waiting for the model: {}", who.join(", ")));
                rewrite(&line, measure_text_width(&line));
            }
        };
        let _ = thread::Builder::new().spawn_scoped(scope, tick);
        let reply = ask();
        all().remove(&number);
        drop(answered);
        reply
    });
    rewrite("", 0);
    reply
}

/// Shows what an agent does, on one line.
pub fn say(agent: &Agent, what: &str) {
    // The agent itself (`failed: …`) or a tool of its (`bash failed: …`).
    let failed = what.split(' ').take(2).any(|word| word == "failed:");
    let (line, color) = (line(agent, what), if failed { Color::Red } else { Color::Cyan });
    let name = name(&agent.outcome);
    tell(1, &line.replacen(&name, &name.color(color).to_string(), 1));
}

/// Who, in which turn, and what.
fn line(Agent { outcome, max_turns, .. }: &Agent, what: &str) -> String {
    fit(&format!("{} {}/{max_turns} {}", name(outcome), outcome.turns, one_line(what)))
}

/// The text, no wider than the terminal.
fn fit(line: &str) -> String {
    // A line that does not go to a terminal may be longer; a terminal may not know its columns.
    let columns = Term::stderr().size_checked().map_or(200, |size| size.1);
    truncate_str(line, if columns == 0 { 80 } else { columns.into() }, "...").into_owned()
}

/// What an agent is called: its role, and its number if it is a child.
pub fn name(Outcome { role, number, .. }: &Outcome) -> String {
    let role = truncate_str(&one_line(role), 32, "...").into_owned();
    if *number == 0 { role } else { format!("{role}#{number}") }
}

/// An agent has ended; of the lead the end of the run tells.
pub fn ended(agent: &Agent) {
    let Outcome { number, end, text, cost, .. } = &agent.outcome;
    let seconds = cost.seconds;
    report::keep(agent.outcome.clone());
    if *number > 0 {
        let how = match end {
            None => format!("ends, {seconds:.1} s: {text}"),
            Some(end) => format!("failed: {end}, {seconds:.1} s {text}"),
        };
        say(agent, &how);
    }
}

/// A text, each of its lines marked as a part of it.
pub fn block(title: &str, text: &str) -> String {
    format!("  {title}\n  | {}", clean(text).trim_end().replace('\n', "\n  | "))
}

/// A call is answered; what a specialist sends back is shown whole.
pub fn answered(agent: &Agent, call: &Call, text: &str) {
    if call.name == "subagent" && LEVEL.get() == Some(&2) {
        tour(2);
        tell(2, &format!("{}\n{}", line(agent, "gets back"), block(&call.id, text)));
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
    report::keep(agent.outcome.so_far());
    if LEVEL.get() == Some(&2) {
        tour(match (agent.outcome.number, agent.outcome.turns) {
            (0, 1) => 0,
            (0, _) => 3,
            _ => 1,
        });
        let bytes = serde_json::to_string(body).unwrap_or_default().len();
        let (model, messages, tools) = (body.model, body.messages.len(), body.tools.len());
        let what = format!("asks {model}: {messages} messages, {tools} tools, {bytes} bytes");
        let mut lines = vec![line(agent, &what)];
        if agent.outcome.turns == 1 {
            let names: Vec<_> = body.tools.iter().map(|tool| tools::schema::name(tool)).collect();
            lines.push(format!("  tools: {}", names.join(", ")));
            let text = |message: &Value, key| message[key].as_str().unwrap_or_default().to_owned();
            let block = |message| block(&text(message, "role"), &text(message, "content"));
            lines.extend(body.messages.iter().map(block));
        }
        tell(2, &lines.join("\n"));
    }
}
