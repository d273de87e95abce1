//! A lead agent, its tools, and the idea of a sub-agent: the whole program, in reading order.
//!
//! An agent is a loop ([`agent`]): ask the model, run the tools it asks for, show it the results,
//! until it answers. What it may ask for are [`tools`]. One tool of the lead's is special: it
//! starts the same loop again, for a specialist with a system prompt of its own and an empty
//! conversation ([`subagent`]), and only the specialist's last text comes back. Who a specialist is
//! stands in [`roles`], what outlives a run in [`memory`], and who answers at the other end in
//! [`model`].
//!
//! Two floors: these files are the lesson, and name the ideas; the folders beside them are rooms
//! downstairs, where each ugly truth (processes, HTTP, atomic files, terminals) is handled once.
//! Arrows point one way: main → subagent → agent → model; subagent → roles; agent and subagent →
//! tools.
//!
//! The names that all files share come from one list, `cli/prelude.rs`. What they mean:
//! `say` shows the person a line about an agent, `tell` any text; `console::asking`, `waiting`,
//! `calling`, `answered` and `ended` do so at fixed points of the loop. `report::keep` notes how far
//! an agent has come, for the report at the end. `message` makes a message of the conversation.
//! `clean` takes control characters out of a text, `redact` the key, and `cut` the middle of one
//! that is longer than `LIMIT`. `schema` has the tools as the models read them: `plain_tools` the
//! six, `lead_tools` the other two; `offered` checks that a call is of a tool on the list, and
//! `parse` makes it a type. The crates: `anyhow` for errors (`bail!` and `ensure!` return one),
//! `serde_json` for JSON (a `Value` is any piece of it, `json!` makes one), `clap` for options.

pub mod agent;
pub mod tools;
pub mod subagent;
pub mod roles;
pub mod memory;
pub mod model;
pub mod cli;
