//! The six plain tools on real files and real shells, inside walls that the kernel keeps.

mod common;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_subagent::tools::schema;
use common::{Run, Scenario, assert_holds, calls, plain_tools, text};
use serde_json::{Value, json};

/// A run in which the lead makes these calls, one a turn; their ids are 0, 1, 2 …
fn calling(list: &[(&str, Value)]) -> Scenario {
    let one = |(id, (name, arguments)): (usize, &(&str, Value))| {
        calls(&id.to_string(), name, arguments.clone())
    };
    Scenario::new(list.iter().enumerate().map(one).chain([text("all done")]))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

#[test]
fn schemas_and_enum_agree() {
    // Every tool with all properties, with only the required ones, and with each required one missing.
    let tools = schema::plain_tools(None);
    // These are promised; there may be more.
    assert!(plain_tools().starts_with(&["read", "write", "edit", "glob", "grep", "bash"]));
    let lead = schema::lead_tools("");
    let fill = |parameters: &Value, keys: &[String]| -> Value {
        let value = |key: &String| match parameters["properties"][key]["type"].as_str().unwrap() {
            "string" => json!("true"),
            "integer" => json!(1),
            "array" => json!([]),
            other => panic!("{other}"),
        };
        keys.iter().map(|key| (key.clone(), value(key))).collect::<serde_json::Map<_, _>>().into()
    };
    for tool in tools.into_iter().chain(&lead) {
        let name = schema::name(tool);
        let tool = serde_json::to_value(tool).unwrap();
        let parameters = &tool["function"]["parameters"];
        let all: Vec<_> = parameters["properties"].as_object().unwrap().keys().cloned().collect();
        let required: Vec<String> = serde_json::from_value(parameters["required"].clone()).unwrap();
        assert!(
            required.iter().all(|key| all.contains(key))
                && !tool["function"]["description"].as_str().unwrap().is_empty()
        );
        let run = calling(&[(name, fill(parameters, &all)), (name, fill(parameters, &required))])
            .file("true", "true\n")
            .run();
        for id in ["0", "1"] {
            assert!(!run.tool(id).contains("bad arguments"), "{name}: {}", run.tool(id));
        }
        for missing in &required {
            let rest: Vec<_> = all.iter().filter(|key| *key != missing).cloned().collect();
            let run = calling(&[(name, fill(parameters, &rest))]).run();
            assert_holds(&run.tool("0"), &["Error: ", name, &format!("missing field `{missing}`")]);
        }
        for key in &all {
            let mut wrong = fill(parameters, &all);
            wrong[key] = json!({});
            let run = calling(&[(name, wrong)]).run();
            assert_holds(&run.tool("0"), &["Error: ", name, "invalid type"]);
        }
    }
}

#[test]
fn a_file_is_written_read_and_edited() {
    let run = calling(&[
        ("write", json!({ "path": "n/e/w.txt", "content": "one\ntwo\n三\n" })),
        ("read", json!({ "path": "n/e/w.txt" })),
        ("read", json!({ "path": "n/e/w.txt", "offset": 2, "limit": 1 })),
        ("read", json!({ "path": "n/e/w.txt", "offset": 9 })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "two", "new_string": "2" })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "nine", "new_string": "9" })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "e", "new_string": "E" })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "e", "new_string": "e" })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "", "new_string": "e" })),
        ("write", json!({ "path": "n/e/w.txt", "content": "one\none\n" })),
        ("edit", json!({ "path": "n/e/w.txt", "old_string": "one", "new_string": "1" })),
    ])
    .run();
    run.answered("all done");
    let told: Vec<_> = (0..11).map(|id| run.tool(&id.to_string())).collect();
    assert_eq!(told[0], "wrote 12 bytes to n/e/w.txt");
    assert_eq!(told[1], "1\tone\n2\ttwo\n3\t三\n");
    assert_eq!(told[2], "2\ttwo\n(there is more: go on with offset 3)");
    assert_eq!(told[3], "Error: n/e/w.txt has only 3 lines");
    assert_eq!(told[4], "wrote 10 bytes to n/e/w.txt");
    assert_holds(&told[5], &["Error: ", "not in n/e/w.txt", "line numbers"]);
    assert_eq!(told[6], "wrote 10 bytes to n/e/w.txt");
    assert_holds(&told[7], &["Error: ", "are the same"]);
    assert_holds(&told[8], &["Error: ", "empty", "write"]);
    assert_holds(&told[10], &["Error: ", "2 times"]);
    assert_eq!(run.read("n/e/w.txt"), "one\none\n");
}

