//! How the run went: the ledger and errors on stderr, on stdout the answer, or all of it as JSON.

use std::{io::ErrorKind::BrokenPipe, io::stdout, sync::atomic::AtomicBool};

use colored::Colorize;

use crate::agent::Cost;
use crate::cli::{console::block, console::name, picture::PICTURE, prelude::*};

/// What is known so far of each agent, by number. An interrupt finds here what there is.
static RUN: Mutex<BTreeMap<usize, Outcome>> = Mutex::new(BTreeMap::new());

/// Takes note of how far an agent has come.
pub fn keep(outcome: Outcome) {
    RUN.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome.number, outcome);
}

/// Whether the end is being told already.
static TOLD: AtomicBool = AtomicBool::new(false);
/// For the end to be told, when there is an interrupt while it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says how the run ended, and gives the exit code. An error is one from before the first request,
/// or an interrupt.
pub fn print(as_json: bool, error: Option<Error>) -> i32 {
    if TOLD.swap(true, Relaxed) {
        thread::sleep(PATIENCE);
        return 130;
    }
    let mut agents = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    for agent in agents.values_mut().filter(|agent| matches!(agent.end, Some(End::Interrupted))) {
        agent.cost.stop();
    }
    ledger(&agents);
    let refused = error.is_some();
    let mut lead = agents.remove(&0).unwrap_or_default();
    lead.end = error.map(End::from).or(lead.end);
    let mut object = json(&lead);
    object["subagents"] = agents.values().map(json).collect();
    if let Some(end) = &lead.end {
        if !lead.text.is_empty() && object["answer"].is_null() {
            tell(0, &block("its last text:", &lead.text));
        }
        let who = if lead.turns > 0 { name(&lead) + ": " } else { String::new() };
        tell(0, &format!("{} {who}{}", "error:".red(), clean(&end.to_string())));
    }
    let answer = object["answer"].as_str().unwrap_or_default();
    let text = if as_json { object.to_string() } else { answer.to_owned() };
    // A reader that has gone away has all it wanted.
    let printed = if text.is_empty() { Ok(()) } else { writeln!(stdout(), "{text}") };
    if let Some(why) = printed.err().filter(|why| why.kind() != BrokenPipe) {
        tell(0, &format!("error: cannot print the answer: {why}"));
        return 1;
    }
    PICTURE.get().inspect(|picture| picture.write());
    match lead.end {
        None => 0,
        Some(End::TurnLimit(_)) => 3,
        Some(End::Interrupted) => 130,
        Some(End::Silent | End::Failed(_)) => 1 + i32::from(refused),
    }
}

/// What each agent took, and what it brought that some of them were sent away with their work.
fn ledger(agents: &BTreeMap<usize, Outcome>) {
    console::tour(4);
    for agent in agents.values().filter(|agent| agent.turns > 0) {
        let Cost { calls, usage, seconds, .. } = &agent.cost;
        let tokens = match usage {
            [0, 0] => "tokens unknown".to_owned(),
            [read, written] => format!("{read} tokens in, {written} out"),
        };
        let (name, turns) = (name(agent), agent.turns);
        tell(1, &format!("{name}: {turns} turns, {calls} tool calls, {tokens}, {seconds:.1} s"));
    }
    // A child that was interrupted brought nothing; of the others the last text went back.
    let back = |child: &&Outcome| child.turns > 0 && !matches!(child.end, Some(End::Interrupted));
    let children: Vec<&Outcome> = agents.range(1..).map(|(_, child)| child).filter(back).collect();
    let tokens = children.iter().all(|child| child.cost.usage[0] > 0);
    let read = |child: &&Outcome| if tokens { child.cost.usage[0] } else { child.cost.sent };
    let back = |text: &str| text.len().min(LIMIT) as u64;
    let back = |child: &&Outcome| if tokens { child.cost.last } else { back(&child.text) };
    let (read, back): (u64, u64) =
        (children.iter().map(read).sum(), children.iter().map(back).sum());
    if read > 0 {
        let unit = if tokens { "tokens" } else { "bytes" };
        let what = format!("specialists read {read} {unit}, the lead {back} {unit} of answers");
        tell(1, &format!("Delegation: {what}."));
    }
}

/// An agent in the object that `--json` prints. The names of the fields are a promise to scripts.
fn json(outcome: &Outcome) -> Value {
    let Outcome { role, end, text, turns, cost, .. } = outcome;
    let Cost { calls, usage: [read, written], seconds, .. } = cost;
    let answer = match end {
        None | Some(End::TurnLimit(_)) => Some(clean(text).trim_end().to_owned()),
        Some(End::Silent | End::Failed(_) | End::Interrupted) => None,
    };
    let answer = answer.filter(|text| !text.is_empty());
    let error = end.as_ref().map(|end| clean(&end.to_string()));
    let tokens = || json!({ "prompt_tokens": read, "completion_tokens": written });
    json!({ "role": clean(role), "answer": answer, "finished": end.is_none(), "turns": turns,
        "tool_calls": calls, "usage": (*read > 0).then(tokens),
        "seconds": (seconds * 10.0).round() / 10.0, "error": error })
}
