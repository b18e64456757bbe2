//! The inventory of unsafe code in docs/status.md: the amount in each part of each crate, and its purpose.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{ExprUnsafe, File, ImplItemFn, ItemFn, ItemForeignMod, ItemImpl, ItemMod, ItemTrait, TraitItemFn};

use crate::command::root;
use crate::outcome::{Outcome, Trouble};

const FILE: &str = "docs/status.md";
/// The header of the table.
const HEADER: &str = "| part | blocks | functions | impls | purpose |";

/// The unsafe code of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    blocks: usize,
    functions: usize,
    impls: usize,
}

impl Count {
    const fn is_zero(self) -> bool {
        self.blocks + self.functions + self.impls == 0
    }

    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.functions += other.functions;
        self.impls += other.impls;
    }
}

/// Counts the unsafe code of a crate, without tests.
#[derive(Default)]
struct Counter(Count);

/// True for `#[cfg(test)]`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(is_test)
}

impl<'ast> Visit<'ast> for Counter {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.0.blocks += 1;
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.0.functions += usize::from(function.sig.unsafety.is_some());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.0.functions += usize::from(function.sig.unsafety.is_some());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.0.functions += usize::from(function.sig.unsafety.is_some());
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        self.0.functions += item.items.len();
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.0.impls += usize::from(item.unsafety.is_some());
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.0.impls += usize::from(item.unsafety.is_some());
        visit::visit_item_trait(self, item);
    }
}

fn count(file: &File) -> Count {
    let mut counter = Counter::default();
    counter.visit_file(file);
    counter.0
}

/// Checks that the table matches the code.
pub(crate) fn check() -> Outcome {
    let found = found().map_err(Trouble::Failed)?;
    let text =
        fs::read_to_string(root().join(FILE)).map_err(|error| Trouble::Failed(format!("{FILE}: {error}")))?;
    let complaints = compare(&found, &rows(&text));
    if complaints.is_empty() { Ok(()) } else { Err(Trouble::Failed(complaints.join("\n"))) }
}

/// The differences between the code and the table.
fn compare(found: &BTreeMap<String, Count>, rows: &BTreeMap<String, (Count, String)>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (part, count) in found {
        let Count { blocks, functions, impls } = count;
        match rows.get(part) {
            Some((stated, why)) if stated == count && !why.is_empty() => {}
            _ => complaints.push(format!("{FILE} lacks | `{part}` | {blocks} | {functions} | {impls} | … |")),
        }
    }
    let gone = rows.keys().filter(|part| !found.contains_key(*part));
    complaints.extend(gone.map(|part| format!("{FILE}: `{part}` no longer has unsafe code")));
    complaints
}

/// The counts of each part, which is a crate or a module of one.
fn found() -> Result<BTreeMap<String, Count>, String> {
    let mut parts = BTreeMap::new();
    let crates = root().join("crates");
    for entry in read_folder(&crates)? {
        let manifest = fs::read_to_string(entry.join("Cargo.toml")).unwrap_or_default();
        let is_for_programs = !manifest.contains("publish = false") || entry.ends_with(DROP_IN);
        if manifest.is_empty() || !is_for_programs {
            continue;
        }
        let source = entry.join("src");
        for file in rust_files(&source)? {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
            let count = count(&parsed);
            if !count.is_zero() {
                parts.entry(part(&entry, &source, &file)).or_insert_with(Count::default).add(count);
            }
        }
    }
    Ok(parts)
}

/// The drop-in, which replaces a crate of that name and is used from the repository.
const DROP_IN: &str = "gpu-allocator";
/// The crate with all its code in one module. Its parts are the modules below that.
const ONE_MODULE: (&str, &str) = ("tenure-d3d12", "device");

/// The crate's name, and the first module on the way to the file.
fn part(of: &Path, source: &Path, file: &Path) -> String {
    let name = of.file_name().unwrap_or_default().to_string_lossy();
    let inside = file.strip_prefix(source).unwrap_or(file).with_extension("");
    let mut modules = inside.components().map(|module| module.as_os_str().to_string_lossy().into_owned());
    let module = modules.find(|module| (&*name, module.as_str()) != ONE_MODULE);
    match module.as_deref() {
        None | Some("lib" | "main" | "mod") => name.into_owned(),
        Some(module) => format!("{name}::{module}"),
    }
}

fn read_folder(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in read_folder(folder)? {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The rows of the table, by part.
fn rows(text: &str) -> BTreeMap<String, (Count, String)> {
    let table =
        text.lines().skip_while(|line| *line != HEADER).skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [part, blocks, functions, impls, why] = cells[..] else { return None };
        let count = Count {
            blocks: blocks.parse().ok()?,
            functions: functions.parse().ok()?,
            impls: impls.parse().ok()?,
        };
        Some((part.trim_matches('`').to_owned(), (count, why.to_owned())))
    };
    table.filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Count, HEADER, compare, count, rows};

    #[test]
    fn unsafe_code_outside_tests_is_counted() {
        let code = "unsafe fn f() { unsafe { g(unsafe { 1 }) } }\nunsafe impl Send for A {}\n\
                    unsafe extern \"C\" { fn h(); }\ntrait T { unsafe fn i(); }\n\
                    #[cfg(test)] mod tests { fn t() { unsafe { f() } } }";
        let found = count(&syn::parse_file(code).unwrap());
        assert_eq!(found, Count { blocks: 2, functions: 3, impls: 1 });
    }

    #[test]
    fn a_different_table_is_a_complaint() {
        let table = format!(
            "text\n\n{HEADER}\n| --- | --- | --- | --- | --- |\n| `a` | 1 | 0 | 2 | calls |\n| `b::c` | 3 | 0 | 0 | |\n\n"
        );
        let found = |parts: &[(&str, Count)]| {
            parts.iter().map(|(part, count)| ((*part).to_owned(), *count)).collect::<BTreeMap<_, _>>()
        };
        let (a, b) = (Count { blocks: 1, functions: 0, impls: 2 }, Count { blocks: 3, ..Count::default() });
        assert_eq!(compare(&found(&[("a", a)]), &rows(&table)).len(), 1, "b is gone");
        assert_eq!(compare(&found(&[("a", a), ("b::c", b)]), &rows(&table)).len(), 1, "b has no reason");
        assert_eq!(compare(&found(&[("a", b), ("b::c", b), ("d", a)]), &rows(&table)).len(), 3);
    }
}
