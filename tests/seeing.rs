//! What a run looks like: the page that `--picture` draws, and the tour that `--demo -v` gives.

mod common;

use std::collections::HashMap;

use common::{Run, Scenario, assert_holds, calls, delegates, lead_tools, plain_tools, raw, text};
use serde_json::{Value, json};

/// What a page has to draw.
fn exchanges(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("id=\"run\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert!(!data.contains('<'), "{data}");
    serde_json::from_str(data).unwrap()
}

/// Who asked, in which turn, with how many messages, and whether the request is there whole.
fn shape(page: &str) -> Value {
    let one = |exchange: &Value| {
        let whole = exchange["request"].is_object();
        json!([exchange["agent"], exchange["turn"], exchange["messages"], whole])
    };
    exchanges(page).iter().map(one).collect()
}

fn with_a_child() -> Scenario {
    let hostile = "</script><!-- <b>&amp; 测试 😀 sk-SECRET-1234567890";
    Scenario::new([text("all done")])
        .answers("lead of", [delegates("tester", hostile), text("all done")])
        .answers("You are a ", [calls("b", "bash", json!({ "command": "true" })), text("ok")])
        .env("OPENAI_API_KEY", Some("sk-SECRET-1234567890"))
}

#[test]
fn a_picture_has_every_exchange_and_each_conversation_once() {
    let run = with_a_child().args(&["--picture", "run.html", "do it"]).run();
    run.answered("all done").asked(4);
    let page = run.read("run.html");
    assert_eq!(
        shape(&page),
        json!([["lead", 1, 2, false], [1, 1, 2, false], [1, 2, 4, true], ["lead", 2, 4, true]])
    );
    let all = exchanges(&page);
    for (exchange, seen) in all.iter().zip(&run.requests) {
        let sent = seen.body.to_string().replace("sk-SECRET-1234567890", "[key]");
        assert_eq!(exchange["bytes"], sent.len());
        assert!(exchange["reply"]["choices"][0]["message"].is_object());
        assert!(exchange["seconds"].as_f64().unwrap() >= 0.0);
    }
    let starts: Vec<_> = all.iter().map(|exchange| exchange["start"].as_f64().unwrap()).collect();
    assert!(starts.is_sorted() && starts[0] >= 0.0, "{starts:?}");
    let task = &all[2]["request"]["messages"][1]["content"];
    assert_eq!(task, "</script><!-- <b>&amp; 测试 😀 [key]");
}

#[test]
fn a_picture_needs_nothing_but_itself() {
    let run = with_a_child().args(&["--picture", "run.html", "do it"]).run();
    let page = run.read("run.html");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    for part in ["src=", "href=", "@import", "url(", "fetch(", "innerHTML", "SECRET"] {
        assert!(!page.contains(part), "{part}");
    }
    assert_holds(&page, &["<!doctype html>", "prefers-color-scheme: dark", "width=device-width"]);
}

#[test]
fn a_picture_is_drawn_however_the_run_ends_and_an_old_one_is_kept_until_then() {
    let page = |scenario: Scenario, args: &[&str]| {
        let run = scenario.file("run.html", "old").args(args).run();
        (run.code, run.read("run.html"))
    };
    let asking = ["--picture", "run.html", "do it"];
    let (code, refused) = page(Scenario::new([raw(401, "{}")]), &asking);
    assert_eq!((code, shape(&refused)), (1, json!([["lead", 1, 2, true]])));
    assert_holds(exchanges(&refused)[0]["error"].as_str().unwrap(), &["401"]);
    let wait = calls("w", "bash", json!({ "command": "touch here; sleep 60" }));
    let interrupted = Scenario::new([wait]).interrupt_when("here");
    let (code, interrupted) = page(interrupted, &asking);
    assert_eq!((code, shape(&interrupted)), (130, json!([["lead", 1, 2, true]])));
    let unusable = ["--base-url", "no url", "--picture", "run.html", "x"];
    assert_eq!(page(Scenario::new([]), &unusable), (2, "old".into()));
    let run = Scenario::new([]).args(&["--picture", "/proc/self/exe", "x"]).run();
    assert_eq!(run.code, 2);
    assert_holds(&run.stderr, &["--picture"]);
}

#[test]
fn a_replay_and_one_specialist_can_be_drawn_too() {
    let first = with_a_child().args(&["--record", "run.jsonl", "do it"]).run();
    let again = Scenario::new([])
        .file("run.jsonl", first.read("run.jsonl"))
        .args(&["--replay", "run.jsonl", "--picture", "run.html"])
        .run();
    again.answered("all done");
    assert_eq!(exchanges(&again.read("run.html")).len(), 4);
    let alone = Scenario::new([text("fine")])
        .args(&["--role", "reviewer", "--picture", "run.html", "look"])
        .run();
    assert_eq!(shape(&alone.read("run.html")), json!([["lead", 1, 2, true]]));
}

fn demo(args: &[&str]) -> Run {
    let demo = Scenario::new([]).env("OPENAI_API_KEY", None).env("OPENAI_BASE_URL", None);
    demo.args(args).run()
}

/// The stops stand where what they speak of stands.
#[test]
fn the_tour_shows_the_context_the_missing_tool_the_text_and_the_ledger() {
    let run = demo(&["--demo", "-v", "--picture", "run.html"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (plain, all) = (plain_tools(), lead_tools());
    let order = [
        "> 1. The lead",
        "lead 1/20 asks",
        &format!("tools: {}\n", all.join(", ")),
        "backend#1 0/20 starts",
        "> 2. The fresh context",
        &format!("backend#1 1/20 asks test-model: 2 messages, {} tools", plain.len()),
        &format!("tools: {}\n", plain.join(", ")),
        "| You are a backend engineer.",
        "backend#1 4/20 ends",
        "> 3. The one text",
        "lead 1/20 gets back",
        "> 4. The lead asks again",
        &format!("lead 2/20 asks test-model: 4 messages, {} tools", all.len()),
        "> 5. The ledger",
        "lead: 6 turns",
        "Delegation: specialists read ",
    ];
    let mut rest = run.stderr.as_str();
    for part in order {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part}: {rest}"));
        rest = after;
    }
    let stop = |line: &&str| line.starts_with("> ") && line.as_bytes()[2].is_ascii_digit();
    assert_eq!(run.stderr.lines().filter(stop).count(), 5, "each stop once");
    // The ledger's last line against the requests themselves.
    let mut sent = HashMap::from([(true, 0), (false, 0)]);
    for exchange in exchanges(&run.read("run.html")) {
        *sent.get_mut(&(exchange["agent"] == "lead")).unwrap() +=
            exchange["bytes"].as_u64().unwrap();
    }
    assert_holds(&run.stderr, &[&format!("read {} bytes, ", sent[&false])]);
}

#[test]
fn there_is_no_tour_without_the_demo_or_without_v() {
    for run in [demo(&["--demo"]), with_a_child().args(&["-v", "do it"]).run()] {
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stderr.contains("> 1. The lead"), "{}", run.stderr);
    }
}

#[test]
fn a_demo_that_cannot_start_leaves_nothing_behind() {
    let run = demo(&["--demo", "--picture", "/proc/self/exe"]);
    assert_eq!(run.code, 2);
    assert!(!run.dir.path().join("todo-app").exists());
    let there = Scenario::new([]).folder("todo-app").args(&["--demo"]).run();
    assert_eq!(there.code, 2);
    assert_holds(&there.stderr, &["remove todo-app, or work elsewhere with -C"]);
}
