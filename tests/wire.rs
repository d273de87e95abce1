//! What goes over the wire, and what comes back that a server should not have sent.

mod common;

use common::{
    Scenario, assert_holds, call, calls, delegates, lead_tools, message_reply, plain_tools, raw,
    reply, text,
};
use serde_json::{Value, json};

fn bash(command: &str) -> Value {
    json!({ "command": command }).to_string().into()
}

/// B44
#[test]
fn a_request_holds_nothing_that_a_server_could_refuse() {
    let run = Scenario::new([text("all done")]).run();
    run.answered("all done").asked(1);
    let keys: Vec<_> = run.request(1).as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "tools"]);
    assert_eq!(run.requests[0].path, "/v1/chat/completions");
    assert_eq!(run.requests[0].headers["authorization"], "Bearer sk-test");
    assert_eq!(run.requests[0].headers["content-type"], "application/json");
}

#[test]
fn no_key_is_sent_where_there_is_none() {
    let run = Scenario::new([text("all done")]).env("OPENAI_API_KEY", None).run();
    run.answered("all done").asked(1);
    assert!(!run.requests[0].headers.contains_key("authorization"));
}

#[test]
fn blanks_around_key_url_and_final_slashes_do_no_harm() {
    let run = Scenario::new([text("all done")])
        .env("OPENAI_API_KEY", Some(" sk-test\r\n"))
        .env("OPENAI_BASE_URL", Some(" <server>/v1//\n"))
        .run();
    run.answered("all done").asked(1);
    assert_eq!(run.requests[0].path, "/v1/chat/completions");
    assert_eq!(run.requests[0].headers["authorization"], "Bearer sk-test");
    assert_eq!(run.request(1)["model"], "test-model");
}

/// B07
#[test]
fn an_extra_argument_is_ignored() {
    let say = calls("a", "bash", json!({ "command": "echo hi", "description": "says hi" }));
    let run = Scenario::new([say, text("all done")]).run();
    run.answered("all done").asked(2);
    assert_eq!(run.tool("a"), "hi\n");
}

/// B13
#[test]
fn calls_run_whatever_the_finish_reason() {
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call("a", "bash", &bash("echo ran"))] });
    let stop = raw(
        200,
        json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string(),
    );
    let run = Scenario::new([stop, text("all done")]).run();
    run.answered("all done").asked(2);
    assert_eq!(run.tool("a"), "ran\n");
}

/// B14
#[test]
fn empty_lists_of_calls_are_no_calls() {
    for none in [json!([]), Value::Null] {
        let message = json!({ "role": "assistant", "content": "FINAL", "tool_calls": none,
            "function_call": null, "refusal": null });
        Scenario::new([message_reply(message)]).run().answered("FINAL").asked(1);
    }
}

/// B17
#[test]
fn a_silent_command_is_answered_and_null_content_is_kept() {
    let run =
        Scenario::new([calls("a", "bash", json!({ "command": "true" })), text("all done")]).run();
    run.answered("all done").asked(2);
    assert_eq!(run.tool("a"), "(no output)");
    let messages = run.request(2)["messages"].as_array().unwrap();
    assert!(messages[0]["content"].is_string() && messages[1]["content"].is_string());
    assert_eq!(messages[2]["content"], Value::Null);
}

/// B18, B19, B22
#[test]
fn the_models_message_goes_back_as_it_came() {
    let mut one = call("a", "bash", &bash("true"));
    one["extra_content"] = json!({ "google": { "thought_signature": "SIG==" } });
    let sent = json!({ "role": "assistant", "content": null, "reasoning_content": "let me think",
        "tool_calls": [one], "x_new_field": { "empty": null, "list": [] } });
    let run = Scenario::new([message_reply(sent.clone()), text("all done")]).run();
    run.answered("all done").asked(2);
    assert_eq!(run.request(2)["messages"][2], sent, "nested blanks stay too");

    let padded = json!({ "role": "assistant", "content": null, "reasoning_content": null, "reasoning": "",
        "annotations": [], "tool_calls": [call("a", "bash", &bash("true"))] });
    let run = Scenario::new([message_reply(padded), text("all done")]).run();
    let back: Vec<_> = run.request(2)["messages"][2].as_object().unwrap().keys().cloned().collect();
    assert_eq!(back, ["role", "content", "tool_calls"]);
}

