//! The loop: ask the model, run what it asks for, until it answers or the turns are up.

use crate::cli::prelude::*;

mod last_turn;
mod outcome;

pub use outcome::Cost;

/// Whoever takes turns with a model. The lead and its children are both this.
pub struct Agent<'a> {
    /// Who answers it, and under which name.
    pub model: &'a Model,
    pub model_name: &'a str,
    /// What it may ask for, as the model reads it.
    pub tools: &'a [&'a Definition],
    /// How many requests it may make; the last one offers no tools (`last_turn` has the one
    /// exception).
    pub max_turns: u32,
    /// The whole conversation: a system prompt and a task at the start, gone at the end.
    pub messages: Vec<Value>,
    /// All that outlives it: its last text, and how it ended.
    pub outcome: Outcome,
}

/// Runs the calls of one reply; gives one message for each, with its result, in their order. It is
/// given the agent so that `Agent::answer` can make the messages: the loop knows no tool, and no
/// tool knows the loop.
pub type Act<'a> = dyn Fn(&Agent, &[Call]) -> Vec<Value> + 'a;

impl Agent<'_> {
    /// Takes turns to the end, and gives what is left of the agent.
    pub fn run(mut self, act: &Act) -> Outcome {
        self.outcome.end = self.take_turns(act).err();
        self.outcome.cost.stop();
        console::ended(&self);
        self.outcome
    }

    /// The loop itself. It knows no tool by name.
    fn take_turns(&mut self, act: &Act) -> Result<(), End> {
        let mut silent = false;
        for _ in 1..self.max_turns {
            // A request that fails for good is the end: `?` makes its error an `End::Failed`, by way
            // of `From` in agent/outcome.rs.
            let Reply { message, text, calls, .. } = self.ask(self.tools)?;
            match (calls.is_empty(), text.is_empty()) {
                (true, false) => return Ok(()),
                // A child that has said something before has made its report.
                (true, true) if silent || self.outcome.has_report() => return Err(End::Silent),
                // An accident, perhaps: the same question goes out again, once for each agent.
                (true, true) => silent = true,
                (false, _) => {
                    // The model's own message goes first: each result answers a call in it, by id.
                    self.messages.push(message);
                    let results = act(self, &calls);
                    self.messages.extend(results);
                }
            }
        }
        // One turn is left, without tools: what is done, and what is not? `ask` keeps the text; calls
        // in the reply are not run. However good the text, the work was not at its end.
        self.last_turn()?;
        Err(End::TurnLimit(self.max_turns))
    }

    /// One request, and what of its reply outlives the conversation.
    fn ask(&mut self, tools: &[&Definition]) -> Result<Reply> {
        self.outcome.turns += 1;
        let body = Body { model: self.model_name, messages: &self.messages, tools };
        console::asking(self, &body);
        let (number, turn) = (self.outcome.number, self.outcome.turns);
        let trouble = |what: &str| say(self, what);
        let reply = console::waiting(self, || self.model.ask(number, turn, &body, &trouble))?;
        // Its text takes the place of the last one, unless it is empty.
        self.outcome.add(&reply);
        Ok(reply)
    }

    /// The message that answers a call with the text that `work` gives. An error is a text too: it
    /// is for the model to act on, and the person sees a line of it. A tool that was not offered is
    /// refused.
    pub fn answer(&self, call: &Call, work: impl FnOnce() -> Result<String>) -> Value {
        console::calling(self, call);
        let result = tools::schema::offered(self.tools, call).and_then(|()| work());
        let text = result.unwrap_or_else(|error| {
            say(self, &format!("{} failed: {error:#}", call.name));
            format!("Error: {error:#}")
        });
        let text = cut(&clean(&text), LIMIT, 0);
        console::answered(self, call, &text);
        json!({ "role": "tool", "tool_call_id": call.id, "content": text })
    }
}

/// What is left of an agent when its loop has ended.
#[derive(Clone, Default)]
pub struct Outcome {
    /// 0 for the agent that the person talks to; its children count from 1, in call order.
    pub number: usize,
    /// In the words of whoever asked for it.
    pub role: String,
    /// The last text the model said, whatever the end was; empty if it never said any.
    pub text: String,
    /// Why it ended without an answer; nothing if it has one.
    pub end: Option<End>,
    /// Requests made.
    pub turns: u32,
    /// What they took, for the ledger at the end.
    pub cost: Cost,
}

/// Why a loop ended without an answer. The report keeps copies of it: hence the `Arc`, which can be
/// shared.
#[derive(Clone, Debug, thiserror::Error)]
pub enum End {
    #[error("turn limit: all {0} turns are used, and the work is incomplete")]
    TurnLimit(u32),
    /// For the person an error; the lead gets the last text, or that there is none.
    #[error("the model returned nothing: no text and no tool call")]
    Silent,
    #[error("{0:#}")]
    Failed(Arc<Error>),
    /// Only in the report: the loop itself does not get so far.
    #[error("interrupted")]
    Interrupted,
}
