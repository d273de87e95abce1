//! The program in a shell: options, streams, exit codes, recordings and the demo.

mod common;

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use common::{
    Run, Scenario, assert_holds, calls, delegates, lead_tools, plain_tools, raw, root, text,
};
use serde_json::{Value, json};

/// D01
#[test]
fn a_task_in_words_leaves_stdin_alone() {
    Scenario::new([text("all done")]).open_stdin().run().answered("all done").asked(1);
}

#[test]
fn a_task_comes_from_words_a_dash_or_a_pipe() {
    let task = |run: Run| run.request(1)["messages"][1]["content"].as_str().unwrap().to_owned();
    let ok = || Scenario::new([text("ok")]);
    assert_eq!(task(ok().args(&["fix", "the", "bug"]).run()), "fix the bug");
    assert_eq!(task(ok().args(&["-"]).stdin("from stdin\n").run()), "from stdin");
    assert_eq!(task(ok().args(&[]).stdin("two\nlines\n").run()), "two\nlines");
    // A diff may hold text in any encoding.
    assert_eq!(task(ok().args(&["-"]).stdin(*b"caf\xe9\n").run()), "caf\u{fffd}");
    let empty = ok().args(&["-"]).stdin(" \n").run();
    assert_eq!(empty.code, 2);
    assert_holds(&empty.stderr, &["no task", "--help", "Usage: "]);
    empty.asked(0);
}

/// D02
#[test]
fn stdout_is_only_the_answer() {
    let noisy = common::reply(
        "Let me look.".into(),
        &[("a", "bash", json!("{\"command\": \"echo noise\"}"))],
    );
    let run = Scenario::new([noisy, text("ANSWER")]).run();
    run.answered("ANSWER").asked(2);
    assert_holds(&run.stderr, &["bash echo noise"]);
}

/// D03
#[test]
fn no_escape_sequence_in_pipes_or_under_no_color() {
    let replies = || {
        [
            delegates("tester\u{1b}[31m", "check\u{1b}]0;title\u{7} it"),
            text("c\u{1b}[2J"),
            text("all\u{1b}[31m done"),
        ]
    };
    let run = Scenario::new(replies()).run();
    run.answered("all done");
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);

    for (no_color, coloured) in [(Some("1"), false), (None, true)] {
        let scenario = Scenario::new(replies()).env("NO_COLOR", no_color);
        let (mut command, _) = scenario.command();
        let shown = on_a_terminal(&mut command, 60);
        assert_eq!(shown.contains('\u{1b}'), coloured, "{shown}");
        assert_holds(&shown, &["starts: check it", "all done"]);
    }
}

#[test]
fn progress_lines_fit_the_terminal() {
    let long = "字".repeat(200);
    let scenario = Scenario::new([
        calls("a", "bash", json!({ "command": format!("echo {long}\necho") })),
        text("ok"),
    ])
    .env("NO_COLOR", Some("1"));
    let (mut command, _) = scenario.command();
    let shown = on_a_terminal(&mut command, 60);
    let line = shown.lines().find(|line| line.contains("bash")).unwrap().trim_end();
    let columns: usize = line.chars().map(|char| if char == '字' { 2 } else { 1 }).sum();
    assert!(columns <= 60 && columns > 50 && line.ends_with("..."), "{columns}: {line}");
}

/// Runs a command with all three streams on a new pseudo-terminal, and gives what it shows.
fn on_a_terminal(command: &mut Command, columns: u16) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read;
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&main, size).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap().into_string().unwrap();
    let terminal = fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    command
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal);
    let mut child = command.spawn().unwrap();
    // Our copies of the terminal must go, or its end never comes.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut shown = Vec::new();
    // Linux ends a terminal without programs with an error.
    let _ = fs::File::from(main).read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

/// D04
#[test]
fn the_default_server_needs_a_key() {
    for (key, url) in
        [(None, None), (Some(""), Some("")), (Some(" "), Some("https://api.openai.com/v1/"))]
    {
        let run = Scenario::new([]).env("OPENAI_API_KEY", key).env("OPENAI_BASE_URL", url).run();
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert_holds(&run.stderr, &["OPENAI_API_KEY", "OPENAI_BASE_URL"]);
        assert!(
            run.stderr.lines().count() == 1 && !run.stderr.contains("stack backtrace"),
            "{}",
            run.stderr
        );
    }
}