/// B23
#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let run =
        Scenario::new([calls("a", "read_file", json!({ "path": "x" })), text("all done")]).run();
    run.answered("all done").asked(2);
    let told = run.tool("a");
    assert_holds(&told, &["Error: ", "unknown", "read_file", &lead_tools().join(", ")]);
}

/// B26
#[test]
fn every_call_of_a_reply_is_answered_in_order() {
    let three = reply(
        Value::Null,
        &[
            ("1", "read", json!("{\"path\": \"a\"}")),
            ("2", "read", json!("{bad")),
            ("3", "read", json!("{\"path\": \"c\"}")),
        ],
    );
    let run = Scenario::new([three, text("all done")]).file("a", "AA\n").file("c", "CC\n").run();
    run.answered("all done").asked(2);
    let messages = run.request(2)["messages"].as_array().unwrap();
    let ids: Vec<_> =
        messages[3..].iter().map(|message| message["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    assert_eq!((run.tool("1").as_str(), run.tool("3").as_str()), ("1\tAA\n", "1\tCC\n"));
    assert_holds(&run.tool("2"), &["Error: ", "not valid JSON"]);
    for sent in messages[2]["tool_calls"].as_array().unwrap() {
        let arguments = sent["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    }
}

/// E04
#[test]
fn bad_arguments_and_names_are_told_to_lead_and_child_alike() {
    let bad = |first, second| {
        reply(Value::Null, &[(first, "read", json!("[\"x\"]")), (second, "nope", json!("{}"))])
    };
    let run = Scenario::new([
        common::delegates("tester", "t"),
        bad("c1", "c2"),
        text("child ok"),
        bad("a1", "a2"),
        text("all done"),
    ])
    .run();
    run.answered("all done").asked(5);
    for id in ["c1", "a1"] {
        assert_holds(&run.tool(id), &["Error: ", "must be a JSON object"]);
    }
    // What goes back is an object, whatever came: some servers refuse anything else.
    let back = &run.request(5)["messages"][4]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(back, "{}");
    for id in ["c2", "a2"] {
        assert_holds(&run.tool(id), &["Error: ", "unknown tool nope", &plain_tools().join(", ")]);
    }
}

#[test]
fn missing_empty_and_repeated_ids_are_mended() {
    let mut without = call("", "read", &json!("{\"path\": \"a\"}"));
    without.as_object_mut().unwrap().remove("id");
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [
        without, call("", "read", &json!("{\"path\": \"b\"}")),
        call("x", "read", &json!("{\"path\": \"a\"}")), call("x", "read", &json!("{\"path\": \"b\"}"))] });
    let run = Scenario::new([message_reply(message), text("all done")])
        .file("a", "AA\n")
        .file("b", "BB\n")
        .run();
    run.answered("all done").asked(2);
    let messages = run.request(2)["messages"].as_array().unwrap();
    let given: Vec<_> =
        messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    let answered: Vec<_> = messages[3..].iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(given, answered);
    let mut unique = given.clone();
    unique.sort_by_key(ToString::to_string);
    unique.dedup();
    assert_eq!(unique.len(), 4, "{given:?}");
    let texts: Vec<_> =
        messages[3..].iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["1\tAA\n", "1\tBB\n", "1\tAA\n", "1\tBB\n"]);
}

#[test]
fn arguments_are_read_in_every_form_that_servers_send() {
    for arguments in
        [json!({ "path": "a" }), json!("{\"path\": \"a\"}"), json!("\"{\\\"path\\\": \\\"a\\\"}\"")]
    {
        let run =
            Scenario::new([reply(Value::Null, &[("a", "read", arguments)]), text("all done")])
                .file("a", "AA\n")
                .run();
        run.answered("all done").asked(2);
        assert_eq!(run.tool("a"), "1\tAA\n");
        assert!(
            run.request(2)["messages"][2]["tool_calls"][0]["function"]["arguments"].is_string()
        );
    }
    for arguments in [json!(""), Value::Null, json!("{}")] {
        let run =
            Scenario::new([reply(Value::Null, &[("a", "bash", arguments)]), text("all done")])
                .run();
        assert_holds(&run.tool("a"), &["Error: ", "bash", "missing field `command`"]);
    }
}

#[test]
fn a_reply_of_the_wrong_shape_is_no_panic() {
    let odd =
        [Value::Null, json!(7), json!("x"), json!([]), json!([1]), json!({}), json!({ "a": null })];
    for value in &odd {
        let function = json!({ "id": "a", "type": "function", "function": value });
        for calls in [json!([value]), json!([function]), value.clone()] {
            for content in [value.clone(), json!("hi")] {
                let message = json!({ "role": value, "content": content, "tool_calls": calls });
                let run = Scenario::new([message_reply(message), text("all done")]).run();
                assert!(run.code == 0 || run.code == 1, "{value}: {}", run.stderr);
            }
        }
        let whole = json!({ "choices": value, "usage": value, "error": null });
        assert_eq!(Scenario::new([raw(200, whole.to_string())]).run().code, 1);
    }
    let most = json!({ "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX });
    let message = json!({ "content": null, "tool_calls": [call("a", "bash", &bash("true"))] });
    let huge = raw(200, json!({ "choices": [{ "message": message }], "usage": most }).to_string());
    Scenario::new([huge.clone(), huge, text("all done")]).run().answered("all done");
}

#[test]
fn errors_say_what_happened_where_and_what_would_help() {
    let failed = |reply: common::Reply, parts: &[&str]| {
        let run = Scenario::new([reply]).run();
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        run.asked(1);
        assert_holds(&run.stderr, &["error: ", "/v1/chat/completions"]);
        assert_holds(&run.stderr, parts);
        assert!(run.stderr.len() < 2_000, "{}", run.stderr);
    };
    let error = |message: &str| json!({ "error": { "message": message } }).to_string();
    failed(raw(401, error("Incorrect API key")), &["401", "Incorrect API key", "OPENAI_API_KEY"]);
    failed(raw(404, error("no such model")), &["404", "no such model", "--model", "--base-url"]);
    failed(raw(400, error("too long")), &["400", "too long"]);
    failed(raw(400, error("no such model: x")), &["400", "no such model", "--model"]);
    failed(raw(200, error("not today")), &["not today"]);
    failed(
        raw(200, format!("<!DOCTYPE html>{}", "<p>x</p>".repeat(5000))),
        &["not JSON", "<!DOCTYPE html>", "OPENAI_BASE_URL"],
    );
    let mut moved = raw(308, "");
    moved.headers.push(("location".into(), "http://127.0.0.1:9/elsewhere".into()));
    failed(moved, &["308", "http://127.0.0.1:9/elsewhere"]);
}

#[test]
fn a_body_without_choices_is_an_error_with_an_excerpt() {
    for body in [
        json!({ "id": "x", "choices": [] }),
        json!({ "choices": [{ "message": null }] }),
        json!([]),
        json!("hi"),
        Value::Null,
    ] {
        let run = Scenario::new([raw(200, body.to_string())]).run();
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{body}");
        assert_holds(&run.stderr, &["no choices"]);
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let run = Scenario::new([]).env("OPENAI_BASE_URL", Some("http://127.0.0.1:1/v1")).run();
    assert_eq!(run.code, 1);
    assert_holds(
        &run.stderr,
        &["no answer from http://127.0.0.1:1/v1/chat/completions", "refused"],
    );
}

#[test]
fn a_base_url_that_cannot_work_stops_the_start() {
    for (url, part) in [
        ("<server>/v1/chat/completions", "whole endpoint"),
        ("localhost:8080/v1", "no http(s):// URL"),
        ("not a url", "no http(s):// URL"),
        ("ftp://127.0.0.1/v1", "no http(s):// URL"),
    ] {
        let run = Scenario::new([text("never")]).env("OPENAI_BASE_URL", Some(url)).run();
        assert_eq!(run.code, 2, "{url}: {}", run.stderr);
        run.asked(0);
        assert_holds(&run.stderr, &[part, "OPENAI_BASE_URL"]);
    }
}

#[test]
fn a_silent_lead_is_no_success() {
    let run = Scenario::new([text("")]).run();
    assert_eq!((run.code, run.stdout.as_str(), run.memory().as_str()), (1, "", ""));
    assert_holds(&run.stderr, &["the model returned nothing"]);
}

#[test]
fn what_passes_by_itself_is_asked_again_after_a_wait() {
    let error = |status: u16, message: &str| {
        raw(status, json!({ "error": { "message": message } }).to_string())
    };
    let inside =
        |code: Value| raw(200, json!({ "error": { "message": "m", "code": code } }).to_string());
    let listed = raw(200, json!([{ "error": { "message": "m", "code": 503 } }]).to_string());
    let half = raw(200, "{\"choices\": [{\"message\": {\"content\": \"hal");
    let bad_call = json!({ "error": { "message": "m", "code": "tool_use_failed" } });
    for trouble in [
        error(429, "slow down"),
        error(408, "late"),
        error(409, "busy"),
        error(500, "oops"),
        error(529, "overloaded"),
        inside(json!(502)),
        inside(json!("429")),
        inside(json!("rate_limit_exceeded")),
        raw(200, json!({ "choices": [{ "error": { "code": 502, "message": "m" }, "message": { "content": "part" } }] }).to_string()),
        listed,
        half,
        raw(200, ""),
        raw(503, "<html>Service Unavailable</html>"),
        raw(400, bad_call.to_string()),
        common::cut_off(),
    ] {
        let status = trouble.status;
        let run = Scenario::new([trouble, text("all done")]).run();
        run.answered("all done").asked(2);
        assert_holds(&run.stderr, &["lead 1/20 waits 0."]);
        assert!(
            status < 400 || run.stderr.contains(&format!("answered {status}")),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("slow down") && !run.stderr.contains("oops"));
    }
    // The server's words come once, when all tries are used.
    let run = Scenario::new([error(500, "out of order")]).run();
    assert_eq!(run.code, 1);
    run.asked(4);
    assert_eq!(run.stderr.matches("out of order").count(), 1, "{}", run.stderr);
}

#[test]
fn a_server_says_how_long_to_wait_up_to_a_ceiling() {
    let slow = |wait: &str| {
        let mut reply = raw(429, json!({ "error": { "message": "slow down" } }).to_string());
        reply.headers.push(("retry-after".into(), wait.into()));
        reply
    };
    let soon = jiff::Timestamp::now() + std::time::Duration::from_secs(3);
    let soon =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&soon).unwrap();
    for wait in [&*soon, "2", "1.5"] {
        let start = std::time::Instant::now();
        let run = Scenario::new([slow(wait), text("all done")]).run();
        run.answered("all done").asked(2);
        let seconds = start.elapsed().as_secs_f64();
        assert!((1.0..6.0).contains(&seconds), "{wait}: {seconds}");
    }
    for wait in ["86400", "61"] {
        let run = Scenario::new([slow(wait)]).run();
        run.asked(1);
        assert_holds(&run.stderr, &["slow down", &format!("asks to wait {wait} seconds")]);
    }
    let code = json!({ "error": { "message": "no credit left", "code": "insufficient_quota" } });
    let run = Scenario::new([raw(429, code.to_string())]).run();
    run.asked(1);
    assert_holds(&run.stderr, &["error: ", "429", "no credit left"]);
}

#[test]
fn a_field_that_the_server_refuses_goes_back_no_more() {
    let thinking = |id: &str| {
        let mut sent = call(id, "bash", &json!("{\"command\": \"true\"}"));
        sent["index"] = json!(0);
        let message = json!({ "content": null, "reasoning_content": "x", "tool_calls": [sent] });
        message_reply(message)
    };
    let extra =
        json!({ "detail": [{ "loc": ["body", 2, "reasoning_content"], "msg": "not permitted" }] });
    let index = json!({ "error": { "message": "property 'index' is unsupported" } });
    let run = Scenario::new([
        thinking("a"),
        raw(422, extra.to_string()),
        raw(400, index.to_string()),
        thinking("b"),
        text("all done"),
    ])
    .run();
    run.answered("all done").asked(5);
    let keys = |number: usize| {
        let message = &run.request(number)["messages"][2];
        (
            message.get("reasoning_content").is_some(),
            message["tool_calls"][0].get("index").is_some(),
        )
    };
    assert_eq!(
        [2, 3, 4, 5].map(keys),
        [(true, true), (false, true), (false, false), (false, false)]
    );
    assert_holds(&run.stderr, &["without fields that the server refuses"]);
    // An error that passes by itself complains of no field, whatever words it has.
    let busy = json!({ "error": { "message": "reasoning_content is slow today" } }).to_string();
    let run = Scenario::new([thinking("a"), raw(503, busy), text("all done")]).run();
    run.answered("all done").asked(3);
    assert_eq!(run.request(3)["messages"][2]["reasoning_content"], "x");
    // What every message has is never left out.
    let content = json!({ "error": { "message": "content and role are wrong" } });
    let run = Scenario::new([thinking("a"), raw(400, content.to_string())]).run();
    run.asked(2);
}

#[test]
fn a_reply_says_how_it_ended() {
    let ended = |message: Value, finish: &str| {
        raw(
            200,
            json!({ "choices": [{ "message": message, "finish_reason": finish }] }).to_string(),
        )
    };
    let run =
        Scenario::new([ended(json!({ "content": null, "refusal": "I can't." }), "stop")]).run();
    assert_eq!((run.code, run.stdout.as_str(), run.memory().as_str()), (1, "", ""));
    assert_holds(&run.stderr, &["the model refused: I can't."]);
    let run = Scenario::new([ended(json!({ "content": "some" }), "content_filter")]).run();
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert_holds(&run.stderr, &["content filter"]);
    let run = Scenario::new([ended(json!({ "content": "half an ans" }), "length")]).run();
    run.answered("half an ans\n(cut off at the length limit of a reply)");
    let whole = call("a", "bash", &json!("{\"command\": \"touch made\"}"));
    let half = call("b", "write", &json!("{\"path\": \"made2\", \"content\": \"x\"}"));
    let message = json!({ "content": null, "tool_calls": [whole, half] });
    let run = Scenario::new([ended(message, "length"), text("all done")]).run();
    run.answered("all done");
    assert_holds(&run.tool("b"), &["Error: ", "cut off at the length limit"]);
    assert!(run.dir.path().join("made").exists() && !run.dir.path().join("made2").exists());
}

#[test]
fn text_may_come_in_parts_and_numbers_as_text() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "hmm" }] },
        { "type": "text", "text": "Hel" },
        { "type": "reference", "reference_ids": [1] },
        { "type": "text", "text": "lo" },
    ]);
    Scenario::new([reply(parts, &[])]).run().answered("Hello");
    let limit = json!({ "path": "f", "limit": " 2 ", "offset": "1" });
    let run = Scenario::new([common::calls("a", "read", limit), text("all done")])
        .file("f", "1\n2\n3\n")
        .run();
    assert_eq!(run.tool("a"), "1\t1\n2\t2\n(there is more: go on with offset 3)");
}

