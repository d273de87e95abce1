//! bash: a command ends when its shell ends, or at a limit, and is swept away when the run ends.
//!
//! One pipe takes stdout and stderr, so that they stay in order. Whatever the shell leaves in the
//! background keeps that pipe open, and may print for ever, so the end of the pipe says nothing
//! about the end of the shell. Who hears of that, `reap`, writes its status into a second pipe, which
//! wakes us; what stands in the first one then is the rest of the result. A file in place of the pipe
//! would not do: `echo x > /dev/stderr` cuts a file to nothing.
//!
//! What a shell leaves behind becomes a child of this process (on Linux, `sandbox` asks for that),
//! so that nothing can hide from the sweep at the end. It has to be waited for as well: `reap` waits
//! for all.

use std::ffi::{CString, OsString};
use std::fs::DirBuilder;
use std::io::{PipeWriter, copy, pipe, sink};
use std::os::unix::{fs::DirBuilderExt, prelude::*};
use std::process::{ExitStatus, id};

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal::SIGPIPE};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ioctl_fionbio, ioctl_fionread, retry_on_intr};
use rustix::process::{Pid, Signal, getuid, kill_process, kill_process_group};
use rustix::process::{WaitOptions, wait};

use crate::cli::prelude::*;

/// In the environment of every command: it tells a nested run that it is one.
pub const MARK: &str = "AGENT_SUBAGENT_RUN";
/// In `spawn.h`: a new session. The crate has no name for it.
const SETSID: i32 = if cfg!(target_os = "macos") { 0x400 } else { 0x80 };
/// Seconds that a command may take when the model does not say; at most five times as many.
const TIMEOUT: u64 = 120;
/// Bytes of output after which a command is ended.
const MOST_OUTPUT: usize = 1 << 30;
/// Between asking processes to end and ending them.
const GRACE: Duration = Duration::from_millis(500);
/// For all processes to be gone at the end of the run.
const SWEEP: Duration = Duration::from_secs(2);

/// The shells that run, each with the pipe for its status. Held while one starts, and by the sweep.
static SHELLS: Mutex<BTreeMap<i32, PipeWriter>> = Mutex::new(BTreeMap::new());

