//! The lead and its children: what each sees, and what crosses between them.

mod common;

use std::fs;

use common::{
    Reply, Run, Scenario, assert_holds, calls, delegates, lead_tools, plain_tools, raw, reply,
    root, text,
};
use serde_json::{Value, json};

const ROLE: &str = "description = \"finds bugs in diffs\"\nprompt = \"Look closely.\"\n";

/// A10
#[test]
fn a_child_starts_with_two_messages_and_nothing_of_the_leads() {
    let run = Scenario::new([delegates("tester", "just the part"), text("ok"), text("all done")])
        .args(&["PARENT-TASK-WORDS"])
        .file("memory/agent_memory.md", "## old\nSENTINEL-MEM\n")
        .run();
    run.answered("all done").asked(3);
    assert_holds(run.system(1), &["SENTINEL-MEM"]);
    let child = run.request(2);
    assert_eq!(child["messages"].as_array().unwrap().len(), 2);
    assert!(run.system(2).starts_with("You are a tester"), "{}", run.system(2));
    assert_eq!(child["messages"][1], json!({ "role": "user", "content": "just the part" }));
    let sent = child.to_string();
    assert!(!sent.contains("SENTINEL-MEM") && !sent.contains("PARENT-TASK-WORDS"), "{sent}");
    assert_eq!(run.tool("p1"), "ok");
}

#[test]
fn lead_and_child_are_told_where_they_work() {
    let run = Scenario::new([delegates("tester", "t"), text("ok"), text("all done")]).run();
    let folder = run.dir.path().canonicalize().unwrap();
    for system in [run.system(1), run.system(2)] {
        assert_holds(
            system,
            &[&format!("Working directory: {}", folder.display()), "System: ", "Date: 20"],
        );
    }
    // E06: the schema and the child's prompt say what is handed over and what comes back.
    let tools = run.request(1)["tools"].to_string();
    assert_holds(&tools, &["starts fresh", "only `task`", "one text", "cannot ask back"]);
    assert_holds(run.system(2), &["one task", "last message", "by itself"]);
}

/// A09
#[test]
fn a_child_cannot_delegate() {
    let nested = calls("c1", "subagent", json!({ "role": "nested", "task": "t2" }));
    let run =
        Scenario::new([delegates("tester", "t"), nested, text("child done"), text("all done")])
            .run();
    run.answered("all done").asked(4);
    assert_eq!(run.offered(1), lead_tools());
    assert_eq!(run.offered(2), plain_tools());
    assert!(!plain_tools().contains(&"subagent"));
    assert!((1..=4).all(|number| !run.system(number).contains("nested")));
    assert_holds(
        &run.tool("c1"),
        &["Error: ", "sub-agents cannot start sub-agents", "read, write"],
    );
}

#[test]
fn a_child_that_starts_the_program_itself_is_refused() {
    let command = format!(
        "env -u OPENAI_API_KEY {} --version; {0} hello",
        env!("CARGO_BIN_EXE_agent-subagent")
    );
    let run =
        Scenario::new([calls("a", "bash", json!({ "command": command })), text("all done")]).run();
    run.answered("all done").asked(2);
    assert_holds(&run.tool("a"), &["exit code 2", "cannot start another"]);
}

/// A01, and the last line of A03's kind: nothing was ever said.
#[test]
fn a_child_without_a_text_is_no_summary() {
    let run = Scenario::new([delegates("tester", "t"), text(""), text(""), text("all done")]).run();
    run.answered("all done").asked(4);
    assert_eq!(run.tool("p1"), "(no summary)");
}

/// A03
#[test]
fn a_report_beside_a_call_is_kept_when_the_last_message_is_empty() {
    let beside =
        reply("REPORT: bug on line 3".into(), &[("c1", "read", json!("{\"path\": \"a.py\"}"))]);
    let replies = [delegates("tester", "t"), beside, text(""), text("all done")];
    let run = Scenario::new(replies).file("a.py", "x=1\n").run();
    run.answered("all done").asked(4);
    assert_eq!(run.tool("p1"), "REPORT: bug on line 3");
}

