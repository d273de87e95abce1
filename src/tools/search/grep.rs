//! grep: files are searched whole, a piece at a time, on all cores; lines are looked for where the
//! pattern was found.

use std::cell::Cell;
use std::thread::{Builder, available_parallelism};

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use walkdir::DirEntry;

use super::{SHOWN, list, shown, walk};
use crate::cli::prelude::*;

/// Bytes of a line that are shown.
const SHOWN_LINE: usize = 400;
/// Bytes of a file that are in memory. A longer line is searched in pieces of this size.
const PIECE: usize = 1 << 20;
/// Files that are searched before their results are put in order.
const BATCH: usize = 128;

/// Lines that match, as `path:line:text`, in order of path. Links on the way are passed over.
pub fn grep(pattern: &str, path: Option<&str>) -> Result<String> {
    let newline = pattern.contains('\n') || pattern.contains("\\n") && !pattern.contains("[^");
    ensure!(!newline, "a pattern is looked for within each line: it cannot hold a line end");
    let anywhere = RegexBuilder::new(pattern).multi_line(true).crlf(true).build()?;
    let matchers = [anywhere, Regex::new(pattern)?];
    let (path, passed) = (path.unwrap_or_default(), Cell::new(false));
    let safe = |entry: &DirEntry| entry.file_type().is_file() || entry.depth() == 0;
    let mut files = walk(path, path, usize::MAX, true, &passed)?.filter(safe);
    let (mut lines, mut count) = (Vec::new(), 0);
    let cores = available_parallelism().map_or(1, usize::from);
    loop {
        let batch: Vec<DirEntry> = files.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return Ok(list(lines, count.max(SHOWN) - SHOWN, &passed));
        }
        let wanted = SHOWN - lines.len();
        let one = |file: &DirEntry| hits(file, &matchers, wanted);
        let search = |part: &[DirEntry]| part.iter().map(one).collect::<Vec<_>>();
        thread::scope(|scope| -> Result<()> {
            let parts = batch.chunks(batch.len().div_ceil(cores));
            let start = |part| Builder::new().spawn_scoped(scope, move || search(part));
            let parts = parts.map(start).collect::<Result<Vec<_>, _>>()?;
            for hits in parts.into_iter().flat_map(|part| part.join().expect("no thread panics")) {
                match hits {
                    Ok((found, number)) => {
                        lines.extend(found.into_iter().take(SHOWN - lines.len()));
                        count += number;
                    }
                    Err(_) => passed.set(true),
                }
            }
            Ok(())
        })?;
    }
}

/// The first `wanted` lines of a file that match, and how many there are in all.
fn hits(entry: &DirEntry, matchers: &[Regex; 2], wanted: usize) -> Result<(Vec<String>, usize)> {
    let named = entry.depth() == 0;
    let mut file = if named { open(entry.path())? } else { File::open(entry.path())? };
    let [anywhere, within] = matchers;
    let (mut lines, mut count, mut number) = (Vec::new(), 0, 1);
    let mut piece = Vec::with_capacity(32 * 1024);
    // A file without a size, as in /proc, may block or never end.
    let mut more = named || file.metadata()?.len() > 0;
    while more {
        let (first, room) = (lines.is_empty() && number == 1, PIECE - piece.len());
        more = Read::by_ref(&mut file).take(room as u64).read_to_end(&mut piece)? == room;
        ensure!(!first || !binary(&piece), "{} is binary", entry.path().display());
        // The last line may go on in the next piece.
        let whole = memrchr(b'\n', &piece).filter(|_| more);
        let text = &piece[..whole.map_or(piece.len(), |end| end + 1)];
        let (mut from, mut counted) = (0, 0);
        while from < text.len()
            && let Some(hit) = anywhere.find_at(text, from)
        {
            let start = memrchr(b'\n', &text[..hit.start()]).map_or(0, |at| at + 1);
            let end = memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at);
            let line = &text[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            from = end + 1;
            // What was found may reach over the end of its line, or lie behind the last one.
            if start < text.len() && within.is_match(line) {
                count += 1;
                if lines.len() < wanted {
                    number += memchr_iter(b'\n', &text[counted..start]).count();
                    counted = start;
                    let line = cut(&String::from_utf8_lossy(line), SHOWN_LINE, 0);
                    lines.push(format!("{}:{number}:{line}", shown(entry)));
                }
            }
        }
        if more {
            number += memchr_iter(b'\n', &text[counted..]).count();
            piece.drain(..text.len());
        }
    }
    Ok((lines, count))
}
