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
//! subagent → tools; main → memory. Before that, main makes what they need: roles, walls, a model;
//! and roles ask tools which names there are. What shows and reports (`cli`), and the cutting of
//! texts, is used from everywhere.
//!
//! The names that all files share come from one list, `cli/prelude.rs`. Here they are with their
//! places, to come back to:
//!
//! - cli/console.rs: `say` shows the person a line about an agent; `tell` shows any text, from a
//!   level on: 0 always, 1 without `-q`, 2 with `-v`. `asking`, `waiting`, `calling`, `answered` and
//!   `ended` show fixed points of the loop.
//! - cli/report.rs: `keep` takes note of how far an agent is, for the end of the run.
//! - tools/schema.rs: a `Definition` is a tool as the models read it. `plain_tools` are those that any
//!   agent can have, `lead_tools` the lead's own. `offered` checks that a call is of a tool on the
//!   agent's list; `parse` makes a call a type.
//! - tools/clip.rs: `clean` takes control characters and the key (`KEY`) out of a text, `redact` only
//!   the key; `cut` leaves out the middle of one that is longer than `LIMIT`.
//! - tools/files.rs: `Files` is what an agent knows of the files it has seen.
//! - tools/paths.rs: `tail` and `append` are for the memory's file.
//! - roles/presets.rs: `load`, `menu` and `advise` of `Roles`: the presets read, in words, and what
//!   the person is told of a role without one.
//! - subagent/place.rs: `describe` says in a system prompt where and when it is.
//! - cli/args.rs: `Args` is the command line. cli/clock.rs has the local time.
//! - model.rs: `message` makes a message of the conversation.
//! - The crates: `anyhow` for errors (`bail!` and `ensure!` return one), `thiserror` for one with
//!   kinds; `serde` makes types of JSON and JSON of types, `serde_json` has JSON itself (a `Value` is
//!   any piece of it, `json!` makes one, `from_str` reads one); `fs_err` is std's `fs` and `File` with
//!   errors that name the path; `clap` for options.

pub mod agent;
pub mod tools;
pub mod subagent;
pub mod roles;
pub mod memory;
pub mod model;
pub mod cli;