/// D07
#[test]
fn help_version_and_usage_errors() {
    let run = |args: &[&str]| Scenario::new([]).args(args).run();
    let help = run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for option in OPTIONS {
        assert_holds(&help.stdout, &[option]);
    }
    assert_holds(&help.stdout, &["Exit codes", "130  interrupted", "OPENAI_API_KEY"]);
    assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{}", help.stdout);
    let version = run(&["--version"]);
    assert_eq!(version.stdout, format!("agent-subagent {}\n", env!("CARGO_PKG_VERSION")));
    for (args, part) in [
        (&[][..], "Usage: "),
        (&["--no-such-flag", "x"], "--no-such-flag"),
        (&["--max-turns", "9", "x"], "10..=30"),
        (&["--max-turns", "31", "x"], "10..=30"),
        (&["--max-turns", "many", "x"], "--max-turns"),
        (&["--jobs", "0", "x"], "--jobs"),
        (&["--timeout", "0", "x"], "--timeout"),
        (&["--demo", "x"], "--demo"),
        (&["-v", "-q", "x"], "--quiet"),
        (&["-C", "nowhere", "x"], "nowhere"),
        (&["--allow-write", "nowhere", "x"], "nowhere"),
        (&["--role", " ", "x"], "names nobody"),
        (&["--replay", "nowhere"], "nowhere"),
        (&["--record", "/dev/null/where", "x"], "/dev/null"),
        (&["--record", "/proc/self/exe", "x"], "/proc/self/exe"),
    ] {
        let run = run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        assert_holds(&run.stderr, &[part]);
        run.asked(0);
    }
}

const OPTIONS: [&str; 21] = [
    "--model",
    "--base-url",
    "--max-turns",
    "--jobs",
    "--workdir",
    "--roles",
    "--list-roles",
    "--memory",
    "--no-memory",
    "--demo",
    "--record",
    "--replay",
    "--picture",
    "--allow-write",
    "--no-sandbox",
    "--timeout",
    "--json",
    "--verbose",
    "--quiet",
    "--help",
    "--version",
];

#[test]
fn the_readme_names_every_option() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for option in OPTIONS {
        assert_holds(&readme, &[option]);
    }
}

/// D09
#[test]
fn verbose_and_recordings_show_what_was_sent() {
    let run = Scenario::new([delegates("tester", "just the part"), text("c"), text("all done")])
        .env("OPENAI_API_KEY", Some("sk-SECRET-1234567890"))
        .args(&["-v", "--record", "run.jsonl", "do the task"])
        .run();
    run.answered("all done").asked(3);
    let (all, plain) = (lead_tools().len(), plain_tools().len());
    assert_holds(
        &run.stderr,
        &[
            &format!("lead 1/20 asks test-model: 2 messages, {all} tools, "),
            &format!("tester#1 1/20 asks test-model: 2 messages, {plain} tools, "),
            &format!("lead 2/20 asks test-model: 4 messages, {all} tools, "),
            " bytes",
            "| You are a tester.",
            "| just the part",
        ],
    );
    let bytes = run.request(2).to_string().len();
    assert_holds(&run.stderr, &[&format!("{plain} tools, {bytes} bytes")]);

    let recording = run.read("run.jsonl");
    let lines: Vec<Value> =
        recording.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let who: Vec<_> = lines.iter().map(|line| (&line["agent"], &line["turn"])).collect();
    assert_eq!(json!(who), json!([["lead", 1], [1, 1], ["lead", 2]]));
    for (line, seen) in lines.iter().zip(&run.requests) {
        assert_eq!(line["request"], seen.body);
        assert!(line["reply"]["choices"][0]["message"].is_object());
    }
    assert!(!recording.contains("SECRET") && !run.stderr.contains("SECRET"));
}

