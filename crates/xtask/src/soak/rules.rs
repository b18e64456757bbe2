//! Rules of the code that are broken on purpose, each in a copy of the repository: random programs must find
//! the violation.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::Table;
use serde::Deserialize;

use crate::command::{printed, root, target};
use crate::outcome::{Outcome, Trouble};

/// The list of them.
const RULES: &str = "crates/soak/rules.json";
/// Minutes within which random programs must find a broken rule. Most take seconds.
const MINUTES: &str = "3";

/// Minutes during which they must find nothing without a broken rule.
const CONTROL_MINUTES: &str = "0.2";
/// Each seed has a steady program, long enough for slow growth to exceed the initial growth.
const STEADY: [&str; 4] = ["--steady-each", "1", "--rounds", "600"];
/// Their exit statuses for a finding: a failure, and a hanging program.
const FOUND: [i32; 2] = [1, 3];

/// A rule, and code that breaks it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// In words.
    rule: String,
    file: PathBuf,
    /// The text in the file, which occurs once.
    code: String,
    broken: String,
    /// Steady programs find it: each seed has one.
    #[serde(default, rename = "steady")]
    is_steady: bool,
}

/// The result for a broken rule.
enum Fate {
    /// The seconds until it was found, and the program's message.
    Found(f64, String),
    Missed,
    DoesNotCompile,
}

/// Breaks each rule whose name contains `wanted`, and runs random programs.
pub(crate) fn run(wanted: &str) -> Outcome {
    let rules: Vec<Rule> = read()?.into_iter().filter(|rule| rule.rule.contains(wanted)).collect();
    if rules.is_empty() {
        return Err(Trouble::Failed(format!("no rule of {RULES} has the words \"{wanted}\"")));
    }
    let tree = copy()?;
    match build_and_run(&tree, CONTROL_MINUTES, true)? {
        Fate::Missed => {}
        Fate::Found(_, words) => {
            return Err(Trouble::Failed(format!("without a broken rule, random programs fail: {words}")));
        }
        Fate::DoesNotCompile => {
            return Err(Trouble::Failed("without a broken rule, the copy does not compile".to_owned()));
        }
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header(["broken rule", "found after", "by"]);
    let mut missed = Vec::new();
    for rule in &rules {
        let fate = break_and_run(&tree, rule)?;
        let row = match &fate {
            Fate::Found(seconds, words) => [format!("{seconds:.1} s"), words.clone()],
            Fate::Missed => ["–".to_owned(), "missed".to_owned()],
            Fate::DoesNotCompile => ["–".to_owned(), "does not compile".to_owned()],
        };
        println!("{}: {}, {}", rule.rule, row[0], row[1]);
        if !matches!(fate, Fate::Found(..)) {
            missed.push(rule.rule.as_str());
        }
        let [seconds, words] = row;
        table.add_row([rule.rule.clone(), seconds, words]);
    }
    println!("{table}");
    if missed.is_empty() { Ok(()) } else { Err(Trouble::Failed(format!("not found: {}", missed.join("; ")))) }
}

/// Checks that the code of each rule occurs once in its file.
pub(crate) fn check() -> Outcome {
    for rule in read()? {
        let code = fs::read_to_string(root().join(&rule.file)).map_err(|error| at(&rule.file, error))?;
        let times = code.matches(&rule.code).count();
        if times != 1 {
            let file = rule.file.display();
            return Err(Trouble::Failed(format!(
                "{RULES}: the code of \"{}\" occurs {times} times in {file}: update the list",
                rule.rule
            )));
        }
    }
    Ok(())
}

fn read() -> Result<Vec<Rule>, Trouble> {
    let path = root().join(RULES);
    let text = fs::read_to_string(&path).map_err(|error| at(&path, error))?;
    serde_json::from_str(&text).map_err(|error| at(&path, error))
}

fn at(path: &Path, error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(format!("{}: {error}", path.display()))
}

/// A copy of the files in git's index, as they are in the work tree.
fn copy() -> Result<PathBuf, Trouble> {
    let tree = target().join("rules/tree");
    let root_folder = root();
    let listed = printed("git", &["-C", &root_folder.to_string_lossy(), "ls-files"]);
    let listed = listed.ok_or_else(|| Trouble::NoTool("needs git, and a checkout made by it".to_owned()))?;
    remove_others(&tree, &tree, &listed.lines().map(Path::new).collect())?;
    for file in listed.lines() {
        let (from, to) = (root_folder.join(file), tree.join(file));
        if !from.is_file() {
            continue;
        }
        let folder = to.parent().unwrap_or(&tree);
        fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        let is_same = fs::read(&from).ok() == fs::read(&to).ok();
        if !is_same {
            fs::copy(&from, &to).map_err(|error| at(&to, error))?;
        }
    }
    Ok(tree)
}

/// Removes the files of an earlier copy that git no longer lists: a module in both of its possible files does not compile.
fn remove_others(tree: &Path, folder: &Path, listed: &HashSet<&Path>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|error| at(folder, error))?.path();
        if path.is_dir() {
            remove_others(tree, &path, listed)?;
        } else if !path.strip_prefix(tree).is_ok_and(|file| listed.contains(file)) {
            fs::remove_file(&path).map_err(|error| at(&path, error))?;
        }
    }
    Ok(())
}

fn break_and_run(tree: &Path, rule: &Rule) -> Result<Fate, Trouble> {
    let path = tree.join(&rule.file);
    let whole = fs::read_to_string(&path).map_err(|error| at(&path, error))?;
    fs::write(&path, whole.replacen(&rule.code, &rule.broken, 1)).map_err(|error| at(&path, error))?;
    let fate = build_and_run(tree, MINUTES, rule.is_steady);
    fs::write(&path, whole).map_err(|error| at(&path, error))?;
    fate
}

fn build_and_run(tree: &Path, minutes: &str, is_steady: bool) -> Result<Fate, Trouble> {
    let folder = target().join("rules/target");
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--package", "soak", "--target-dir"])
        .arg(&folder)
        .current_dir(tree)
        .stderr(Stdio::null())
        .status();
    if !built.map_err(|error| at(tree, error))?.success() {
        return Ok(Fate::DoesNotCompile);
    }
    let begun = Instant::now();
    let ran = Command::new(folder.join("debug/soak"))
        .args(["--brief", "--minutes", minutes, "--hang", "30"])
        .args(is_steady.then_some(STEADY).into_iter().flatten())
        .output()
        .map_err(|error| at(&folder, error))?;
    match ran.status.code() {
        Some(0) => return Ok(Fate::Missed),
        Some(status) if FOUND.contains(&status) => {}
        // It was terminated, or refused its arguments: nothing was found.
        _ => return Err(Trouble::Failed(format!("the random programs were terminated: {}", ran.status))),
    }
    let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    let words = said.lines().next().unwrap_or("no words").chars().take(100).collect();
    Ok(Fate::Found(begun.elapsed().as_secs_f64(), words))
}
