//! What stands at a path: which file is meant, whether it is one to read, and its lines.

use std::{fs::Metadata, io::Seek, io::SeekFrom, os::unix::fs::MetadataExt};

use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::OFlags;

use crate::cli::prelude::*;

/// Bytes of a line that are looked at; a line may be as long as the file.
const LONGEST_LINE: u64 = 1 << 20;
/// How alike two texts must be, from 0 to 1, for the one to be a hint to the other.
const ALIKE: f64 = 0.5;
/// Links that lead on to each other before they count as a circle, as for the kernel.
const MOST_LINKS: u32 = 40;

/// The path that the model means: `~/` is home; any other relative path starts from the working
/// directory.
pub fn resolve(path: &str) -> PathBuf {
    let home = path.strip_prefix("~/").and_then(|rest| Some(env::home_dir()?.join(rest)));
    home.unwrap_or_else(|| path.into())
}

/// The file that a path leads to, through links; there need be none yet, nor its folders.
pub fn target(path: &str) -> Result<PathBuf> {
    let mut file = absolute(resolve(path))?;
    for _ in 0..MOST_LINKS {
        let Ok(next) = file.read_link() else { break };
        file = file.parent().unwrap_or(&file).join(next);
    }
    ensure!(!file.is_symlink(), "{path} is a link that leads in a circle");
    let real = |folder: &Path| Some(fs::canonicalize(folder).ok()?.join(file.file_name()?));
    let new = || file.parent().and_then(real);
    Ok(fs::canonicalize(&file).ok().or_else(new).unwrap_or(file))
}

/// The path, if there is a regular file: a FIFO would block, a device may never end.
pub fn regular(path: &Path) -> Result<&Path> {
    let near = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let all = fs::read_dir(folder.unwrap_or(".".as_ref())).into_iter().flatten().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        nearest(&path.file_name().unwrap_or_default().to_string_lossy(), names)
    };
    let missing = |why| anyhow!("{}: {why}{}", path.display(), near());
    let metadata = path.metadata().map_err(missing)?;
    ensure!(!metadata.is_dir(), "{} is a directory", path.display());
    ensure!(metadata.is_file(), "{} is not a regular file", path.display());
    Ok(path)
}

/// Opens a file that the program itself keeps, to read it and to add to it; it and its folders are
/// made where they are missing. This happens before the walls go up.
pub fn own_file(path: &Path) -> Result<File> {
    ensure!(!planted(path)?, "{} is a link or below one", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let path = if path.exists() { regular(path)? } else { path };
    Ok(File::options().read(true).append(true).create(true).open(path)?)
}

/// The end of a text file, at most that many bytes.
pub fn tail(mut file: &File, most: usize) -> Result<String> {
    let (mut bytes, size) = (Vec::new(), file.metadata()?.len());
    file.seek(SeekFrom::Start(size.saturating_sub(most as u64)))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds a text to such a file, in one write; to the new one, if somebody has put one in its place
/// since it was opened, as editors do.
pub fn append(file: &File, text: &str) -> Result<()> {
    let which = |about: Metadata| (about.dev(), about.ino());
    let [opened, now] = [file.metadata(), fs::metadata(file.path())].map(|of| of.ok().map(which));
    let new = if opened == now { None } else { Some(own_file(file.path())?) };
    Ok(new.as_ref().unwrap_or(file).write_all(text.as_bytes())?)
}

/// Whether a part of the path is a link in a folder where commands can write: an earlier run may
/// have left it, to get past the walls.
pub fn planted(path: &Path) -> Result<bool> {
    let inside = |link: &Path| -> Result<bool> {
        let folder = fs::canonicalize(link.parent().unwrap_or(link))?;
        let mut places = tools::sandbox::writable().into_iter().flat_map(fs::canonicalize);
        Ok(places.any(|place| folder.starts_with(place)))
    };
    // Without its final slash: with it, a link looks like the folder behind it.
    let path: PathBuf = absolute(path)?.components().collect();
    let mut links = path.ancestors().filter(|part| part.is_symlink());
    Ok(links.any(|link| inside(link).unwrap_or(true)))
}

/// Opens a regular file to read it. One in `/proc` may wait for something to tell; we do not.
pub fn open(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    Ok(options.open(regular(path)?)?)
}

/// The lines of a text file with their numbers, read one by one: a large file costs no memory.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = (usize, String)> + use<>> {
    let mut file = BufReader::new(open(path)?);
    let (text, size) = (!binary(file.fill_buf()?), file.get_ref().metadata()?.len());
    ensure!(text, "{} is binary, {size} bytes", path.display());
    let line = move || {
        let mut line = Vec::new();
        let count = file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
        let left = if line.ends_with(b"\n") { 0 } else { file.skip_until(b'\n').ok()? };
        let mut text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        text += &if left > 0 { format!("[... {left} bytes left out ...]") } else { String::new() };
        (count > 0).then_some(text)
    };
    Ok((1..).zip(iter::from_fn(line)))
}

/// Whether a NUL byte is among the first of a file, as git and grep ask.
pub fn binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes.split_at(bytes.len().min(8 * 1024)).0).is_some()
}

/// A hint at the names, or lines, that come nearest to one that is not there; empty if none does.
pub fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> String {
    let rated = names.map(|name| (strsim::sorensen_dice(wanted, &name), name));
    let mut near: Vec<_> = rated.filter(|(like, name)| *like >= ALIKE && name != wanted).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near: Vec<_> = near.iter().take(3).map(|(_, name)| excerpt(name)).collect();
    if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) }
}
