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

/// The examples of `guide.cpp`, with the names of their chapters.
fn examples_in_cpp(source: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for part in source.split("    // guide: ").skip(1) {
        let (name, rest) = part.split_once('\n').unwrap();
        let (body, _) = rest.split_once("    // guide end\n").unwrap();
        let lines = body.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)));
        found.push((name, lines.collect()));
    }
    found
}

/// The blocks of C++ in a chapter. Each is a fold with nothing else in it, as each fold is one of them.
///
/// # Errors
/// The fold or block that is something else.
fn shown_in_cpp(text: &str) -> Result<Vec<&str>, String> {
    const BEGIN: &str = "<details><summary>In C++</summary>\n\n```cpp\n";
    const END: &str = "```\n\n</details>\n";
    let mut shown = Vec::new();
    for (at, _) in text.match_indices("<details") {
        let fold = text[at..].strip_prefix(BEGIN).and_then(|rest| rest.split_once(END));
        let code = fold.map(|(code, _)| code).filter(|code| !code.contains("```"));
        shown.push(code.ok_or_else(|| text[at..].lines().next().unwrap_or_default().to_owned())?);
    }
    let others = |language: &&str| ["sh", "text"].contains(language) || language.starts_with("rust");
    let blocks = text.split("```").skip(1).step_by(2);
    let languages: Vec<_> = blocks.map(|block| block.lines().next().unwrap_or_default()).collect();
    match languages.iter().filter(|language| !others(language)).count() == shown.len()
        && !text.contains("~~~")
    {
        true => Ok(shown),
        false => Err(format!("blocks in {languages:?}, and {} folds", shown.len())),
    }
}

/// The step `c` compiles and runs the file, and compiles the blocks of `c.md`.
#[test]
fn the_examples_in_cpp_are_those_that_run() {
    let folder = root().join("docs/guide");
    let source = fs::read_to_string(root().join("crates/tenure-c/tests/c/guide.cpp")).unwrap();
    assert!(!source.contains("#if"), "the compiler sees every line");
    let examples = examples_in_cpp(&source);
    assert!(examples.len() > 10, "{}", examples.len());
    let mut chapters = Vec::new();
    documents(&folder, &mut chapters);
    for chapter in chapters.iter().filter(|chapter| !chapter.ends_with("c.md")) {
        let name = chapter.file_stem().unwrap().to_string_lossy();
        let text = fs::read_to_string(chapter).unwrap();
        let shown = shown_in_cpp(&text);
        let run: Vec<_> =
            examples.iter().filter(|(of, _)| *of == name).map(|(_, body)| body.as_str()).collect();
        assert_eq!(shown, Ok(run), "{name}.md and guide.cpp");
    }
    let has_chapter = |(name, _): &(&str, String)| *name != "c" && folder.join(format!("{name}.md")).exists();
    assert!(examples.iter().all(has_chapter));
}

#[test]
fn no_block_of_cpp_is_left_out() {
    let fold = "<details><summary>In C++</summary>\n\n```cpp\nint a;\n```\n\n</details>\n";
    let rust = "```rust\nfn main() {}\n```\n";
    assert_eq!(shown_in_cpp(&format!("{rust}{fold}")), Ok(vec!["int a;\n"]));
    for (part, other) in [
        ("In C++", "In C++17"),
        ("<summary>", "\n<summary>"),
        ("<details>", "<details open>"),
        ("```cpp", "```c++"),
        ("```cpp", "~~~cpp"),
        ("```\n\n</details>", "```\n\n```cpp\nint b;\n```\n\n</details>"),
    ] {
        let other = fold.replace(part, other);
        assert!(shown_in_cpp(&format!("{rust}{other}")).is_err(), "{other}");
    }
    assert!(shown_in_cpp(&format!("{fold}```cpp\nint b;\n```\n")).is_err(), "a block without a fold");
}

#[test]
fn the_front_page_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines");
}
