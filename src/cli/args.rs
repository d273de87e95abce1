//! The command line, and what it asks for.

use std::io::{IsTerminal, stdin};
use std::num::NonZeroUsize;

use clap::{CommandFactory, Parser, value_parser};

use crate::cli::prelude::*;
use crate::model::{http::DEFAULT_BASE, script::Script, script::start_recording};
use crate::{cli::picture, memory};

const MODEL: &str = "gpt-4o-mini";
const MEMORY: &str = "memory/agent_memory.md";

/// A lead agent that hands pieces of its work to specialists, over any OpenAI-compatible server.
///
/// The answer goes to stdout, everything else to stderr.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = include_str!("help.txt"))]
pub struct Args {
    /// What to do: words are joined by spaces; `-`, or no words and a pipe, reads it from stdin
    task: Vec<String>,

    /// Model to ask
    #[arg(short, long, value_name = "NAME", env = "OPENAI_MODEL", default_value = MODEL, help_heading = "Model")]
    pub model: String,
    /// Server to ask; usually ends in /v1
    #[arg(long, value_name = "URL", env = "OPENAI_BASE_URL", default_value = DEFAULT_BASE, hide_env_values = true, help_heading = "Model")]
    pub base_url: String,
    /// Seconds that one request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = value_parser!(u64).range(1..), help_heading = "Model")]
    pub timeout: u64,
    /// Watch a scripted team build todo-app/: only the model's words are scripted; -v adds a guided tour
    #[arg(long, conflicts_with_all = ["task", "replay"], help_heading = "Recordings")]
    pub demo: bool,
    /// Write every exchange with the model into a file, as lines of JSON
    #[arg(long, value_name = "FILE", help_heading = "Recordings")]
    pub record: Option<PathBuf>,
    /// Play such a file back through the real tools, without a server
    #[arg(long, value_name = "FILE", help_heading = "Recordings")]
    pub replay: Option<PathBuf>,
    /// Draw the run as a page to look at in a browser
    #[arg(long, value_name = "FILE.html", help_heading = "Recordings")]
    pub picture: Option<PathBuf>,

    /// Most turns of the lead, and of each specialist: 10 to 30
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(10..=30), help_heading = "Specialists")]
    pub max_turns: u32,
    /// Most specialists at once
    #[arg(short, long, value_name = "N", default_value = "4", help_heading = "Specialists")]
    pub jobs: NonZeroUsize,
    /// Run this one specialist directly, without a lead
    #[arg(long, value_name = "NAME", conflicts_with = "demo", value_parser = |name: &str| Some(name.trim().to_owned()).filter(|name| !name.is_empty()).ok_or("it names nobody"), help_heading = "Specialists")]
    pub role: Option<String>,
    /// Folder with presets of your own [default: ./roles, if there is one]
    #[arg(long, value_name = "DIR", help_heading = "Specialists")]
    pub roles: Option<PathBuf>,
    /// Show the presets, what each is for and where it comes from
    #[arg(long, help_heading = "Specialists")]
    pub list_roles: bool,
    /// What the lead remembers from run to run
    #[arg(long, value_name = "FILE", default_value = MEMORY, help_heading = "Memory")]
    pub memory: PathBuf,
    /// Remember nothing, neither read nor write
    #[arg(long, help_heading = "Memory")]
    pub no_memory: bool,

    /// Work in this folder; every relative path starts from it
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".", help_heading = "Files")]
    pub workdir: PathBuf,
    /// Let tools write below this folder too; may be given more than once
    #[arg(long, value_name = "DIR", help_heading = "Files")]
    pub allow_write: Vec<PathBuf>,
    /// Let tools write wherever you can
    #[arg(long, help_heading = "Files")]
    pub no_sandbox: bool,

    /// Print one JSON object instead of the answer, also when the run fails
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Show every request: who asks, with how many messages, tools and bytes
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: bool,
    /// Show warnings and errors only
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

impl Args {
    /// Opens the files that the run itself will write: recording and picture, and what it gives,
    /// the lead's memory, unless it does without. Trouble with that one is a warning.
    pub fn open_files(&self) -> Result<Option<File>> {
        let files = [&self.record, &self.picture, &self.replay].into_iter().flatten();
        let files = files.chain([&self.memory]).map(absolute).collect::<Result<Vec<_>, _>>()?;
        let different = files.iter().collect::<HashSet<_>>().len() == files.len();
        ensure!(different, "--memory, --record, --replay and --picture need a file each");
        let there = |folder: &PathBuf| fs::metadata(folder).map(drop);
        self.allow_write.iter().try_for_each(there).context("--allow-write")?;
        self.record.as_deref().map_or(Ok(()), start_recording)?;
        self.picture.as_deref().map_or(Ok(()), picture::start)?;
        let without = self.demo || self.no_memory || self.role.is_some();
        let file = (!without).then(|| own_file(&self.memory).map_err(memory::warn));
        Ok(file.and_then(Result::ok))
    }

    /// The recording to play, if any: the one that ships in the binary, or a file.
    pub fn script(&self) -> Result<Option<Script>> {
        if self.demo {
            // Whether it can be made at all; who makes it is the first specialist.
            let made = fs::create_dir("todo-app").and_then(|()| fs::remove_dir("todo-app"));
            made.context("remove todo-app, or work elsewhere with -C")?;
            tell(1, include_str!("demo.txt"));
            console::TOUR.store(0, Relaxed);
            return Script::parse(include_str!("demo.jsonl")).map(Some);
        }
        // A crash may have cut it in the middle of a character.
        let text = self.replay.as_ref().map(fs::read).transpose()?;
        let text = text.as_deref().map(String::from_utf8_lossy);
        text.as_deref().map(Script::parse).transpose().context("--replay")
    }

    /// The task in words: from the command line, the recording that is played, or stdin. Stdin is
    /// not touched when there are words, since it may be a pipe that nobody closes.
    pub fn task(&self, script: Option<&Script>) -> Result<String> {
        let words = self.task.join(" ");
        let piped = words.is_empty() && script.is_none() && !stdin().is_terminal();
        let wanted = piped || words == "-";
        let read = || stdin().lock().bytes().collect::<Result<_, _>>().context("stdin");
        let bytes = if wanted { read()? } else { words.into_bytes() };
        // A diff may hold text in any encoding.
        let task = String::from_utf8_lossy(&bytes).into_owned();
        let task = Some(task).filter(|task| !task.trim().is_empty());
        let task = task.or_else(|| script.and_then(Script::task));
        task.with_context(|| format!("no task (see --help)\n\n{}", Args::command().render_usage()))
    }
}