#[test]
fn the_key_is_kept_out_of_results_answers_and_files() {
    let key = "sk-SECRET-1234567890";
    let run = Scenario::new([
        calls("a", "bash", json!({ "command": "cat k; env | grep -c OPENAI_API_KEY" })),
        text(&format!("it is {key}")),
    ])
    .env("OPENAI_API_KEY", Some(key))
    .file("k", format!("key={key}\n"))
    .args(&["-v", "--record", "run.jsonl", "what is the key?"])
    .run();
    assert_holds(&run.tool("a"), &["key=[key]\n0\n"]);
    for text in [&run.stdout, &run.stderr, &run.memory(), &run.read("run.jsonl")] {
        assert!(!text.contains("SECRET"), "{text}");
    }
    assert_eq!(run.stdout, "it is [key]\n");
}

/// Also where the person did not mean it to be one.
#[test]
fn the_key_is_kept_out_of_the_object() {
    let key = "sk-SECRET-1234567890";
    let replies = [common::delegates(key, "t"), text("child"), text("done")];
    let run = Scenario::new(replies).env("OPENAI_API_KEY", Some(key)).arg("--json").run();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &object["subagents"][0]["role"]), (0, &json!("[key]")));
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("SECRET"));
    // No text, and so no key that could be sent.
    let odd = std::os::unix::ffi::OsStringExt::from_vec(b"sk-\xff\xfe".to_vec());
    let scenario = Scenario::new([text("never")]);
    let (mut command, _) = scenario.command();
    let output = command.env::<_, std::ffi::OsString>("OPENAI_API_KEY", odd).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_holds(&String::from_utf8(output.stderr).unwrap(), &["OPENAI_API_KEY has"]);
}

#[test]
fn a_recording_plays_back_through_the_real_tools_without_a_server() {
    let write = calls("w", "write", json!({ "path": "out.txt", "content": "made\n" }));
    let refused = raw(400, json!({ "error": { "message": "gone" } }).to_string());
    let first = Scenario::new([
        delegates("tester", "t"),
        write,
        refused,
        delegates("writer", "u"),
        text("two"),
        text("all done"),
    ])
    .args(&["--record", "run.jsonl", "make it"])
    .run();
    first.answered("all done").asked(6);
    let again = Scenario::new([text("not asked")])
        .file("run.jsonl", first.read("run.jsonl"))
        .args(&["--replay", "run.jsonl", "--record", "again.jsonl"])
        .open_stdin()
        .run();
    again.answered("all done").asked(0);
    assert_eq!(again.read("out.txt"), "made\n");
    assert_holds(&again.stderr, &["400", "gone"]);
    let folder = |run: &Run| run.dir.path().canonicalize().unwrap().display().to_string();
    assert_eq!(
        again.read("again.jsonl").replace(&folder(&again), "DIR"),
        first.read("run.jsonl").replace(&folder(&first), "DIR")
    );
    assert_holds(&again.memory(), &["**Task:** make it\n"]);
}

#[test]
fn an_old_recording_is_kept_until_the_first_exchange_of_the_new_one() {
    let old = "{\"agent\":\"lead\"}\n".repeat(9_999);
    for (args, code, kept) in [
        (&["--base-url", "no url", "--record", "r.jsonl", "x"][..], 2, true),
        (&["--allow-write", "nowhere", "--record", "r.jsonl", "x"], 2, true),
        (&["--record", "r.jsonl", "x"], 0, false),
    ] {
        let run = Scenario::new([text("new")]).file("r.jsonl", old.as_str()).args(args).run();
        assert_eq!(run.code, code, "{}", run.stderr);
        assert_eq!(run.read("r.jsonl") == old, kept, "{args:?}");
        assert_eq!(run.read("r.jsonl").lines().count(), if kept { 9_999 } else { 1 });
    }
}

#[test]
fn a_recording_that_is_none_or_too_short_is_said() {
    let none = Scenario::new([])
        .file("r.jsonl", "{\"agent\":\"lead\"}\nnonsense\n")
        .args(&["--replay", "r.jsonl", "x"])
        .run();
    assert_eq!(none.code, 2);
    assert_holds(&none.stderr, &["line 2"]);
    let short = Scenario::new([]).file("r.jsonl", "").args(&["--replay", "r.jsonl", "x"]).run();
    assert_eq!(short.code, 1);
    assert_holds(&short.stderr, &["the recording ends here"]);
}

