//! A lead agent, its tools, and the idea of a sub-agent: the whole program, in reading order.
//!
//! An agent is a loop ([`agent`]): ask the model, run the tools it asks for, show it the results,
//! until it answers. What it may ask for are [`tools`]. One tool of the lead's is special: it
//! starts the same loop again, for a specialist with a system prompt of its own and an empty
//! conversation ([`subagent`]), and only the specialist's last text comes back. Who a specialist is
//! stands in [`roles`], what outlives a run in [`memory`], and who answers at the other end in
//! [`model`].
//!
//! A specialist, a sub-agent and a child are one and the same here: `role` says in words who it is,
//! and a preset is a role that has been written down in a file.
//!
//! Two floors: these files are the lesson, and name the ideas; the folders beside them are rooms
//! downstairs, where each ugly truth (processes, HTTP, atomic files, terminals) is handled once.
//! Who starts whom goes one way: main → subagent → agent → model; subagent → roles; agent and
//! subagent → tools. Only the type `Call` and the cutting of texts are used on all sides.
//!
//! The names that all files share come from one list, `cli/prelude.rs`:
//!
//! - `say` shows the person a line about an agent, `tell` any text, from a level on: 0 always, 1
//!   without `-q`, 2 with `-v`. `console::asking`, `waiting`, `calling`, `answered` and `ended` do
//!   so at fixed points of the loop, and `asking` and `ended` tell the report how far the agent is.
//! - `report::keep` notes that; `report::print` shows it at the end, with the answer on stdout.
//! - `clean` takes control characters out of a text, `redact` the key (`KEY`), and `cut` the middle
//!   of one that is longer than `LIMIT`.
//! - `schema` has the tools as the models read them: `plain_tools` those of every agent,
//!   `lead_tools` the lead's own; `offered` checks that a call is of a tool on the list, and `parse`
//!   makes it a type. `Files` is what an agent knows of the files it has seen.
//! - `message` makes a message of the conversation; `place::describe` is the end of every system
//!   prompt: folder, system, date. `clock` has the local time.
//! - `Args` is the command line. `Roles::menu` is the list of presets in words, and `advice` what
//!   the person is told of a role without one.
//! - The crates: `anyhow` for errors (`bail!` and `ensure!` return one), `serde_json` for JSON (a
//!   `Value` is any piece of it, `json!` makes one), `clap` for options.

pub mod agent;
pub mod tools;
pub mod subagent;
pub mod roles;
pub mod memory;
pub mod model;
pub mod cli;
