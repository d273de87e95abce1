//! The exercises of EXERCISES.md: each test fails until its exercise is done.
//! `cargo test --test exercises -- --ignored exercise_1` runs the first one.

mod common;

use std::process::Command;

use common::{Reply, Run, Scenario, assert_holds, calls, delegates, raw, reply, root, text};
use serde_json::{Value, json};

/// What the lead's system prompt says and no child's.
const LEAD: &str = "lead of a small team";

fn refuses(words: &str) -> Reply {
    raw(400, json!({ "error": { "message": words } }).to_string())
}

/// The lines that a program prints in the folder of a run, sorted.
fn real(run: &Run, program: &str, args: &[&str]) -> Vec<String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(run.dir.path()).env("LC_ALL", "C.UTF-8");
    command
        .env("HOME", run.dir.path())
        .env_remove("XDG_CONFIG_HOME")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    sorted(&String::from_utf8(output.stdout).unwrap())
}

/// The lines of a text, sorted, without a note in brackets.
fn sorted(text: &str) -> Vec<String> {
    let lines = text.split(['\n', '\0']).filter(|line| !line.is_empty() && !line.starts_with('('));
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The numbers in a text, in their order.
fn numbers(text: &str) -> Vec<f64> {
    let parts = text.split(|char: char| !char.is_ascii_digit() && char != '.');
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[test]
#[ignore = "exercise 1"]
fn exercise_1_a_tool_counts_lines_words_and_bytes() {
    let files = [
        ("empty", ""),
        ("plain.txt", "one two\nthree four\nfive\n"),
        ("no line end", "only\nthe last line is open"),
        ("中文/表.txt", "三 个 词\n😀 ok\n\n"),
        ("blanks", " \t\n\n  x  \r\n"),
    ];
    let count = |(id, (path, _)): (usize, &(&str, &str))| {
        calls(&format!("f{id}"), "count", json!({ "path": path }))
    };
    let lead = [
        calls("missing", "count", json!({ "path": "nowhere.txt" })),
        calls("folder", "count", json!({ "path": "中文" })),
        calls("bad", "count", json!({ "file": "plain.txt" })),
        delegates("counter", "count plain.txt"),
        text("all done"),
    ];
    let child = [calls("c", "count", json!({ "path": "plain.txt" })), text("counted")];
    let mut scenario = Scenario::new([])
        .answers(LEAD, files.iter().enumerate().map(count).chain(lead))
        .answers("You are a counter", child)
        .file("roles/counter.toml", "description = \"d\"\nprompt = \"p\"\ntools = [\"count\"]\n");
    for (path, content) in files {
        scenario = scenario.file(path, content);
    }
    let run = scenario.run();
    run.answered("all done");
    assert!(run.offered(1).contains(&"count".into()), "{:?}", run.offered(1));
    for (id, (path, _)) in files.iter().enumerate() {
        let told = run.tool(&format!("f{id}"));
        // `wc` prints lines, words, bytes and the path.
        let expected = real(&run, "wc", &[path])[0].replace(path, "");
        assert_eq!(numbers(&told), numbers(&expected), "{path}: {told}");
        assert_holds(&told, &["line", "word", "byte"]);
    }
    for id in ["missing", "folder", "bad"] {
        assert!(run.tool(id).starts_with("Error: "), "{id}: {}", run.tool(id));
        assert!(!run.tool(id).contains("unknown tool"), "{}", run.tool(id));
    }
    // A preset can allow it, like any other plain tool.
    let child = (1..=run.requests.len()).find(|number| run.system(*number).contains("a counter"));
    let tools = run.offered(child.unwrap());
    assert!(tools.contains(&"count".into()) && !tools.contains(&"read".into()), "{tools:?}");
    assert_eq!(run.tool("c"), run.tool("f1"));
}

#[test]
#[ignore = "exercise 2"]
fn exercise_2_a_translator_reads_and_writes_and_has_ten_turns() {
    let folder = root().join("roles").display().to_string();
    let write = json!({ "path": "docs/你好.md", "content": "# 你好 🙂\n" });
    let mut child = vec![
        calls("bash", "bash", json!({ "command": "touch made" })),
        calls("write", "write", write),
    ];
    child.resize(9, calls("read", "read", json!({ "path": "hello.md" })));
    child.push(text("half of it is translated"));
    let run = Scenario::new([])
        .answers(LEAD, [delegates("translator", "translate hello.md"), text("all done")])
        .answers("You are a", child)
        .file("hello.md", "# hello\n")
        .args(&["--roles", &folder, "do the task"])
        .run();
    assert!(!run.stderr.contains("has no preset"), "{}", run.stderr);
    run.answered("all done").asked(12);
    for (tool, may) in [("read", true), ("write", true), ("edit", false), ("bash", false)] {
        assert_eq!(run.offered(2).contains(&tool.into()), may, "{tool}");
    }
    assert_holds(&run.tool("bash"), &["Error: ", "unknown tool"]);
    assert!(!run.dir.path().join("made").exists());
    assert_eq!(run.read("docs/你好.md"), "# 你好 🙂\n");
    assert!(run.offered(11).is_empty(), "the tenth turn is the last");
    assert_holds(&run.tool("p1"), &["turn limit", "half of it is translated"]);
    // It ships: a folder without presets has it too.
    let run = Scenario::new([]).args(&["--list-roles"]).run();
    let listed = run
        .stdout
        .lines()
        .any(|line| line.starts_with("translator: ") && line.ends_with("(built in)"));
    assert!(listed, "not in the binary: {}", run.stdout);
}

#[test]
#[ignore = "exercise 3"]
fn exercise_3_a_child_keeps_a_plan_that_the_person_sees() {
    let items = json!({ "items": [
        { "content": "look", "status": "completed" },
        { "content": "mend\u{1b}[31m it 🔧", "status": "in_progress" },
        { "content": "测试", "status": "pending" },
    ] });
    let lead = json!({ "items": [{ "content": "delegate", "status": "in_progress" }] });
    let wrong = json!({ "items": [{ "content": "x", "status": "maybe" }] });
    let run = Scenario::new([])
        .answers(LEAD, [calls("l", "todo", lead), delegates("tester", "t"), text("all done")])
        .answers(
            "You are a tester",
            [
                calls("c", "todo", items),
                calls("none", "todo", json!({ "items": [] })),
                calls("wrong", "todo", wrong),
                text("child done"),
            ],
        )
        .file("roles/tester.toml", "description = \"d\"\nprompt = \"p\"\n")
        .run();
    run.answered("all done").asked(7);
    for tools in [run.offered(1), run.offered(3)] {
        assert_eq!(tools.iter().filter(|tool| *tool == "todo").count(), 1, "{tools:?}");
    }
    let plan = ["[x] look", "[>] mend it 🔧", "[ ] 测试"];
    assert_holds(&run.tool("c"), &plan);
    assert_holds(&run.stderr, &plan);
    assert!(!run.tool("none").starts_with("Error: "), "{}", run.tool("none"));
    assert_holds(&run.tool("wrong"), &["Error: ", "maybe", "pending"]);
    // The lead keeps its own.
    assert_holds(&run.tool("l"), &["[>] delegate"]);
    assert_eq!(run.tool("p1"), "child done");
}

#[test]
#[ignore = "exercise 4"]
fn exercise_4_a_child_delegates_and_a_grandchild_cannot() {
    let part = |id, role: &str| {
        let arguments = json!({ "role": role, "task": format!("PIECE for {role}") });
        (id, "subagent", Value::from(arguments.to_string()))
    };
    let run = Scenario::new([])
        .answers(LEAD, [delegates("manager", "the whole of it"), text("all done")])
        .answers(
            "You are a manager",
            [
                reply(Value::Null, &[part("g1", "worker one"), part("g2", "工人")]),
                calls("b", "bash", json!({ "command": "cat made" })),
                text("both are done"),
            ],
        )
        .answers(
            "You are a worker one",
            [
                calls("deep", "subagent", json!({ "role": "nobody", "task": "t" })),
                calls("w", "write", json!({ "path": "made", "content": "made 🙂" })),
                text("SECRET-ONE"),
            ],
        )
        .answers("You are a 工人", [text("SECRET-TWO")])
        .args(&["--json", "PERSONS-WORDS"])
        .run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let all = |who: &str| -> Vec<usize> {
        let numbers = 1..=run.requests.len();
        numbers.filter(|number| run.system(*number).contains(who)).collect()
    };
    let first = |who: &str| *all(who).first().unwrap_or_else(|| panic!("{who} was never asked"));
    let manager = first("You are a manager");
    assert!(run.offered(manager).contains(&"subagent".into()), "{:?}", run.offered(manager));
    for (who, task) in [("worker one", "PIECE for worker one"), ("工人", "PIECE for 工人")] {
        let number = first(&format!("You are a {who}"));
        assert!(!run.offered(number).contains(&"subagent".into()), "{who} cannot delegate");
        // It starts with two messages, and knows nothing of those above it.
        let messages = run.request(number)["messages"].as_array().unwrap();
        assert_eq!((messages.len(), &messages[1]["content"]), (2, &json!(task)));
        let system = run.system(number);
        assert!(!system.contains("the whole of it") && !system.contains("PERSONS-WORDS"));
    }
    assert!(run.tool("deep").starts_with("Error: "), "{}", run.tool("deep"));
    assert!(all("You are a nobody").is_empty(), "a grandchild started one");
    // Each text goes up one step and no further.
    assert_eq!((run.tool("g1"), run.tool("g2")), ("SECRET-ONE".into(), "SECRET-TWO".into()));
    assert_eq!((run.tool("b"), run.tool("p1")), ("made 🙂".into(), "both are done".into()));
    let last = run.request(*all(LEAD).last().unwrap())["messages"].to_string();
    assert!(!last.contains("SECRET") && !last.contains("PIECE"), "{last}");
    // Everybody is accounted for.
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let roles = object["subagents"].as_array().unwrap().iter();
    let mut roles: Vec<_> = roles.map(|child| child["role"].as_str().unwrap()).collect();
    roles.sort_unstable();
    assert_eq!(roles, ["manager", "worker one", "工人"]);
}

#[test]
#[ignore = "exercise 5"]
fn exercise_5_an_agent_ends_at_its_token_limit_with_what_it_can_say() {
    // Every reply of the server takes 110 tokens.
    let step = || calls("c", "bash", json!({ "command": "echo step >> steps" }));
    let steps = |count| [vec![step(); count], vec![text("half done 半")]].concat();
    for (most, steps_taken) in [("300", 3), ("330", 3), ("331", 4), ("1", 1)] {
        let run = Scenario::new(steps(steps_taken)).args(&["--max-tokens", most, "x"]).run();
        assert_eq!((run.code, run.stdout.as_str()), (3, "half done 半\n"), "{}", run.stderr);
        run.asked(steps_taken + 1);
        let last = run.request(steps_taken + 1);
        assert!(run.offered(steps_taken + 1).is_empty(), "{most}: the last turn offers no tools");
        assert_holds(&last["messages"].to_string(), &["last turn"]);
        assert_eq!(run.read("steps").lines().count(), steps_taken, "calls before it are run");
        assert_holds(&run.stderr, &["token limit"]);
        assert!(!run.stderr.contains("turn limit"), "{}", run.stderr);
        assert_holds(&run.memory(), &["(incomplete) half done 半\n"]);
    }
    // An answer is an answer, whatever it took.
    Scenario::new([text("done")]).args(&["--max-tokens", "5", "x"]).run().answered("done").asked(1);
    // Each agent counts its own tokens, and the lead learns how its child ended.
    let child = [step(), step(), step(), text("partial report")];
    let run = Scenario::new([])
        .answers(LEAD, [delegates("tester", "t"), text("all done")])
        .answers("You are a", child)
        .args(&["--max-tokens", "300", "--json", "x"])
        .run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.asked(6);
    assert!(run.offered(5).is_empty());
    assert_holds(&run.tool("p1"), &["token limit", "partial report"]);
    assert!(!run.tool("p1").contains("Error: "), "{}", run.tool("p1"));
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let child = &object["subagents"][0];
    assert_eq!((&child["answer"], &child["finished"]), (&json!("partial report"), &json!(false)));
    assert_holds(child["error"].as_str().unwrap(), &["token limit"]);
    // Turns are still limited, and what is no number of tokens stops the start.
    let run = Scenario::new([step()]).args(&["--max-tokens", "99999", "-n10", "x"]).run();
    assert_eq!(run.code, 3);
    assert_holds(&run.stderr, &["turn limit"]);
    let run = Scenario::new([text("never")]).args(&["--max-tokens", "many", "x"]).run();
    assert_eq!(run.code, 2);
    run.asked(0);
}

#[test]
#[ignore = "exercise 6"]
fn exercise_6_a_preset_has_a_second_model_for_requests_that_fail_for_good() {
    let preset =
        "description = \"d\"\nprompt = \"p\"\nmodel = \"small\"\nfallback = \"大-model\"\n";
    let team = |child: Vec<Reply>| {
        let lead = [delegates("reader", "read it"), text("all done")];
        let scenario = Scenario::new([]).answers(LEAD, lead).answers("You are a", child);
        scenario.file("roles/reader.toml", preset).run()
    };
    let run = team(vec![refuses("no such model: small"), text("read by the other")]);
    run.answered("all done").asked(4);
    let models = |run: &Run| -> Vec<String> {
        let models =
            run.requests.iter().map(|seen| seen.body["model"].as_str().unwrap().to_owned());
        models.collect()
    };
    assert_eq!(models(&run), ["test-model", "small", "大-model", "test-model"]);
    assert_eq!(run.tool("p1"), "read by the other");
    assert_eq!(run.request(2)["messages"], run.request(3)["messages"], "the same question");
    assert_eq!(run.request(2)["tools"], run.request(3)["tools"]);
    assert_holds(&run.stderr, &["大-model"]);
    // One that fails later is asked for by the other as well, with all that came before.
    let step = calls("c", "bash", json!({ "command": "echo hi" }));
    let run = team(vec![step, refuses("gone"), text("read in the end")]);
    run.answered("all done").asked(5);
    assert_eq!(models(&run)[1..4], ["small", "small", "大-model"]);
    assert_eq!(run.request(4)["messages"], run.request(3)["messages"]);
    assert_eq!(run.tool("p1"), "read in the end");
    // What passes by itself is no reason to change.
    let run = team(vec![raw(429, "{}"), text("read after a wait")]);
    run.answered("all done").asked(4);
    assert_eq!(models(&run)[1..3], ["small", "small"]);
    // Two models that fail are a failed child, and no more than that.
    let run = team(vec![refuses("bad alpha"), refuses("bad beta")]);
    run.answered("all done").asked(4);
    assert_eq!(models(&run)[1..3], ["small", "大-model"]);
    assert_holds(&run.tool("p1"), &["Error: ", "400"]);
}

#[test]
#[ignore = "exercise 7"]
fn exercise_7_glob_and_grep_pass_over_what_gitignore_names() {
    let calls_of_lead = [
        calls("all", "glob", json!({ "pattern": "**/*" })),
        calls("logs", "glob", json!({ "pattern": "*.log" })),
        calls("hits", "grep", json!({ "pattern": "needle" })),
        calls("named", "grep", json!({ "pattern": "needle", "path": "build" })),
        calls("below", "glob", json!({ "pattern": "build/*" })),
        calls("file", "grep", json!({ "pattern": "needle", "path": "debug.log" })),
        text("all done"),
    ];
    let mut scenario = Scenario::new(calls_of_lead).args(&["--no-memory", "look"]);
    let home = scenario.dir.path().display().to_string();
    scenario = scenario.env("HOME", Some(&home)).prepare("git init -q .");
    scenario = scenario
        .file(".gitignore", "# comment\n*.log\n!keep.log\n/build/\n临时/\n\n")
        .file("sub/.gitignore", "local.txt\n")
        .file("empty", "");
    for path in [
        "a.rs",
        "debug.log",
        "keep.log",
        "build/out.rs",
        "src/build/in.rs",
        "src/deep/x.log",
        "临时/x.rs",
        "笔记 😀.txt",
        "local.txt",
        "sub/local.txt",
        "sub/other.txt",
        ".hidden/h.rs",
        ".hidden/h.log",
    ] {
        scenario = scenario.file(path, "a needle\n");
    }
    let run = scenario.run();
    run.answered("all done");
    let listed = ["ls-files", "-z", "--others", "--exclude-standard"];
    assert_eq!(sorted(&run.tool("all")), real(&run, "git", &listed));
    assert_eq!(sorted(&run.tool("logs")), ["keep.log"]);
    let found = ["-c", "core.quotePath=false", "grep", "-n", "--untracked", "needle"];
    assert_eq!(sorted(&run.tool("hits")), real(&run, "git", &found));
    // Nothing is passed over in silence, and what is named is searched.
    assert_holds(&run.tool("hits"), &["\n(", "ignore"]);
    assert_eq!(sorted(&run.tool("named")), ["build/out.rs:1:a needle"]);
    assert_eq!(sorted(&run.tool("below")), ["build/out.rs"]);
    assert_eq!(sorted(&run.tool("file")), ["debug.log:1:a needle"]);
}

#[test]
#[ignore = "exercise 8"]
fn exercise_8_a_server_says_in_milliseconds_how_long_to_wait() {
    let slow = |headers: &[(&str, &str)]| {
        let mut reply = raw(429, json!({ "error": { "message": "slow down" } }).to_string());
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        reply.headers = headers.collect();
        reply
    };
    // The wait that the person is told of: up to a quarter more than asked.
    let waits = |headers: &[(&str, &str)]| {
        let run = Scenario::new([slow(headers), text("all done")]).run();
        run.answered("all done").asked(2);
        numbers(run.stderr.split("waits ").nth(1).unwrap())[0]
    };
    let wait = waits(&[("retry-after-ms", "1200")]);
    assert!((1.2..=1.5).contains(&wait), "{wait}");
    // Beside the other header, it is the more exact one.
    let wait = waits(&[("retry-after", "7"), ("retry-after-ms", "1200")]);
    assert!((1.2..=1.5).contains(&wait), "{wait}");
    // What is no number counts for nothing.
    for none in ["", "soon", "很快", "-5"] {
        let wait = waits(&[("retry-after-ms", none)]);
        assert!((0.5..=0.7).contains(&wait), "{none}: {wait}");
    }
    // The ceiling holds for it too.
    let run = Scenario::new([slow(&[("retry-after-ms", "61000")])]).run();
    assert_eq!(run.code, 1);
    run.asked(1);
    assert_holds(&run.stderr, &["slow down", "asks to wait 61"]);
}
