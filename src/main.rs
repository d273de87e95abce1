//! The command line; `main` calls `run`, and only here does the program exit.

use std::{env, iter, path::PathBuf, process::exit};

use anyhow::{Context, Result, anyhow, ensure};

use agent_subagent::cli::{args::Args, console};
use agent_subagent::model::{Model, http::Server, script::start_recording};
use agent_subagent::tools::{clip, paths, sandbox, shell};
use agent_subagent::{agent::Outcome, memory, roles::Roles, subagent::Team};

fn main() {
    let args: Args = clap::Parser::parse();
    console::setup(1 + u8::from(args.verbose) - u8::from(args.quiet));
    let result = run(&args);
    drop(shell::sweep());
    exit(console::print(args.json, result));
}

/// Everything from the options to the answer: what is left of the lead, then of its children. An
/// error here stops the start; once the first request is out, whatever happens is an outcome.
fn run(args: &Args) -> Result<Vec<Outcome>> {
    ensure!(env::var_os(shell::MARK).is_none(), "a run of agent-subagent cannot start another one");
    fs_err::canonicalize(&args.workdir).and_then(env::set_current_dir).context("--workdir")?;
    let key = env::var("OPENAI_API_KEY").unwrap_or_default();
    clip::KEY.get_or_init(|| key.trim().to_owned());
    let roles = Roles::load(args.roles.as_deref())?;
    if args.list_roles {
        return Ok(vec![Outcome { text: roles.menu(), ..Outcome::default() }]);
    }
    let script = args.script()?;
    let task = args.task(script.as_ref())?;
    let forgets = args.demo || args.no_memory || args.role.is_some();
    let file = |path: &PathBuf| paths::own_file(path).map_err(memory::warn).ok();
    let memory = Some(&args.memory).filter(|_| !forgets).and_then(file);
    args.record.as_deref().map_or(Ok(()), start_recording)?;

    // Files outside the working directory are open by now, and no thread has started yet.
    sandbox::raise(args.no_sandbox, &args.allow_write)?;
    let as_json = args.json;
    ctrlc::set_handler(move || {
        let _held = shell::sweep();
        console::print(as_json, Err(anyhow!("interrupted")));
        exit(130);
    })?;
    let model = match script {
        Some(script) => Model::Script(script),
        None => Model::Server(Server::new(&args.base_url, &key, args.timeout)?.into()),
    };
    let team = Team { args, model, roles, ended: <_>::default() };
    let recalled = memory.as_ref().map_or(String::new(), memory::recall);
    let direct = args.role.as_ref().map(|role| team.specialist(0, role, &task));
    let lead = direct.unwrap_or_else(|| team.lead(&task, &recalled));
    memory.inspect(|file| memory::remember(file, &task, &lead));
    let ended = team.ended.into_inner()?.into_values();
    Ok(iter::once(lead).chain(ended).collect())
}
