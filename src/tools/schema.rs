//! Tools as the models read them, and calls as the program reads them.

use crate::cli::prelude::*;

/// All plain tools, as `tools.json` has them.
pub static PLAIN: LazyLock<Vec<Value>> =
    LazyLock::new(|| from_str(include_str!("../tools.json")).expect("it is a list"));

/// The plain tools, or those of them that a preset allows.
pub fn plain_tools(allowed: Option<&[String]>) -> Vec<&'static Value> {
    let wanted =
        |tool: &&Value| allowed.is_none_or(|names| names.iter().any(|wanted| wanted == name(tool)));
    PLAIN.iter().filter(wanted).collect()
}

/// What the lead has besides: `subagent`, whose description ends with the presets, and `todo`.
pub fn lead_tools(presets: &str) -> Vec<Value> {
    let mut tools: Vec<Value> = from_str(include_str!("../subagent.json")).expect("it is a list");
    let text = tools[0]["function"]["description"].as_str().unwrap_or_default();
    tools[0]["function"]["description"] = format!("{text}\n\nPresets for role:\n{presets}").into();
    tools
}

/// Whether a call is of a tool that was offered; else an error that names those.
pub fn offered(tools: &[&Value], Call { name: wanted, .. }: &Call) -> Result<()> {
    let names: Vec<&str> = tools.iter().map(|tool| name(tool)).collect();
    let note = if wanted == "subagent" { " (sub-agents cannot start sub-agents)" } else { "" };
    ensure!(
        names.contains(&&**wanted),
        "unknown tool {wanted}; you have {}{note}",
        names.join(", ")
    );
    Ok(())
}

/// What a tool is called.
pub fn name(tool: &Value) -> &str {
    tool["function"]["name"].as_str().unwrap_or_default()
}

/// A call as a type, if it is of one of these tools; or what is wrong with it.
pub fn parse<T: DeserializeOwned>(Call { name, arguments, .. }: &Call) -> Result<T> {
    let mut arguments = arguments.clone().map_err(|problem| anyhow!("{name}: {problem}"))?;
    // Some models write numbers as text.
    for key in ["offset", "limit", "timeout"] {
        if let Some(Ok(number)) = arguments[key].as_str().map(|text| text.trim().parse::<u64>()) {
            arguments[key] = number.into();
        }
    }
    let call = json!({ "name": name, "arguments": arguments });
    serde_json::from_value(call).with_context(|| format!("bad arguments for {name}"))
}