/// A04
#[test]
fn what_a_child_found_survives_its_turn_limit() {
    let step =
        reply("found: key K42".into(), &[("c", "bash", json!("{\"command\": \"echo step\"}"))]);
    let replies = [
        vec![delegates("tester", "t")],
        vec![step; 9],
        vec![text("partial report"), text("all done")],
    ];
    let run = Scenario::new(replies.concat()).args(&["-n", "10", "do the task"]).run();
    run.answered("all done").asked(12);
    let told = run.tool("p1");
    assert!(told.starts_with("(subagent reached turn limit)"), "{told}");
    assert_holds(&told, &["10", "ncomplete", "partial report"]);
    assert!(run.offered(11).is_empty(), "the last turn offers no tools");
    assert_holds(&run.request(11)["messages"].to_string(), &["last turn"]);
}

/// A06
#[test]
fn a_lead_at_its_turn_limit_is_no_success() {
    let step = calls("c", "bash", json!({ "command": "true" }));
    let run = Scenario::new([step]).args(&["--max-turns", "10", "do the task"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    run.asked(10);
    assert_holds(&run.stderr, &["turn limit", "10"]);
    assert_eq!(run.memory(), "");
}

#[test]
fn a_lead_at_its_turn_limit_leaves_what_it_could_say() {
    let step = calls("c", "bash", json!({ "command": "true" }));
    let run = Scenario::new([vec![step; 9], vec![text("half done")]].concat())
        .args(&["-n10", "do the task"])
        .run();
    assert_eq!((run.code, run.stdout.as_str()), (3, "half done\n"));
    assert_holds(&run.memory(), &["**Result:** (incomplete) half done\n"]);
}

#[test]
fn a_server_that_wants_tools_in_the_last_turn_gets_them() {
    let step = calls("c", "bash", json!({ "command": "true" }));
    let no = raw(400, json!({ "error": { "message": "tools are missing" } }).to_string());
    let replies = [vec![step.clone(); 9], vec![no.clone(), step.clone()]].concat();
    let run = Scenario::new(replies).args(&["-n10", "do the task"]).run();
    assert_eq!(run.code, 3, "{}", run.stderr);
    run.asked(11);
    assert!(run.offered(10).is_empty() && run.offered(11) == lead_tools());
    let run = Scenario::new([vec![step; 9], vec![no]].concat()).args(&["-n10", "x"]).run();
    assert_eq!(run.code, 1);
    assert_holds(&run.stderr, &["tools are missing"]);
}

/// A07
#[test]
fn a_child_whose_request_is_refused_does_not_end_the_run() {
    let body = json!({ "error": { "message": "bad field zeta", "type": "invalid_request_error" } });
    let run = Scenario::new([
        delegates("tester", "t"),
        raw(400, body.to_string()),
        text("parent decided"),
    ])
    .run();
    run.answered("parent decided").asked(3);
    assert_holds(&run.tool("p1").to_lowercase(), &["error", "400", "bad field zeta"]);
}

/// A11
#[test]
fn one_failed_child_does_not_stop_the_next() {
    let both = reply(
        Value::Null,
        &[
            ("p1", "subagent", json!("{\"role\": \"one\", \"task\": \"t1\"}")),
            ("p2", "subagent", json!("{\"role\": \"two\", \"task\": \"t2\"}")),
        ],
    );
    let no = raw(401, json!({ "error": { "message": "nope" } }).to_string());
    let run = Scenario::new([both, no, text("second ok"), text("all done")])
        .args(&["--jobs", "1", "do the task"])
        .run();
    run.answered("all done").asked(4);
    let messages = run.request(4)["messages"].as_array().unwrap();
    let ids: Vec<_> =
        messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["p1", "p2"]);
    assert!(run.tool("p1").starts_with("Error: "), "{}", run.tool("p1"));
    assert_eq!(run.tool("p2"), "second ok");
}

/// A12
#[test]
fn a_huge_report_reaches_the_lead_cut_once() {
    let long = format!("HEAD{}TAIL", "é".repeat(150_000));
    let run = Scenario::new([delegates("tester", "t"), text(&long), text("all done")]).run();
    run.answered("all done").asked(3);
    let told = run.tool("p1");
    assert!(
        told.len() < 60_000 && told.starts_with("HEAD") && told.ends_with("TAIL"),
        "{}",
        told.len()
    );
    assert_eq!(told.matches("left out").count(), 1);
    let left_out: usize =
        told.split("[... ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let note = format!("\n[... {left_out} bytes left out ...]\n");
    assert_eq!(told.len() - note.len() + left_out, long.len());
}

#[test]
fn a_role_and_a_task_must_say_something() {
    for (role, task) in [("", "t"), (" ", "t"), ("tester", ""), ("tester", "\n")] {
        let run = Scenario::new([delegates(role, task), text("all done")]).run();
        run.answered("all done").asked(2);
        assert_holds(&run.tool("p1"), &["Error: ", "empty"]);
    }
}

/// A13
#[test]
fn a_preset_with_a_mistake_stops_the_start() {
    let valid = "description = \"x\"\nprompt = \"y\"\n";
    let mistakes = [
        ("description = \"reviews\nprompt = \"x\"\n".to_owned(), 1, "string"),
        (format!("{valid}promt = \"x\"\n"), 3, "expected one of"),
        (format!("{valid}tools = \"bash\"\n"), 3, "read, write, edit, glob, grep, bash"),
        (format!("{valid}tools = [\"bsh\"]\n"), 3, "read, write, edit, glob, grep, bash"),
        (format!("{valid}max_turns = 9\n"), 3, "10 to 30"),
        (format!("{valid}max_turns = 31\n"), 3, "10 to 30"),
        (format!("{valid}max_turns = -1\n"), 3, "10 to 30"),
        (format!("{valid}  \"max_turns\" = 31\n"), 3, "10 to 30"),
        ("prompt = \"\"\"\nmax_turns\n\"\"\"\nmax_turns = 31\n".to_owned(), 4, "10 to 30"),
        (format!("{valid}max_turns = \"many\"\n"), 3, "10 to 30"),
        (format!("{valid}max_turns = 10.0\n"), 3, "10 to 30"),
    ];
    for (content, line, allowed) in mistakes {
        let run = Scenario::new([text("never")]).file("roles/reviewer.toml", &content).run();
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{content}");
        run.asked(0);
        assert_holds(&run.stderr, &["roles/reviewer.toml", allowed]);
        let lines = [format!("line {line}"), format!(":{line}:")];
        assert!(lines.iter().any(|line| run.stderr.contains(line)), "{}", run.stderr);
    }
    let missing = Scenario::new([]).file("roles/reviewer.toml", "prompt = \"x\"\n").run();
    assert_eq!(missing.code, 2);
    assert_holds(&missing.stderr, &["roles/reviewer.toml", "description"]);
}

/// A15
#[test]
fn the_lead_sees_which_presets_there_are_and_what_for() {
    let run = Scenario::new([text("all done")]).file("roles/reviewer.toml", ROLE).run();
    run.answered("all done").asked(1);
    let tools = run.request(1)["tools"].as_array().unwrap();
    let subagent = tools.iter().find(|tool| tool["function"]["name"] == "subagent").unwrap();
    let subagent = subagent["function"]["description"].as_str().unwrap();
    assert_holds(subagent, &["reviewer: finds bugs in diffs", "backend: ", "tester: "]);
    assert_eq!(subagent.matches("reviewer: ").count(), 1, "the shipped one is overridden");
}

/// A17
#[test]
fn roles_and_tasks_may_be_in_any_language_and_long() {
    let task = "写页面".repeat(900);
    let run = Scenario::new([delegates("前端工程师", &task), text("好"), text("all done")])
        .file("roles/前端工程师.toml", "description = \"页面\"\nprompt = \"SENTINEL-前端\"\n")
        .run();
    run.answered("all done").asked(3);
    assert!(
        run.system(2).starts_with("You are a 前端工程师.\n\nSENTINEL-前端"),
        "{}",
        run.system(2)
    );
    assert_eq!(run.request(2)["messages"][1]["content"], task);
}

#[test]
fn a_presets_model_turns_and_tools_are_honoured() {
    let preset = "name = \"careful reader\"\ndescription = \"d\"\nprompt = \"p\"\nmodel = \"small\"\nmax_turns = 11\ntools = [\"read\", \"grep\"]\n";
    let write = calls("c1", "write", json!({ "path": "x", "content": "1" }));
    let run = Scenario::new(
        [vec![delegates("Reader", "t")], vec![write; 10], vec![text("cut"), text("all done")]]
            .concat(),
    )
    .file("roles/reader.toml", preset)
    .run();
    run.answered("all done").asked(13);
    assert!(run.system(2).starts_with("You are a careful reader.\n\np\n"), "{}", run.system(2));
    assert_eq!(run.request(2)["model"], "small");
    assert_eq!(run.request(13)["model"], "test-model");
    assert_eq!(run.offered(2), ["read", "grep"]);
    assert_holds(&run.tool("c1"), &["Error: ", "write", "you have read, grep"]);
    assert!(!run.dir.path().join("x").exists());
    assert_holds(&run.tool("p1"), &["(subagent reached turn limit)", "11"]);
}

#[test]
fn a_preset_is_found_by_file_or_name_and_never_by_path() {
    let preset = "name = \"Careful Reader\"\ndescription = \"d\"\nprompt = \"SENTINEL\"\n";
    for (role, found) in [
        ("reader", true),
        ("READER", true),
        (" careful reader ", true),
        ("../roles/reader", false),
        ("./reader.toml", false),
    ] {
        let run = Scenario::new([delegates(role, "t"), text("ok"), text("all done")])
            .file("roles/reader.toml", preset)
            .run();
        run.answered("all done");
        assert_eq!(run.system(2).contains("SENTINEL"), found, "{role}: {}", run.system(2));
        if !found {
            assert!(
                run.system(2).starts_with(&format!("You are a {role}.\n")),
                "{}",
                run.system(2)
            );
            assert_holds(
                &run.stderr,
                &["has no preset; near it: reader; there are architect, backend, "],
            );
        }
    }
}

#[test]
fn a_preset_that_is_no_file_is_said() {
    for make in [
        "mkfifo roles/x.toml",
        "mkdir roles/x.toml",
        "ln -s /dev/zero roles/x.toml",
        "ln -s nowhere roles/x.toml",
    ] {
        let run = Scenario::new([text("never")]).folder("roles").prepare(make).run();
        assert_eq!(run.code, 2, "{make}: {}", run.stderr);
        assert_holds(&run.stderr, &["roles/x.toml"]);
        assert!(!run.stderr.contains("near it"), "it is no hint at itself: {}", run.stderr);
    }
}

#[test]
fn presets_come_from_the_project_the_person_and_the_binary() {
    let role = |text: &str| format!("description = \"{text}\"\nprompt = \"p\"\n");
    let listed = |scenario: Scenario| scenario.args(&["--list-roles"]).run();
    let setup = || {
        Scenario::new([])
            .file("cfg/agent-subagent/roles/tester.toml", role("FROM-PERSON"))
            .file("cfg/agent-subagent/roles/mine.toml", role("MINE"))
            .file("roles/mine.toml", role("FROM-PROJECT"))
            .file("roles/README.md", "not a preset")
            .file("roles/.#mine.toml", "an editor's = copy")
            .file("roles/notes.bin", [0xff, 0xfe])
            .prepare("touch roles/$(printf 'caf\\351').txt")
            .folder("roles/old.toml.d")
    };
    let run = setup();
    let config = run.dir.path().join("cfg");
    let run = listed(run.env("XDG_CONFIG_HOME", config.to_str()));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_holds(
        &run.stdout,
        &[
            "tester: FROM-PERSON (",
            "mine: FROM-PROJECT (roles/mine.toml)",
            "backend: ",
            "(built in)",
        ],
    );
    assert!(!run.stdout.contains("MINE"), "{}", run.stdout);
    let other = Scenario::new([])
        .file("elsewhere/tester.toml", role("OTHER"))
        .args(&["--roles", "elsewhere", "--list-roles"])
        .run();
    assert_holds(&other.stdout, &["tester: OTHER (elsewhere/tester.toml)"]);
    // What ships is what stands in roles/, and passes the same checks as anybody's presets.
    let shipped = Scenario::new([]).args(&["--list-roles"]).run();
    let folder = root().join("roles").display().to_string();
    let read = Scenario::new([]).args(&["--roles", &folder, "--list-roles"]).run();
    assert_eq!(read.code, 0, "{}", read.stderr);
    let sources = fs::read_dir(root().join("roles")).unwrap().fold(read.stdout, |list, file| {
        list.replace(&format!("({})", file.unwrap().path().display()), "(built in)")
    });
    assert_eq!(shipped.stdout, sources);
    let none = Scenario::new([]).args(&["--roles", "nowhere", "--list-roles"]).run();
    assert_eq!(none.code, 2);
    assert_holds(&none.stderr, &["nowhere"]);
}

/// A19
#[test]
fn progress_shows_who_does_what_and_stdout_stays_clean() {
    let run = Scenario::new([
        delegates("tester", "check the parser"),
        calls("c1", "bash", json!({ "command": "echo hi; exit 4" })),
        text("child report"),
        text("FINAL"),
    ])
    .run();
    run.answered("FINAL").asked(4);
    let lines: Vec<_> = run.stderr.lines().collect();
    assert_holds(lines[0], &["lead 1/20 subagent tester"]);
    assert_holds(lines[1], &["tester#1", "starts: check the parser"]);
    assert_eq!(lines[2], "tester#1 1/20 bash echo hi; exit 4");
    assert_holds(lines[3], &["tester#1 1/20 bash failed: exit code 4"]);
    let (start, end) = ("tester#1 2/20 ends, ", " s: child report");
    assert!(lines[4].starts_with(start) && lines[4].ends_with(end), "{}", lines[4]);
    assert_holds(lines[5], &["lead: 2 turns, 1 tool calls, 200 tokens in, 20 out, 0."]);
    assert_holds(lines[6], &["tester#1: 2 turns, 1 tool calls, 200 tokens in, 20 out, 0."]);
    assert_holds(lines[7], &["read 200 tokens", "10 tokens of answers"]);
    assert_eq!(lines.len(), 8);
}

/// A22
#[test]
fn a_long_memory_is_shown_from_its_newest_whole_entries() {
    let entry = |number| {
        format!(
            "\n## 2026-01-01 00:00:00\n**Task:** task {number} begins\n**Result:** result {number}\nends {number}.\n"
        )
    };
    let memory: String = (1..=3000).map(entry).collect();
    let run = Scenario::new([text("all done")]).file("memory/agent_memory.md", &memory).run();
    run.answered("all done").asked(1);
    let system = run.system(1);
    assert_holds(
        system,
        &["older entries are left out", "task 3000 begins\n**Result:** result 3000\nends 3000."],
    );
    assert!(!system.contains("task 1 begins") && system.len() < 60_000, "{}", system.len());
    let shown = system.split("left out").nth(1).unwrap();
    assert!(shown.split_once('\n').unwrap().1.starts_with("## "), "{shown}");
    assert!(shown.len() > 7_000 && shown.len() < 9_000, "{}", shown.len());
    let after = run.memory();
    assert!(after.starts_with(&memory) && after.len() > memory.len());
}

#[test]
fn a_memory_of_any_size_is_read_from_its_end() {
    // More than the program may have in memory.
    let make = "echo '## kept' > end; truncate -s 40G memory/agent_memory.md; \
        (echo; cat end) >> memory/agent_memory.md";
    let limited = ["bash", "-c", "ulimit -v 4000000; exec \"$@\"", "-"];
    let run = Scenario::new([text("ANSWER")]).folder("memory").prepare(make).under(&limited).run();
    run.answered("ANSWER").asked(1);
    assert_holds(run.system(1), &["(older entries are left out):\n## kept"]);
}

/// An editor, or the program's own `edit`, puts a new file in the place of the old one.
#[test]
fn a_memory_that_is_replaced_during_the_run_gets_its_entry() {
    let edit =
        json!({ "path": "memory/agent_memory.md", "old_string": "wrong", "new_string": "right" });
    let run = Scenario::new([calls("a", "edit", edit), text("ANSWER")])
        .file("memory/agent_memory.md", "## old\nwrong\n")
        .run();
    run.answered("ANSWER").asked(2);
    assert!(run.memory().starts_with("## old\nright\n\n## "), "{}", run.memory());
    assert!(run.memory().ends_with("**Result:** ANSWER\n"), "{}", run.memory());
    // The old file may stay, under another name.
    let backup = "cd memory; mv agent_memory.md agent_memory.md~; echo new > agent_memory.md";
    let backup = calls("a", "bash", json!({ "command": backup }));
    let run = Scenario::new([backup, text("ANSWER")]).file("memory/agent_memory.md", "old\n").run();
    run.answered("ANSWER").asked(2);
    assert_eq!(run.read("memory/agent_memory.md~"), "old\n");
    assert!(run.memory().starts_with("new\n\n## "), "{}", run.memory());
}

/// A24
#[test]
fn a_memory_that_cannot_be_written_costs_a_warning() {
    let run = Scenario::new([text("ANSWER")]).folder("memory/agent_memory.md").run();
    run.answered("ANSWER").asked(1);
    assert_holds(&run.stderr, &["warning: ", "memory/agent_memory.md"]);
    // A pipe or a device would be read for ever, a link leads past the walls.
    for make in [
        "mkfifo memory/agent_memory.md",
        "ln -s /dev/zero memory/agent_memory.md",
        "echo mine > kept; ln -s ../kept memory/agent_memory.md",
        "mkdir other; echo mine > kept; mv memory was; ln -s other memory",
    ] {
        let run = Scenario::new([text("ANSWER")]).folder("memory").prepare(make).run();
        run.answered("ANSWER").asked(1);
        assert_holds(&run.stderr, &["warning: ", "memory/agent_memory.md"]);
        assert!(!make.contains("kept") || run.read("kept") == "mine\n");
        assert!(!run.dir.path().join("other/agent_memory.md").exists());
    }
}

#[test]
fn an_entry_has_three_lines_and_cannot_fake_another() {
    let task = format!("say\n## 2000-01-01 fake\n{}", "长".repeat(2000));
    let run = Scenario::new([text("done\n## fake result")]).args(&[&task]).run();
    let memory = run.memory();
    assert_eq!(memory.lines().filter(|line| line.starts_with("## ")).count(), 1, "{memory}");
    let lines: Vec<_> = memory.lines().collect();
    assert_eq!(lines[0], "");
    let stamp = lines[1].strip_prefix("## ").unwrap();
    assert!(
        stamp.len() == 19 && stamp.starts_with("20") && stamp.as_bytes()[10] == b' ',
        "{stamp}"
    );
    assert_eq!((lines[2], lines[3]), ("**Task:** say", " ## 2000-01-01 fake"));
    assert_holds(&memory, &["bytes left out", "**Result:** done\n ## fake result\n"]);
    assert!(memory.len() < 2400, "{}", memory.len());
}

#[test]
fn no_memory_is_neither_read_nor_written() {
    let run = Scenario::new([text("ok")])
        .file("memory/agent_memory.md", "## old\nSENTINEL\n")
        .args(&["--no-memory", "do the task"])
        .run();
    assert!(!run.system(1).contains("SENTINEL"));
    assert_eq!(run.memory(), "## old\nSENTINEL\n");
    let run = Scenario::new([text("ok")]).args(&["--no-memory", "do the task"]).run();
    assert!(!run.dir.path().join("memory").exists());
}

#[test]
fn a_run_without_an_answer_leaves_no_entry() {
    let refused = || raw(401, json!({ "error": { "message": "no" } }).to_string());
    let said = reply("I will look.".into(), &[("a", "bash", json!("{\"command\": \"true\"}"))]);
    let run = Scenario::new([said, refused()]).run();
    assert_eq!((run.code, run.stdout.as_str(), run.memory().as_str()), (1, "", ""));
}

/// A run whose replies belong to agents: each system prompt that holds a word gets its own queue.
fn team(count: usize) -> common::Reply {
    let ids: Vec<_> = (0..count)
        .map(|id| {
            (format!("p{id}"), json!({ "role": format!("worker {id}"), "task": "t" }).to_string())
        })
        .collect();
    let list: Vec<_> =
        ids.iter().map(|(id, call)| (id.as_str(), "subagent", call.as_str().into())).collect();
    reply(Value::Null, &list)
}

#[test]
fn children_of_one_reply_work_at_once_and_answer_in_order() {
    // Each child waits for the other two: they would wait for ever one after another.
    let meet = calls(
        "c",
        "bash",
        json!({ "command": "touch $$.here; for i in $(seq 500); do [ $(ls *.here | wc -l) = 3 ] && exit; sleep 0.02; done; exit 1" }),
    );
    let mut scenario =
        Scenario::new([]).answers("lead of a small team", [team(3), text("all done")]);
    for id in 0..3 {
        scenario = scenario
            .answers(&format!("worker {id}"), [meet.clone(), text(&format!("answer {id}"))]);
    }
    let run = scenario.run();
    run.answered("all done").asked(8);
    for id in 0..3 {
        assert_eq!(run.tool(&format!("p{id}")), format!("answer {id}"));
    }
    let last = run.request(8)["messages"].as_array().unwrap();
    let order: Vec<_> =
        last.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(order, ["p0", "p1", "p2"]);
    assert!(!run.stderr.contains("failed"), "{}", run.stderr);
    for line in run.stderr.lines() {
        assert!(
            ["lead", "worker", "Delegation: "].iter().any(|who| line.starts_with(who)),
            "{line}"
        );
    }
}

#[test]
fn no_more_children_than_jobs_work_at_once() {
    let count = calls(
        "c",
        "bash",
        json!({ "command": "touch $PPID.$$.on; ls *.on | wc -l; sleep 0.1; rm $PPID.$$.on" }),
    );
    for (jobs, most) in [("1", 1), ("2", 2)] {
        let mut scenario =
            Scenario::new([]).answers("lead of a small team", [team(4), text("all done")]);
        for id in 0..4 {
            scenario = scenario.answers(&format!("worker {id}"), [count.clone(), text("done")]);
        }
        let run = scenario.args(&["-j", jobs, "do it"]).run();
        run.answered("all done");
        let seen = run.requests.iter().flat_map(|seen| seen.body["messages"].as_array().unwrap());
        let seen = seen.filter(|message| message["tool_call_id"] == "c");
        let seen: Vec<usize> = seen
            .map(|message| message["content"].as_str().unwrap().trim().parse().unwrap())
            .collect();
        assert!(seen.iter().all(|count| *count <= most), "{jobs}: {seen:?}");
        assert!(seen.contains(&most), "{jobs}: {seen:?}");
    }
}

#[test]
fn a_plain_call_between_children_keeps_its_place() {
    let first = json!({ "role": "worker 0", "task": "t" }).to_string();
    let second = json!({ "role": "worker 1", "task": "t" }).to_string();
    let between = json!({ "command": "cat made; echo more >> made" }).to_string().into();
    let replies = reply(
        Value::Null,
        &[
            ("p0", "subagent", first.into()),
            ("b", "bash", between),
            ("p1", "subagent", second.into()),
        ],
    );
    let make = calls("c0", "bash", json!({ "command": "sleep 0.1; echo one > made" }));
    let look = calls("c1", "bash", json!({ "command": "cat made" }));
    let run = Scenario::new([])
        .answers("lead of a small team", [replies, text("all done")])
        .answers("worker 0", [make, text("a")])
        .answers("worker 1", [look, text("b")])
        .run();
    run.answered("all done");
    assert_eq!((run.tool("b"), run.tool("c1")), ("one\n".into(), "one\nmore\n".into()));
}

#[test]
fn sixty_four_children_under_faults_all_answer_in_order() {
    let mut scenario =
        Scenario::new([]).answers("lead of a small team", [team(64), text("all done")]);
    for id in 0..64 {
        let answer = text(&format!("answer {id}"));
        let bad = match id % 4 {
            0 => vec![answer],
            1 => vec![raw(503, "busy"), answer],
            2 => vec![common::cut_off(), answer],
            _ => vec![raw(400, format!("bad {id}"))],
        };
        scenario = scenario.answers(&format!("worker {id}."), bad);
    }
    let run = scenario.args(&["-j", "8", "do it"]).run();
    run.answered("all done");
    for id in 0..64 {
        let told = run.tool(&format!("p{id}"));
        let expected = if id % 4 == 3 { format!("bad {id}") } else { format!("answer {id}") };
        assert!(told.contains(&expected), "{id}: {told}");
    }
}

#[test]
fn the_leads_context_grows_by_the_answer_whatever_the_child_did() {
    let sizes = [0, 20].map(|steps| {
        let step = calls("c", "bash", json!({ "command": "seq 2000" }));
        let replies = [
            vec![delegates("worker", "t")],
            vec![step; steps],
            vec![text("the same"), text("all done")],
        ];
        let run = Scenario::new(replies.concat()).args(&["-n", "30", "do it"]).run();
        run.answered("all done");
        run.requests.last().unwrap().body.to_string().len()
    });
    assert_eq!(sizes[0], sizes[1]);
}

#[test]
fn the_lead_has_a_plan_and_its_children_have_none() {
    let items = json!({ "items": [
        { "content": "look", "status": "completed" },
        { "content": "mend\u{1b}[31m it", "status": "in_progress" },
        { "content": "测试", "status": "pending" },
    ] });
    let wrong = json!({ "items": [{ "content": "x", "status": "maybe" }] });
    let run = Scenario::new([
        calls("t", "todo", items.clone()),
        calls("w", "todo", wrong),
        delegates("tester", "t"),
        calls("c", "todo", items),
        text("child done"),
        text("all done"),
    ])
    .run();
    run.answered("all done");
    assert_eq!(run.tool("t"), "[x] look\n[>] mend it\n[ ] 测试");
    assert_holds(&run.stderr, &["[x] look\n[>] mend it\n[ ] 测试\n"]);
    assert_holds(&run.tool("w"), &["Error: ", "todo", "unknown variant `maybe`", "pending"]);
    assert_holds(&run.tool("c"), &["unknown tool todo"]);
}

#[test]
fn a_role_can_work_for_the_person_directly() {
    let run = Scenario::new([calls("a", "bash", json!({ "command": "echo hi" })), text("seen")])
        .args(&["--role", "reviewer", "look at it"])
        .run();
    run.answered("seen").asked(2);
    assert!(run.system(1).starts_with("You are a "), "{}", run.system(1));
    assert_eq!(run.request(1)["messages"][1]["content"], "look at it");
    assert!(
        !run.offered(1).contains(&"subagent".into()) && !run.offered(1).contains(&"todo".into())
    );
    assert!(!run.dir.path().join("memory").exists());
    // What a person mistypes is a warning; what a lead makes up is none.
    let near = Scenario::new([text("ok")]).args(&["--role", "reviever", "look", "-q"]).run();
    near.answered("ok");
    assert_holds(&near.stderr, &["warning: reviever has no preset", "near it: reviewer"]);
    let made_up = [delegates("poet", "rhyme"), text("rhymes"), text("ok")];
    let made_up = Scenario::new(made_up).arg("-q").run();
    assert_eq!((made_up.answered("ok").stderr.as_str(), made_up.code), ("", 0));
}

#[test]
fn verbose_says_what_a_child_sees() {
    let run = Scenario::new([delegates("tester", "only this"), text("c"), text("all done")])
        .args(&["-v", "do the task"])
        .run();
    let [child, lead] = [plain_tools().join(", "), lead_tools().join(", ")];
    assert_holds(&run.stderr, &[&format!("tools: {child}\n"), &format!("tools: {lead}\n")]);
}

/// The last line of the ledger: what the specialists read, and what of it the lead had to.
#[test]
fn delegation_counts_what_really_went_back() {
    let line = |run: &Run| {
        run.stderr.lines().find(|line| line.starts_with("Delegation")).map(str::to_owned)
    };
    let without =
        |reply: Reply| Reply { body: reply.body.replace("\"usage\"", "\"unused\""), ..reply };
    // A text that was cut on its way counts as far as it came.
    let long = Scenario::new([
        delegates("tester", "t"),
        without(text(&"x".repeat(200_000))),
        text("done"),
    ])
    .run();
    let sent = long.request(2).to_string().len();
    assert_eq!(
        line(&long).unwrap(),
        format!("Delegation: specialists read {sent} bytes, the lead 30000 bytes of answers.")
    );
    // Tokens only where all are known.
    let calls = [("a", "first one"), ("b", "second one")].map(|(id, role)| {
        (id, "subagent", json!({ "role": role, "task": "t" }).to_string().into())
    });
    let mixed = Scenario::new([])
        .answers("lead of a small team", [reply(Value::Null, &calls), text("done")])
        .answers("first one", [text("one")])
        .answers("second one", [without(text("two"))])
        .run();
    assert!(
        line(&mixed).unwrap().ends_with(" bytes, the lead 6 bytes of answers."),
        "{}",
        mixed.stderr
    );
    // One that fell silent or failed has its last text sent back all the same.
    let step = || {
        reply(json!("so far"), &[("s", "bash", json!({ "command": "true" }).to_string().into())])
    };
    for end in [text(""), raw(401, "{}")] {
        let run = Scenario::new([])
            .answers("lead of a small team", [delegates("tester", "t"), text("done")])
            .answers("You are a tester", [without(step()), without(end)])
            .run();
        assert!(
            line(&run).unwrap().ends_with(" bytes, the lead 6 bytes of answers."),
            "{}",
            run.stderr
        );
    }
}
