//! The idea: a role and a task become a fresh loop, and only its last text comes back.

use std::cell::RefCell;

use crate::cli::prelude::*;

/// What all agents of a run have in common.
pub struct Team<'a> {
    pub args: &'a Args,
    pub model: Model,
    pub roles: Roles,
    /// What is left of the children that have ended, in call order.
    pub ended: RefCell<Vec<Outcome>>,
}

/// What the lead can ask for and its children cannot.
#[derive(Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "lowercase")]
enum LeadTool {
    Subagent { role: String, task: String },
}

impl Team<'_> {
    /// Runs the lead's loop on the person's task, with what it remembers of earlier runs.
    pub fn lead(&self, task: &str, memory: &str) -> Outcome {
        let tools = tools::schema::lead(&self.roles.menu());
        let system = format!("{}\n{}{memory}", include_str!("lead.md"), place());
        let mut lead = self.agent("lead", &tools, [&system, task]);
        let files = Files::default();
        Outcome { end: lead.run(&|call| self.act(call, &files)).err(), ..lead.outcome }
    }

    /// A plain tool, or a child's whole life: its messages begin here and are gone at the end.
    fn act(&self, call: &Call, files: &Files) -> Result<String> {
        if call.name != "subagent" {
            return tools::run(call, files);
        }
        let LeadTool::Subagent { role, task } = tools::schema::parse(call)?;
        ensure!(!role.trim().is_empty() && !task.trim().is_empty(), "role or task is empty");
        let preset = self.roles.find(&role);
        let tools = tools::schema::plain(preset.tools.as_deref());
        let who = format!("You are a {}.\n\n{}", preset.name, preset.prompt);
        let system = format!("{who}\n\n{}\n{}", include_str!("child.md"), place());
        let start = Instant::now();
        let mut child = self.agent(&role, &tools, [&system, &task]);
        child.number = self.ended.borrow().len() + 1;
        child.model_name = preset.model.as_deref().unwrap_or(child.model_name);
        child.max_turns = preset.max_turns.unwrap_or(child.max_turns);
        say(&child, &format!("starts: {task}"));
        self.roles.advice(&preset).inspect(|presets| say(&child, presets));
        let files = Files::default();
        let end = child.run(&|call| tools::run(call, &files)).err();
        let how = end.as_ref().map_or("ends".to_owned(), |end| format!("failed: {end}"));
        let seconds = start.elapsed().as_secs_f64();
        say(&child, &format!("{how}, {seconds:.1} s: {}", child.outcome.text));
        let outcome = Outcome { end, ..child.outcome };
        let text = text_for_lead(&outcome);
        self.ended.borrow_mut().push(outcome);
        text
    }

    /// An agent at its start: it knows its system prompt and its task, and nothing else.
    fn agent<'a>(&'a self, role: &str, tools: &'a [Value], texts: [&str; 2]) -> Agent<'a> {
        let messages = vec![message("system", texts[0]), message("user", texts[1])];
        let (model, model_name, max_turns) = (&self.model, &*self.args.model, self.args.max_turns);
        let outcome = Outcome { role: role.to_owned(), ..Outcome::default() };
        Agent { number: 0, model, model_name, tools, max_turns, messages, outcome }
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
        Some(End::Failed(why)) => bail!("subagent failed, turn {turns}: {why:#}\nIt said: {text}"),
    }
}

/// What an agent could not know otherwise.
fn place() -> String {
    let (folder, system) = (env::current_dir().unwrap_or_default(), env::consts::OS);
    let date = jiff::ZonedDateTime::now().strftime("%Y-%m-%d");
    format!("Working directory: {}\nSystem: {system}\nDate: {date}\n", folder.display())
}