#[test]
fn a_call_written_as_text_is_not_run_and_said() {
    let written = "<tool_call>{\"name\":\"write\",\"arguments\":{\"path\":\"t.txt\",\"content\":\"1\"}}</tool_call>";
    let run = Scenario::new([delegates("tester", "check"), text(written), text("all done")]).run();
    run.answered("all done");
    assert!(!run.dir.path().join("t.txt").exists());
    assert_holds(&run.stderr, &["a tool call was written as text"]);
    assert_holds(&run.tool("p1"), &[written, "written as text, and not run"]);
}

#[test]
fn a_silent_reply_is_asked_for_once_more() {
    let run = Scenario::new([text(""), text("now")]).run();
    run.answered("now").asked(2);
    Scenario::new([text("")]).run().asked(2);
}

#[test]
fn a_trickle_ends_at_the_timeout_and_a_flood_at_its_limit() {
    let run = Scenario::new([common::trickle()]).args(&["--timeout", "2", "do it"]).run();
    assert_eq!(run.code, 1);
    run.asked(1);
    assert_holds(&run.stderr, &["--timeout"]);
    let run = Scenario::new([raw(200, " ".repeat((32 << 20) + 1))]).run();
    run.asked(1);
    assert_holds(&run.stderr, &["at most 32 MiB"]);
}

