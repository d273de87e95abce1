//! Who a specialist is: a preset from `roles/*.toml`, or any role the model makes up.

use crate::cli::prelude::*;

mod presets;

/// A specialist, as its file describes it. An unknown key stops the start: a typing mistake in a
/// preset must not go unnoticed.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// What stands after "You are a "; the file's name where the file does not say.
    #[serde(default)]
    pub name: String,
    /// When to use it; the lead and `--list-roles` see this.
    pub description: String,
    /// The rest of its system prompt.
    pub prompt: String,
    /// A model of its own.
    pub model: Option<String>,
    /// A turn limit of its own, 10 to 30, which `turns` sees to.
    #[serde(default, deserialize_with = "presets::turns")]
    pub max_turns: Option<u32>,
    /// The only tools it has; all plain ones where the file does not say.
    #[serde(default, deserialize_with = "presets::some_tools")]
    pub tools: Option<Vec<String>>,
}

/// All presets, by file name in lower case.
pub struct Roles(BTreeMap<String, Role>);

impl Roles {
    /// The preset of that file name or `name`, case ignored; else the role as plain text. Never a
    /// path: what is not in the map cannot be reached.
    pub fn find(&self, role: &str) -> Role {
        let wanted = role.trim().to_lowercase();
        let named = || self.0.values().find(|preset| preset.name.to_lowercase() == wanted);
        let made_up = Role { name: role.trim().to_owned(), ..Role::default() };
        self.0.get(&wanted).or_else(named).cloned().unwrap_or(made_up)
    }
}
