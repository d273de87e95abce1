//! The last turn: what a model says when it can do no more.

use crate::cli::prelude::*;

impl Agent<'_> {
    /// Asks for what is done and what is left, without tools. `ask` keeps the text; calls in the
    /// reply are not run.
    pub(super) fn last_turn(&mut self) -> Result<Reply> {
        self.messages.push(message("user", include_str!("../last_turn.md")));
        let reply = self.ask(&[]);
        // Some servers refuse a conversation with calls in it when no tools come along.
        if !reply.as_ref().is_err_and(|why| format!("{why:#}").contains("tool")) {
            return reply;
        }
        self.outcome.turns -= 1;
        self.ask(self.tools)
    }
}
