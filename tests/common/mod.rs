//! A scripted chat-completions server, and a run of the real binary against it.

#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agent_subagent::tools::schema;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the server answers to one request.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
    /// Requests over one connection have the same number.
    pub connection: usize,
}

/// A completion with this text and these calls (id, name, arguments as they go on the wire).
pub fn reply(content: Value, calls: &[(&str, &str, Value)]) -> Reply {
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] =
            calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect();
    }
    message_reply(message)
}

pub fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// A completion with exactly this message.
pub fn message_reply(message: Value) -> Reply {
    let finish = if message["tool_calls"][0].is_object() { "tool_calls" } else { "stop" };
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    raw(
        200,
        json!({ "id": "x", "object": "chat.completion", "usage": usage,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }] })
        .to_string(),
    )
}

pub fn text(content: &str) -> Reply {
    reply(content.into(), &[])
}

/// A completion that asks for one tool.
pub fn calls(id: &str, name: &str, arguments: Value) -> Reply {
    reply(Value::Null, &[(id, name, arguments.to_string().into())])
}

/// The usual first reply of a lead.
pub fn delegates(role: &str, task: &str) -> Reply {
    calls("p1", "subagent", json!({ "role": role, "task": task }))
}

pub fn raw(status: u16, body: impl Into<String>) -> Reply {
    Reply { status, headers: Vec::new(), body: body.into() }
}

/// A completion of which the connection brings only a part.
pub fn cut_off() -> Reply {
    Reply { headers: vec![("x-cut".into(), String::new())], ..text("never whole") }
}

/// A completion that comes a byte at a time and never ends.
pub fn trickle() -> Reply {
    Reply { headers: vec![("x-trickle".into(), String::new())], ..text("never whole") }
}

/// A run of the program, as it is set up.
pub struct Scenario {
    pub dir: TempDir,
    args: Vec<String>,
    env: HashMap<String, Option<String>>,
    replies: Vec<Reply>,
    answers: Vec<(String, Vec<Reply>)>,
    stdin: Option<Vec<u8>>,
    open_stdin: bool,
    kill_after: Option<(&'static str, Duration)>,
    interrupt_when: Option<&'static str>,
    under: Vec<String>,
}

/// The same run when it has ended.
pub struct Run {
    pub dir: TempDir,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub requests: Vec<Seen>,
}

impl Scenario {
    /// A new empty folder, the task "do the task", and replies of which the last one repeats.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Scenario {
        Scenario {
            dir: TempDir::new().unwrap(),
            args: vec!["do the task".into()],
            env: HashMap::new(),
            replies: replies.into_iter().collect(),
            answers: Vec::new(),
            stdin: None,
            open_stdin: false,
            kill_after: None,
            interrupt_when: None,
            under: Vec::new(),
        }
    }

