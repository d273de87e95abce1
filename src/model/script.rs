//! Recordings: every exchange of a run as a line of JSON, and a model that plays such lines back.

use crate::cli::{picture::PICTURE, prelude::*};

/// A recording to play. Each agent gets its own answers in their order, since children may run at
/// once. Playing never waits and needs no `request`.
pub struct Script(Mutex<Vec<Value>>);

static RECORD: OnceLock<File> = OnceLock::new();

impl Script {
    /// Reads a recording, one exchange a line.
    pub fn parse(text: &str) -> Result<Script> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let parse = |(line, at)| from_str(line).with_context(|| format!("recording, line {at}"));
        let mut exchanges: Vec<Result<Value>> = lines.map(parse).collect();
        // A run that was ended by force may leave half a line.
        if !text.ends_with('\n')
            && let Some(why) = exchanges.pop_if(|last| last.is_err()).and_then(Result::err)
        {
            tell(0, &format!("warning: {why:#}: playing what comes before"));
        }
        Ok(Script(Mutex::new(exchanges.into_iter().collect::<Result<_>>()?)))
    }

    /// What the lead was asked to do.
    pub fn task(&self) -> Option<String> {
        let lines = self.0.lock().expect("no thread panics");
        Some(lines.first()?.pointer("/request/messages/1/content")?.as_str()?.to_owned())
    }

    /// The next answer that was recorded for an agent.
    pub fn next(&self, agent: usize) -> Result<Value> {
        let mut left = self.0.lock().expect("no thread panics");
        let at = left.iter().position(|line| line["agent"] == name(agent));
        let at =
            at.with_context(|| format!("the recording ends here for agent {}", name(agent)))?;
        let mut line = left.remove(at);
        ensure!(line["error"].is_null(), "{}", line["error"].as_str().unwrap_or_default());
        Ok(line["reply"].take())
    }
}

/// Opens a file for the exchanges of this run; an old recording in it stays until the first one.
pub fn start_recording(path: &Path) -> Result<()> {
    _ = RECORD.set(own_file(path).context("--record")?);
    Ok(())
}

/// Asks, and adds the exchange to the recording in one write: a crash leaves whole lines. A full
/// disk costs the recording, not the run.
pub fn record(
    agent: usize, turn: u32, body: &str, ask: impl FnOnce() -> Result<Value>,
) -> Result<Value> {
    let sent = Instant::now();
    let answer = ask();
    if RECORD.get().is_none() && PICTURE.get().is_none() {
        return answer;
    }
    let mut line =
        json!({ "agent": name(agent), "turn": turn, "request": from_str::<Value>(body).ok() });
    match &answer {
        Ok(reply) => line["reply"] = reply.clone(),
        Err(why) => line["error"] = format!("{why:#}").into(),
    }
    if let Some(mut file) = RECORD.get() {
        // Nothing comes before the lead's first request.
        drop((turn == 1 && agent == 0).then(|| file.set_len(0)));
        let written = file.write_all(format!("{}\n", redact(&line.to_string())).as_bytes());
        written.unwrap_or_else(|why| tell(0, &format!("warning: cannot record: {why}")));
    }
    PICTURE.get().inspect(|picture| picture.add(line, sent, body.len()));
    answer
}

/// An agent as a recording names it: `lead`, or the number of a child.
fn name(agent: usize) -> Value {
    if agent == 0 { json!("lead") } else { json!(agent) }
}
