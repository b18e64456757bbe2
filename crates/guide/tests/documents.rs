//! The documents refer to files and headings that exist, and the chapters of the guide have the form that the guide
//! promises.
#![allow(clippy::unwrap_used, reason = "a file that cannot be read is a test that fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LAST_SECTION: &str = "## What can go wrong, and what the message will say";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The Markdown files of a folder and of the folders in it, but for build outputs.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "shared", "out"].contains(&name.as_str()) {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The text without blocks of code.
fn prose(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("```").step_by(2).collect()
}

/// The text after each `](`, up to the closing parenthesis.
fn links(text: &str) -> Vec<&str> {
    let after = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    after.filter(|link| !link.contains("://") && !link.contains(char::is_whitespace)).collect()
}

/// The anchors that GitHub makes of the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|it| it.is_alphanumeric() || "-_".contains(*it)).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut found = Vec::new();
    documents(&root(), &mut found);
    assert!(found.len() > 15, "{found:?}");
    let mut broken = Vec::new();
    for document in &found {
        for link in links(&prose(document)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let has_heading = || anchor.is_empty() || anchors(&prose(&target)).contains(anchor);
            if !target.exists() || (target.is_file() && file.ends_with(".md") && !has_heading()) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_chapter_is_run_and_listed_and_ends_with_its_errors() {
    let folder = root().join("docs/guide");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let run = include_str!("../src/lib.rs");
    let mut chapters = Vec::new();
    documents(&folder, &mut chapters);
    for chapter in chapters.iter().filter(|chapter| !chapter.ends_with("README.md")) {
        let name = chapter.file_name().unwrap().to_string_lossy();
        assert!(index.contains(&format!("({name})")), "{name} is not in the index");
        assert!(run.contains(&format!("docs/guide/{name}")), "the examples of {name} are not run");
        let text = prose(chapter);
        let last = text.lines().rfind(|line| line.starts_with("## "));
        assert_eq!(last, Some(LAST_SECTION), "{name}");
    }
}

#[test]
fn the_front_page_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines");
}
