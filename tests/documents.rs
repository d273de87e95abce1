//! The words beside the code: links lead somewhere, commands run, options are those of the program.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Scenario, root, text};
use regex::Regex;

const DOCUMENTS: [&str; 4] = ["README.md", "README.zh-CN.md", "EXERCISES.md", "CHANGELOG.md"];

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// What a pattern's first group finds in a text.
fn found<'a>(pattern: &str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let pattern = Regex::new(pattern).unwrap();
    pattern
        .captures_iter(text)
        .map(|found| found.get(1).unwrap().as_str())
        .collect::<Vec<_>>()
        .into_iter()
}

/// The text outside of fenced blocks, and the lines of those of a kind.
fn split(document: &str, wanted: &str) -> (String, Vec<String>) {
    let (mut prose, mut commands, mut fence) = (String::new(), Vec::new(), None);
    for line in document.lines() {
        match (&fence, line.strip_prefix("```")) {
            (None, Some(kind)) => fence = Some(kind.to_owned()),
            (Some(_), Some(_)) => fence = None,
            (Some(kind), None) if kind == wanted => commands.push(line.to_owned()),
            (Some(_), None) => {}
            (None, None) => prose += &format!("{line}\n"),
        }
    }
    (prose, commands)
}

fn headings(document: &str) -> Vec<String> {
    let (prose, _) = split(document, "");
    prose.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

/// A heading as the anchor of a link has it.
fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|char| char.is_alphanumeric() || "-_ ".contains(*char));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn every_link_leads_to_a_file_or_a_heading() {
    for name in DOCUMENTS {
        let document = read(name);
        for link in found(r"\]\(([^)]*)\)", &document) {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { name } else { path };
            assert!(root().join(path).exists(), "{name}: {link}");
            let there = || headings(&read(path)).iter().any(|heading| anchor(heading) == place);
            assert!(place.is_empty() || there(), "{name}: {link}");
        }
    }
}

#[test]
fn every_function_that_is_linked_stands_in_its_file() {
    let named = Regex::new(r"`([\w:]+)`(?: in |（|\s*在\s*)\[[^\]]*\]\(([^)]*\.rs)\)").unwrap();
    let linked = Regex::new(r"\[`([\w:]+)`\]\(([^)]*\.rs)\)").unwrap();
    for name in DOCUMENTS {
        let document = read(name);
        let all = named.captures_iter(&document).chain(linked.captures_iter(&document));
        for found in all {
            let (what, file) = (found[1].rsplit(':').next().unwrap(), read(&found[2]));
            let item =
                format!(r"\b(fn|struct|enum|type|const|static|mod) {what}\b|\b{what}\s*[\{{(]");
            assert!(Regex::new(&item).unwrap().is_match(&file), "{name}: {}", &found[0]);
        }
    }
}

/// The options that the program has, long and short, as its help says.
fn options() -> BTreeSet<String> {
    let help = Scenario::new([]).args(&["--help"]).run().stdout;
    found(r"(?m)^\s+(?:-\w, )?(--[a-z-]+)", &help)
        .chain(found(r"(?m)^\s+(-\w), --", &help))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_option_is_in_both_readmes_and_each_in_them_is_one() {
    let ours = options();
    assert!(ours.len() > 25, "{ours:?}");
    // Options of other programs, and the one that an exercise adds.
    let others = [
        "--release",
        "--path",
        "--locked",
        "--test",
        "--ignored",
        "--version",
        "--max-tokens",
        "--no-fail-fast",
        "--others",
        "--exclude-standard",
    ];
    for name in ["README.md", "README.zh-CN.md", "EXERCISES.md"] {
        let document = read(name);
        let named: BTreeSet<String> =
            found(r"(?:^|[\s`(（])(--[a-z][a-z-]+|-[a-zA-Z])\b", &document)
                .map(str::to_owned)
                .collect();
        let foreign = |option: &&String| option.starts_with("--") && !others.contains(&&***option);
        let unknown: Vec<_> = named.difference(&ours).filter(foreign).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        let missing: Vec<_> = ours.difference(&named).collect();
        assert!(missing.is_empty() || name == "EXERCISES.md", "{name}: {missing:?}");
    }
}

#[test]
fn every_option_is_run_by_a_test() {
    let mut tests = String::new();
    for entry in fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "rs") {
            tests += &read(&path);
        }
    }
    // A list of all options proves nothing.
    let (before, list) = tests.split_once("const OPTIONS").unwrap();
    let tests = [before, list.split_once("];").unwrap().1].concat();
    for option in options() {
        assert!(tests.contains(&format!("\"{option}\"")), "{option}");
    }
}