#[test]
fn what_cannot_be_read_says_why() {
    let scenario = calling(&[
        ("read", json!({ "path": "d" })),
        ("read", json!({ "path": "nope" })),
        ("read", json!({ "path": "-my file.txt" })),
        ("read", json!({ "path": "p" })),
        ("read", json!({ "path": "/dev/zero" })),
        ("read", json!({ "path": "i.png" })),
        ("read", json!({ "path": "e" })),
        ("write", json!({ "path": "d", "content": "1" })),
        ("write", json!({ "path": "e/g.txt", "content": "1" })),
        ("write", json!({ "path": "p", "content": "1" })),
        ("edit", json!({ "path": "p", "old_string": "1", "new_string": "2" })),
    ]);
    let scenario = scenario
        .folder("d")
        .file("-my file.txt", "ok-content\n")
        .file("i.png", b"\x89PNG\r\n\x1a\n\0\0")
        .file("e", "");
    assert!(Command::new("mkfifo").arg(scenario.dir.path().join("p")).status().unwrap().success());
    let run = scenario.run();
    for (id, part) in [
        (0, "directory"),
        (1, "No such file"),
        (3, "not a regular file"),
        (4, "not a regular file"),
        (5, "binary, 10 bytes"),
        (7, "is a directory"),
        (8, "cannot write"),
        (9, "not a regular file"),
        (10, "not a regular file"),
    ] {
        let told = run.tool(&id.to_string());
        assert!(
            told.starts_with("Error: ") && (told.contains(part) || told.contains("regular file")),
            "{id}: {told}"
        );
    }
    assert_eq!(
        (run.tool("2").as_str(), run.tool("6").as_str()),
        ("1\tok-content\n", "(e is empty)")
    );
}

#[test]
fn a_long_file_comes_in_pieces_that_add_up() {
    let lines: Vec<_> =
        (1..=5000).map(|number| format!("line {number} {}", "x".repeat(20))).collect();
    let content = lines.join("\n");
    let first = calling(&[("read", json!({ "path": "f" }))]).file("f", &content).run().tool("0");
    assert!(first.len() <= 30_000 && !first.contains("left out"), "{}", first.len());
    let next: usize =
        first.rsplit("offset ").next().unwrap().trim_end_matches(')').parse().unwrap();
    let second = calling(&[("read", json!({ "path": "f", "offset": next }))])
        .file("f", &content)
        .run()
        .tool("0");
    assert!(first.contains(&format!("\n{}\tline {} ", next - 1, next - 1)));
    assert!(second.starts_with(&format!("{next}\tline {next} ")), "{}", second.split_at(40).0);
    let one =
        calling(&[("read", json!({ "path": "f" }))]).file("f", "y".repeat(90_000)).run().tool("0");
    assert!(one.starts_with("1\tyyy") && one.contains("left out") && one.len() <= 30_000);
}

