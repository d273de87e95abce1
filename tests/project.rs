//! The project itself: its size, its lists, its words.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::root;

/// Lines of code as tokei counts them: not blank, not only a comment.
fn lines_of_code(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn the_lesson_and_the_whole_stay_small() {
    let (mut lesson, mut all) = (0, 0);
    for entry in walkdir::WalkDir::new(root().join("src")) {
        let path = entry.unwrap().into_path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let lines = lines_of_code(&path);
            all += lines;
            lesson += if path.parent().unwrap().ends_with("src") { lines } else { 0 };
        }
    }
    println!("lesson {lesson}, all of src {all}");
    let only = "this is only about the size: an exercise may be over it";
    assert!(lesson <= 320, "the lesson has {lesson} lines of code of at most 320; {only}");
    assert!(all <= 1800, "src has {all} lines of code of at most 1800; {only}");
}

#[test]
fn tests_live_in_tests() {
    for entry in walkdir::WalkDir::new(root().join("src")) {
        let path = entry.unwrap().into_path();
        if path.is_file() {
            assert!(!fs::read_to_string(&path).unwrap().contains("#[test]"), "{}", path.display());
        }
    }
}

#[test]
fn the_readme_names_the_lessons_files_in_reading_order() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let modules = modules.filter(|name| *name != "cli");
    let places: Vec<_> = modules
        .map(|name| readme.find(&format!("(src/{name}.rs)")).unwrap_or_else(|| panic!("{name}")))
        .collect();
    assert!(places.len() == 6 && places.is_sorted(), "{places:?}");
}

/// What a trial run leaves behind does not belong to the project.
#[test]
fn git_keeps_only_what_belongs_to_the_project() {
    let git = Command::new("git").args(["ls-files"]).current_dir(root()).output().unwrap();
    // In an archive without git there is nothing to ask.
    if !git.status.success() {
        return;
    }
    for file in String::from_utf8(git.stdout).unwrap().lines() {
        let top = file.split('/').next().unwrap();
        assert!(TOP.contains(&top), "{file} is in git: if it belongs there, add {top} to TOP");
    }
}

const TOP: [&str; 16] = [
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "EXERCISES.md",
    "LICENSE",
    "README.md",
    "README.zh-CN.md",
    "benches",
    "build.rs",
    "memory",
    "roles",
    "rustfmt.toml",
    "src",
    "tests",
];