/// A shell in a new folder that knows the program, and has a server that answers `done`. Its cargo
/// runs what is built already, and builds and tests nothing.
fn shell(script: &str) -> (bool, String) {
    let scenario = Scenario::new([text("done")])
        .prepare("git init -q; mkdir -p bin src/roles; echo MIT > LICENSE")
        .file("bin/cargo", "#!/bin/sh\n[ $1 = run ] || exit 0\nwhile [ $1 != -- ]; do shift; done\nshift\nexec agent-subagent \"$@\"\n")
        .prepare("chmod +x bin/cargo");
    let (program, _) = scenario.command();
    let bin = scenario.dir.path().join("bin");
    symlink(program.get_program(), bin.join("agent-subagent")).unwrap();
    let script = script.replace("http://127.0.0.1:8080/v1", "$OPENAI_BASE_URL");
    let script = script.replace("/tmp/", &format!("{}/", scenario.dir.path().display()));
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(scenario.dir.path()).stdin(Stdio::null());
    for (key, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(key, value),
            None => shell.env_remove(key),
        };
    }
    let path = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}:{path}", bin.display()));
    let output = shell.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_line_in_the_documents_runs() {
    let mut count = 0;
    for name in ["README.md", "README.zh-CN.md", "EXERCISES.md"] {
        let (prose, mut lines) = split(&read(name), "console");
        let inline = found(r"`([^`\n]*\bagent-subagent [^`\n]+)`", &prose);
        lines.extend(inline.filter(|line| !line.starts_with("python ")).map(str::to_owned));
        count += lines.len();
        for line in lines {
            let (success, stderr) = shell(&format!("set -euo pipefail; {line}"));
            assert!(success, "{name}: {line}: {stderr}");
        }
    }
    assert!(count > 15, "{count}");
}

/// They show what an exercise asks for, which is not there yet; but all that they use is.
#[test]
fn every_command_in_the_exercises_runs() {
    let document = read("EXERCISES.md");
    let blocks: Vec<_> = found(r"(?s)\n```bash\n(.*?)\n```", &document).collect();
    let (functions, blocks) = blocks.split_first().unwrap();
    assert!(functions.contains("plays()") && blocks.len() == 9, "{blocks:?}");
    for block in blocks {
        // This one waits for a server that is busy for ten seconds.
        if block.contains("http.server") {
            continue;
        }
        let (_, stderr) = shell(&format!("{functions}\n{block}"));
        for trouble in ["command not found", "syntax error", "No such file", "no task"] {
            assert!(!stderr.contains(trouble), "{block}: {stderr}");
        }
        let unknown = found(r"unexpected argument '([^']*)'", &stderr).next();
        assert!(unknown.is_none_or(|option| option == "--max-tokens"), "{block}: {stderr}");
    }
}

/// The words differ, the shape does not.
#[test]
fn both_readmes_have_the_same_headings_commands_and_options() {
    let [english, chinese] = ["README.md", "README.zh-CN.md"].map(read);
    let levels = |document: &str| -> Vec<usize> {
        headings(document).iter().map(|heading| heading.find(' ').unwrap()).collect()
    };
    assert_eq!(levels(&english), levels(&chinese));
    // What stands in quotes and comments is for people.
    let words = Regex::new(r#""[^"]*"|#.*"#).unwrap();
    let commands = |document: &str| -> Vec<String> {
        let lines = split(document, "console").1;
        lines.iter().map(|line| words.replace_all(line, "…").trim().to_owned()).collect()
    };
    assert_eq!(commands(&english), commands(&chinese));
    let spans = |document: &str| -> BTreeSet<String> {
        let prose = split(document, "").0;
        found(r"`(-[^`]*)`", &prose).map(str::to_owned).collect()
    };
    assert_eq!(spans(&english), spans(&chinese));
    let images = |document: &str| -> Vec<String> {
        found(r"!\[[^\]]*\]\(([^)]*)\)", document).map(str::to_owned).collect()
    };
    assert_eq!(images(&english), images(&chinese));
}

/// The picture of the terminal may be older than the program, but not other than it.
#[test]
fn the_picture_of_the_demo_shows_what_the_demo_shows() {
    let picture = read("tests/pictures/demo.svg");
    let shown: Vec<_> = found(r"<text[^>]*>([^<]*)</text>", &picture)
        .map(|text| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        .collect();
    let shown = shown.concat().replace(' ', "");
    let demo = Scenario::new([]).args(&["--demo"]).run();
    // Seconds and bytes differ from run to run and from folder to folder.
    let same =
        |line: &str| Regex::new(r", [\d.]+ s|\d+ bytes").unwrap().find(line).map(|at| at.start());
    for line in demo.stderr.lines() {
        let line: String = line[..same(line).unwrap_or(line.len())].chars().take(60).collect();
        assert!(shown.contains(&line.replace(' ', "")), "{line}: {shown}");
    }
}

/// Both READMEs walk through the tour by lines of a real run; bytes and seconds may differ.
#[test]
fn the_tour_in_the_readmes_is_the_one_that_the_demo_gives() {
    let demo = Scenario::new([]).args(&["--demo", "-v", "-m", "gpt-4o-mini"]).run();
    let numbers = Regex::new(r"\d[\d.]*").unwrap();
    let masked = |line: &str| numbers.replace_all(line.trim_end_matches("..."), "N").into_owned();
    let shown = masked(&demo.stderr);
    for (name, last) in [("README.md", "## A real run"), ("README.zh-CN.md", "## 一次真实")] {
        let document = read(name);
        let tour = document.split_once("demo -v`").unwrap().1.split_once(last).unwrap().0;
        let blocks = split(tour, "text").1;
        assert!(blocks.len() > 25, "{name}: {last}");
        // A tool more is no other tour.
        for line in blocks.iter().filter(|line| !line.starts_with("  tools: ")) {
            assert!(shown.contains(&masked(line)), "{name}: {line}");
        }
    }
}
