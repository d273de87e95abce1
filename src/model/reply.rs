//! What servers really send, made into a [`Reply`].
//!
//! The message is kept as it came, because servers want back what they sent: thinking that belongs
//! to its calls, signatures, fields nobody has heard of yet. Only what a server would refuse is
//! mended: a missing id, arguments that are no JSON object.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cli::prelude::*;

/// Reads the body of a successful response.
pub fn parse(mut body: Value) -> Result<Reply> {
    let tokens = |key| body["usage"][key].as_u64().unwrap_or_default();
    let usage = ["prompt_tokens", "completion_tokens"].map(tokens);
    let Some(Value::Object(message)) = body.pointer_mut("/choices/0/message") else {
        bail!("the reply had no choices with a message: {}", excerpt(&body.to_string()));
    };
    let mut message = drop_blank(message);
    message.entry("role").or_insert("assistant".into());
    let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let (text, mut ids) = (clean(text).trim_end().to_owned(), HashSet::new());
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
    let calls = calls.map(|call| mend(call, &mut ids)).collect();
    Ok(Reply { message: message.into(), text, calls, usage })
}

/// Servers pad messages with keys that hold nothing, and some refuse these when they come back.
fn drop_blank(fields: &mut Map<String, Value>) -> Map<String, Value> {
    let blank = |value: &Value| value.is_null() || value == "" || *value == json!([]);
    mem::take(fields).into_iter().filter(|(key, value)| key == "content" || !blank(value)).collect()
}

/// Reads a call and mends it where it stands, so that what goes back fits what was answered.
fn mend(sent: &mut Value, ids: &mut HashSet<String>) -> Call {
    static FRESH: AtomicU32 = AtomicU32::new(1);
    *sent = sent.as_object_mut().map(drop_blank).unwrap_or_default().into();
    let known = sent["id"].as_str().filter(|id| ids.insert((*id).to_owned()));
    // Nine letters and digits, which is what the strictest server asks of an id.
    let id = known.map_or_else(|| format!("call{:05}", FRESH.fetch_add(1, Relaxed)), str::to_owned);
    let mut function = sent["function"].as_object().cloned().unwrap_or_default();
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    // Arguments travel as a string that holds an object. Some servers send the object itself,
    // nothing at all, or a string within the string.
    let text = match function.get("arguments").cloned().unwrap_or_default() {
        Value::String(text) => from_str::<String>(&text).unwrap_or(text),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let text = if text.trim().is_empty() { "{}" } else { &*text };
    let (back, arguments) = match from_str::<Value>(text) {
        Ok(value) if value.is_object() => (text, Ok(value)),
        Ok(_) => ("{}", Err("arguments must be a JSON object".to_owned())),
        Err(why) => ("{}", Err(format!("arguments are not valid JSON, or cut off: {why}"))),
    };
    sent["id"] = id.clone().into();
    sent["type"] = "function".into();
    function.insert("arguments".into(), back.into());
    sent["function"] = function.into();
    Call { id, name, arguments }
}
