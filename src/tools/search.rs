//! glob and grep, inside this process: a pattern is only ever a pattern, never part of a command.

use glob::{MatchOptions, Pattern};
use regex::Regex;
use walkdir::{DirEntry, WalkDir};

use crate::cli::prelude::*;

/// Folders of files that nobody wrote. They are searched when a pattern or path names them.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
/// Results that are shown; the rest is counted.
const SHOWN: usize = 200;

/// Paths that match, newest first, ties by name.
pub fn glob(pattern: &str) -> Result<String> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let whole = resolve(pattern);
    let pattern = &whole.strip_prefix(".").unwrap_or(&whole).to_string_lossy();
    let matcher = Pattern::new(pattern)?;
    // All that can match lies below the part before the first wildcard.
    let fixed = pattern.split_inclusive('/').take_while(|part| !part.contains(['*', '?', '[']));
    let fixed: String = fixed.collect();
    let found = walk(&fixed, pattern)?.filter(|path| matcher.matches_path_with(path, options));
    let dated = |path: PathBuf| (path.metadata().and_then(|file| file.modified()).ok(), path);
    let mut found: Vec<_> = found.map(dated).collect();
    found.sort_by(|(a, left), (b, right)| b.cmp(a).then(left.cmp(right)));
    Ok(list(found.iter().map(|(_, path)| path.display().to_string()).collect()))
}

/// Lines that match, as `path:line:text`.
pub fn grep(pattern: &str, path: Option<&str>) -> Result<String> {
    let (matcher, path, mut found) = (Regex::new(pattern)?, path.unwrap_or_default(), Vec::new());
    for path in walk(path, path)? {
        // A file that is binary, or cannot be read, has no lines to show.
        let hits = lines(&path).into_iter().flatten().filter(|(_, line)| matcher.is_match(line));
        found.extend(hits.map(|(number, line)| format!("{}:{number}:{line}", path.display())));
    }
    Ok(list(found))
}

/// The files below a folder, in order of name. Links are listed but not followed, so none can lead
/// in a circle.
fn walk(start: &str, named: &str) -> Result<impl Iterator<Item = PathBuf>> {
    let start = resolve(if start.is_empty() { "." } else { start });
    fs::metadata(&start)?;
    let all = named.split('/').any(|part| SKIPPED.contains(&part));
    let skip = |entry: &DirEntry| SKIPPED.iter().any(|name| entry.file_name() == *name);
    let wanted = move |entry: &DirEntry| all || entry.depth() == 0 || !skip(entry);
    let entries = WalkDir::new(start).sort_by_file_name().into_iter().filter_entry(wanted);
    let files = entries.flatten().map(DirEntry::into_path).filter(|path| path.is_file());
    Ok(files.map(|path| path.strip_prefix("./").unwrap_or(&path).to_owned()))
}

fn list(mut found: Vec<String>) -> String {
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    found.extend((more > 0).then(|| format!("({more} more: narrow the pattern or the path)")));
    if found.is_empty() { "no matches".to_owned() } else { found.join("\n") }
}
