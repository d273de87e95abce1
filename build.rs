//! What need not wait for the start of the program: the presets that ship and the lists of tools are
//! read and become compact JSON, and the linker is told how to make a program that starts quickly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, process::exit};

use serde_json::Value;

fn main() {
    // Sorted by name: the order in a folder differs from machine to machine.
    let mut roles = BTreeMap::new();
    let folder = Path::new("roles");
    for file in fs::read_dir(folder).unwrap_or_else(|why| bad(folder, why)) {
        let path = file.unwrap_or_else(|why| bad(folder, why)).path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Editors leave hidden copies such as .#reviewer.toml.
        if path.extension() == Some("toml".as_ref()) && !name.starts_with('.') {
            let role: Value = toml::from_str(&read(&path)).unwrap_or_else(|why| bad(&path, why));
            roles.insert(name, role);
        }
    }
    write("roles.json", &serde_json::json!(roles));
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
        // The unwinder from an archive, not from a shared library that has to be loaded.
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

fn bad(path: &Path, why: impl std::fmt::Display) -> ! {
    eprintln!("{}: {why}", path.display());
    exit(1)
}
