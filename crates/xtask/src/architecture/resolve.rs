//! Resolves a path to a module at the top level, or to another crate.

use std::collections::BTreeMap;

use super::source::{Module, Site, Source};

/// The uses between modules of one crate, with their places in the code.
pub(super) type Uses = BTreeMap<String, BTreeMap<String, Vec<Use>>>;

/// One place that uses another module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path in the code.
    pub(super) path: String,
    pub(super) site: Site,
}

/// The name for items at a crate's root.
pub(super) const ROOT: &str = "(root)";

/// The uses of the modules of the top level and the root among each other, and of `crates`. Each module has an
/// entry; the root has one if it does more than re-export.
pub(super) fn uses(source: &Source, crates: &[String]) -> Uses {
    let root = &source.modules[0];
    let mut uses: Uses = root.children.keys().map(|name| (name.clone(), BTreeMap::new())).collect();
    if !root.items.is_empty() {
        uses.insert(ROOT.to_owned(), BTreeMap::new());
    }
    for (index, module) in source.modules.iter().enumerate() {
        let top = source.top(index).unwrap_or(ROOT);
        for named in module.paths.iter().filter(|named| !(named.is_reexport && index == 0)) {
            for used in targets(source, index, &named.segments, crates).filter(|used| used != top) {
                let place = Use { path: named.segments.join("::"), site: named.site.clone() };
                uses.entry(top.to_owned()).or_default().entry(used).or_default().push(place);
            }
        }
    }
    uses
}

/// Resolves a path in a module. The root itself, by a glob or another name, makes every module reachable.
fn targets(source: &Source, from: usize, path: &[String], crates: &[String]) -> impl Iterator<Item = String> {
    let is_root = match Start::of(source, from, path) {
        Some(Start::Module(0, rest)) => rest.first().is_none_or(|first| first == "*"),
        _ => false,
    };
    let all = is_root.then(|| source.modules[0].children.keys().cloned());
    target(source, from, path, crates).into_iter().chain(all.into_iter().flatten())
}

/// The module at the top level, the root or the crate that a path in a module leads to.
fn target(source: &Source, from: usize, path: &[String], crates: &[String]) -> Option<String> {
    match Start::of(source, from, path)? {
        Start::Module(module, rest) => Some(owner(source, module, rest, crates)),
        Start::Name(name) => {
            if from == 0 && source.modules[0].children.contains_key(name) {
                return Some(name.to_owned());
            }
            if knows(&source.modules[from], name) { None } else { named(crates, name).cloned() }
        }
    }
}

/// The beginning of a path.
enum Start<'a> {
    /// In a module of the crate, with the segments after it.
    Module(usize, &'a [String]),
    /// With a name in scope, or a crate's.
    Name(&'a str),
}

impl<'a> Start<'a> {
    /// `None` for more `super` than there are modules.
    fn of(source: &Source, from: usize, path: &'a [String]) -> Option<Self> {
        let (mut module, mut rest) = match path.split_first()? {
            (first, rest) if first == "crate" => (0, rest),
            (first, rest) if first == "self" => (from, rest),
            (first, _) if first == "super" => (from, path),
            (first, _) => return Some(Self::Name(first)),
        };
        while let Some((first, after)) = rest.split_first()
            && first == "super"
        {
            (module, rest) = (source.modules[module].parent?, after);
        }
        Some(Self::Module(module, rest))
    }
}

/// The crate of a name in code.
fn named<'a>(crates: &'a [String], name: &str) -> Option<&'a String> {
    crates.iter().find(|it| it.replace('-', "_") == name)
}

/// The module at the top level that contains the target of a path from a module of the crate; the other crate,
/// if the root imports it from there.
fn owner(source: &Source, module: usize, rest: &[String], crates: &[String]) -> String {
    let root = || ROOT.to_owned();
    if let Some(top) = source.top(module) {
        return top.to_owned();
    }
    let Some(first) = rest.first() else { return root() };
    let imported = source.modules[0].imports.iter().find(|it| it.name.as_ref() == Some(first));
    if let Some(found) = imported.and_then(|import| named(crates, import.path.first()?)) {
        return found.clone();
    }
    match source.modules[0].children.get(first) {
        Some(_) => first.clone(),
        None => defining(source, 0, first, 0)
            .map_or_else(root, |module| source.top(module).map_or_else(root, str::to_owned)),
    }
}

/// The module that defines a name of another module, through re-exports, as far as they can be followed: what a
/// macro generates is where the last re-export takes it from.
fn defining(source: &Source, module: usize, name: &str, depth: usize) -> Option<usize> {
    const DEEPEST: usize = 16;
    let found = &source.modules[module];
    if depth > DEEPEST || found.items.contains(name) {
        return (depth <= DEEPEST).then_some(module);
    }
    if let Some(&child) = found.children.get(name) {
        return Some(child);
    }
    if let Some(import) = found.imports.iter().find(|import| import.name.as_deref() == Some(name)) {
        let (last, before) = import.path.split_last()?;
        let from = walk(source, module, before)?;
        return defining(source, from, last, depth + 1).or(Some(from));
    }
    let globs = found.imports.iter().filter(|import| import.name.is_none());
    globs.filter_map(|glob| walk(source, module, &glob.path)).find_map(|from| {
        let is_other = from != module;
        is_other.then(|| defining(source, from, name, depth + 1)).flatten()
    })
}

/// The module that a path of modules leads to.
fn walk(source: &Source, from: usize, path: &[String]) -> Option<usize> {
    let (mut module, rest) = match Start::of(source, from, path) {
        Some(Start::Module(module, rest)) => (module, rest),
        Some(Start::Name(_)) => (from, path),
        None => return path.is_empty().then_some(from),
    };
    for name in rest {
        module = *source.modules[module].children.get(name)?;
    }
    Some(module)
}

/// True where a name in scope hides a crate of that name.
fn knows(module: &Module, name: &str) -> bool {
    module.items.contains(name)
        || module.children.contains_key(name)
        || module.imports.iter().any(|import| import.name.as_deref() == Some(name) && import.path != [name])
}
