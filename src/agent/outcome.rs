//! How replies add up to what is left of an agent.

use crate::cli::prelude::*;

/// What an agent took.
#[derive(Clone, Default)]
pub struct Cost {
    /// Bytes of its requests.
    pub sent: u64,
    /// Tool calls in the replies.
    pub calls: usize,
    /// Tokens that the server says it read and wrote; 0 if it does not.
    pub usage: [u64; 2],
    /// Tokens of the reply with its last text.
    pub last: u64,
    /// When it began, and how long it took in the end.
    pub start: Option<Instant>,
    pub seconds: f64,
}

impl Cost {
    /// Looks at the clock.
    pub fn stop(&mut self) {
        self.seconds = self.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
    }
}

impl From<Error> for End {
    fn from(why: Error) -> End {
        // An interrupt comes as an `End` already.
        why.downcast().unwrap_or_else(|why| End::Failed(why.into()))
    }
}

impl Outcome {
    /// Of an agent that begins now.
    pub fn new(role: &str) -> Outcome {
        let cost = Cost { start: Some(Instant::now()), ..Cost::default() };
        Outcome { role: role.to_owned(), cost, ..Outcome::default() }
    }

    /// Keeps of a reply what outlives the conversation.
    pub fn add(&mut self, reply: &Reply) {
        let cost = &mut self.cost;
        cost.usage = [0, 1].map(|kind| cost.usage[kind].saturating_add(reply.usage[kind]));
        cost.calls += reply.calls.len();
        cost.sent += reply.sent;
        if !reply.text.is_empty() {
            cost.last = reply.usage[1];
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
