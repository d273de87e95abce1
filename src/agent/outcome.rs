//! What is left of an agent when its loop has ended: its last text, and what it took to get there.

use crate::cli::prelude::*;

#[derive(Clone, Default)]
pub struct Outcome {
    /// 0 for the agent that the person talks to; its children count from 1, in call order.
    pub number: usize,
    /// As the lead asked for it.
    pub role: String,
    /// Why it ended without an answer; nothing if it has one.
    pub end: Option<End>,
    /// The last text the model said, whatever the end was; empty if it never said any.
    pub text: String,
    /// Requests made, and tool calls in the replies.
    pub turns: u32,
    pub calls: usize,
    /// Tokens that the server says it read and wrote, and those it wrote last.
    pub usage: [u64; 2],
    pub last_tokens: u64,
    /// When it started, and how long it took in the end.
    pub start: Option<Instant>,
    pub seconds: f64,
}

/// Why a loop ended without an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum End {
    #[error("turn limit: all {0} turns are used, and the work is incomplete")]
    TurnLimit(u32),
    #[error("the model returned nothing: no text and no tool call")]
    Silent,
    #[error("{0:#}")]
    Failed(Arc<Error>),
    #[error("interrupted")]
    Interrupted,
}

impl From<Error> for End {
    fn from(why: Error) -> End {
        why.downcast().unwrap_or_else(|why| End::Failed(why.into()))
    }
}

impl Outcome {
    /// Keeps of a reply what outlives the conversation.
    pub fn add(&mut self, reply: &Reply) {
        self.usage = [0, 1].map(|kind| self.usage[kind].saturating_add(reply.usage[kind]));
        self.last_tokens = reply.usage[1];
        self.calls += reply.calls.len();
        if !reply.text.is_empty() {
            self.text.clone_from(&reply.text);
        }
        report::keep(self.so_far());
    }

    /// The same, as an interrupt would leave it.
    pub fn so_far(&self) -> Outcome {
        Outcome { end: Some(End::Interrupted), ..self.clone() }
    }

    /// Whether this is a child that has said something: its last text goes back as its report.
    pub fn has_report(&self) -> bool {
        self.number > 0 && !self.text.is_empty()
    }
}
