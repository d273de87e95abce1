//! The loop: ask the model, run what it asks for, until it answers or the turns are up.

use crate::cli::prelude::*;

/// Whoever takes turns with a model. The lead and its children are both this.
pub struct Agent<'a> {
    /// 0 for the agent that the person talks to; its children count from 1, in call order.
    pub number: usize,
    /// Who answers it, and under which name.
    pub model: &'a Model,
    pub model_name: &'a str,
    /// What it may ask for, as the model reads it.
    pub tools: &'a [Value],
    /// How many requests it may make; the last one offers no tools.
    pub max_turns: u32,
    /// The whole conversation: a system prompt and a task at the start, gone at the end.
    pub messages: Vec<Value>,
    pub outcome: Outcome,
}

/// What is left of an agent when its loop has ended.
#[derive(Default)]
pub struct Outcome {
    /// As the lead asked for it.
    pub role: String,
    /// Why it ended without an answer; nothing if it has one.
    pub end: Option<End>,
    /// The last text the model said, whatever the end was; empty if it never said any.
    pub text: String,
    /// Requests made, and the tokens that the server says it read and wrote for them.
    pub turns: u32,
    pub usage: [u64; 2],
}

/// Why a loop ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum End {
    #[error("turn limit: all {0} turns are used, and the work is incomplete")]
    TurnLimit(u32),
    #[error("the model returned nothing: no text and no tool call")]
    Silent,
    #[error("{0:#}")]
    Failed(#[from] Error),
}

impl Agent<'_> {
    /// Runs the loop to its end. `act` does what a call asks for; the loop knows no tool by name.
    pub fn run(&mut self, act: &dyn Fn(&Call) -> Result<String>) -> Result<(), End> {
        for _ in 1..self.max_turns {
            let Reply { message, text, calls, .. } = self.ask(self.tools)?;
            if calls.is_empty() {
                return if text.is_empty() { Err(End::Silent) } else { Ok(()) };
            }
            // The model's own message goes first: each result answers a call in it, by id.
            self.messages.push(message);
            for call in calls {
                let (id, result) = (&call.id, self.result(&call, act));
                self.messages
                    .push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
            }
        }
        self.messages.push(message("user", include_str!("last_turn.md")));
        // Some servers refuse a conversation with calls in it when no tools come along.
        self.ask(&[]).or_else(|_| self.ask(self.tools))?;
        Err(End::TurnLimit(self.max_turns))
    }

    /// One request, and what of its reply outlives the conversation.
    fn ask(&mut self, tools: &[Value]) -> Result<Reply> {
        self.outcome.turns += 1;
        let body = Body { model: self.model_name, messages: &self.messages, tools };
        console::asking(self, &body);
        let reply = self.model.ask(self.number, self.outcome.turns, &body)?;
        self.outcome.usage =
            [0, 1].map(|kind| self.outcome.usage[kind].saturating_add(reply.usage[kind]));
        if !reply.text.is_empty() {
            self.outcome.text.clone_from(&reply.text);
        }
        Ok(reply)
    }

    /// The text that answers a call. An error is a text too: the model can act on it, the person
    /// need not. A tool that was not offered is refused.
    fn result(&self, call: &Call, act: &dyn Fn(&Call) -> Result<String>) -> String {
        console::calling(self, call);
        let names: Vec<&str> = self.tools.iter().map(tools::schema::name).collect();
        let note = if self.number == 0 { "" } else { " (sub-agents cannot start sub-agents)" };
        let unknown = || anyhow!("unknown tool {}; you have {}{note}", call.name, names.join(", "));
        let text = if names.contains(&call.name.as_str()) { act(call) } else { Err(unknown()) }
            .unwrap_or_else(|error| {
                say(self, &format!("{} failed: {error:#}", call.name));
                format!("Error: {error:#}")
            });
        cut(&clean(&text), LIMIT, 0)
    }
}