#[test]
fn names_and_passwords_are_trimmed_and_hidden() {
    let run = Scenario::new([raw(400, "no")])
        .env("OPENAI_MODEL", Some("test-model\n"))
        .env("OPENAI_BASE_URL", Some(" http://user:hush@127.0.0.1:1/v1//\n"))
        .run();
    assert!(!run.stderr.contains("hush"), "{}", run.stderr);
    assert_holds(&run.stderr, &["http://127.0.0.1:1/v1/chat/completions"]);
    let run = Scenario::new([text("ok")]).env("OPENAI_MODEL", Some(" test-model\n")).run();
    assert_eq!(run.request(1)["model"], "test-model");
}

#[test]
fn a_connection_is_kept_for_a_whole_run() {
    let turns = (0..9).map(|id| calls(&id.to_string(), "bash", json!({ "command": "true" })));
    let run = Scenario::new(turns.chain([text("all done")])).run();
    run.answered("all done").asked(10);
    assert!(run.requests.iter().all(|seen| seen.connection == run.requests[0].connection));
}

#[test]
fn half_a_recording_plays_up_to_there() {
    let run =
        Scenario::new([calls("a", "bash", json!({ "command": "echo ran" })), text("all done")])
            .args(&["--record", "r.jsonl", "do it"])
            .run();
    let whole = run.read("r.jsonl");
    let (half, _) = whole.split_at(whole.len() - 20);
    let run = Scenario::new([]).file("r.jsonl", half).args(&["--replay", "r.jsonl"]).run();
    assert_eq!(run.code, 1);
    assert_holds(&run.stderr, &["recording, line 2", "playing what comes before", "ends here"]);
    // A crash may come in the middle of a character.
    let half = [half.as_bytes(), b" caf\xc3"].concat();
    let run = Scenario::new([]).file("r.jsonl", &half).args(&["--replay", "r.jsonl"]).run();
    assert_eq!(run.code, 1);
    assert_holds(&run.stderr, &["recording, line 2", "playing what comes before", "ends here"]);
    let half = whole.split_at(whole.len() - 20).0;
    let run = Scenario::new([])
        .file("r.jsonl", format!("{half}\n{whole}"))
        .args(&["--replay", "r.jsonl"])
        .run();
    assert_eq!(run.code, 2);
}