/// Runs a command in the working directory; `timeout` in seconds. Gives what it printed, or an
/// error that begins with how it ended, of which it hears once `signals::watch` is at work.
pub fn bash(command: &str, timeout: Option<u64>) -> Result<String> {
    let limit = Duration::from_secs(timeout.unwrap_or(TIMEOUT).clamp(1, 5 * TIMEOUT));
    // We keep the writing end too: a shell that closes its own is not yet over.
    let ((mut output, ours), (mut ended, end)) = (pipe()?, pipe()?);
    let mut shells = SHELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let group = start_bash(command, &ours).context("cannot start bash")?;
    shells.insert(group.as_raw_pid(), end);
    drop(shells);

    // Others may read from this pipe as well: what was there when we looked may be gone.
    ioctl_fionbio(&output, true)?;
    let (start, mut stopped) = (Instant::now(), None);
    let (mut kept, mut dropped, mut chunk) = (Vec::new(), 0, vec![0; 64 * 1024]);
    loop {
        let left = limit.saturating_sub(start.elapsed());
        let wait = if stopped.is_none() { Some(left.try_into()?) } else { None };
        let mut ready = [PollFd::new(&output, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
        retry_on_intr(|| poll(&mut ready, wait.as_ref()))?;
        let [has_output, has_ended] = ready.map(|pipe| !pipe.revents().is_empty());
        if has_ended {
            // All that the shell itself printed is here; what others print goes on.
            let rest = ioctl_fionread(&output)?;
            let _ = output.by_ref().take(rest).read_to_end(&mut kept);
            break;
        }
        if has_output {
            let count = output.read(&mut chunk).unwrap_or(0);
            kept.extend_from_slice(&chunk[..count]);
            if kept.len() > 4 * LIMIT {
                dropped += kept.drain(LIMIT..kept.len() - LIMIT).count();
            }
        }
        if stopped.is_none() && (dropped > MOST_OUTPUT || left.is_zero()) {
            // A group that is gone cannot be signalled, and need not be.
            let _ = kill_process_group(group, Signal::TERM);
            thread::sleep(GRACE);
            let _ = kill_process_group(group, Signal::KILL);
            stopped = Some(if left.is_zero() { "timed out" } else { "printed too much" });
        }
    }
    let (seconds, mut status) = (start.elapsed().as_secs_f64(), [0; 4]);
    ended.read_exact(&mut status)?;
    let status = ExitStatus::from_raw(i32::from_ne_bytes(status));
    // Whoever still prints would stop or die if nobody took it.
    drop(ours);
    if !output.read(&mut chunk).is_ok_and(|count| count == 0) {
        ioctl_fionbio(&output, false)?;
        let _ = thread::Builder::new().spawn(move || copy(&mut output, &mut sink()));
    }
    // A line on how it ended will stand before this.
    let text = cut(&clean(&String::from_utf8_lossy(&kept)), LIMIT - 200, dropped);
    let text = if text.trim().is_empty() { "(no output)" } else { &*text };
    let how = stopped.map(|how| format!("{how}, ended after {seconds:.1} seconds"));
    let how = how.unwrap_or_else(|| status.to_string().replace("status:", "code"));
    ensure!(status.success() && stopped.is_none(), "{how}\n{text}");
    Ok(text.to_owned())
}

/// Starts a shell that writes both its streams to `output`, in a session of its own: there is no
/// terminal to hang on. By `posix_spawn`, since a fork copies the page tables of this process, for
/// what lasted a third of a short command.
fn start_bash(command: &str, output: &PipeWriter) -> Result<Pid> {
    let (mut streams, mut how) = (PosixSpawnFileActions::init()?, PosixSpawnAttr::init()?);
    let (nothing, output) = (File::open("/dev/null")?, output.as_raw_fd());
    for (from, to) in [(nothing.as_raw_fd(), 0), (output, 1), (output, 2)] {
        streams.add_dup2(from, to)?;
    }
    // This program ignores a closed pipe, and may have been started with signals held back; what it
    // starts may count on them.
    how.set_sigdefault(&SigSet::from(SIGPIPE))?;
    how.set_sigmask(&SigSet::empty())?;
    let signals = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    how.set_flags(signals | PosixSpawnFlags::from_bits_retain(SETSID))?;
    let words = [c"bash".into(), c"-c".into(), CString::new(command)?];
    let shell = posix_spawnp(c"bash", &streams, &how, &words, &environment()?)?;
    Pid::from_raw(shell.as_raw()).context("it has no process id")
}

/// The environment of a command: ours, without the key.
fn environment() -> Result<Vec<CString>> {
    let ours = env::vars_os().filter(|(name, _)| name != "OPENAI_API_KEY");
    let cache = npm_cache().map(|cache| ("npm_config_cache".into(), cache.into()));
    let all = ours.chain(cache).chain([(MARK.into(), id().to_string().into())]);
    let line =
        |(name, value): (OsString, OsString)| [name.as_bytes(), value.as_bytes()].join(&b'=');
    all.map(|variable| Ok(CString::new(line(variable))?)).collect()
}

/// A cache for npm inside the walls, if its usual one is not there and could not be made. Nobody else
/// may have made this one: what is in it gets run.
fn npm_cache() -> Option<PathBuf> {
    if env::var_os("npm_config_cache").is_some() || resolve("~/.npm").exists() {
        return None;
    }
    let (owner, temporary) = (getuid().as_raw(), env::temp_dir());
    let cache = temporary.join(format!("npm-{owner}"));
    drop(DirBuilder::new().mode(0o700).create(&cache));
    let there = cache.symlink_metadata().ok()?;
    (there.is_dir() && there.uid() == owner).then_some(cache)
}

/// Waits for the children of this process that have ended, and passes on how the shells among them
/// did. Called at each signal that there may be some; whoever starts a shell holds the list until
/// the shell is in it.
pub fn reap() {
    let mut shells = SHELLS.lock().unwrap_or_else(PoisonError::into_inner);
    while let Ok(Some((child, status))) = wait(WaitOptions::NOHANG) {
        if let Some(mut end) = shells.remove(&child.as_raw_pid()) {
            let _ = end.write_all(&status.as_raw().to_ne_bytes());
        }
    }
}

/// Ends every command of this run and all that it left behind. No command starts while the result,
/// which is the lock, is kept.
pub fn sweep() -> MutexGuard<'static, BTreeMap<i32, PipeWriter>> {
    let shells = SHELLS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in shells.keys().filter_map(|shell| Pid::from_raw(*shell)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let start = Instant::now();
    // The children of what is killed come to us; the last round finds that there are none.
    while start.elapsed() < SWEEP
        && let Ok(ended) = wait(WaitOptions::NOHANG)
    {
        let left = if ended.is_none() { children() } else { Vec::new() };
        left.iter().map(|child| kill_process(*child, Signal::KILL)).for_each(drop);
    }
    shells
}

/// The children of this process, where the system has them in `/proc`.
fn children() -> Vec<Pid> {
    let parent = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = all.filter(move |entry| parent(entry) == Some(id()));
    ours.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}
