//! Reading preset files: what ships, what the person has, what the project has.

use serde_json::value::RawValue;

use crate::cli::prelude::*;

/// The presets that are built into the binary, as JSON, by file name; `build.rs` made it.
const SHIPPED: &str = include_str!(concat!(env!("OUT_DIR"), "/roles.json"));

impl Roles {
    /// Shipped presets, under those of the person, under those of the project (`folder`, or
    /// `./roles`): a file takes the place of one of the same name. One bad file is an error.
    pub fn load(folder: Option<&Path>) -> Result<Roles> {
        let mut roles = super::Roles(BTreeMap::new());
        for (name, role) in from_str::<BTreeMap<String, &RawValue>>(SHIPPED)? {
            let role = from_str(role.get()).with_context(|| format!("built in: {name}.toml"))?;
            roles.add(&name, "built in", role);
        }
        let home = env::home_dir().unwrap_or_default().join(".config");
        let config = env::var_os("XDG_CONFIG_HOME").map_or(home, Into::into);
        for place in [&*config.join("agent-subagent/roles"), folder.unwrap_or("roles".as_ref())] {
            let wanted = place.exists() || folder == Some(place);
            let files = if wanted { Some(fs::read_dir(place)?) } else { None };
            for file in files.into_iter().flatten() {
                let path = file?.path();
                // Editors leave hidden copies such as .#reviewer.toml.
                let hidden =
                    path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
                if path.extension() == Some("toml".as_ref()) && !hidden {
                    let text = fs::read_to_string(regular(&path)?)?;
                    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                    let source = path.to_string_lossy();
                    roles.add(&stem, &source, parse(&source, &text)?);
                }
            }
        }
        Ok(roles)
    }

    /// A line for each preset: what to call it, when to use it, where it comes from.
    pub fn menu(&self) -> String {
        let line = |(name, role): (&String, &Role)| format!("{name}: {}\n", role.description);
        self.0.iter().map(line).collect()
    }

    /// What the person may want to know of a role that is no preset.
    pub fn advice(&self, role: &Role) -> Option<String> {
        let names = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let near = nearest(&role.name, self.0.keys().cloned());
        role.description.is_empty().then(|| format!("has no preset{near}; there are {names}"))
    }

    fn add(&mut self, name: &str, source: &str, mut role: Role) {
        role.description += &format!(" ({source})");
        role.name = if role.name.is_empty() { name.to_owned() } else { role.name };
        self.0.insert(name.to_lowercase(), role);
    }
}

/// What a file says, if all of it can be meant.
fn parse(source: &str, text: &str) -> Result<Role> {
    // The parser's own message has the line, a caret, and the keys that are allowed.
    let role: Role = toml::from_str(text).map_err(|error| anyhow!("{source}: {error}"))?;
    let at = |key| text.lines().take_while(|line| !line.starts_with(key)).count() + 1;
    let turns = role.max_turns.unwrap_or(10);
    ensure!((10..=30).contains(&turns), "{source}:{}: max_turns is 10 to 30", at("max_turns"));
    let known: Vec<_> = tools::schema::PLAIN.iter().map(tools::schema::name).collect();
    let unknown = role.tools.iter().flatten().any(|tool| !known.contains(&&**tool));
    ensure!(!unknown, "{source}:{}: tools can be {}", at("tools"), known.join(", "));
    Ok(role)
}
