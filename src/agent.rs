//! The loop: ask the model, run what it asks for, until it answers or the turns are up.

use crate::cli::prelude::*;

mod outcome;

pub use outcome::{End, Outcome};

/// Whoever takes turns with a model. The lead and its children are both this.
pub struct Agent<'a> {
    /// Who answers it, and under which name.
    pub model: &'a Model,
    pub model_name: &'a str,
    /// What it may ask for, as the model reads it.
    pub tools: &'a [Value],
    /// How many requests it may make; the last one offers no tools.
    pub max_turns: u32,
    /// The whole conversation: a system prompt and a task at the start, gone at the end.
    pub messages: Vec<Value>,
    /// All that outlives it: its last text, why it ended (nothing if it answered), what it took.
    pub outcome: Outcome,
}

/// Does what the calls of a reply ask for, and gives a result for each, in their order.
pub type Act<'a> = dyn Fn(&Agent, &[Call]) -> Vec<String> + 'a;

impl Agent<'_> {
    /// Takes turns to the end, and gives what is left of the agent.
    pub fn run(mut self, act: &Act) -> Outcome {
        let start = Instant::now();
        self.outcome.start = Some(start);
        self.outcome.end = self.take_turns(act).err();
        self.outcome.seconds = start.elapsed().as_secs_f64();
        console::ended(&self);
        self.outcome
    }

    /// The loop itself. It knows no tool by name.
    fn take_turns(&mut self, act: &Act) -> Result<(), End> {
        let mut silent = false;
        for _ in 1..self.max_turns {
            let Reply { message, text, calls, .. } = self.ask(self.tools)?;
            match (calls.is_empty(), text.is_empty()) {
                (true, false) => return Ok(()),
                (true, true) if silent || self.outcome.has_report() => return Err(End::Silent),
                // An accident, perhaps: the same question goes out once more.
                (true, true) => silent = true,
                (false, _) => {
                    // The model's own message goes first: each result answers a call in it, by id.
                    self.messages.push(message);
                    let results = act(self, &calls);
                    self.messages.extend(calls.iter().zip(&results).map(tool_message));
                }
            }
        }
        self.last_turn()?;
        Err(End::TurnLimit(self.max_turns))
    }

    /// Asks for what is done and what is left, without tools. `ask` keeps the text; calls in the
    /// reply are not run.
    fn last_turn(&mut self) -> Result<Reply> {
        self.messages.push(message("user", include_str!("last_turn.md")));
        let reply = self.ask(&[]);
        // Some servers refuse a conversation with calls in it when no tools come along.
        if !reply.as_ref().is_err_and(|why| format!("{why:#}").contains("tool")) {
            return reply;
        }
        self.outcome.turns -= 1;
        self.ask(self.tools)
    }

    /// One request, and what of its reply outlives the conversation.
    fn ask(&mut self, tools: &[Value]) -> Result<Reply> {
        self.outcome.turns += 1;
        let body = Body { model: self.model_name, messages: &self.messages, tools };
        console::asking(self, &body);
        let (number, turn) = (self.outcome.number, self.outcome.turns);
        let trouble = |what: &str| say(self, what);
        let reply = console::waiting(self, || self.model.ask(number, turn, &body, &trouble))?;
        self.outcome.add(&reply);
        Ok(reply)
    }

    /// The text that answers a call. An error is a text too: the model can act on it, the person
    /// need not. A tool that was not offered is refused.
    pub fn result(&self, call: &Call, work: impl FnOnce() -> Result<String>) -> String {
        console::calling(self, call);
        let result = tools::schema::offered(self.tools, call).and_then(|()| work());
        let text = result.unwrap_or_else(|error| {
            say(self, &format!("{} failed: {error:#}", call.name));
            format!("Error: {error:#}")
        });
        let text = cut(&clean(&text), LIMIT, 0);
        console::answered(self, call, &text);
        text
    }
}

fn tool_message((Call { id, .. }, result): (&Call, &String)) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": result })
}
