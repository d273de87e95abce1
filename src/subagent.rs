//! The idea: a role and a task become a fresh loop, and only its last text comes back.

use crate::cli::prelude::*;
use crate::tools::{plan, schema};

mod place;
mod side_by_side;

/// What all agents of a run have in common.
pub struct Team<'a> {
    pub args: &'a Args,
    pub model: Model,
    pub roles: Roles,
    /// How many `subagent` calls there have been; `side_by_side` counts them.
    pub children: AtomicUsize,
}

/// What the lead can ask for and its children cannot.
#[derive(Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "lowercase")]
enum LeadTool {
    Subagent { role: String, task: String },
    Todo { items: Vec<plan::Item> },
}

impl Team<'_> {
    /// Runs the lead's loop on the person's task, with what it remembers of earlier runs.
    pub fn lead(&self, task: &str, memory: &str) -> Outcome {
        // All that a child has, and two that are the lead's own.
        let own = schema::lead_tools(&self.roles.menu());
        let tools: Vec<_> = schema::plain_tools(None).into_iter().chain(&own).collect();
        let system = format!("{}\n{}{memory}", include_str!("lead.md"), place::describe());
        let files = Files::default();
        self.agent("lead", &tools, [&system, task]).run(&|lead, calls| {
            // Neighbouring `subagent` calls run at once, `--jobs` at most. Any other call waits for
            // those before it, and those after it wait for its end. Each `subagent` call gets a
            // number, in call order, a refused one too; for a plain call it means nothing. The names
            // below are those of `LeadTool`.
            self.side_by_side(calls, |call, number| {
                lead.answer(call, || match &*call.name {
                    "subagent" | "todo" => self.lead_tool(schema::parse::<LeadTool>(call)?, number),
                    _ => tools::run(call, &files),
                })
            })
        })
    }

    fn lead_tool(&self, tool: LeadTool, number: usize) -> Result<String> {
        match tool {
            LeadTool::Todo { items } => Ok(plan::show(&items)),
            LeadTool::Subagent { role, task } => {
                let empty = role.trim().is_empty() || task.trim().is_empty();
                ensure!(!empty, "role or task is empty");
                text_for_lead(&self.specialist(number, &role, &task))
            }
        }
    }

    /// A child's whole life: its messages begin here and are gone at the end. As number 0 it works
    /// for the person, without a lead.
    pub fn specialist(&self, number: usize, role: &str, task: &str) -> Outcome {
        let preset = self.roles.find(role);
        let tools = schema::plain_tools(preset.tools.as_deref());
        // Who it is, how a specialist works, and where and when it is.
        let who = format!("You are a {}.\n\n{}", preset.name, preset.prompt);
        let system = format!("{who}\n\n{}\n{}", include_str!("child.md"), place::describe());
        let mut child = self.agent(role, &tools, [&system, task]);
        child.outcome.number = number;
        child.model_name = preset.model.as_deref().unwrap_or(child.model_name);
        child.max_turns = preset.max_turns.unwrap_or(child.max_turns);
        say(&child, &format!("starts: {task}"));
        self.roles.advise(&child, &preset);
        let files = Files::default();
        child.run(&|child, calls| {
            calls.iter().map(|call| child.answer(call, || tools::run(call, &files))).collect()
        })
    }

    /// An agent at its start: it knows its system prompt and its task, and nothing else.
    fn agent<'a>(&'a self, role: &str, tools: &'a [&'a Definition], texts: [&str; 2]) -> Agent<'a> {
        let messages = vec![message("system", texts[0]), message("user", texts[1])];
        let (model_name, max_turns) = (self.args.model.trim(), self.args.max_turns);
        let (model, outcome) = (&self.model, Outcome::new(role));
        Agent { model, model_name, tools, max_turns, messages, outcome }
    }
}

/// Stands before what a child could still say at its turn limit.
const AT_LIMIT: &str = "(subagent reached turn limit)";

/// The one text that goes back. A child that fell silent did its work all the same; one that failed
/// is an error, which the lead can act on.
fn text_for_lead(Outcome { end, text, turns, .. }: &Outcome) -> Result<String> {
    let text = if text.is_empty() { "(no summary)" } else { text };
    match end {
        None | Some(End::Silent) => Ok(text.to_owned()),
        Some(End::TurnLimit(_)) => Ok(format!("{AT_LIMIT}\n(incomplete, {turns} turns) {text}")),
        Some(why @ (End::Failed(_) | End::Interrupted)) => {
            bail!("subagent failed, turn {turns}: {why}\nIt said: {text}")
        }
    }
}
