//! glob, and the walk through folders that grep shares. In this process: a pattern is only ever a
//! pattern, never part of a command.

use std::{cell::Cell, cmp::Reverse};

use glob::{MatchOptions, Pattern};
use regex::Regex;
use walkdir::{DirEntry, WalkDir};

use crate::cli::prelude::*;

mod grep;

pub use grep::grep;

/// Folders of files that nobody wrote. They are searched when a pattern or path names them.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
/// Stands below the results if so: nothing is passed over in silence.
const PASSED: &str = "(what is in .git, node_modules or target was passed over, and binary and \
    closed files: name a folder to search it)";
/// Results that are shown; the rest is counted.
const SHOWN: usize = 200;
/// Patterns that the braces of one may stand for.
const MOST_PATTERNS: usize = 1000;

/// Paths that match and are no folders, newest first, ties by name.
pub fn glob(pattern: &str) -> Result<String> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let whole = resolve(pattern);
    let pattern = &whole.strip_prefix(".").unwrap_or(&whole).to_string_lossy();
    let patterns = expand(pattern)?;
    let matches = |path: &str| patterns.iter().any(|one| one.matches_with(path, options));
    // All that can match lies below the part before the first wildcard.
    let literal = |part: &&str| !part.contains(['*', '?', '[', '{']);
    let fixed: String = pattern.split_inclusive('/').take_while(literal).collect();
    let (steps, passed) = (pattern.split_at(fixed.len()).1.split('/').count(), Cell::new(false));
    let depth = if pattern.contains("**") { usize::MAX } else { steps };
    let found = walk(&fixed, pattern, depth, false, &passed)?.map(|entry| (shown(&entry), entry));
    let found = found.filter(|(path, _)| matches(path));
    let time = |entry: DirEntry| entry.path().metadata().and_then(|file| file.modified()).ok();
    let mut found: Vec<_> = found.map(|(path, entry)| (Reverse(time(entry)), path)).collect();
    found.sort_unstable();
    let more = found.len().saturating_sub(SHOWN);
    Ok(list(found.into_iter().take(SHOWN).map(|(_, path)| path).collect(), more, &passed))
}

/// What lies below a path and is no folder, in order of name if `sorted`. Links are listed but not
/// followed, so none can lead in a circle; other file systems are not entered.
fn walk(
    start: &str, named: &str, depth: usize, sorted: bool, passed: &Cell<bool>,
) -> Result<impl Iterator<Item = DirEntry>> {
    let start = resolve(if start.is_empty() { "." } else { start });
    start.symlink_metadata().with_context(|| start.display().to_string())?;
    let named = named.split(['/', '{', ',', '}']).any(|part| SKIPPED.contains(&part));
    let wanted = move |entry: &DirEntry| {
        let skip = entry.file_type().is_dir() && entry.depth() > 0 && !named;
        let skip = skip && SKIPPED.iter().any(|name| entry.file_name() == *name);
        passed.set(passed.get() || skip && entry.depth() < depth);
        !skip
    };
    let all = WalkDir::new(start).max_depth(depth).same_file_system(true);
    let all = if sorted { all.sort_by_file_name() } else { all };
    let open = |entry: walkdir::Result<DirEntry>| entry.map_err(|_| passed.set(true)).ok();
    let all = all.into_iter().filter_entry(wanted).filter_map(open);
    Ok(all.filter(|entry| !entry.file_type().is_dir()))
}

/// The path of what was found, as the model may use it.
fn shown(entry: &DirEntry) -> String {
    entry.path().strip_prefix("./").unwrap_or(entry.path()).to_string_lossy().into_owned()
}

/// A pattern for each choice in braces: `{a,b}.rs` is `a.rs` and `b.rs`.
fn expand(pattern: &str) -> Result<Vec<Pattern>> {
    let braces = Regex::new(r"\{([^{}]*,[^{}]*)\}")?;
    let (mut open, mut patterns) = (vec![pattern.to_owned()], Vec::new());
    while let Some(one) = open.pop() {
        ensure!(open.len() + patterns.len() < MOST_PATTERNS, "too many choices in {pattern}");
        match braces.captures(&one) {
            Some(of) => open.extend(of[1].split(',').map(|choice| one.replacen(&of[0], choice, 1))),
            None => patterns.push(Pattern::new(&one)?),
        }
    }
    Ok(patterns)
}

/// The results as the model reads them, with `more` that are not shown.
fn list(mut shown: Vec<String>, more: usize, passed: &Cell<bool>) -> String {
    shown.extend(shown.is_empty().then(|| "no matches".to_owned()));
    shown.extend((more > 0).then(|| format!("({more} more: narrow the pattern or the path)")));
    shown.extend(passed.get().then(|| PASSED.to_owned()));
    shown.join("\n")
}