#[test]
fn what_goes_back_could_come_from_any_strict_server() {
    let odd = json!([
        { "id": "call00001", "function": { "name": "functions.bash", "arguments": "{\"command\":\"echo ran\"}" } },
        { "function": { "name": "a b<|x|>", "arguments": "{}" } },
        { "id": 5, "function": { "name": null, "arguments": "{}" } },
        { "id": "call00002", "function": { "name": "bash:0", "arguments": "{\"command\":\"echo two\"}" } },
        null, 7, {}, { "id": "x", "function": "bash" },
        { "id": "long", "function": { "name": "n".repeat(200), "arguments": "{}" } },
    ]);
    let message = json!({ "role": "model", "content": { "text": "x" }, "tool_calls": odd });
    let run = Scenario::new([message_reply(message), text("all done")]).run();
    run.answered("all done").asked(2);
    let messages = run.request(2)["messages"].as_array().unwrap();
    let sent = &messages[2];
    assert_eq!((&sent["role"], &sent["content"]), (&json!("assistant"), &Value::Null));
    let calls = sent["tool_calls"].as_array().unwrap();
    let names: Vec<_> =
        calls.iter().map(|call| call["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bash", "x", "unknown", "bash", "unknown"]);
    let ids: Vec<_> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    let answered: Vec<_> =
        messages[3..].iter().map(|m| m["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(answered, ids);
    assert_eq!((run.tool("call00001"), run.tool("call00002")), ("ran\n".into(), "two\n".into()));
}

#[test]
fn a_call_is_not_seen_where_text_only_speaks_of_one() {
    for said in
        ["The parser looks for `<tool_call>` tags.", "{\"name\": \"x\"}", "use [TOOL_CALLS]"]
    {
        Scenario::new([text(said)]).run().answered(said);
    }
    for said in [
        "```json\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*\"}}\n```",
        "I look.\n<function=glob>{}</function>",
        "<invoke name=\"bash\">",
    ] {
        let run = Scenario::new([text(said)]).run();
        assert_holds(&run.stdout, &["written as text, and not run"]);
    }
}

#[test]
fn a_lead_that_fails_leaves_its_last_text_and_what_its_children_did() {
    let words = reply("HALF DONE".into(), &[("b", "bash", bash("true"))]);
    let run =
        Scenario::new([delegates("tester", "t"), text("child report"), words, raw(400, "no")])
            .args(&["-q", "do it"])
            .run();
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert_holds(&run.stderr, &["its last text:\n  | HALF DONE", "answered 400"]);
}

#[test]
fn an_interrupted_run_says_how_far_it_came() {
    let children = [("worker 0", "w0"), ("worker 1", "w1")].map(|(role, id)| {
        (id, "subagent", json!({ "role": role, "task": "t" }).to_string().into())
    });
    let scenario = Scenario::new([])
        .answers("lead of a small team", [reply(Value::Null, &children)])
        .answers("worker 0", [text("found it")])
        .answers("worker 1", [calls("s", "bash", json!({ "command": "touch here; sleep 60" }))])
        .args(&["--json", "do it"]);
    let run = scenario.interrupt_when("here").run();
    assert_eq!(run.code, 130, "{}", run.stderr);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["error"], &object["turns"]), (&json!("interrupted"), &json!(1)));
    assert_eq!((&object["finished"], &object["answer"]), (&json!(false), &Value::Null));
    let children = object["subagents"].as_array().unwrap();
    assert_eq!(children[0]["answer"], "found it");
    assert_eq!((&children[1]["error"], &children[1]["turns"]), (&json!("interrupted"), &json!(1)));
}