#[test]
fn json_is_one_object_whatever_the_end() {
    let object = |run: &Run| -> Value {
        assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
        serde_json::from_str(&run.stdout).unwrap()
    };
    let no = raw(401, json!({ "error": { "message": "nope" } }).to_string());
    let run = Scenario::new([
        delegates("tester", "t"),
        text("fine"),
        delegates("other", "u"),
        no,
        text("A\nB"),
    ])
    .arg("--json")
    .run();
    let all = object(&run);
    assert_eq!(run.code, 0);
    assert_eq!(
        (&all["answer"], &all["finished"], &all["turns"], &all["error"]),
        (&json!("A\nB"), &json!(true), &json!(3), &Value::Null)
    );
    assert_eq!(all["usage"], json!({ "prompt_tokens": 300, "completion_tokens": 30 }));
    let children = all["subagents"].as_array().unwrap();
    assert_eq!(children.len(), 2);
    assert_eq!(
        (&children[0]["role"], &children[0]["answer"], &children[0]["finished"]),
        (&json!("tester"), &json!("fine"), &json!(true))
    );
    assert_eq!((&children[1]["finished"], &children[1]["answer"]), (&json!(false), &Value::Null));
    assert_holds(children[1]["error"].as_str().unwrap(), &["401", "nope"]);

    let refused = Scenario::new([raw(401, "{}")]).arg("--json").run();
    assert_eq!(
        (refused.code, &object(&refused)["finished"], &object(&refused)["answer"]),
        (1, &json!(false), &Value::Null)
    );
    assert_holds(object(&refused)["error"].as_str().unwrap(), &["401"]);
    let keyless = Scenario::new([])
        .env("OPENAI_API_KEY", None)
        .env("OPENAI_BASE_URL", None)
        .arg("--json")
        .run();
    assert_eq!(keyless.code, 2);
    assert_holds(object(&keyless)["error"].as_str().unwrap(), &["OPENAI_API_KEY"]);
    let step = calls("c", "bash", json!({ "command": "true" }));
    let limit = Scenario::new([vec![step; 9], vec![text("half")]].concat())
        .args(&["-n", "10", "--json", "x"])
        .run();
    assert_eq!(
        (limit.code, &object(&limit)["answer"], &object(&limit)["finished"]),
        (3, &json!("half"), &json!(false))
    );
    assert_holds(object(&limit)["error"].as_str().unwrap(), &["turn limit", "10"]);
}

#[test]
fn quiet_shows_warnings_and_errors_only() {
    let run = Scenario::new([calls("a", "bash", json!({ "command": "false" })), text("ok")])
        .arg("-q")
        .run();
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = Scenario::new([raw(401, "{}")]).arg("--quiet").run();
    assert_holds(&run.stderr, &["error: "]);
}

#[test]
fn everything_relative_is_below_the_working_directory() {
    let run =
        Scenario::new([calls("w", "write", json!({ "path": "x", "content": "1" })), text("ok")])
            .file("sub/roles/mine.toml", "description = \"SENTINEL\"\nprompt = \"p\"\n")
            .args(&["-C", "sub", "--record", "r.jsonl", "do it"])
            .run();
    run.answered("ok");
    assert_holds(&run.request(1)["tools"].to_string(), &["SENTINEL"]);
    for path in ["sub/x", "sub/r.jsonl", "sub/memory/agent_memory.md"] {
        assert!(run.dir.path().join(path).exists(), "{path}");
    }
}

/// E03
#[test]
fn a_task_in_chinese_is_sent_and_remembered_as_it_is() {
    let first = Scenario::new([text("完成")]).args(&["创建一个", "TODO 应用"]).run();
    first.answered("完成").asked(1);
    assert_eq!(first.request(1)["messages"][1]["content"], "创建一个 TODO 应用");
    assert_holds(&first.memory(), &["**Task:** 创建一个 TODO 应用\n**Result:** 完成\n"]);
    let second = Scenario::new([text("ok")]).file("memory/agent_memory.md", first.memory()).run();
    assert_holds(second.system(1), &["**Task:** 创建一个 TODO 应用"]);
}