    /// Replies for the agent whose system prompt holds this, in place of the common ones.
    pub fn answers(mut self, who: &str, replies: impl IntoIterator<Item = Reply>) -> Scenario {
        self.answers.push((who.into(), replies.into_iter().collect()));
        self
    }

    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Scenario {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn folder(self, path: &str) -> Scenario {
        fs::create_dir_all(self.dir.path().join(path)).unwrap();
        self
    }

    /// Runs a shell command in the folder.
    pub fn prepare(self, command: &str) -> Scenario {
        let shell = Command::new("sh").args(["-c", command]).current_dir(self.dir.path()).status();
        assert!(shell.unwrap().success(), "{command}");
        self
    }

    /// In place of the task.
    pub fn args(mut self, args: &[&str]) -> Scenario {
        self.args = args.iter().map(ToString::to_string).collect();
        self
    }

    pub fn arg(mut self, arg: &str) -> Scenario {
        self.args.push(arg.into());
        self
    }

    pub fn env(mut self, key: &str, value: Option<&str>) -> Scenario {
        self.env.insert(key.into(), value.map(Into::into));
        self
    }

    /// Puts the run's temporary directory below its working directory.
    pub fn own_temporary_folder(self) -> Scenario {
        let folder = self.dir.path().join("tmp");
        self.folder("tmp").env("TMPDIR", folder.to_str())
    }

    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Scenario {
        self.stdin = Some(text.into());
        self
    }

    /// A pipe that nobody writes to and nobody closes.
    pub fn open_stdin(mut self) -> Scenario {
        self.open_stdin = true;
        self
    }

    /// Ends the run by force, some time after a file began to change.
    pub fn kill_after(mut self, file: &'static str, wait: Duration) -> Scenario {
        self.kill_after = Some((file, wait));
        self
    }

    /// Ctrl-C when a file appears.
    pub fn interrupt_when(mut self, file: &'static str) -> Scenario {
        self.interrupt_when = Some(file);
        self
    }

    /// Starts the program by way of this command, which gets the program and its arguments.
    pub fn under(mut self, command: &[&str]) -> Scenario {
        self.under = command.iter().map(ToString::to_string).collect();
        self
    }

    /// The program, ready to start, and what the server will have seen.
    pub fn command(&self) -> (Command, Arc<Mutex<Vec<Seen>>>) {
        let (address, seen) = serve(self.replies.clone(), self.answers.clone());
        let program = env!("CARGO_BIN_EXE_agent-subagent").to_owned();
        let mut words = self.under.iter().chain([&program]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(&self.args).current_dir(self.dir.path());
        for variable in
            ["AGENT_SUBAGENT_RUN", "NO_COLOR", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        {
            command.env_remove(variable);
        }
        command.env("XDG_CONFIG_HOME", self.dir.path().join("no-config"));
        command.env("OPENAI_BASE_URL", format!("http://{address}/v1"));
        command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_MODEL", "test-model");
        for (key, value) in &self.env {
            match value {
                Some(value) => {
                    command.env(key, value.replace("<server>", &format!("http://{address}")))
                }
                None => command.env_remove(key),
            };
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.stdin.is_some() || self.open_stdin {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        (command, seen)
    }

    pub fn run(self) -> Run {
        let (mut command, seen) = self.command();
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take();
        if let Some(text) = &self.stdin {
            stdin.take().unwrap().write_all(text).unwrap();
        }
        if let Some((file, wait)) = self.kill_after {
            let file = self.dir.path().join(file);
            let before = fs::metadata(&file).unwrap().modified().unwrap();
            while fs::metadata(&file).unwrap().modified().unwrap() == before {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(wait);
            child.kill().unwrap();
        }
        if let Some(file) = self.interrupt_when {
            while !self.dir.path().join(file).exists() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(100));
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        let requests = seen.lock().unwrap().clone();
        Run::new(self.dir, &output, requests)
    }
}

impl Run {
    pub fn new(dir: TempDir, output: &Output, requests: Vec<Seen>) -> Run {
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap());
        let stdout = String::from_utf8(output.stdout.clone()).unwrap();
        let stderr = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Run { dir, code, stdout, stderr, requests }
    }

    /// Ended well, with exactly this answer.
    #[track_caller]
    pub fn answered(&self, answer: &str) -> &Run {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (0, format!("{answer}\n").as_str()),
            "{}",
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn asked(&self, times: usize) -> &Run {
        assert_eq!(self.requests.len(), times, "{}", self.stderr);
        self
    }

    /// The body of a request, counting from 1.
    #[track_caller]
    pub fn request(&self, number: usize) -> &Value {
        &self.requests[number - 1].body
    }

    /// The text that answers a call, wherever it was sent.
    #[track_caller]
    pub fn tool(&self, id: &str) -> String {
        let messages =
            self.requests.iter().rev().flat_map(|seen| seen.body["messages"].as_array().unwrap());
        let message = messages.clone().find(|message| message["tool_call_id"] == id);
        message.unwrap_or_else(|| panic!("no answer to {id}"))["content"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The names of the tools that a request offers.
    #[track_caller]
    pub fn offered(&self, number: usize) -> Vec<String> {
        let tools = self.request(number)["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    pub fn system(&self, number: usize) -> &str {
        self.request(number)["messages"][0]["content"].as_str().unwrap()
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(path)).unwrap()
    }

    pub fn memory(&self) -> String {
        fs::read_to_string(self.dir.path().join("memory/agent_memory.md")).unwrap_or_default()
    }
}

/// Whether a text holds all of these.
#[track_caller]
pub fn assert_holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

type Answers = Vec<(String, Vec<Reply>)>;

fn serve(replies: Vec<Reply>, answers: Answers) -> (String, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    thread::spawn(move || {
        for (connection, stream) in listener.incoming().enumerate() {
            let (replies, answers) = (replies.clone(), answers.clone());
            let log = Arc::clone(&log);
            thread::spawn(move || answer(stream.unwrap(), connection, &replies, &answers, &log));
        }
    });
    (address, seen)
}

fn answer(
    mut stream: TcpStream, connection: usize, replies: &[Reply], answers: &Answers,
    log: &Mutex<Vec<Seen>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((key, value)) = line.trim().split_once(": ") else { break };
            headers.insert(key.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let reply = {
            let mut log = log.lock().unwrap();
            log.push(Seen {
                path,
                headers,
                body: serde_json::from_slice(&body).expect("a body in JSON"),
                connection,
            });
            let system = |seen: &Seen| seen.body["messages"][0]["content"].to_string();
            let asker = system(log.last()?);
            match answers.iter().find(|(who, _)| asker.contains(who)) {
                None => replies.get(log.len() - 1).or(replies.last())?.clone(),
                Some((_, own)) => {
                    let turn = log.iter().filter(|seen| system(seen) == asker).count();
                    own.get(turn - 1).or(own.last())?.clone()
                }
            }
        };
        let mut head =
            format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", reply.status, reply.body.len());
        for (key, value) in &reply.headers {
            head += &format!("{key}: {value}\r\n");
        }
        let head = format!("{head}\r\n");
        if head.contains("x-cut") {
            let half = reply.body.len() / 2;
            stream.write_all((head + &reply.body[..half]).as_bytes()).ok()?;
            return None;
        }
        if head.contains("x-trickle") {
            stream.write_all(head.as_bytes()).ok()?;
            loop {
                stream.write_all(b" ").ok()?;
                thread::sleep(Duration::from_millis(100));
            }
        }
        stream.write_all((head + &reply.body).as_bytes()).ok()?;
    }
}

/// The names of the plain tools, in the order in which they are offered.
pub fn plain_tools() -> Vec<&'static str> {
    schema::plain_tools(None).into_iter().map(schema::name).collect()
}

/// Those of the lead: all of these, and its own.
pub fn lead_tools() -> Vec<String> {
    let own = schema::lead_tools("");
    let own = own.iter().map(schema::name);
    plain_tools().into_iter().chain(own).map(str::to_owned).collect()
}

/// The root of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
