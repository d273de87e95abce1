//! The walls: from here on this process and all that it starts can write in a few places only.
//!
//! The kernel keeps them (Landlock), so no clever command gets past. Does not stop reading, the
//! network, or a daemon outside that writes for whoever asks it.

use crate::cli::prelude::*;

/// Writable besides the temporary directory: the working directory, devices that a shell needs, and
/// the caches of package managers, which fail without them in ways that a model spends its turns
/// on. Terminals are there for all but root, who could type into them.
const WRITABLE: &str =
    ". /dev/null /dev/zero /dev/full /dev/tty /dev/ptmx /dev/shm ~/.cache ~/.npm";

/// What `--allow-write` adds; set before a file is opened and the walls go up.
pub static EXTRA: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// All places inside the walls, whether there is something or not.
pub fn writable() -> Vec<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map_or_else(|| resolve("~/.cargo"), PathBuf::from);
    let mut all = vec![env::temp_dir(), cargo.join("registry"), cargo.join("git")];
    all.extend(WRITABLE.split_whitespace().map(resolve));
    all.extend((!rustix::process::getuid().is_root()).then(|| "/dev/pts".into()));
    all.extend(EXTRA.get().into_iter().flatten().cloned());
    all
}

/// Keeps other processes from reading our memory and environment, where the key is; and unless
/// `open`, puts up the walls. Must come before any thread starts: older threads stay outside. Where
/// the kernel has no walls, or not all of them, a warning says so.
pub fn raise(open: bool) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_child_subreaper, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        // What a command leaves behind becomes our child, for `shell` to end.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
    }
    if open {
        return Ok(());
    }
    let planted = |folder: &PathBuf| !folder.starts_with("/dev") && planted(folder).unwrap_or(true);
    let (left_out, writable): (Vec<_>, Vec<_>) = writable().into_iter().partition(planted);
    for folder in left_out {
        let why = "is or is below a link that a command may have made: no writing there";
        tell(0, &format!("warning: {} {why}", folder.display()));
    }
    let open = |why| tell(0, &format!("warning: {why}: commands can write wherever you can"));
    confine(&writable).unwrap_or_else(open);
    Ok(())
}

#[cfg(target_os = "linux")]
fn confine(writable: &[PathBuf]) -> Result<()> {
    use landlock::{ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus};
    // The third version has all that writing needs, renames and truncation included.
    let write = AccessFs::from_write(ABI::V3);
    let walls = Ruleset::default().handle_access(write)?.create()?;
    let walls = walls.add_rules(landlock::path_beneath_rules(writable, write))?;
    let kept = walls.restrict_self()?.ruleset;
    ensure!(kept == RulesetStatus::FullyEnforced, "this kernel has no sandbox, or only a part");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn confine(_writable: &[PathBuf]) -> Result<()> {
    anyhow::bail!("this system has no sandbox")
}
