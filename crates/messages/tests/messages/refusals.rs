//! Compares the backends' refusals before driver calls with the table in `docs/refusals.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::Item;
use syn::visit::{self, Visit};

use crate::sources::{Rules, literals, root, rust_files};

/// The rules of a backend, with the files that enforce them.
type Refusals = BTreeMap<String, BTreeSet<String>>;

/// The rules that a function enforces, by name or text, and the contract checks that it calls.
#[derive(Default)]
struct Refused {
    texts: Rules,
    names: BTreeSet<String>,
    /// Of the rules of swap chains.
    swapchain_names: BTreeSet<String>,
    calls: BTreeSet<String>,
    /// Functions of the same file.
    own_calls: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Refused {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        match parts.as_slice() {
            [.., of, name] if of == "CallRule" => self.names.insert(name.clone()),
            [.., of, name] if of == "SwapchainRule" => self.swapchain_names.insert(name.clone()),
            [.., of, name] if of == "check" => self.calls.insert(name.clone()),
            _ => false,
        };
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            self.own_calls.insert(name.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(module) if module.ident == "tests") {
            self.texts.visit_item(item);
        }
        visit::visit_item(self, item);
    }
}

fn parsed(path: &Path) -> syn::File {
    syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap()
}

/// `CallRule::Name` in words.
fn names() -> BTreeMap<String, String> {
    let file = parsed(&root().join("tenure-device/src/rule.rs"));
    let found = file.items.iter().find_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident("rules") => Some(&item.mac.tokens),
        _ => None,
    });
    let tokens = found.expect("the rules are where they were");
    let names = tokens.clone().into_iter().filter_map(|tree| match tree {
        proc_macro2::TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    });
    names.zip(literals(tokens)).collect()
}

/// The rules of each contract check, including the rules of checks that it calls.
fn checks(names: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let file = parsed(&root().join("tenure-device/src/check.rs"));
    let mut direct = BTreeMap::new();
    for item in &file.items {
        if let Item::Fn(function) = item {
            let mut refused = Refused::default();
            refused.texts.visit_item(item);
            refused.visit_block(&function.block);
            direct.insert(function.sig.ident.to_string(), refused);
        }
    }
    let all = |first: &String| {
        let (mut texts, mut open, mut seen) = (BTreeSet::new(), vec![first.clone()], BTreeSet::new());
        while let Some(name) = open.pop() {
            let Some(refused) = direct.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
            texts.extend(refused.in_words(names));
            open.extend(refused.own_calls.iter().cloned());
        }
        texts
    };
    direct.keys().map(|name| (name.clone(), all(name))).collect()
}

impl Refused {
    fn in_words<'a>(&'a self, names: &'a BTreeMap<String, String>) -> impl Iterator<Item = String> + 'a {
        let plain = self.texts.0.iter().filter_map(|text| Some(text.split_once(": ")?.1.to_owned()));
        plain.chain(self.names.iter().filter_map(|name| names.get(name).cloned()))
    }
}

fn refusals(backend: &str) -> Refusals {
    let names = names();
    let checks = checks(&names);
    rules_of(backend, |refused| {
        let of_checks = refused.calls.iter().filter_map(|name| checks.get(name)).flatten().cloned();
        refused.in_words(&names).chain(of_checks).collect()
    })
}

/// The rules that the files of a crate enforce, extracted from each file by `rules`.
fn rules_of(name: &str, rules: impl Fn(&Refused) -> Vec<String>) -> Refusals {
    let source = root().join(name).join("src");
    let mut paths: Vec<PathBuf> = Vec::new();
    rust_files(&source, &mut paths);
    let mut found = Refusals::new();
    for path in paths {
        let mut refused = Refused::default();
        refused.visit_file(&parsed(&path));
        let file = path.strip_prefix(&source).unwrap().to_str().unwrap().replace('\\', "/");
        for rule in rules(&refused) {
            found.entry(rule).or_default().insert(file.clone());
        }
    }
    found
}

