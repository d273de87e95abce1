//! What a model is: messages and tools in, one reply out.

use crate::cli::prelude::*;

pub mod http;
pub mod reply;
pub mod script;

/// Whoever answers. The loop cannot tell them apart.
pub enum Model {
    /// Kept to the end of the process, which is what `'static` says.
    Server(&'static http::Server),
    Script(script::Script),
}

/// One question, whole: a model forgets between two requests, so the conversation goes out again
/// each time. There is no temperature and no limit in it: what is not sent, no server can refuse.
#[derive(Serialize)]
pub struct Body<'a> {
    pub model: &'a str,
    pub messages: &'a [Value],
    // Servers refuse an empty list.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tools: &'a [&'a Definition],
}

/// What the model said.
pub struct Reply {
    /// The message as it came, unknown fields included: it goes back with the next request.
    pub message: Value,
    /// Its text; empty if there is none.
    pub text: String,
    pub calls: Vec<Call>,
    /// Tokens that the server says it read and wrote; 0 if it does not.
    pub usage: [u64; 2],
    /// Bytes of the request that it answers.
    pub sent: u64,
}

/// A tool call as the model wrote it. Whether there is such a tool, and the arguments fit, `tools`
/// finds out.
pub struct Call {
    pub id: String,
    pub name: String,
    /// A JSON object; or why there is none, which is what the call is then answered with.
    pub arguments: Result<Value, String>,
}

impl Model {
    /// Asks, and waits for the reply. An error says what happened and what would help. `agent` and
    /// `turn` are for a recording, made or played; no model sees them. `say` tells of trouble on the
    /// way.
    pub fn ask(&self, agent: usize, turn: u32, body: &Body, say: &dyn Fn(&str)) -> Result<Reply> {
        let body = serde_json::to_string(body)?;
        let body = redact(&body);
        // Whoever answers, the exchange goes into the recording and the picture, if asked for.
        let answer = script::record(agent, turn, &body, || match self {
            Model::Server(server) => server.post(&body, say),
            Model::Script(script) => script.next(agent),
        })?;
        Ok(Reply { sent: body.len() as u64, ..reply::parse(answer)? })
    }
}

/// A message of the conversation, from `system` or `user`.
pub fn message(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text.trim_end() })
}
