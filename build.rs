//! Builds anew when a preset comes or goes: the presets are a part of the program.

fn main() {
    println!("cargo::rerun-if-changed=roles");
}
