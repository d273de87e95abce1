//! Tools as the models read them, and calls as the program reads them.

use crate::cli::prelude::*;

/// The plain tools, or those of them that a preset allows.
pub fn plain(allowed: Option<&[String]>) -> Vec<Value> {
    let mut tools: Vec<Value> = from_str(include_str!("../tools.json")).expect("it is a list");
    tools.retain(|tool| allowed.is_none_or(|names| names.iter().any(|known| known == name(tool))));
    tools
}

/// All that the lead has: the plain tools and `subagent`, whose description ends with the presets.
pub fn lead(presets: &str) -> Vec<Value> {
    let mut subagent: Value = from_str(include_str!("../subagent.json")).expect("it is a tool");
    let text = subagent["function"]["description"].as_str().unwrap_or_default();
    subagent["function"]["description"] = format!("{text}\n\nPresets for role:\n{presets}").into();
    [plain(None), vec![subagent]].concat()
}

/// What a tool is called.
pub fn name(tool: &Value) -> &str {
    tool["function"]["name"].as_str().unwrap_or_default()
}

/// A call as a type, if it is of one of these tools; or what is wrong with it.
pub fn parse<T: DeserializeOwned>(Call { name, arguments, .. }: &Call) -> Result<T> {
    let arguments = arguments.as_ref().map_err(|problem| anyhow!("{name}: {problem}"))?;
    let call = json!({ "name": name, "arguments": arguments });
    serde_json::from_value(call).with_context(|| format!("bad arguments for {name}"))
}
