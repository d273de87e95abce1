//! Signals: one thread hears of children that end, and of whoever wants the run to end.

use std::process::exit;

use nix::sys::signal::SigSet;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::cli::prelude::*;
use crate::tools::shell;

/// From here on children that end are waited for, and Ctrl-C, SIGTERM and SIGHUP end the run, with
/// what there is. Must come before the first command.
pub fn watch(as_json: bool) -> Result<()> {
    // `nohup` has SIGHUP ignored, and so it stays: the lowest bit of a set in hexadecimal digits.
    let odd = |digit: char| digit.to_digit(16).is_some_and(|digit| digit % 2 == 1);
    let nohup = |line: &str| line.starts_with("SigIgn:") && line.ends_with(odd);
    let nohup = fs::read_to_string("/proc/self/status").is_ok_and(|all| all.lines().any(nohup));
    let hangup = if nohup { None } else { Some(SIGHUP) };
    // SIGXFSZ only so that a file beyond its limit is an error of whoever writes it, not the end.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD, SIGXFSZ].into_iter().chain(hangup))?;
    // Whoever started this program may have held them back.
    SigSet::all().thread_unblock()?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            if [SIGCHLD, SIGXFSZ].contains(&signal) {
                shell::reap();
                continue;
            }
            // Held until the exit, so that no command starts any more.
            let _held = shell::sweep();
            exit(report::print(as_json, Some(End::Interrupted.into())));
        }
    })?;
    Ok(())
}