#[test]
fn a_write_keeps_mode_links_and_line_ends() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scenario = calling(&[
        ("edit", json!({ "path": "s.sh", "old_string": "hello", "new_string": "hello2" })),
        ("write", json!({ "path": "l.txt", "content": "new\n" })),
        ("edit", json!({ "path": "w.txt", "old_string": "one", "new_string": "ONE" })),
        ("write", json!({ "path": "fresh.txt", "content": "" })),
        bash("umask; stat -c %a fresh.txt; touch touched; stat -c %a touched"),
    ]);
    let scenario = scenario
        .file("s.sh", "\u{feff}echo hello\n")
        .file("real/t.txt", "old\n")
        .file("w.txt", "one\r\ntwo\r\nthree\r\n");
    let path = |name: &str| scenario.dir.path().join(name);
    fs::set_permissions(path("s.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real/t.txt", path("l.txt")).unwrap();
    let run = scenario.run();
    let path = |name: &str| run.dir.path().join(name);
    assert_eq!(run.read("s.sh"), "\u{feff}echo hello2\n");
    assert_eq!(fs::metadata(path("s.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(path("l.txt").is_symlink() && run.read("real/t.txt") == "new\n");
    assert_eq!(run.read("w.txt"), "ONE\r\ntwo\r\nthree\r\n");
    let modes: Vec<_> = run.tool("4").lines().skip(1).map(str::to_owned).collect();
    assert_eq!(modes[0], modes[1], "a new file has the mode that any program's has");
    let names: Vec<_> =
        fs::read_dir(run.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.iter().all(|name| !name.to_string_lossy().contains("tmp")),
        "nothing is left over: {names:?}"
    );
}

#[test]
fn bash_gives_both_streams_in_order_and_ends_with_its_shell() {
    let start = Instant::now();
    let run = calling(&[
        bash("echo a; echo b >/dev/stderr; echo c"),
        bash("sleep 300 & echo started"),
        bash("(while :; do echo survivor; done) & echo spammed"),
        bash("cat; echo after"),
        bash("read x </dev/tty; echo no terminal"),
        bash("exit 3"),
        bash("kill -9 $$"),
        bash("exec >/dev/null 2>&1; sleep 0.1"),
        bash("for i in 1 2 3 4; do cat </dev/stdout >/dev/null & done; for i in 1 2 3; do echo x; sleep 0.01; done"),
    ])
    .run();
    run.answered("all done");
    assert_eq!(run.tool("0"), "a\nb\nc\n");
    assert_eq!(run.tool("1"), "started\n");
    assert_holds(&run.tool("2"), &["spammed\n"]);
    assert_eq!(run.tool("3"), "after\n");
    assert_holds(&run.tool("4"), &["no terminal"]);
    assert_eq!(run.tool("5"), "Error: exit code 3\n(no output)");
    assert_holds(&run.tool("6"), &["Error: signal: 9"]);
    assert_eq!(run.tool("7"), "(no output)");
    assert!(start.elapsed() < Duration::from_secs(59), "no call waited for what it left behind");
}

#[test]
fn nothing_is_left_running() {
    let left = "sleep 300 & setsid sleep 300 & timeout 300 sleep 300 & nohup sleep 300 >/dev/null 2>&1 & \
        (unset AGENT_SUBAGENT_RUN; setsid -f sleep 300); env -i /usr/bin/setsid -f /bin/sleep 300; \
        set -m; sleep 300 & (sleep 300 &) ; setsid bash -c 'trap \"\" TERM; sleep 300' & \
        sleep 0.1; jobs -p > pids; echo started";
    let run = calling(&[bash(left)]).run();
    run.answered("all done");
    assert_holds(&run.tool("0"), &["started"]);
    let pids = run.read("pids");
    assert!(pids.lines().count() >= 5, "{pids}");
    for pid in pids.lines() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
    // The same by another way: no process has this run's folder as its own.
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        assert!(!folder.starts_with(run.dir.path()), "{}", entry.path().display());
    }
}

#[test]
fn what_ends_in_the_background_is_gone_for_later_commands() {
    let run = calling(&[
        bash("sleep 0.3 & echo $! > pid"),
        bash("for i in $(seq 200); do kill -0 $(cat pid) 2>/dev/null || { echo gone; exit; }; sleep 0.02; done; ps $(cat pid)"),
    ])
    .run();
    assert_eq!(run.tool("1"), "gone\n");
}

#[test]
fn a_command_over_its_time_is_ended_with_what_it_printed() {
    let command = "echo first; bash -c 'trap \"\" TERM; sleep 300'; echo never";
    let run = calling(&[("bash", json!({ "command": command, "timeout": 1 }))]).run();
    let told = run.tool("0");
    assert_holds(&told, &["Error: timed out", "after 1.", "seconds", "\nfirst\n"]);
    assert!(!told.contains("never"));
}

#[test]
fn long_output_keeps_its_head_and_its_end() {
    let run = calling(&[
        bash("echo FIRST; seq 1 200000; echo 'LAST: compile error'; exit 2"),
        bash("head -c 300000000 /dev/zero | tr '\\0' x; echo; echo END"),
        bash("printf 'a\\000b\\377\\033[31mred\\033[0m'"),
        bash("for i in $(seq 20000); do printf '中'; done"),
        bash("printf 'one\\n\\033]0;title that never ends\\nthree\\n\\033Pfour\\nfive\\n'"),
        ("bash", json!({ "command": "yes", "timeout": 1 })),
    ])
    .run();
    let told = run.tool("0");
    assert_holds(
        &told,
        &["Error: exit code 2\nFIRST\n1\n2\n", "bytes left out", "\n200000\nLAST: compile error\n"],
    );
    assert_eq!(told.matches("left out").count(), 1);
    assert!((0..4).all(|id| run.tool(&id.to_string()).len() <= 30_100));
    assert_holds(&run.tool("1"), &["bytes left out", "x\nEND\n"]);
    assert_eq!(run.tool("2"), "ab\u{fffd}red");
    assert_holds(&run.tool("4"), &["one\n", "\nthree\n", "\nfive\n"]);
    let flood = run.tool("5");
    let left_out: usize =
        flood.split("[... ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(left_out > 100_000 && flood.matches("left out").count() == 1, "{left_out}");
    let cut = run.tool("3");
    assert!(cut.starts_with('中') && cut.ends_with('中') && !cut.contains('\u{fffd}'));
}

#[test]
fn search_agrees_with_grep_and_find() {
    let scenario = calling(&[
        ("grep", json!({ "pattern": "ne+dle" })),
        ("glob", json!({ "pattern": "**/*.rs" })),
        ("glob", json!({ "pattern": "*.rs" })),
        ("glob", json!({ "pattern": "src/*" })),
        ("grep", json!({ "pattern": "needle", "path": "node_modules" })),
        ("grep", json!({ "pattern": "--release" })),
        ("grep", json!({ "pattern": "x'; touch pwned; echo '" })),
        ("grep", json!({ "pattern": "(" })),
        ("grep", json!({ "pattern": "x", "path": "nowhere" })),
        ("glob", json!({ "pattern": "nowhere/*" })),
        ("glob", json!({ "pattern": "**/*.none" })),
        ("glob", json!({ "pattern": "./src/*" })),
        ("glob", json!({ "pattern": ".//src/*" })),
        ("glob", json!({ "pattern": "~/*.rs" })),
    ]);
    let scenario = scenario
        .file("a.rs", "needle\nno\nneeedle é\n")
        .file("src/b c.rs", "x needle\n")
        .file("src/-d.rs", "use --release\n")
        .file("src/deep/é.rs", "needle\n")
        .file(".hidden/h.rs", "needle\n")
        .file("bin", b"needle\0")
        .file("node_modules/p/m.js", "needle\n")
        .file("target/t.rs", "needle\n");
    std::os::unix::fs::symlink(".", scenario.dir.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere-at-all", scenario.dir.path().join("dead.rs")).unwrap();
    let real = |run: &Run, command: &str| {
        let output = Command::new("bash")
            .arg("-c")
            .arg(command)
            .current_dir(run.dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<_> =
            text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect();
        lines.sort();
        lines
    };
    let home = scenario.dir.path().display().to_string();
    let run = scenario.env("HOME", Some(&home)).args(&["--no-memory", "look"]).run();
    let sorted = |id: &str| {
        let mut lines: Vec<_> = run.tool(id).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let skip = "--exclude-dir=node_modules --exclude-dir=target --exclude-dir=.git";
    // The note on what was passed over is no result.
    let found =
        |id: &str| sorted(id).into_iter().filter(|line| !line.starts_with('(')).collect::<Vec<_>>();
    assert_eq!(found("0"), real(&run, &format!("grep -rnIE {skip} 'ne+dle' .")));
    assert_eq!(found("1"), real(&run, "find . -name '*.rs' ! -type d -not -path './target/*'"));
    assert_eq!(run.tool("2"), "a.rs\ndead.rs");
    assert_eq!(sorted("3"), real(&run, "find src -maxdepth 1 -type f"));
    assert_eq!(run.tool("4"), "node_modules/p/m.js:1:needle");
    assert_eq!(run.tool("5").lines().next().unwrap(), "src/-d.rs:1:use --release");
    assert_holds(&run.tool("6"), &["no matches\n(", "node_modules", "binary", "name a folder"]);
    assert_holds(&run.tool("7"), &["Error: ", "unclosed group"]);
    assert_holds(&run.tool("8"), &["Error: ", "nowhere"]);
    assert_holds(&run.tool("9"), &["Error: ", "nowhere"]);
    assert_holds(&run.tool("10"), &["no matches\n("]);
    assert_eq!((run.tool("11"), run.tool("12")), (run.tool("3"), run.tool("3")));
    assert_eq!(run.tool("13"), format!("{home}/a.rs\n{home}/dead.rs"));
    assert!(!run.dir.path().join("pwned").exists());
}

#[test]
fn many_hits_are_counted_not_shown() {
    let run =
        calling(&[("grep", json!({ "pattern": "hit" }))]).file("f", "hit\n".repeat(500)).run();
    let told = run.tool("0");
    assert_eq!(told.lines().count(), 201);
    assert_holds(&told, &["f:200:hit\n", "(300 more: narrow"]);
}

#[test]
fn nothing_is_written_outside_the_walls() {
    // The temporary directory is inside the walls, so the run gets one of its own.
    let outside = tempfile::tempdir().unwrap();
    let kept = outside.path().join("kept");
    fs::write(&kept, "precious\n").unwrap();
    let shown = kept.display();
    let attempts = || {
        calling(&[
            ("write", json!({ "path": kept, "content": "gone" })),
            ("edit", json!({ "path": kept, "old_string": "precious", "new_string": "gone" })),
            bash(&format!(
                "echo gone > {shown}; : > {shown}; rm -f {shown}; mv {shown} x; truncate -s 0 {shown}; mkdir {shown}.d; ln {shown} hard; true"
            )),
            bash(&format!(
                "setsid bash -c 'echo gone > {shown}'; python3 -c 'open(\"{shown}\", \"w\")' 2>/dev/null; cat {shown}"
            )),
            bash(
                "echo in > inside.txt && echo tmp > $(mktemp) && echo null > /dev/null && echo fine",
            ),
        ])
        .own_temporary_folder()
    };
    let run = attempts().run();
    run.answered("all done");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_holds(&run.tool("0"), &["Error: ", &shown.to_string(), "--allow-write"]);
    let long = calling(&[("write", json!({ "path": "x".repeat(300), "content": "" }))]).run();
    assert_holds(&long.tool("0"), &["Error: cannot write ", "too long"]);
    assert!(!long.tool("0").contains("--allow-write"), "the walls have nothing to do with it");
    assert_holds(&run.tool("3"), &["precious"]);
    assert_eq!(run.tool("4"), "fine\n");
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);

    let folder = outside.path().to_str().unwrap();
    let run = attempts().args(&["--allow-write", folder, "do it"]).run();
    assert_holds(&run.tool("0"), &["wrote 4 bytes"]);
    fs::write(&kept, "precious\n").unwrap();
    let run = attempts().args(&["--no-sandbox", "do it"]).run();
    assert_holds(&run.tool("0"), &["wrote 4 bytes"]);
}

#[test]
fn files_of_the_person_may_lie_outside_the_walls() {
    let outside = tempfile::tempdir().unwrap();
    let [memory, record] =
        ["deep/memory.md", "run.jsonl"].map(|name| outside.path().join(name).display().to_string());
    let run = Scenario::new([text("ok")])
        .own_temporary_folder()
        .args(&["--memory", &memory, "--record", &record, "do it"])
        .run();
    run.answered("ok");
    assert_holds(&fs::read_to_string(memory).unwrap(), &["**Result:** ok"]);
    assert_eq!(fs::read_to_string(record).unwrap().lines().count(), 1);
}

#[test]
fn no_link_below_the_working_directory_leads_own_files_past_the_walls() {
    let plant = "mkdir -p out/b; ln -s out a; echo mine > kept; ln -s kept link; mkfifo fifo";
    for (path, whole) in [
        ("a/r.jsonl", false),
        ("a/b/r.jsonl", false),
        ("a/r.jsonl", true),
        ("link", false),
        ("link", true),
        ("fifo", false),
    ] {
        for option in ["--record", "--memory"] {
            let scenario = Scenario::new([text("ok")]).prepare(plant);
            let folder = scenario.dir.path().canonicalize().unwrap();
            let given = if whole { folder.join(path) } else { path.into() };
            let run = scenario.args(&[option, given.to_str().unwrap(), "do it"]).run();
            assert_eq!(run.code, if option == "--record" { 2 } else { 0 }, "{}", run.stderr);
            assert_holds(&run.stderr, &[path]);
            let names = |folder: &str| fs::read_dir(run.dir.path().join(folder)).unwrap().count();
            assert_eq!((names("out"), names("out/b"), &*run.read("kept")), (1, 0, "mine\n"));
        }
    }
    // Elsewhere a link is the person's own.
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", outside.path().join("notes")).unwrap();
    let memory = outside.path().join("notes/m.md").display().to_string();
    let scenario = Scenario::new([text("ok")]).own_temporary_folder();
    scenario.args(&["--memory", &memory, "do it"]).run().answered("ok");
    let before = fs::read_to_string(&memory).unwrap();
    assert_holds(&before, &["**Result:** ok"]);
    // But not where commands may write, whatever the reason is that they may.
    let folder = outside.path().to_str().unwrap();
    for home in [true, false] {
        let scenario = Scenario::new([text("ok")]).own_temporary_folder();
        let scenario = if home {
            scenario.env("CARGO_HOME", Some(folder)).env("HOME", Some("/"))
        } else {
            scenario.args(&["--allow-write", folder])
        };
        let link = outside.path().join("registry");
        fs::create_dir_all(&link).unwrap();
        let _ = std::os::unix::fs::symlink("../real/m.md", link.join("m.md"));
        let memory = link.join("m.md").display().to_string();
        let run = scenario.arg("--memory").arg(&memory).arg("do it").run();
        run.answered("ok");
        assert_holds(&run.stderr, &["warning: no memory: ", "is a link or below one"]);
        assert_eq!(fs::read_to_string(&memory).unwrap(), before);
    }
}

#[test]
fn a_command_has_neither_the_key_nor_a_way_to_our_memory() {
    let run = calling(&[bash(
        "echo ${OPENAI_API_KEY-none} $AGENT_SUBAGENT_RUN; stat -c %U /proc/$PPID/environ",
    )])
    .run();
    assert_holds(&run.tool("0"), &["none "]);
}

#[test]
fn an_edit_keeps_the_files_own_line_ends() {
    for (before, old, new, after) in [
        ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "ONE\nTWO", "ONE\r\nTWO\r\nthree\r\n"),
        ("one\r\ntwo", "two", "2\n3", "one\r\n2\r\n3"),
        ("one\r\ntwo\r\n", "one\r\n", "1\r\n", "1\r\ntwo\r\n"),
        ("one\r\ntwo\r\n", "one\r\ntwo", "1\n2\n3", "1\r\n2\r\n3\r\n"),
        ("one\r\ntwo\r\n", "one\ntwo", "1\r\n2", "1\r\n2\r\n"),
        ("one\ntwo\r\nend", "two\nend", "2\nend", "one\n2\r\nend"),
        ("a\nb\r\nc\r\nd\r\n", "c", "C\nX", "a\nb\r\nC\r\nX\r\nd\r\n"),
        ("a\r\nb\nc\nd\n", "c", "C\nX", "a\r\nb\nC\nX\nd\n"),
        ("a\nb\r\nc\r\nd\n", "a\nb\nc", "x", "x\r\nd\n"),
        ("a\r\nb", "b", "c\nd", "a\r\nc\r\nd"),
        ("h\nA\nB\r\nC\r\nz\n", "A\nB\r\nC", "A\nBB\r\nC", "h\nA\nBB\r\nC\r\nz\n"),
        ("h\r\nA\r\nB\nC\nz\n", "A\r\nB\nC\n", "A\r\nBB\nC\n", "h\r\nA\r\nBB\nC\nz\n"),
        ("A\nB\nC\r\n", "A\nB\nC\n", "A\nB\nCC\n", "A\nB\nCC\r\n"),
        ("A\nC\n", "A\nC", "A\nB\nC", "A\nB\nC\n"),
        ("A\r\n", "A\n", "A\nB\n", "A\r\nB\r\n"),
        ("A\r\nB\r\nC", "A\nB\n", "A\n", "A\r\nC"),
        ("xx\nxx\nyy", "xx\nxx\n", "xx\n", "xx\nyy"),
        ("中\n国\r\n", "中\n国", "中\n华\n国", "中\n华\r\n国\r\n"),
        ("one\ntwo\n", "one\n", "1\n1\n", "1\n1\ntwo\n"),
        ("\u{feff}a\r\nb\r\n", "a\n", "中\n", "\u{feff}中\r\nb\r\n"),
        ("a.c\nabc", "a.c", "$0\\1", "$0\\1\nabc"),
    ] {
        let call = json!({ "path": "f", "old_string": old, "new_string": new });
        let run = calling(&[("edit", call)]).file("f", before).run();
        assert_eq!(run.read("f"), after, "{before:?} {old:?}: {}", run.tool("0"));
    }
    // Bytes that are no text stay as they are.
    let call = json!({ "path": "f", "old_string": "old", "new_string": "new" });
    let run = calling(&[("edit", call)]).file("f", b"\xffold\xe9\n").run();
    assert_eq!(fs::read(run.dir.path().join("f")).unwrap(), b"\xffnew\xe9\n");
}

#[test]
fn what_does_not_fit_gets_a_hint() {
    let file = "fn alpha() {\n    beta(1);\n}\nfn gamma() {}\n";
    let edit =
        |old: &str| ("edit", json!({ "path": "code.rs", "old_string": old, "new_string": "x" }));
    let run = calling(&[
        edit("  beta( 1 );"),
        edit("fn"),
        edit("2\t    beta(1);"),
        ("read", json!({ "path": "codes.rs" })),
        ("read", json!({ "path": "zzz" })),
        ("grep", json!({ "pattern": "x", "path": "src/code.rs" })),
        ("edit", json!({ "path": "Code.rs", "old_string": "a", "new_string": "b" })),
        ("read", json!({ "path": "co de.rs" })),
    ])
    .file("code.rs", file)
    .run();
    assert_holds(&run.tool("0"), &["not in code.rs", "line numbers", "near it: 2 beta(1);"]);
    assert_holds(&run.tool("1"), &["2 times in code.rs"]);
    assert_holds(&run.tool("2"), &["line numbers are not part of the file"]);
    assert_holds(&run.tool("3"), &["No such file", "near it: code.rs"]);
    assert!(!run.tool("4").contains("near it"), "{}", run.tool("4"));
    assert_holds(&run.tool("5"), &["Error: ", "No such file"]);
    assert_holds(&run.tool("6"), &["No such file", "near it: code.rs"]);
    assert_holds(&run.tool("7"), &["No such file", "near it: code.rs"]);
    assert_eq!(run.read("code.rs"), file);
}

#[test]
fn a_file_that_changed_since_it_was_seen_is_not_overwritten() {
    let write = |path: &str, text: &str| ("write", json!({ "path": path, "content": text }));
    let read = |path: &str| ("read", json!({ "path": path }));
    let edit = |old: &str, new: &str| {
        ("edit", json!({ "path": "read", "old_string": old, "new_string": new }))
    };
    let run = calling(&[
        read("read"),
        write("made", "one\n"),
        bash("echo person >> read; echo person > made; echo person > unknown; cp -p gone copy"),
        write("./read", "lost\n"),
        write("made", "lost\n"),
        write("unknown", "new\n"),
        edit("old", "new"),
        write("read", "lost\n"),
        read("read"),
        write("read", "mine\n"),
        write("read", "mine again\n"),
        read("gone"),
        bash("rm gone"),
        write("gone", "back\n"),
        // A write through a link is a write of the file.
        bash("ln -s read link; echo other > read"),
        write("link", "lost\n"),
    ])
    .file("read", "old\n")
    .file("gone", "x\n")
    .run();
    for id in [3, 4, 7, 15] {
        assert_holds(&run.tool(&id.to_string()), &["Error: ", "has changed", "read it"]);
    }
    for id in [5, 6, 9, 10, 13] {
        assert_holds(&run.tool(&id.to_string()), &["wrote "]);
    }
    assert_eq!(run.tool("8"), "1\tnew\n2\tperson\n");
    let kept = ["read", "made", "unknown", "gone"].map(|name| run.read(name));
    assert_eq!(kept, ["other\n", "person\n", "new\n", "back\n"]);
}

#[test]
fn links_hard_links_and_locked_files_are_what_they_were() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let write = |path: &str| ("write", json!({ "path": path, "content": "new\n" }));
    let scenario = calling(&[write("dangling"), write("circle"), write("one"), write("locked")])
        .file("one", "old\n")
        .file("locked", "old\n")
        .folder("sub");
    let path = |name: &str| scenario.dir.path().join(name);
    symlink("sub/later", path("dangling")).unwrap();
    symlink("circle", path("circle")).unwrap();
    fs::hard_link(path("one"), path("two")).unwrap();
    fs::set_permissions(path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let run = scenario.run();
    let path = |name: &str| run.dir.path().join(name);
    assert!(path("dangling").is_symlink() && run.read("sub/later") == "new\n");
    assert_holds(&run.tool("1"), &["Error: ", "circle"]);
    assert!(path("circle").is_symlink());
    assert_eq!((run.read("one"), fs::metadata(path("two")).unwrap().nlink()), ("new\n".into(), 2));
    assert_eq!(run.read("two"), "new\n");
    assert_holds(&run.tool("3"), &["Error: ", "read-only"]);
    assert_eq!(run.read("locked"), "old\n");
}

#[test]
fn a_line_of_sixty_megabytes_costs_little() {
    let run = calling(&[
        ("read", json!({ "path": "long" })),
        ("grep", json!({ "pattern": "needle" })),
        ("read", json!({ "path": "many", "offset": 300_000, "limit": 1 })),
        bash("grep VmHWM /proc/$PPID/status"),
    ])
    .prepare("(echo first; head -c 60000000 /dev/zero | tr '\\0' x; echo; echo needle) > long; seq 400000 > many")
    .run();
    assert_holds(&run.tool("0"), &["1\tfirst\n2\txxx", "bytes left out", "3\tneedle"]);
    assert_eq!(run.tool("1"), "long:3:needle");
    assert_holds(&run.tool("2"), &["300000\t300000\n"]);
    let peak: usize = run.tool("3").split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 60_000, "{peak} kB");
}

#[test]
fn braces_stand_for_each_of_their_choices() {
    let run = calling(&[
        ("glob", json!({ "pattern": "src/**/*.{ts,tsx}" })),
        ("glob", json!({ "pattern": "{src,lib}/{a,b{1,2}}.ts" })),
        ("glob", json!({ "pattern": "{x}" })),
        ("glob", json!({ "pattern": "{a,b}".repeat(30) })),
        ("glob", json!({ "pattern": "{target,lib}/*" })),
    ])
    .prepare("mkdir -p src/d lib target; touch -d @1 src/a.ts; touch -d @2 src/d/c.tsx; touch -d @3 lib/b2.ts '{x}' target/t src/x.js")
    .run();
    assert_eq!(run.tool("0"), "src/d/c.tsx\nsrc/a.ts");
    assert_holds(&run.tool("1"), &["lib/b2.ts\nsrc/a.ts\n(what is in .git"]);
    assert_eq!(run.tool("2").lines().next().unwrap(), "{x}");
    assert_holds(&run.tool("3"), &["Error: ", "too many choices"]);
    assert_holds(&run.tool("4"), &["target/t", "lib/b2.ts"]);
}

#[test]
fn a_kill_in_the_middle_leaves_the_old_file_or_the_new_one() {
    // Each write is one letter, many times: a torn file would show two.
    let content = |number: usize| ["a", "b", "c"][number % 3].repeat(8_000);
    let one = |number: usize| json!({ "path": "f", "content": content(number) }).to_string();
    for wait in [0, 1, 2, 3, 5, 8, 13, 21] {
        let list: Vec<_> = (0..100).map(|number| (number.to_string(), one(number))).collect();
        let list: Vec<_> =
            list.iter().map(|(id, call)| (id.as_str(), "write", call.as_str().into())).collect();
        let scenario = Scenario::new([common::reply(Value::Null, &list), text("done")]);
        let run = scenario.file("f", content(2)).kill_after("f", Duration::from_millis(wait)).run();
        let kept = run.read("f");
        assert!(kept.len() == 8_000 && kept.bytes().all(|byte| byte == kept.as_bytes()[0]));
    }
}

#[test]
fn no_link_that_a_command_left_opens_the_walls_of_the_next_run() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "kept\n").unwrap();
    let link = format!("ln -s {} link", outside.path().display());
    let hit = |text: &str| ("write", json!({ "path": victim, "content": text }));
    let scenarios = [
        calling(&[hit("x")]).prepare(&link).env("TMPDIR", Some("link")),
        calling(&[hit("x")]).prepare(&link).env("TMPDIR", Some("link/")),
        calling(&[hit("x")]).own_temporary_folder().prepare(&link).args(&[
            "--allow-write",
            "link",
            "do it",
        ]),
        calling(&[hit("x")]).own_temporary_folder().prepare(&link).args(&[
            "--allow-write",
            "./link//",
            "do it",
        ]),
        calling(&[hit("x")]).own_temporary_folder().prepare(&format!("{link}; mv link .cache")),
        calling(&[hit("x")]).own_temporary_folder().prepare(&link).args(&[
            "--record",
            "link/victim",
            "do it",
        ]),
        calling(&[hit("x")]).own_temporary_folder().prepare(&link).args(&[
            "--memory",
            "link/victim",
            "do it",
        ]),
    ];
    for scenario in scenarios {
        let folder = scenario.dir.path().display().to_string();
        let home = scenario.env("HOME", Some(&folder));
        let run = home.run();
        assert_holds(&run.stderr, &["link"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept\n", "{}", run.stderr);
    }
    // Without walls there is nothing to warn of.
    let open = calling(&[bash("true")]).prepare(&link).env("TMPDIR", Some("link"));
    let run = open.args(&["--no-sandbox", "do it"]).run();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    // The same in the temporary folder.
    let temporary = tempfile::tempdir().unwrap();
    let link = temporary.path().join("link/victim").display().to_string();
    std::os::unix::fs::symlink(outside.path(), temporary.path().join("link")).unwrap();
    let run = Scenario::new([text("ok")]).args(&["--record", &link, "do it"]).run();
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "kept\n");
}

#[test]
fn an_edit_has_one_place_and_takes_no_more_time_than_the_file_is_long() {
    let edit = |old: &str, new: &str| {
        ("edit", json!({ "path": "f", "old_string": old, "new_string": new }))
    };
    for (before, old) in
        [("aaaa", "aaa"), ("}\n}\n}\n", "}\n}\n"), ("a\r\nb\r\nq\r\na\nb\n", "a\nb")]
    {
        let run = calling(&[edit(old, "b")]).file("f", before).run();
        assert_holds(&run.tool("0"), &["Error: ", "2 times"]);
        assert_eq!(run.read("f"), before);
    }
    let run = calling(&[edit(&format!("{}b", "a".repeat(200_000)), "c")])
        .file("f", "a".repeat(2_000_000))
        .run();
    assert_holds(&run.tool("0"), &["is not in f"]);
}

#[test]
fn line_ends_are_no_part_of_what_grep_matches() {
    let patterns = ["\\s$", "^$", "t$", "^w", "a.b"];
    let calls: Vec<_> =
        patterns.iter().map(|pattern| ("grep", json!({ "pattern": pattern }))).collect();
    let run = calling(&calls).file("f", "one\r\n\r\nword two\r\nlast\r\na\rb").run();
    let told: Vec<_> = (0..4).map(|id| run.tool(&id.to_string())).collect();
    assert_eq!(told, ["no matches", "f:2:", "f:4:last", "f:3:word two"]);
    let run = calling(&[("grep", json!({ "pattern": "one\\nword" }))]).run();
    assert_holds(&run.tool("0"), &["Error: ", "within each line"]);
}

/// The system ends a program for it, unless that program hears of it.
#[test]
fn a_file_beyond_the_limit_of_the_shell_is_an_error() {
    let limited = ["bash", "-c", "ulimit -f 4; exec \"$@\"", "-"];
    let large = "x".repeat(9000);
    let run = calling(&[
        ("write", json!({ "path": "f", "content": large })),
        bash("head -c 9000 /dev/zero > g; echo $?"),
    ])
    .file("f", "old")
    .under(&limited)
    .run();
    run.answered("all done");
    assert_holds(&run.tool("0"), &["Error: cannot write ", "too large"]);
    assert_eq!(run.read("f"), "old");
    // What it starts meets the signal as usual: 128 and its number.
    assert!(run.tool("1").ends_with("153\n"), "{}", run.tool("1"));
}
