//! What need not wait for the start of the program: the presets that ship and the lists of tools are
//! read and become compact JSON, and the linker is told how to make a program that starts quickly.

use std::path::{Path, PathBuf};
use std::{env, fs, process::exit};

use serde_json::{Map, Value};

fn main() {
    let mut roles = Map::new();
    for file in fs::read_dir("roles").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Editors leave hidden copies such as .#reviewer.toml.
        if path.extension() == Some("toml".as_ref()) && !name.starts_with('.') {
            roles.insert(name, toml::from_str(&read(&path)).unwrap_or_else(|why| bad(&path, why)));
        }
    }
    write("roles.json", &roles.into());
    for list in ["tools.json", "subagent.json"] {
        let path = Path::new("src").join(list);
        write(list, &serde_json::from_str(&read(&path)).unwrap_or_else(|why| bad(&path, why)));
    }
    // The folder, so that a preset that comes or goes is noticed too.
    for source in ["build.rs", "roles", "src/tools.json", "src/subagent.json"] {
        println!("cargo::rerun-if-changed={source}");
    }
    link();
}

fn link() {
    let target = |key| env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    let gnu = target("OS") == "linux" && target("ENV") == "gnu";
    if gnu && !target("FEATURE").contains("crt-static") {
        // At a fixed address: else some 12,000 pointers are mended at each start. A random one would
        // hide the program's code from an attack on its memory; but a hostile server or file has a
        // shorter way, which is to have the model ask for a command.
        println!("cargo::rustc-link-arg-bins=-no-pie");
        // From the archive: a library less to load.
        println!("cargo::rustc-link-lib=gcc_eh");
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| bad(path, why))
}

fn write(name: &str, json: &Value) {
    let path = PathBuf::from(env::var_os("OUT_DIR").unwrap()).join(name);
    fs::write(&path, json.to_string()).unwrap_or_else(|why| bad(&path, why));
}

fn bad<T>(path: &Path, why: impl std::fmt::Display) -> T {
    eprintln!("{}: {why}", path.display());
    exit(1)
}
