//! Reading preset files: what ships, what the person has, what the project has.

use etcetera::BaseStrategy;
use serde::de::{Deserializer, Error as _};
use serde_json::{from_value, value::RawValue};
use walkdir::WalkDir;

use crate::cli::prelude::*;

/// The presets that are built into the binary, as JSON, by file name; `build.rs` made it.
const SHIPPED: &str = include_str!(concat!(env!("OUT_DIR"), "/roles.json"));

impl Roles {
    /// The project's presets (`folder`, or `./roles`), the person's, and those that ship: of presets
    /// with the same file name, the first one counts. One bad file is an error.
    pub fn load(folder: Option<&Path>) -> Result<Roles> {
        let mut roles = super::Roles(BTreeMap::new());
        // Only a folder that was asked for must be there.
        folder.map_or(Ok(()), |folder| fs::read_dir(folder).map(drop))?;
        let config = etcetera::choose_base_strategy().map(|base| base.config_dir());
        let person = config.map(|folder| folder.join("agent-subagent/roles")).ok();
        let project = folder.unwrap_or("roles".as_ref()).to_owned();
        for place in iter::once(project).chain(person).filter(|place| place.is_dir()) {
            for file in WalkDir::new(place).min_depth(1).max_depth(1).sort_by_file_name() {
                let path = file.map_err(|why| anyhow!("{why}"))?.into_path();
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                // Editors leave hidden copies such as .#reviewer.toml.
                if path.extension() == Some("toml".as_ref()) && !stem.starts_with('.') {
                    let (text, source) = (std::io::read_to_string(open(&path)?)?, path.display());
                    // The parser's own message has the line, a caret, and what is allowed.
                    let role = toml::from_str(&text).map_err(|why| anyhow!("{source}: {why}"))?;
                    roles.add(&stem, &source.to_string(), role);
                }
            }
        }
        // One by one, so that an error names the file.
        for (name, role) in from_str::<BTreeMap<String, &RawValue>>(SHIPPED)? {
            let role = from_str(role.get()).with_context(|| format!("built in: {name}.toml"))?;
            roles.add(&name, "built in", role);
        }
        Ok(roles)
    }

    /// A line for each preset: what to call it, when to use it, where it comes from.
    pub fn menu(&self) -> String {
        let line = |(name, role): (&String, &Role)| format!("{name}: {}\n", role.description);
        self.0.iter().map(line).collect()
    }

    /// Tells the person of a role that is no preset: a warning, where it is the person's own choice.
    pub fn advise(&self, agent: &Agent, role: &Role) {
        let names = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let near = nearest(&role.name, self.0.keys().cloned());
        let (level, mark) = if agent.outcome.number == 0 { (0, "warning: ") } else { (1, "") };
        let name = console::name(&agent.outcome);
        // Of a preset it says at least where that comes from.
        if role.description.is_empty() {
            tell(level, &format!("{mark}{name} has no preset{near}; there are {names}"));
        }
    }

    fn add(&mut self, name: &str, source: &str, mut role: Role) {
        role.description += &format!(" ({source})");
        role.name = if role.name.trim().is_empty() { name.to_owned() } else { role.name };
        self.0.entry(name.trim().to_lowercase()).or_insert(role);
    }
}

/// A turn limit, in a preset.
pub fn turns<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let turns = Value::deserialize(from)?.as_u64().and_then(|turns| turns.try_into().ok());
    let turns = turns.filter(|turns| (10..=30).contains(turns));
    turns.map(Some).ok_or_else(|| D::Error::custom("max_turns is 10 to 30"))
}

/// Tools that a preset allows.
pub fn some_tools<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let known: Vec<_> = tools::schema::PLAIN.iter().map(tools::schema::name).collect();
    let tools: Option<Vec<String>> = from_value(Value::deserialize(from)?).ok();
    let tools = tools.filter(|tools| tools.iter().all(|tool| known.contains(&&**tool)));
    tools.map(Some).ok_or_else(|| D::Error::custom(format!("tools can be {}", known.join(", "))))
}