#[test]
fn a_key_that_cannot_be_sent_stops_the_start() {
    let run = Scenario::new([text("never")]).env("OPENAI_API_KEY", Some("sk-a\nb")).run();
    assert_eq!(run.code, 2);
    run.asked(0);
    assert_holds(&run.stderr, &["OPENAI_API_KEY"]);
    for url in [
        "http://user:hush@bad host/v1",
        "ftp://user:hush@x/v1",
        "http://user:hush@x/v1/chat/completions",
    ] {
        let run = Scenario::new([text("never")]).env("OPENAI_BASE_URL", Some(url)).run();
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(!run.stderr.contains("hush"), "{}", run.stderr);
    }
}

#[test]
fn half_a_character_does_not_cost_the_reply() {
    let half = r#"{"choices":[{"message":{"role":"assistant","content":"a \ud83d b \\ud83d c"}}]}"#;
    Scenario::new([raw(200, half)]).run().answered(r"a  b \ud83d c").asked(1);
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"\ud83d\ude00"}}]}"#;
    Scenario::new([raw(200, whole)]).run().answered("😀");
}

/// Whoever starts the program may ignore the end of children, or hold signals back.
#[test]
fn commands_end_and_can_be_ended_whatever_the_program_inherits() {
    let status = "grep -E '^Sig(Blk|Ign)' /proc/$$/status";
    let scenario = Scenario::new([
        calls("a", "bash", json!({ "command": "echo hi; exit 3", "timeout": 5 })),
        calls("b", "bash", json!({ "command": status, "timeout": 5 })),
        text("done"),
    ]);
    let run = scenario.under(&["env", "--ignore-signal=CHLD", "--block-signal=TERM,CHLD"]).run();
    run.answered("done").asked(3);
    assert_eq!(run.tool("a"), "Error: exit code 3\nhi\n");
    assert_holds(&run.tool("b"), &["SigBlk:\t0000000000000000\n"]);
}
