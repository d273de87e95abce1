//! Signals: one thread hears of children that end, and of whoever wants the run to end.

use std::process::exit;

use nix::sys::signal::SigSet;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::prelude::*;
use crate::tools::shell;

/// From here on children that end are waited for, and Ctrl-C, SIGTERM and SIGHUP end the run, with
/// what there is. Must come before the first command.
pub fn watch(as_json: bool) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGCHLD])?;
    // Whoever started this program may have held them back.
    SigSet::all().thread_unblock()?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            if signal == SIGCHLD {
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
