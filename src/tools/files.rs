//! read, write and edit: numbered lines, and changes that happen fully or not at all.

use std::{fs::Metadata, io::ErrorKind, os::unix::fs::MetadataExt, time::SystemTime};

use atomic_write_file::AtomicWriteFile;
use memchr::{memchr, memmem, memrchr};

use crate::cli::prelude::*;

/// Lines that `read` gives when it is not told how many.
const LINES: usize = 2000;
/// Bytes of a line that are shown.
const SHOWN_LINE: usize = 2000;
/// Bytes of a file that `edit` takes into memory.
const LARGEST: u64 = 16 << 20;
/// Lines among which an edit that fits nowhere looks for the nearest one.
const COMPARED: usize = 20_000;

/// Held while a file changes: of edits that agents make at the same time, none is lost.
static CHANGING: Mutex<()> = Mutex::new(());

/// Inode, size and time: what tells one state of a file from the next.
type Stamp = (u64, u64, SystemTime);

/// Files as one agent knows them: in which state it last read or wrote each.
#[derive(Default)]
pub struct Files(Mutex<BTreeMap<PathBuf, Option<Stamp>>>);

impl Files {
    /// Lines with their numbers, from `offset` (counting from 1), at most `limit` of them.
    pub fn read(&self, path: &str, offset: Option<usize>, limit: Option<usize>) -> Result<String> {
        let (first, limit) = (offset.unwrap_or(1).max(1), limit.unwrap_or(LINES));
        let (mut text, mut count) = (String::new(), 0);
        let lines = lines(&resolve(path))?;
        self.note(&target(path)?);
        for (number, line) in lines {
            if number < first {
                count = number;
                continue;
            }
            let line = format!("{number}\t{}\n", cut(&line, SHOWN_LINE, 0));
            let full = !text.is_empty() && text.len() + line.len() > LIMIT - 200;
            if full || number >= first.saturating_add(limit) {
                return Ok(format!("{text}(there is more: go on with offset {number})"));
            }
            text += &line;
            count = number;
        }
        ensure!(count == 0 || count >= first, "{path} has only {count} lines");
        Ok(if count == 0 { format!("({path} is empty)") } else { text })
    }

    /// Replaces a file or makes it, together with its folders; not one that has changed since this
    /// agent last saw it.
    pub fn write(&self, path: &str, content: &str) -> Result<String> {
        let _held = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = target(path)?;
        ensure!(!self.changed(&file), "{path} has changed since you saw it: read it, then write");
        self.replace(path, &file, content.as_bytes())
    }

    /// Replaces the one place where `old` stands. Line ends are those of the place, whichever kind
    /// the texts have: `\n` and CRLF look alike to a model.
    pub fn edit(&self, path: &str, old: &str, new: &str) -> Result<String> {
        let [old, new] = [old, new].map(|text| text.replace("\r\n", "\n"));
        ensure!(!old.is_empty(), "old_string is empty: to write a whole file, use write");
        ensure!(old != new, "old_string and new_string are the same: nothing would change");
        let _held = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = target(path)?;
        ensure!(fs::metadata(regular(&file)?)?.len() <= LARGEST, "{path} is too large: use bash");
        let text = fs::read(&file)?;
        let plain = plain(&text);
        let Some(at) = memmem::find(&plain, old.as_bytes()) else {
            let (plain, first) = (String::from_utf8_lossy(&plain), old.trim().lines().next());
            let lines = (1..).zip(plain.lines()).map(|(at, line)| format!("{at}\t{line}"));
            let near = nearest(first.unwrap_or(&old), lines.take(COMPARED));
            bail!("old_string is not in {path} (line numbers are not part of the file){near}");
        };
        // Places may overlap.
        if memmem::find(&plain[at + 1..], old.as_bytes()).is_some() {
            let count = memmem::find_iter(&plain, &old).count().max(2);
            bail!("old_string is {count} times in {path}: add lines around it");
        }
        // Lines that stay the same at the beginning and the end keep the ends they have.
        let head = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let head = memrchr(b'\n', &old.as_bytes()[..head]).map_or(0, |at| at + 1);
        let most = old.len().min(new.len()) - head;
        let back = old.bytes().rev().zip(new.bytes().rev()).take(most);
        let tail = old.len() - back.take_while(|(old, new)| old == new).count();
        let tail = memchr(b'\n', &old.as_bytes()[tail..]).map_or(old.len(), |at| tail + at + 1);
        let new = new.split_at(new.len() + tail - old.len()).0.split_at(head).1;
        let [start, end] = [at + head, at + tail].map(|at| place(&text, at));
        let newline = memchr(b'\n', &text[start..]).map(|at| start + at);
        let newline = newline.or_else(|| memrchr(b'\n', &text[..start]));
        let crlf = newline.is_some_and(|at| text[..at].ends_with(b"\r"));
        let new = if crlf { new.replace('\n', "\r\n") } else { new.to_owned() };
        self.replace(path, &file, &[&text[..start], new.as_bytes(), &text[end..]].concat())
    }

    /// The old file, its mode and its owner are there until the new one is finished, so that a
    /// crash or a full disk leaves the one or the other. Only a file that has several names, or
    /// another owner, is written where it is, so that it stays the same file.
    fn replace(&self, path: &str, file: &Path, content: &[u8]) -> Result<String> {
        let known = !self.changed(file);
        let old = if file.exists() { Some(fs::metadata(regular(file)?)?) } else { None };
        let locked = old.as_ref().is_some_and(|old| old.permissions().readonly());
        ensure!(!locked, "{path} is read-only");
        let me = rustix::process::geteuid();
        let whose = |old: &Metadata| !me.is_root() && old.uid() != me.as_raw();
        let done = if let Some(old) = old.filter(|old| old.nlink() > 1 || whose(old)) {
            let before = if old.len() <= LARGEST { Some(fs::read(file)?) } else { None };
            let failed = |_: &_| drop(before.map(|before| fs::write(file, before)));
            fs::write(file, content).inspect_err(failed)
        } else {
            let folder = fs::create_dir_all(file.parent().unwrap_or(file));
            let new = folder.and_then(|()| AtomicWriteFile::open(file));
            new.and_then(|mut new| new.write_all(content).and_then(|()| new.commit()))
        };
        let refused = done.as_ref().is_err_and(|why| why.kind() == ErrorKind::PermissionDenied);
        let help = if refused { " (see --allow-write)" } else { "" };
        done.with_context(|| format!("cannot write {}{help}", file.display()))?;
        if known {
            self.note(file);
        }
        Ok(format!("wrote {} bytes to {path}", content.len()))
    }

    fn note(&self, file: &Path) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(file.to_owned(), stamp(file));
    }

    fn changed(&self, file: &Path) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.exists() && known.get(file).is_some_and(|seen| *seen != stamp(file))
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = file.metadata().ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

/// The text with each CRLF as a plain line end.
fn plain(text: &[u8]) -> Vec<u8> {
    let kept = |at: &usize| !text[*at..].starts_with(b"\r\n");
    (0..text.len()).filter(kept).map(|at| text[at]).collect()
}

/// Where in the text that stands which is at `at` in its plain form.
fn place(text: &[u8], at: usize) -> usize {
    (0..at).fold(0, |place, _| place + 1 + usize::from(text[place..].starts_with(b"\r\n")))
}