#[test]
fn a_closed_stdout_or_stderr_is_no_reason_to_fail() {
    let scenario = Scenario::new([text("all done")]);
    let (command, _) = scenario.command();
    let url = command
        .get_envs()
        .find(|(key, _)| *key == "OPENAI_BASE_URL")
        .unwrap()
        .1
        .unwrap()
        .to_owned();
    for redirect in ["| true; exit ${PIPESTATUS[0]}", "2>&-"] {
        let status = Command::new("bash")
            .arg("-c")
            .arg(format!(
                "{} --no-memory 'do it' </dev/null {redirect}",
                env!("CARGO_BIN_EXE_agent-subagent")
            ))
            .env("OPENAI_BASE_URL", &url)
            .env_remove("AGENT_SUBAGENT_RUN")
            .current_dir(scenario.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert_eq!(status.unwrap().code(), Some(0), "{redirect}");
    }
    let full = Scenario::new([text("all done")]);
    let (mut command, _) = full.command();
    let device = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(device).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "an answer that cannot be printed is a failure");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_holds(&stderr, &["cannot print the answer", "No space left"]);
}

#[test]
fn an_interrupt_ends_the_run_and_its_commands() {
    let scenario = Scenario::new([calls(
        "a",
        "bash",
        json!({ "command": "echo $$ > pid; sleep 300 & sleep 300" }),
    )])
    .args(&["--record", "run.jsonl", "wait"]);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let (mut command, _) = scenario.command();
        let child = command.spawn().unwrap();
        let pid = scenario.dir.path().join("pid");
        while !fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
        let shell = fs::read_to_string(&pid).unwrap();
        fs::remove_file(&pid).unwrap();
        // A killed process takes a moment to be gone.
        let state =
            || fs::read_to_string(format!("/proc/{}/stat", shell.trim())).unwrap_or_default();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(std::time::Instant::now() < deadline, "{}", state());
        }
        let recording = fs::read_to_string(scenario.dir.path().join("run.jsonl")).unwrap();
        // The killed command may have been told to the model before the end.
        assert!(recording.ends_with('\n') && recording.lines().count() <= 2);
    }
}

/// As `nohup` starts it.
#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_so() {
    let hang_up = calls("a", "bash", json!({ "command": "kill -HUP $PPID; sleep 0.1; echo on" }));
    let scenario = || Scenario::new([hang_up.clone(), text("done")]);
    let run = scenario().under(&["env", "--ignore-signal=HUP"]).run();
    run.answered("done").asked(2);
    assert_eq!(run.tool("a"), "on\n");
    assert_eq!(scenario().under(&["env", "--default-signal=HUP"]).run().code, 130);
}

