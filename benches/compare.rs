//! What the program costs beside the least that could do the same, and beside `rg`, `grep`, `find`.
//!
//! `cargo bench` prints medians, their spread, and ratios to the floor: a loop over one plain TCP
//! connection that sends requests of the same size and starts the same shells.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::{Value, json};

/// A folder with copies of the program and of the floor, as an installation makes them: a file that
/// a linker has just written starts slower, by the way it lies in the page cache.
static COPIES: OnceLock<PathBuf> = OnceLock::new();
/// Measured runs of what is short, and of what is long.
const RUNS: usize = 31;
const FEW: usize = 7;

/// What a scripted server answers, for each system prompt that holds a word.
#[derive(Clone, Default)]
struct Script {
    replies: Vec<(&'static str, Vec<Value>)>,
    latency: Duration,
}

fn calls(list: &[(&str, Value)]) -> Value {
    let one = |(at, (name, arguments)): (usize, &(&str, Value))| {
        json!({ "id": format!("call{at}"), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() } })
    };
    let list: Vec<_> = list.iter().enumerate().map(one).collect();
    json!({ "role": "assistant", "content": null, "tool_calls": list })
}

fn text(content: &str) -> Value {
    json!({ "role": "assistant", "content": content })
}

/// Serves one run; gives the address, and the peak memory (kB) of the process whose id is in `pid`
/// when the last request came.
fn serve(script: Script, pid: Arc<Mutex<u32>>) -> (String, Arc<Mutex<u64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peak = Arc::new(Mutex::new(0));
    let (shared, turns) = (Arc::clone(&peak), Arc::new(Mutex::new(HashMap::new())));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (script, pid) = (script.clone(), Arc::clone(&pid));
            let (peak, turns) = (Arc::clone(&shared), Arc::clone(&turns));
            thread::spawn(move || answer(stream.unwrap(), &script, &pid, &peak, &turns));
        }
    });
    (address, peak)
}

fn answer(
    mut stream: TcpStream, script: &Script, pid: &Mutex<u32>, peak: &Mutex<u64>,
    turns: &Mutex<HashMap<String, usize>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).ok()? > 2 {
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            line.clear();
        }
        if length == 0 {
            return None;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let start = String::from_utf8_lossy(&body[..body.len().min(4000)]).into_owned();
        let (who, replies) = script.replies.iter().find(|(who, _)| start.contains(who))?;
        let system = start.split(who).nth(1)?.split('.').next()?.to_owned();
        let system = if *who == "lead" { "lead".to_owned() } else { system };
        let turn = {
            let mut turns = turns.lock().unwrap();
            let turn = turns.entry(system).or_insert(0);
            *turn += 1;
            *turn
        };
        let message = replies.get(turn - 1).or(replies.last())?;
        if *who == "lead" && turn >= replies.len() {
            *peak.lock().unwrap() = peak_memory(*pid.lock().unwrap()).unwrap_or_default();
        }
        thread::sleep(script.latency);
        let body = json!({ "choices": [{ "index": 0, "message": message }] }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).ok()?;
    }
}

fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The floor: as many requests as there are sizes, and a shell after each but the last.
fn floor(address: &str, sizes: &str, command: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().unwrap()).collect();
    for (at, size) in sizes.iter().enumerate() {
        let body = format!("{{\"lead\":\"{}\"}}", "x".repeat(size.saturating_sub(11)));
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut reply = vec![0; length];
        reader.read_exact(&mut reply).unwrap();
        if at + 1 < sizes.len() && !command.is_empty() {
            let output = Command::new("bash").args(["-c", command]).stdin(Stdio::null()).output();
            assert!(output.unwrap().status.success());
        }
    }
}

/// Seconds of each run, sorted, and the most memory of one in kB.
struct Measured {
    seconds: Vec<f64>,
    peak: u64,
}

impl Measured {
    fn median(&self) -> f64 {
        self.seconds[self.seconds.len() / 2]
    }
}

/// Something that can be run and timed; gives its peak memory too.
type Runner<'a> = Box<dyn FnMut() -> (Duration, u64) + 'a>;

