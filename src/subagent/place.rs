//! What an agent could not know otherwise: where it is, and when.

use crate::cli::prelude::*;

/// Stands in every system prompt; in the lead's, its memory comes after it.
pub fn describe() -> String {
    let (folder, system) = (env::current_dir().unwrap_or_default(), env::consts::OS);
    let date = clock::now().strftime("%Y-%m-%d");
    format!("Working directory: {}\nSystem: {system}\nDate: {date}\n", folder.display())
}
