//! The tools without a run around them: many agents at once, and calls that nobody would write.

use std::{env, fs, thread};

use agent_subagent::model::Call;
use agent_subagent::tools::{self, files::Files};
use serde_json::{Value, json};

fn call(name: &str, arguments: Value) -> Call {
    Call { id: "x".into(), name: name.into(), arguments: Ok(arguments) }
}

#[test]
fn of_edits_that_agents_make_at_once_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let text =
        |word: &str| (0..400).map(|line| format!("{word} {line};\n")).collect::<Vec<_>>().concat();
    fs::write(&file, text("line")).unwrap();
    thread::scope(|scope| {
        for agent in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let files = Files::default();
                for line in (0..400).filter(|line| line % 8 == agent) {
                    let old = format!("line {line};");
                    let edit = json!({ "path": file, "old_string": old, "new_string": format!("done {line};") });
                    tools::run(&call("edit", edit), &files).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&file).unwrap(), text("done"));
}

#[test]
fn an_edit_changes_what_it_says_whatever_the_line_ends_are() {
    let mut dice = Dice(0xed17);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let plain = |text: &str| text.replace("\r\n", "\n");
    let mut changed = 0;
    for _ in 0..3000 {
        let mut some = |most| -> String {
            (0..dice.roll(most)).map(|_| dice.pick(&["a", "b", "中", "\n", "\r\n"])).collect()
        };
        let (text, old, new) = (some(12), some(4), some(5));
        fs::write(&file, &text).unwrap();
        let edit = json!({ "path": file, "old_string": old, "new_string": new });
        let done = tools::run(&call("edit", edit), &Files::default());
        let after = fs::read_to_string(&file).unwrap();
        let (text_plain, old, new) = (plain(&text), plain(&old), plain(&new));
        let places = (0..text_plain.len())
            .filter(|at| text_plain.as_bytes()[*at..].starts_with(old.as_bytes()));
        let fits = !old.is_empty() && old != new && places.count() == 1;
        assert_eq!(done.is_ok(), fits, "{text:?} {old:?} {new:?}");
        let expected = if fits { text_plain.replacen(&old, &new, 1) } else { text_plain };
        assert_eq!(plain(&after), expected, "{text:?} {old:?} {new:?}");
        assert!(fits || after == text);
        // A file with one kind of line ends has no other afterwards.
        let ends = |text: &str| (text.contains("\r\n"), text.replace("\r\n", "").contains('\n'));
        if ends(&text) == (true, false) || ends(&text) == (false, true) {
            assert!(ends(&after) != (true, true), "{text:?} {old:?} {new:?} {after:?}");
        }
        changed += usize::from(fits);
    }
    assert!(changed > 200, "{changed}");
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.roll(list.len() as u64)).unwrap()]
    }

    fn text(&mut self) -> String {
        let words = [
            "", "a", "f", "d", "../d", "~/", "~", "/", "中", "**", "*.{a,b}", "[", "{,}", "(",
            "a\nb", "\0", "-n", "f/x", "\r\n", "one", "\u{feff}", "'; echo", "x{1000}", "\\", ".",
            "/b",
        ];
        (0..self.roll(4)).map(|_| self.pick(&words)).collect()
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.roll(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.roll(5)),
            2 => json!(-1.5e300),
            3 => json!(u64::MAX),
            4 | 5 => self.text().into(),
            6 => (0..self.roll(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: u32) -> Value {
        let keys = [
            "path",
            "offset",
            "limit",
            "content",
            "old_string",
            "new_string",
            "pattern",
            "timeout",
            "path",
            "content",
            "pattern",
            "role",
            "",
        ];
        (0..self.roll(5)).map(|_| (self.pick(&keys).to_owned(), self.value(depth))).collect()
    }
}

#[test]
fn any_call_gets_a_text_or_an_error() {
    // A million by `CALLS=1000000 cargo test --release --test library`.
    let calls = env::var("CALLS").map_or(20_000, |calls| calls.parse().unwrap());
    let mut folders = Vec::new();
    let (mut dice, files) = (Dice(0x5eed), Files::default());
    let mut good = 0;
    for number in 0..calls {
        if number % 1000 == 0 {
            // What was made so far would only slow down the searches.
            let folder = tempfile::tempdir().unwrap();
            env::set_current_dir(folder.path()).unwrap();
            folders = vec![folder];
            fs::create_dir_all("d/e").unwrap();
            fs::write("d/b", "one\r\ntwo\n\u{feff}").unwrap();
        }
        let name =
            dice.pick(&["read", "write", "edit", "glob", "grep", "bash", "subagent", "", "Read"]);
        let mut arguments = dice.object(2);
        // As they are, few would be understood.
        for key in ["path", "pattern", "content", "old_string", "new_string"] {
            if dice.roll(3) > 0 {
                arguments[key] = dice.text().into();
            }
        }
        // Nothing may be looked for, or made, outside the folder.
        let outside = |value: &Value| {
            value.as_str().is_some_and(|text| text.contains("..") || text.starts_with(['/', '~']))
        };
        for (_, value) in arguments.as_object_mut().unwrap() {
            *value = if outside(value) { json!("f") } else { value.take() };
        }
        good += usize::from(
            tools::run(&call(name, arguments), &files).is_ok_and(|text| !text.is_empty()),
        );
    }
    drop(folders);
    println!("{good} of {calls} calls did something");
    assert!(good > calls / 50);
}

#[test]
fn any_body_gets_a_reply_that_can_go_back_or_an_error() {
    let calls = env::var("CALLS").map_or(20_000, |calls| calls.parse().unwrap());
    let mut dice = Dice(0xb0d1);
    let mut good = 0;
    for _ in 0..calls {
        let call = json!({ "id": dice.text(), "type": "function", "index": 0,
            "function": { "name": "read", "arguments": "{\"path\": \"a\"}" } });
        let message = json!({ "role": "assistant", "content": dice.text(), "tool_calls": [call, call],
            "reasoning_content": "x", "refusal": null });
        let mut body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 2 } });
        for _ in 0..=dice.roll(3) {
            mutate(&mut body, &mut dice);
        }
        let Ok(reply) = agent_subagent::model::reply::parse(body) else { continue };
        good += 1;
        assert_eq!(reply.message["role"], "assistant");
        let sent = reply.message["tool_calls"].as_array().cloned().unwrap_or_default();
        assert_eq!(sent.len(), reply.calls.len());
        let mut ids = std::collections::HashSet::new();
        for (sent, call) in sent.iter().zip(&reply.calls) {
            assert!(sent["id"] == call.id.as_str() && !call.id.is_empty() && ids.insert(&call.id));
            assert_eq!(
                (&sent["type"], &sent["function"]["name"]),
                (&json!("function"), &json!(call.name))
            );
            let arguments = sent["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
        }
    }
    println!("{good} of {calls} bodies gave a reply");
    assert!(good > calls / 4);
}

/// Puts something else somewhere, or takes it out.
fn mutate(value: &mut Value, dice: &mut Dice) {
    let deeper = dice.roll(5) > 0;
    match value {
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = usize::try_from(dice.roll(fields.len() as u64)).unwrap();
            let key = fields.keys().nth(at).unwrap().clone();
            if dice.roll(8) == 0 {
                fields.remove(&key);
            } else {
                mutate(&mut fields[&key], dice);
            }
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = usize::try_from(dice.roll(list.len() as u64)).unwrap();
            mutate(&mut list[at], dice);
        }
        other => *other = dice.value(2),
    }
}