/// Runs them by turns, so that whatever else the machine does meets all of them alike.
fn measure(runs: usize, mut runners: Vec<Runner>) -> Vec<Measured> {
    let mut measured: Vec<_> =
        runners.iter().map(|_| Measured { seconds: Vec::new(), peak: 0 }).collect();
    for round in 0..=runs {
        for (run, measured) in runners.iter_mut().zip(&mut measured) {
            let (time, memory) = run();
            // The first round warms the caches.
            if round > 0 {
                measured.seconds.push(time.as_secs_f64());
                measured.peak = measured.peak.max(memory);
            }
        }
    }
    for measured in &mut measured {
        measured.seconds.sort_by(f64::total_cmp);
    }
    measured
}

fn timed(command: &mut Command, pid: &Mutex<u32>) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    *pid.lock().unwrap() = child.id();
    assert!(child.wait().unwrap().success(), "{command:?}");
    start.elapsed()
}

fn program(script: &Script, folder: &Path, jobs: usize) -> (Duration, u64) {
    let pid = Arc::new(Mutex::new(0));
    let (address, peak) = serve(script.clone(), Arc::clone(&pid));
    let mut command = Command::new(COPIES.get().unwrap().join("program"));
    command.args(["--no-memory", "-n30", "-j", &jobs.to_string(), "do it"]).current_dir(folder);
    command.env("OPENAI_BASE_URL", format!("http://{address}/v1")).env_remove("OPENAI_API_KEY");
    let time = timed(&mut command, &pid);
    let peak = *peak.lock().unwrap();
    (time, peak)
}

fn floor_run(script: &Script, sizes: &[usize], command: &str) -> (Duration, u64) {
    let pid = Arc::new(Mutex::new(0));
    let (address, peak) = serve(script.clone(), Arc::clone(&pid));
    let sizes = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut child = Command::new(COPIES.get().unwrap().join("floor"));
    let time = timed(child.env("FLOOR", address).env("SIZES", sizes).env("COMMAND", command), &pid);
    let peak = *peak.lock().unwrap();
    (time, peak)
}

/// Prints what was measured; the first is ours.
fn report(name: &str, others: &[&str], measured: &[Measured]) {
    let (ours, measured) = measured.split_first().unwrap();
    let ms = |seconds: f64| seconds * 1000.0;
    let spread = |of: &Measured| {
        let (least, most) = (of.seconds[0], of.seconds[of.seconds.len() - 1]);
        format!("{:8.1} ms ({:.1} to {:.1})", ms(of.median()), ms(least), ms(most))
    };
    println!("{name}");
    println!("    agent-subagent  {}, peak {} kB", spread(ours), ours.peak);
    for (other, measured) in others.iter().zip(measured) {
        let ratio = ours.median() / measured.median();
        println!(
            "    {other:<15} {}, peak {} kB: ratio {ratio:.2}",
            spread(measured),
            measured.peak
        );
    }
}

/// `cargo bench -- WORD` measures only what has the word in its name.
fn wanted(name: &str) -> bool {
    let words: Vec<_> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
}

fn against_the_floor(name: &str, script: &Script, sizes: &[usize], command: &str, jobs: usize) {
    if !wanted(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ours = || program(script, folder.path(), jobs);
    let floor = || floor_run(script, sizes, command);
    report(name, &["floor"], &measure(RUNS, vec![Box::new(ours), Box::new(floor)]));
}

/// A tree of text files, made once: 50,000 files of some 10 kB.
fn tree() -> std::path::PathBuf {
    let root = env::temp_dir().join("agent-subagent-bench-tree");
    if !root.join("done").exists() {
        let mut state = 1_u64;
        let mut word = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let letters = (state >> 33) as usize;
            (0..2 + letters % 8)
                .map(|at| char::from(b"abcdefghijklmnopqrstuvwxyz"[(letters >> at) % 26]))
                .collect::<String>()
        };
        let lines: Vec<String> =
            (0..4000).map(|_| (0..8).map(|_| word()).collect::<Vec<_>>().join(" ")).collect();
        for file in 0..50_000 {
            let folder = root.join(format!("d{}/e{}", file / 1000, file / 100 % 10));
            fs::create_dir_all(&folder).unwrap();
            let mut text = String::new();
            for line in 0.. {
                text += &lines[(file * 31 + line * 7) % lines.len()];
                text += if file % 500 == 0 && line == 50 { " needle42\n" } else { "\n" };
                if text.len() > 10_000 {
                    break;
                }
            }
            let kind = if file % 3 == 0 { "txt" } else { "rs" };
            fs::write(folder.join(format!("f{file}.{kind}")), text).unwrap();
        }
        fs::write(root.join("done"), "").unwrap();
    }
    root
}

