//! The command line; `main` calls `run`, and only here does the program exit.

use std::{env, iter, process::exit};

use anyhow::{Context, Result, ensure};

use agent_subagent::cli::{args::Args, console};
use agent_subagent::model::{Model, http::Server, script::start_recording};
use agent_subagent::tools::{clip, sandbox, shell};
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
    let memory = if args.demo || args.no_memory { None } else { memory::open(&args.memory) };
    args.record.as_deref().map_or(Ok(()), start_recording)?;

    // Files outside the working directory are open by now, and no thread has started yet.
    sandbox::raise(args.no_sandbox, &args.allow_write)?;
    ctrlc::set_handler(|| {
        let _held = shell::sweep();
        exit(130);
    })?;
    let server = || Server::new(&args.base_url, &key, args.timeout).map(Model::Server);
    let model = script.map_or_else(server, |script| Ok(Model::Script(script)))?;
    let team = Team { args, model, roles, ended: <_>::default() };
    let lead = team.lead(&task, &memory.as_ref().map_or(String::new(), memory::recall));
    memory.inspect(|file| memory::remember(file, &task, &lead));
    Ok(iter::once(lead).chain(team.ended.into_inner()).collect())
}
