//! read, write and edit: numbered lines, and changes that happen fully or not at all.

use atomic_write_file::AtomicWriteFile;

use crate::cli::prelude::*;

/// Lines that `read` gives when it is not told how many.
const LINES: usize = 2000;

/// Lines with their numbers, from `offset` (counting from 1), at most `limit` of them.
pub fn read(path: &str, offset: Option<usize>, limit: Option<usize>) -> Result<String> {
    let (first, limit) = (offset.unwrap_or(1).max(1), limit.unwrap_or(LINES));
    let (mut text, mut count) = (String::new(), 0);
    for (number, line) in lines(&resolve(path))? {
        let full = !text.is_empty() && text.len() + line.len() > LIMIT - 200;
        if full || number >= first.saturating_add(limit) {
            return Ok(format!("{text}(there is more: go on with offset {number})"));
        }
        if number >= first {
            text += &format!("{number}\t{line}\n");
        }
        count = number;
    }
    ensure!(count == 0 || count >= first, "{path} has only {count} lines");
    Ok(if count == 0 { format!("({path} is empty)") } else { text })
}

/// Replaces a file with its mode and owner, or makes it together with its folders. The old file is
/// there until the new one is finished, so that a crash or a full disk leaves the one or the other.
/// A link stays a link: its target is replaced.
pub fn write(path: &str, content: &str) -> Result<String> {
    let target = fs::canonicalize(resolve(path)).or_else(|_| absolute(resolve(path)))?;
    ensure!(!target.exists() || target.is_file(), "{path} is not a regular file");
    let folder = fs::create_dir_all(target.parent().unwrap_or(&target));
    let new = folder.and_then(|()| AtomicWriteFile::open(&target));
    let done =
        new.and_then(|mut new| new.write_all(content.as_bytes()).and_then(|()| new.commit()));
    done.with_context(|| format!("cannot write {} (see --allow-write)", target.display()))?;
    Ok(format!("wrote {} bytes to {path}", content.len()))
}

/// Replaces the one place where `old` stands.
pub fn edit(path: &str, old: &str, new: &str) -> Result<String> {
    ensure!(!old.is_empty(), "old_string is empty: to write a whole file, use write");
    ensure!(old != new, "old_string and new_string are the same: nothing would change");
    let text = fs::read_to_string(regular(&resolve(path))?)?;
    match text.matches(old).count() {
        1 => write(path, &text.replacen(old, new, 1)),
        0 => bail!("old_string is not in {path}: read it again; line numbers are not part of it"),
        count => bail!("old_string is in {path} {count} times: add lines around it"),
    }
}

/// The path that the model means: `~/` is home, anything else is below the working directory.
pub fn resolve(path: &str) -> PathBuf {
    let home = path.strip_prefix("~/").and_then(|rest| Some(env::home_dir()?.join(rest)));
    home.unwrap_or_else(|| path.into())
}

/// The lines of a text file with their numbers, read one by one: a large file costs no memory.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = (usize, String)>> {
    let mut file = BufReader::new(File::open(regular(path)?)?);
    // A NUL byte in the first buffer makes a file binary, as for git and grep.
    let binary = file.fill_buf()?.contains(&0);
    ensure!(!binary, "{} is binary, {} bytes", path.display(), fs::metadata(path)?.len());
    let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
    Ok((1..).zip(file.split(b'\n').map_while(Result::ok).map(text)))
}

/// The path of a file that the program itself keeps, and opens before the walls go up. No part of it
/// below the working directory may be a link: an earlier run may have left it, to get past them.
pub fn own(path: &Path) -> Result<&Path> {
    let below = path.strip_prefix(env::current_dir()?).unwrap_or(path);
    let planted = |part: &Path| part.is_symlink() && (part.is_relative() || part == below);
    ensure!(!below.ancestors().any(planted), "{} is a link or below one", path.display());
    if path.exists() { regular(path) } else { Ok(path) }
}

/// The path, if there is a regular file: a FIFO would block, a device may never end.
pub fn regular(path: &Path) -> Result<&Path> {
    let metadata = fs::metadata(path)?;
    ensure!(!metadata.is_dir(), "{} is a directory", path.display());
    ensure!(metadata.is_file(), "{} is not a regular file", path.display());
    Ok(path)
}
