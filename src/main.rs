//! The command line; `main` calls `run`. Only here, and at an interrupt, does a run exit; clap does
//! so before it, for `--help` and options that it does not know.

use std::process::exit;

use agent_subagent::cli::{prelude::*, signals};
use agent_subagent::{memory, model::http::Server, subagent::Team, tools::sandbox, tools::shell};

fn main() {
    let args: Args = clap::Parser::parse();
    console::setup(1 + u8::from(args.verbose) - u8::from(args.quiet));
    let error = run(&args).err();
    // What commands left in the background ends with the run.
    drop(shell::sweep());
    // The answer is not handed over here: each agent leaves its outcome with `report::keep` on its
    // way, and that of number 0 is the run's.
    exit(report::print(args.json, error));
}

/// Everything from the options to the answer. An error here stops the start; once the first request
/// is out, whatever happens to an agent is an outcome, and goes into the report.
fn run(args: &Args) -> Result<()> {
    ensure!(env::var_os(shell::MARK).is_none(), "a run of agent-subagent cannot start another one");
    fs_err::canonicalize(&args.workdir).and_then(env::set_current_dir).context("--workdir")?;
    let key = env::var_os("OPENAI_API_KEY").unwrap_or_default().to_string_lossy().into_owned();
    // `redact` looks for it in every text that leaves the program.
    KEY.get_or_init(|| key.trim().to_owned());
    // The walls ask for it; so does whoever opens a file of ours, since an earlier run may have left
    // a link in a folder where it could write.
    sandbox::EXTRA.get_or_init(|| args.allow_write.clone());
    let roles = Roles::load(args.roles.as_deref())?;
    if args.list_roles {
        // The answer of this run, though nobody was asked.
        report::keep(Outcome { text: roles.menu(), ..Outcome::default() });
        return Ok(());
    }
    let script = args.script()?;
    let task = args.task(script.as_ref())?;
    // Opens the recording and the picture as well, if there are to be any, and gives the memory.
    let memory = args.open_files()?;

    // Files of ours that lie elsewhere are open by now. The walls hold for this thread and those that
    // it starts: there are no others yet.
    sandbox::raise(args.no_sandbox)?;
    signals::watch(args.json)?;
    let model = match script {
        Some(script) => Model::Script(script),
        None => Model::Server(Server::new(&args.base_url, &key, args.timeout)?),
    };
    let team = Team { args, model, roles, children: AtomicUsize::new(0) };
    let lead = match &args.role {
        Some(role) => team.specialist(0, role, &task),
        None => team.lead(&task, &memory.as_ref().map_or(String::new(), memory::recall)),
    };
    memory.inspect(|file| memory::remember(file, &task, &lead));
    Ok(())
}
