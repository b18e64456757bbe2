//! The lines of the repository, each part with a budget in `crates/xtask/size.toml`.

mod lines;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use self::lines::Lines;
use crate::command::{printed, root};
use crate::outcome::{Outcome, Trouble};

const BUDGETS: &str = "crates/xtask/size.toml";

const PRODUCT: &str = "product";
const TESTS: &str = "tests";
const BENCHMARKS: &str = "benchmarks";
/// Other Rust code, and all lines of other text.
const REST: &str = "rest";
/// All lines of all text.
const ALL: &str = "all";

/// Unpublished crates that tests consist of or use.
const TEST_CRATES: [&str; 7] =
    ["conformance", "deferred-frame", "fuzz-cases", "guide", "messages", "soak", "test-random"];

/// Lines by kind and part, of the repository and of the budgets.
type Sizes = BTreeMap<String, BTreeMap<String, usize>>;

/// Prints the lines of each part beside its budget, and fails if a part is larger.
pub(crate) fn check() -> Outcome {
    let path = root().join(BUDGETS);
    let failed = |error: &dyn std::fmt::Display| Trouble::Failed(format!("{BUDGETS}: {error}"));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let mut budgets: Sizes = toml::from_str(&text).map_err(|error| failed(&error))?;
    let aims = budgets.remove("aims").unwrap_or_default();
    let sizes = sizes()?;
    for (kind, parts) in &sizes {
        for (part, lines) in parts {
            println!("{kind:10}  {part:16} {lines:7} of {:7}", budget(&budgets, kind, part));
        }
        let budget: usize = budgets.get(kind).map_or(0, |parts| parts.values().sum());
        let aim = aims.get(kind).map_or_else(String::new, |aim| format!(", aim {aim}"));
        println!("{kind:10}  {:16} {:7} of {budget:7}{aim}\n", "together", parts.values().sum::<usize>());
    }
    let complaints = complaints(&sizes, &budgets);
    if complaints.is_empty() { Ok(()) } else { Err(Trouble::Failed(complaints.join("\n"))) }
}

fn budget(budgets: &Sizes, kind: &str, part: &str) -> usize {
    budgets.get(kind).and_then(|parts| parts.get(part)).copied().unwrap_or(0)
}

/// Parts that are larger than their budgets, and budgets of parts that do not exist.
fn complaints(sizes: &Sizes, budgets: &Sizes) -> Vec<String> {
    let each = |of: &Sizes| {
        let parts = of.iter().flat_map(|(kind, parts)| parts.iter().map(move |it| (kind, it)));
        parts.map(|(kind, (part, lines))| (kind.clone(), part.clone(), *lines)).collect::<Vec<_>>()
    };
    let large = each(sizes).into_iter().filter_map(|(kind, part, lines)| {
        let budget = budget(budgets, &kind, &part);
        (lines > budget)
            .then(|| format!("{kind}, {part}: {lines} lines are more than the {budget} of {BUDGETS}"))
    });
    let gone = each(budgets).into_iter().filter_map(|(kind, part, _)| {
        let exists = sizes.get(&kind).is_some_and(|parts| parts.contains_key(&part));
        (!exists).then(|| format!("{kind}, {part}: a budget in {BUDGETS}, but no lines"))
    });
    large.chain(gone).collect()
}

