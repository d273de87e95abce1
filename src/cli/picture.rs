//! The run as a page to look at: a lane for each agent, and each request as large as its context.

use crate::cli::prelude::*;

/// Where the page goes, when the run began, and what there is to draw.
pub struct Picture {
    file: File,
    start: Instant,
    exchanges: Mutex<Vec<Value>>,
}

pub static PICTURE: OnceLock<Picture> = OnceLock::new();

/// Opens the file for the page; an old page stays in it until this run has something to draw.
pub fn start(path: &Path) -> Result<()> {
    let (file, start) = (own_file(path).context("--picture")?, Instant::now());
    PICTURE.get_or_init(|| Picture { file, start, exchanges: Mutex::default() });
    Ok(())
}

impl Picture {
    /// Adds an exchange, as a recording has it.
    pub fn add(&self, mut exchange: Value, sent: Instant, bytes: usize) {
        exchange["start"] = sent.duration_since(self.start).as_secs_f64().into();
        exchange["seconds"] = sent.elapsed().as_secs_f64().into();
        exchange["bytes"] = bytes.into();
        exchange["messages"] = exchange["request"]["messages"].as_array().map(Vec::len).into();
        let mut all = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        // A conversation only grows: the last request has all the others in it.
        for before in all.iter_mut().filter(|before| before["agent"] == exchange["agent"]) {
            before["request"].take();
        }
        all.push(exchange);
    }

    /// Writes the page, if there is something to draw. Trouble with it costs the picture, not the
    /// run.
    pub fn write(&self) {
        let all = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(_) = all.first() else { return };
        // No text in the data can end the script that holds it.
        let data = redact(&json!(*all).to_string()).replace('<', "\\u003c");
        let page = include_str!("picture.html").replacen("[/*exchanges*/]", &data, 1);
        let written = self.file.set_len(0).and_then(|()| (&self.file).write_all(page.as_bytes()));
        written.unwrap_or_else(|why| tell(0, &format!("warning: no picture: {why}")));
    }
}
