//! Tools as the models read them, and calls as the program reads them.

use serde_json::value::RawValue;

use crate::cli::prelude::*;

/// A tool as the models read it. Its parameters are a JSON schema, as text: it goes out with every
/// request, and nobody here looks into it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", content = "function", rename_all = "lowercase", deny_unknown_fields)]
pub enum Definition {
    Function { name: String, description: String, parameters: Box<RawValue> },
}

/// All plain tools, as `tools.json` has them; `build.rs` made a copy without its white space.
pub static PLAIN: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    from_str(include_str!(concat!(env!("OUT_DIR"), "/tools.json"))).expect("it is a list")
});

/// The plain tools, or those of them that a preset allows.
pub fn plain_tools(allowed: Option<&[String]>) -> Vec<&'static Definition> {
    let wanted = |tool: &&Definition| {
        allowed.is_none_or(|names| names.iter().any(|wanted| wanted == name(tool)))
    };
    PLAIN.iter().filter(wanted).collect()
}

/// What the lead has besides: `subagent`, whose description ends with the presets, and `todo`.
pub fn lead_tools(presets: &str) -> Vec<Definition> {
    let own = include_str!(concat!(env!("OUT_DIR"), "/subagent.json"));
    let mut tools: Vec<Definition> = from_str(own).expect("it is a list");
    // `subagent` is the first of them.
    let Definition::Function { description, .. } = &mut tools[0];
    *description += &format!("\n\nPresets for role:\n{presets}");
    tools
}

/// Whether a call is of a tool that was offered; else an error that names those.
pub fn offered(tools: &[&Definition], Call { name: wanted, .. }: &Call) -> Result<()> {
    let names: Vec<&str> = tools.iter().map(|tool| name(tool)).collect();
    let (known, names) = (names.contains(&&**wanted), names.join(", "));
    let note = if wanted == "subagent" { " (sub-agents cannot start sub-agents)" } else { "" };
    ensure!(known, "unknown tool {wanted}; you have {names}{note}");
    Ok(())
}

/// What a tool is called.
pub fn name(Definition::Function { name, .. }: &Definition) -> &str {
    name
}

/// A call as a value of `T`, if that has a variant with the tool's name; or what is wrong with it.
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
