//! bash: a command ends when its shell ends, or at a limit, and is swept away when the run ends.
//!
//! One pipe takes stdout and stderr, so that they stay in order. Whatever the shell leaves in the
//! background keeps that pipe open, and may print for ever, so the end of the pipe says nothing
//! about the end of the shell. A thread waits for the shell and closes a second pipe, which wakes
//! us; what stands in the first one then is the rest of the result. A file in place of the pipe
//! would not do: `echo x > /dev/stderr` cuts a file to nothing.

use std::fs::DirBuilder;
use std::io::{copy, pipe, sink};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::process::{Command, Stdio, id};

use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ioctl_fionbio, ioctl_fionread, retry_on_intr};
use rustix::process::{Pid, Signal, getuid, kill_process};
use rustix::process::{kill_process_group, test_kill_process_group};

use crate::cli::prelude::*;

/// In the environment of every command: it tells a nested run that it is one, and the sweep at the
/// end which processes are ours.
pub const MARK: &str = "AGENT_SUBAGENT_RUN";
/// Seconds that a command may take when the model does not say; at most five times as many.
const TIMEOUT: u64 = 120;
/// Bytes of output after which a command is ended.
const MOST_OUTPUT: usize = 1 << 30;
/// Between asking processes to end and ending them.
const GRACE: Duration = Duration::from_millis(500);

/// The groups of all commands so far. Held while one starts, and by the sweep.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Runs a command in the working directory; `timeout` in seconds. Gives what it printed, or an
/// error that begins with how it ended.
pub fn bash(command: &str, timeout: Option<u64>) -> Result<String> {
    let limit = Duration::from_secs(timeout.unwrap_or(TIMEOUT).clamp(1, 5 * TIMEOUT));
    // We keep the writing end too: a shell that closes its own is not yet over.
    let ((mut output, ours), (ended, end)) = (pipe()?, pipe()?);
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(command).env_remove("OPENAI_API_KEY").env(MARK, id().to_string());
    bash.stdin(Stdio::null()).stdout(ours.try_clone()?).stderr(ours.try_clone()?);
    if let Some(cache) = npm_cache() {
        bash.env("npm_config_cache", cache);
    }
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    // The number of a group that is gone may come to belong to somebody else.
    groups.retain(|group| test_kill_process_group(*group).is_ok());
    // A session of its own has no terminal to hang on. The inner child is the shell alone: waiting
    // for the outer one would be waiting for all that the shell left behind.
    let shell = CommandWrap::from(bash).wrap(ProcessSession).spawn().context("cannot start bash");
    let mut shell = shell?.into_inner();
    let group = Pid::from_raw(shell.id().cast_signed()).context("bash has no process id")?;
    groups.push(group);
    drop(groups);
    let waiting = thread::spawn(move || (shell.wait(), drop(end)).0);

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
    let (seconds, status) = (start.elapsed().as_secs_f64(), waiting.join().expect("no panic")?);
    // Whoever still prints would stop or die if nobody took it.
    ioctl_fionbio(&output, false)?;
    thread::spawn(move || copy(&mut output, &mut sink()));
    // A line on how it ended will stand before this.
    let text = cut(&clean(&String::from_utf8_lossy(&kept)), LIMIT - 200, dropped);
    let text = if text.trim().is_empty() { "(no output)" } else { &*text };
    let how = stopped.map(|how| format!("{how}, ended after {seconds:.1} seconds"));
    let how = how.unwrap_or_else(|| status.to_string().replace("status:", "code"));
    ensure!(status.success() && stopped.is_none(), "{how}\n{text}");
    Ok(text.to_owned())
}

/// A cache for npm inside the walls, if its usual one is not there and could not be made. Nobody else
/// may have made this one: what is in it gets run.
fn npm_cache() -> Option<PathBuf> {
    let cache = env::temp_dir().join(format!("npm-{}", getuid().as_raw()));
    let usual = env::var_os("npm_config_cache").is_some() || resolve("~/.npm").exists();
    if !usual {
        drop(DirBuilder::new().mode(0o700).create(&cache));
    }
    let ours =
        cache.symlink_metadata().is_ok_and(|it| it.is_dir() && it.uid() == getuid().as_raw());
    (!usual && ours).then_some(cache)
}

/// Ends every command of this run and all that it left behind. No command starts while the result,
/// which is the lock, is kept.
pub fn sweep() -> MutexGuard<'static, Vec<Pid>> {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.iter().map(|group| kill_process_group(*group, Signal::KILL)).for_each(drop);
    // What is killed takes a moment to be gone, and may have started something just before.
    let _scans = (0..200).take_while(|_| !groups.is_empty() && kill_marked() > 0).count();
    groups
}

/// Ends what has our mark in its environment, also in groups and sessions of its own, where the
/// system shows environments. Gives how many there were.
fn kill_marked() -> usize {
    let mark = format!("{MARK}={}", id());
    let marked = |all: Vec<u8>| all.split(|byte| *byte == 0).any(|one| one == mark.as_bytes());
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = all.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(marked));
    let pids = ours.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
}