fn document() -> String {
    fs::read_to_string(root().join("../docs/refusals.md")).unwrap()
}

/// The rows of the tables whose first column has this heading, without the heading and the line below it.
fn rows<'a>(document: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in document.lines() {
        let row = cells(line);
        is_inside = line.starts_with('|') && (is_inside || row[0] == heading);
        if is_inside && row[0] != heading && !row[0].starts_with("---") {
            found.push(row);
        }
    }
    found
}

/// The texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// `module::test` in the tests of the simulated device, or `path/of/file.rs::test` in another crate.
fn has_test(name: &str) -> bool {
    let Some((module, test)) = name.rsplit_once("::") else { return false };
    let file = match module.strip_suffix(".rs") {
        Some(_) => root().join(module),
        None => root().join("tenure-sim/tests/sim").join(format!("{module}.rs")),
    };
    let has = |text: &str| ["(", "<"].iter().any(|next| text.contains(&format!("fn {test}{next}")));
    fs::read_to_string(file).is_ok_and(|text| has(&text))
}

#[test]
fn each_refusal_of_a_backend_is_in_the_table() {
    let backends = ["tenure-vulkan", "tenure-d3d12"].map(|name| (name, refusals(name)));
    assert!(backends.iter().all(|(_, found)| found.len() > 60), "the sources are not where they were");
    compare("rule", &backends);
}

#[test]
fn each_rule_of_swap_chains_is_in_the_table() {
    let sources = ["tenure-core", "tenure-vulkan", "tenure-d3d12"]
        .map(|name| (name, rules_of(name, |refused| refused.swapchain_names.iter().cloned().collect())));
    compare("rule of swap chains", &sources);
}

/// Compares the table under `heading`, which has a column for each crate, with the rules in the sources.
fn compare(heading: &str, sources: &[(&str, Refusals)]) {
    let document = document();
    let rows = rows(&document, heading);
    let mut wrong = Vec::new();
    let listed: BTreeSet<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(listed.len(), rows.len(), "a rule has two rows");
    for (name, found) in sources {
        let missing = found.iter().filter(|(rule, _)| !listed.contains(rule.as_str()));
        wrong.extend(missing.map(|(rule, files)| format!("{name}: no row for \"{rule}\" ({files:?})")));
    }
    for row in &rows {
        let [rule, places @ .., simulated] = row.as_slice() else { panic!("{row:?}") };
        assert_eq!(places.len(), sources.len(), "{row:?}");
        for (place, (_, found)) in places.iter().zip(sources) {
            let files = found.get(rule.trim_matches('`'));
            let named: Vec<_> = quoted(place).collect();
            let is_wrong = |file: &&&str| !files.is_some_and(|files| files.contains(**file));
            wrong.extend(
                named.iter().filter(is_wrong).map(|file| format!("{rule}: not in {file}, but in {files:?}")),
            );
            if named.is_empty() && files.is_some() {
                wrong.push(format!("{rule}: refused in {files:?}"));
            }
        }
        wrong.extend(untested(rule, simulated));
    }
    assert!(wrong.is_empty(), "docs/refusals.md:\n{}", wrong.join("\n"));
}

/// Each rule names a test, or says in words why there is none.
fn untested(rule: &str, simulated: &str) -> Vec<String> {
    let missing = quoted(simulated).filter(|name| name.contains("::") && !has_test(name));
    let mut wrong: Vec<_> = missing.map(|name| format!("{rule}: no test {name}")).collect();
    if simulated.len() < 8 {
        wrong.push(format!("{rule}: neither a test nor a reason"));
    }
    wrong
}

#[test]
fn each_rule_of_the_specifications_names_a_test_or_a_reason() {
    let document = document();
    let rows = rows(&document, "rule of the specification");
    assert!(rows.len() > 20, "the table is gone");
    let wrong: Vec<_> = rows.iter().flat_map(|row| untested(row[0], row[row.len() - 1])).collect();
    assert!(wrong.is_empty(), "docs/refusals.md:\n{}", wrong.join("\n"));
}