/// Counts the text files that Git knows.
fn sizes() -> Result<Sizes, Trouble> {
    let folder = root();
    let files = printed("git", &["-C", &folder.to_string_lossy(), "ls-files"]);
    let files = files.ok_or_else(|| Trouble::NoTool("needs git and a checkout".to_owned()))?;
    let mut sizes = Sizes::new();
    let mut add = |kind: &str, part: &str, lines: usize| {
        *sizes.entry(kind.to_owned()).or_default().entry(part.to_owned()).or_default() += lines;
    };
    let mut rust = Vec::new();
    // Nobody reads or edits the lists of public items as text.
    for file in files.lines().filter(|file| !file.starts_with("docs/interface/")) {
        // No binary file, and none that is deleted but still in the index.
        let Ok(text) = fs::read_to_string(folder.join(file)) else { continue };
        add(ALL, "lines", text.lines().count());
        if is_rust(file) {
            let lines = lines::count(&text).map_err(|error| Trouble::Failed(format!("{file}: {error}")))?;
            rust.push((file, lines));
        } else {
            add(REST, "other text", text.lines().count());
        }
    }
    let test_modules: Vec<String> = rust.iter().flat_map(|(file, lines)| test_modules(file, lines)).collect();
    for (file, Lines { code, tests, .. }) in &rust {
        let (kind, part) = place(file);
        let is_test_module = test_modules
            .iter()
            .any(|module| file.strip_prefix(&**module).is_some_and(|it| it == ".rs" || it.starts_with('/')));
        match kind {
            PRODUCT | REST if is_test_module => add(TESTS, part, code + tests),
            PRODUCT | REST => {
                add(kind, part, *code);
                add(TESTS, part, *tests);
            }
            _ => add(kind, part, code + tests),
        }
    }
    sizes.values_mut().for_each(|parts| parts.retain(|_, lines| *lines > 0));
    Ok(sizes)
}

fn is_rust(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "rs")
}

/// The kind of a Rust file, and the crate or folder that it is in.
fn place(file: &str) -> (&'static str, &str) {
    let folders: Vec<&str> = file.split('/').collect();
    match folders[..] {
        ["crates", name @ "bench", ..] => (BENCHMARKS, name),
        ["crates", name, "tests", ..] => (TESTS, name),
        ["crates", name, ..] if TEST_CRATES.contains(&name) => (TESTS, name),
        ["crates", name @ ("voxel-world" | "xtask"), ..] => (REST, name),
        ["crates", name, ..] => (PRODUCT, name),
        ["fuzz", ..] => (TESTS, "fuzz"),
        [name, ..] => (REST, name),
        [] => (REST, file),
    }
}

/// The paths, without `.rs`, of the modules of a file that only tests have.
fn test_modules(file: &str, lines: &Lines) -> Vec<String> {
    let path = file.trim_end_matches(".rs");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = if matches!(name, "lib" | "main" | "mod") { folder } else { path };
    lines.test_modules.iter().map(|module| format!("{folder}/{module}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_grouped_by_their_paths() {
        assert_eq!(place("crates/tenure-memory/src/block.rs"), (PRODUCT, "tenure-memory"));
        assert_eq!(place("crates/tenure-core/tests/pools/main.rs"), (TESTS, "tenure-core"));
        assert_eq!(place("crates/bench/tests/tools/main.rs"), (BENCHMARKS, "bench"));
        assert_eq!(place("crates/soak/src/main.rs"), (TESTS, "soak"));
        assert_eq!(place("fuzz/fuzz_targets/ring.rs"), (TESTS, "fuzz"));
        assert_eq!(place("examples/voxel.rs"), (REST, "examples"));
        let lines = Lines { test_modules: vec!["tests".to_owned()], ..Lines::default() };
        assert_eq!(test_modules("crates/a/src/b/mod.rs", &lines), ["crates/a/src/b/tests"]);
        assert_eq!(test_modules("crates/a/src/b.rs", &lines), ["crates/a/src/b/tests"]);
    }

    #[test]
    fn a_part_above_its_budget_is_a_complaint() {
        let sizes = |parts: &[(&str, usize)]| {
            let parts = parts.iter().map(|(part, lines)| ((*part).to_owned(), *lines)).collect();
            Sizes::from([(PRODUCT.to_owned(), parts)])
        };
        assert_eq!(complaints(&sizes(&[("a", 5)]), &sizes(&[("a", 5)])).len(), 0);
        assert_eq!(complaints(&sizes(&[("a", 6)]), &sizes(&[("a", 5)])).len(), 1);
        assert_eq!(complaints(&sizes(&[("a", 1)]), &sizes(&[("b", 5)])).len(), 2, "a has none, b is gone");
    }
}
