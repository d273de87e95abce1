//! The command line; `main` calls `run`, and only here does the program exit.

use std::{env, path::PathBuf, process::exit};

use anyhow::{Context, Result, ensure};

use agent_subagent::cli::{args::Args, console, report};
use agent_subagent::model::{Model, http::Server, script::start_recording};
use agent_subagent::tools::{clip, paths, sandbox, shell};
use agent_subagent::{agent::End, agent::Outcome, memory, roles::Roles, subagent::Team};

fn main() {
    let args: Args = clap::Parser::parse();
    console::setup(1 + u8::from(args.verbose) - u8::from(args.quiet));
    let error = run(&args).err();
    drop(shell::sweep());
    exit(report::print(args.json, error));
}

/// Everything from the options to the answer. An error here stops the start; once the first request
/// is out, whatever happens to an agent is an outcome, and goes into the report.
fn run(args: &Args) -> Result<()> {
    ensure!(env::var_os(shell::MARK).is_none(), "a run of agent-subagent cannot start another one");
    fs_err::canonicalize(&args.workdir).and_then(env::set_current_dir).context("--workdir")?;
    let key = env::var("OPENAI_API_KEY").unwrap_or_default();
    clip::KEY.get_or_init(|| key.trim().to_owned());
    let roles = Roles::load(args.roles.as_deref())?;
    if args.list_roles {
        report::keep(Outcome { text: roles.menu(), ..Outcome::default() });
        return Ok(());
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
        // Held until the exit, so that no command starts any more.
        let _held = shell::sweep();
        exit(report::print(as_json, Some(End::Interrupted.into())));
    })?;
    let model = match script {
        Some(script) => Model::Script(script),
        None => Model::Server(Server::new(&args.base_url, &key, args.timeout)?.into()),
    };
    let team = Team { args, model, roles, children: <_>::default() };
    let lead = match &args.role {
        Some(role) => team.specialist(0, role, &task),
        None => team.lead(&task, &memory.as_ref().map_or(String::new(), memory::recall)),
    };
    memory.inspect(|file| memory::remember(file, &task, &lead));
    Ok(())
}