#[test]
fn an_interrupt_ends_a_run_whose_answer_nobody_reads() {
    let scenario = Scenario::new([text(&"x".repeat(300_000))]).args(&["--no-memory", "-q", "go"]);
    let (mut command, seen) = scenario.command();
    let mut child = command.spawn().unwrap();
    while seen.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    // It waits in its write now, or soon will; the signal must end it either way.
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let status = loop {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(std::time::Instant::now() < deadline, "it does not end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert!(status.code().is_none_or(|code| code == 130), "{status}");
}

#[test]
fn the_demo_builds_a_working_todo_app_without_key_or_network() {
    let demo = |scenario: Scenario| {
        scenario
            .env("OPENAI_API_KEY", None)
            .env("OPENAI_BASE_URL", None)
            .args(&["--demo"])
            .open_stdin()
            .run()
    };
    let run = demo(Scenario::new([text("not asked")]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.asked(0);
    assert_holds(&run.stderr, &["scripted", "real", "tester#", "failed"]);
    assert!(run.stderr.matches(" starts: ").count() >= 3, "{}", run.stderr);
    assert!(!run.dir.path().join("memory").exists());
    let app = run.dir.path().join("todo-app");
    let sh = |arguments: &[&str]| {
        let output = Command::new("sh").arg(app.join("todo.sh")).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(Command::new("sh").arg(app.join("test.sh")).output().unwrap().status.success());
    assert_eq!(sh(&["add", "buy 'milk' & 面包"]).0, 0);
    let (code, list) = sh(&["list"]);
    assert!(code == 0 && list.contains("buy 'milk' & 面包"), "{list}");
    assert_eq!(sh(&["done", "1"]).0, 0);
    assert_ne!(sh(&["done", "9"]).0, 0);
    assert_eq!(sh(&["rm", "1"]).0, 0);
    assert!(!sh(&["list"]).1.contains("milk"));

    let again = demo(Scenario::new([]).file("todo-app/mine", "x"));
    assert_eq!((again.code, again.read("todo-app/mine").as_str()), (2, "x"));
    assert_holds(&again.stderr, &["todo-app"]);
}

/// The short form of an option is the long one.
#[test]
fn short_options_are_the_long_ones() {
    for (short, long) in [("-h", "--help"), ("-V", "--version")] {
        let [short, long] = [short, long].map(|option| Scenario::new([]).args(&[option]).run());
        assert_eq!((short.code, long.code), (0, 0));
        // `-h` is shorter, but the same.
        let first = |run: &Run| run.stdout.lines().next().unwrap().trim_end_matches('.').to_owned();
        assert_eq!(first(&short), first(&long));
    }
    for (short, long, value) in [
        ("-m", "--model", "other-model"),
        ("-n", "--max-turns", "12"),
        ("-j", "--jobs", "2"),
        ("-C", "--workdir", "sub"),
    ] {
        for option in [short, long] {
            let step = calls("a", "bash", json!({ "command": "pwd" }));
            let run = Scenario::new([step, text("done")])
                .folder("sub")
                .args(&[option, value, "do it"])
                .run();
            run.answered("done");
            match long {
                "--model" => assert_eq!(run.request(1)["model"], value),
                "--max-turns" => assert_holds(&run.stderr, &["lead 1/12 bash"]),
                "--workdir" => assert!(run.tool("a").trim().ends_with("/sub"), "{option}"),
                _ => assert_holds(&run.stderr, &["lead 1/20 bash"]),
            }
        }
    }
    let shown = |option: &str| {
        let run = Scenario::new([text("done")]).args(&[option, "do it"]).run();
        run.answered("done");
        (run.stderr.contains("asks test-model"), run.stderr.contains("lead: 1 turns"))
    };
    assert_eq!([shown("-v"), shown("--verbose")], [(true, true); 2]);
    assert_eq!([shown("-q"), shown("--quiet")], [(false, false); 2]);
}

#[test]
fn memory_and_walls_are_where_the_options_say() {
    let outside = tempfile::TempDir::new().unwrap();
    let file = outside.path().join("file");
    for (options, inside) in [(&[][..], false), (&["--no-sandbox"], true)] {
        let write =
            calls("w", "bash", json!({ "command": format!("echo x > {}", file.display()) }));
        let args = [options, &["--memory", "notes/mine.md", "do it"]].concat();
        let run = Scenario::new([write, text("done")]).own_temporary_folder().args(&args).run();
        run.answered("done");
        assert_eq!(file.exists(), inside, "{}", run.tool("w"));
        assert_holds(&run.read("notes/mine.md"), &["**Task:** do it\n**Result:** done\n"]);
        assert_eq!(run.memory(), "");
    }
}

/// A second one of these would be emptied by the first.
#[test]
fn files_of_the_run_are_not_the_same_file() {
    let old = json!({ "agent": "lead", "turn": 1, "reply": {} }).to_string() + "\n";
    for args in [
        &["--picture", "a", "--record", "./a", "x"][..],
        &["--picture", "a", "--memory", "a", "x"],
        &["--replay", "a", "--record", "a", "x"],
        &["--replay", "a", "--picture", "a", "x"],
    ] {
        let run = Scenario::new([]).file("a", &old).args(args).run();
        assert_eq!((run.code, run.read("a")), (2, old.clone()), "{}", run.stderr);
        assert_holds(&run.stderr, &["need a file each"]);
    }
}

/// The reader of stdout is slow, and somebody presses Ctrl-C meanwhile.
#[test]
fn an_interrupt_while_the_end_is_told_tells_no_second_one() {
    let scenario = Scenario::new([text(&"long ".repeat(60_000))]).args(&["--json", "do it"]);
    let (mut command, _) = scenario.command();
    let mut child = command.spawn().unwrap();
    let (mut first, mut rest) = ([0], String::new());
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    let interrupt = || Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt().unwrap().success());
    stdout.read_to_string(&mut rest).unwrap();
    let object: Value = serde_json::from_str(&format!("{}{rest}", char::from(first[0]))).unwrap();
    assert_eq!(object["finished"], true);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
