//! Retired words, and the keys of the specification, must not return. Noun clauses become fewer.

mod table;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use self::table::{CLAUSES, NO_TYPES, RETIRED, Retired};
use crate::command::{printed, root};
use crate::outcome::{Outcome, Trouble};

/// The files that are read, of those in Git's index.
const FILES: [&str; 3] = ["*.rs", "*.md", "*Cargo.toml"];

/// The table itself, and its tests.
const NOT_READ: &str = "crates/xtask/src/words/";

/// `(spec M2)` and `(M2, M3)`: the letters and numbers that the specification uses, alone in parentheses or
/// named as such. Names of Direct3D and Vulkan such as `D16` or `T2` stand in other company.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    let key = "(?:C[1-6]|D[1-5]|M1?[0-9]|O[1-3]|T[1-8]|U[1-5]|X[1-7])";
    let keys = format!(r"{key}(?:(?:, | to | and ){key})*");
    pattern(&format!(r"\bspec(?:ification)? {keys}\b|\({keys}\)"))
});

/// The definition of a type with a name that is not allowed.
static NO_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    let names: Vec<&str> = NO_TYPES.iter().map(|(name, _)| *name).collect();
    pattern(&format!(r"\b(?:struct|enum|union|trait|type) ({})\b", names.join("|")))
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Fails for each place that has a retired word, and for more noun clauses than the table allows.
pub(crate) fn check() -> Outcome {
    let folder = root();
    let files = files().ok_or_else(|| Trouble::NoTool("needs git, and a checkout made by it".to_owned()))?;
    let clauses = CLAUSES.map(|(clause, _)| pattern(&format!(r"(?i)\b{clause}\b")));
    let mut counts = [0; CLAUSES.len()];
    let mut found = Vec::new();
    for file in files.lines().filter(|file| !file.starts_with(NOT_READ)) {
        // A file that is deleted but not yet in the index.
        let Ok(text) = fs::read_to_string(folder.join(file)) else { continue };
        found.extend(complaints(file, &text));
        for (count, clause) in counts.iter_mut().zip(&clauses) {
            *count += text.lines().map(|line| clause.find_iter(prose(file, line)).count()).sum::<usize>();
        }
    }
    for ((clause, most), count) in CLAUSES.into_iter().zip(counts) {
        println!("`{clause}`: {count} times, at most {most}");
        if count > most {
            found.push(format!("`{clause}` occurs {count} times, more than {most}: use a noun instead"));
        }
    }
    for complaint in &found {
        println!("{complaint}");
    }
    if found.is_empty() { Ok(()) } else { Err(Trouble::Failed(format!("{} complaints", found.len()))) }
}

fn files() -> Option<String> {
    let folder = root().to_string_lossy().into_owned();
    let arguments = [&["-C", &folder, "ls-files", "--"], &FILES[..]].concat();
    printed("git", &arguments)
}

/// The complaints about a file, one per line.
fn complaints(file: &str, text: &str) -> Vec<String> {
    text.lines()
        .enumerate()
        .flat_map(|(index, line)| in_line(file, line).into_iter().map(move |what| (index + 1, what)))
        .map(|(line, what)| format!("{file}:{line}: {what}"))
        .collect()
}

/// The part of a line that is written for people: a comment, or all of it in other files than Rust's.
fn prose<'a>(file: &str, line: &'a str) -> &'a str {
    let is_rust = Path::new(file).extension().is_some_and(|it| it == "rs");
    if is_rust { line.find("//").map_or("", |at| &line[at..]) } else { line }
}

fn in_line(file: &str, line: &str) -> Vec<String> {
    let mut found: Vec<String> = words(line)
        .iter()
        .filter_map(|word| RETIRED.iter().find(|it| it.forms.contains(&word.as_str())).map(|it| (word, it)))
        .filter(|(_, it)| !is_allowed(it, file, line))
        .map(|(word, it)| format!("`{word}` is retired, say `{}`", it.instead))
        .collect();
    found.extend(
        KEY.find_iter(prose(file, line))
            .map(|key| format!("`{}` is a key of the specification", key.as_str())),
    );
    found.extend(NO_TYPE.captures_iter(line).map(|definition| {
        let instead = NO_TYPES.iter().find(|(name, _)| *name == &definition[1]).map_or("", |(_, it)| it);
        format!("`{}` is not allowed as the name of a type, say `{instead}`", &definition[1])
    }));
    found
}

fn is_allowed(word: &Retired, file: &str, line: &str) -> bool {
    let line = line.to_lowercase();
    word.allowed_in.iter().any(|path| file.starts_with(path))
        || word.allowed_as.iter().any(|phrase| line.contains(phrase))
}

/// The words of a line in small letters; those that an identifier is made of count one by one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for letter in line.chars() {
        let begins = letter.is_uppercase() && was_small;
        if (!letter.is_alphabetic() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::{complaints, prose, words};

    #[test]
    fn identifiers_are_taken_apart() {
        assert_eq!(
            words("fn climbLadder(a_ladder: RungOfD3D12)"),
            ["fn", "climb", "ladder", "a", "ladder", "rung", "of", "d", "d"]
        );
    }

    #[test]
    fn code_is_no_prose() {
        assert_eq!(prose("a.rs", "let what = 1; // so many"), "// so many");
        assert_eq!(prose("a.rs", "let what = is(1);"), "");
        assert_eq!(prose("a.md", "so many"), "so many");
    }

    #[test]
    fn retired_words_are_found_with_their_line() {
        let found = complaints("a.rs", "let x = 1;\nlet shelf_of = MailboxOf::new(\"rungs\");\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|it| it.starts_with("a.rs:2: ")));
        assert!(found[0].contains("`shelf`") && found[0].contains("pool table"));
    }

    #[test]
    fn words_are_allowed_where_they_are_ordinary() {
        assert_eq!(complaints("crates/voxel-world/src/a.rs", "// letters").len(), 0);
        assert_eq!(complaints("a.rs", "// in the user's home directory").len(), 0);
        assert_eq!(complaints("a.rs", "// its place; it turns; a form; sort and link").len(), 0);
        assert_eq!(complaints("a.rs", "pub(crate) struct Place<T> {").len(), 1);
        assert_eq!(complaints("a.rs", "struct Placement;").len(), 0);
    }

    #[test]
    fn keys_of_the_specification_are_no_names_of_apis() {
        assert_eq!(complaints("a.rs", "//! Views (spec D1 to D3, D5).").len(), 1);
        assert_eq!(complaints("a.rs", "//! # Barriers (X6)").len(), 1);
        assert_eq!(complaints("a.md", "Small ones (C3, C4) and (M11).").len(), 2);
        assert_eq!(complaints("a.rs", "// D16 and D32 (D24S8), T2, R8G8, tier (T), 2D (D2)").len(), 1);
        assert_eq!(complaints("a.rs", "fn f<T1, T2>(f: impl Fn(T1, T2)) {}").len(), 0);
    }
}