fn against_tools(name: &str, call: (&str, Value), others: &[(&str, &str)]) {
    if !wanted(name) {
        return;
    }
    let root = tree();
    let script = Script {
        replies: vec![("lead", vec![calls(&[call]), text("done")])],
        latency: Duration::ZERO,
    };
    let mut runners: Vec<Runner> = vec![Box::new(|| program(&script, &root, 1))];
    let pid = Mutex::new(0);
    let mut names = Vec::new();
    for (tool, command) in others {
        let there =
            Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        if there.status.success() {
            let mut run = Command::new("sh");
            run.args(["-c", command]).current_dir(&root);
            names.push(*tool);
            let pid = &pid;
            runners.push(Box::new(move || (timed(&mut run, pid), 0)));
        }
    }
    report(name, &names, &measure(FEW, runners));
}

fn main() {
    if let Ok(address) = env::var("FLOOR") {
        return floor(&address, &env::var("SIZES").unwrap(), &env::var("COMMAND").unwrap());
    }
    let copies = tempfile::tempdir().unwrap();
    fs::copy(env!("CARGO_BIN_EXE_agent-subagent"), copies.path().join("program")).unwrap();
    fs::copy(env::current_exe().unwrap(), copies.path().join("floor")).unwrap();
    COPIES.set(copies.path().to_owned()).unwrap();

    let zero = Duration::ZERO;
    let one = Script { replies: vec![("lead", vec![text("done")])], latency: zero };
    against_the_floor("start to answer, one reply", &one, &[6500], "", 1);

    let echo = calls(&[("bash", json!({ "command": "echo hi" }))]);
    let turns = [vec![echo; 20], vec![text("done")]].concat();
    let twenty = Script { replies: vec![("lead", turns)], latency: zero };
    let sizes: Vec<usize> = (0..21).map(|turn| 6500 + turn * 250).collect();
    against_the_floor("twenty turns of `echo hi`", &twenty, &sizes, "echo hi", 1);

    let long = calls(&[("bash", json!({ "command": "head -c 29000 /dev/zero | tr '\\0' x" }))]);
    let turns = [vec![long; 28], vec![text("done")]].concat();
    let growth = Script { replies: vec![("lead", turns)], latency: zero };
    let sizes: Vec<usize> = (0..29).map(|turn| 6500 + turn * 29_250).collect();
    let command = "head -c 29000 /dev/zero | tr '\\0' x";
    against_the_floor("28 turns of 29 kB results", &growth, &sizes, command, 1);

    let child = |name: &str| ("subagent", json!({ "role": name, "task": "t" }));
    let step = calls(&[("bash", json!({ "command": "true" }))]);
    let work = [vec![step; 4], vec![text("done")]].concat();
    // The floor of those that wait asks as often as one child and the lead do; of those that do not,
    // as often as all of them.
    for (name, count, latency, requests) in [
        ("three children of five replies at 200 ms", 3, 200, 7),
        ("eight children of five replies", 8, 0, 42),
    ] {
        if !wanted(name) {
            continue;
        }
        let names: Vec<String> = (0..count).map(|at| format!("worker{at}")).collect();
        let list: Vec<_> = names.iter().map(|name| child(name)).collect();
        let script = Script {
            replies: vec![
                ("You are a worker", work.clone()),
                ("lead", vec![calls(&list), text("done")]),
            ],
            latency: Duration::from_millis(latency),
        };
        let floor = Script {
            replies: vec![("lead", vec![text("x"); requests])],
            latency: Duration::from_millis(latency),
        };
        let folder = tempfile::tempdir().unwrap();
        let ours = || program(&script, folder.path(), count);
        let least = || floor_run(&floor, &vec![6500; requests], "true");
        report(name, &["floor"], &measure(FEW, vec![Box::new(ours), Box::new(least)]));
    }

    against_tools(
        "grep needle42 in 50,000 files",
        ("grep", json!({ "pattern": "needle42" })),
        &[("rg", "rg -j2 --no-ignore --hidden -n needle42 ."), ("grep", "grep -rn needle42 .")],
    );
    against_tools(
        "glob **/*.rs in 50,000 files",
        ("glob", json!({ "pattern": "**/*.rs" })),
        &[("find", "find . -name '*.rs' -printf '%T@ %p\\n'")],
    );
}
