//! The messages found in the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, Item, Lit};

/// Crates whose errors programs see; those of the program `tenure` have a table of their own.
const CRATES: [&str; 12] = [
    "tenure-core",
    "tenure-d3d12",
    "tenure-device",
    "tenure-graph",
    "tenure-heap",
    "tenure-memory",
    "tenure-plan",
    "tenure-sim",
    "tenure-suballoc",
    "tenure-trace",
    "tenure-track",
    "tenure-vulkan",
];

/// Names, which are not messages, and types with a table elsewhere.
const ELSEWHERE: [&str; 11] = [
    // Their texts are in the table of rules.
    "CallRule",
    // In the table of hazards.
    "HazardKind",
    "Origin",
    "Hazard",
    "Findings",
    // Texts of values.
    "ApiCode",
    "FieldValue",
    "Allowed",
    // Exists on Windows alone.
    "FeatureLevel",
    // An error of tenure itself, of one free text each.
    "Inconsistency",
    // Its texts are those of the device's errors.
    "ShutdownReport",
];

/// Errors of the Direct3D 12 device alone, which is built for Windows: its own tests compare their texts.
const ON_WINDOWS: [&str; 2] = ["ShareError::NotShared", "ShareError::OtherAdapter"];

/// Lines that are logged on real devices alone, or by others: level, text.
pub(crate) const ON_DEVICES: &str = "\
error: a swap chain keeps its surface: recordings that were open when it was dropped hold its images back
error: a swap chain is dropped and its image is still in use: it lives as long as that
error: a swap chain is left alone: the GPU did not finish with it
error: a swap chain is left alone: its images are still presented
error: the GPU did not finish; its device is left alone
error: a heap is destroyed before what is placed in it
warn: addresses of textures are not reported
warn: no Direct3D 12 device on this adapter
warn: the driver does not signal the fence of a presentation: presentations have none from now on
error, warn, debug, trace: {text}
";

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file of the crates.
fn files() -> Vec<syn::File> {
    let mut paths = Vec::new();
    CRATES.iter().for_each(|name| rust_files(&root().join(name).join("src"), &mut paths));
    let parse = |path: &PathBuf| syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    paths.iter().map(parse).collect()
}

/// `Error::OutOfRange` and so on: the variants of public enums, and the public structs, that are errors or have a text.
pub(crate) fn messages() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files() {
        let shown: BTreeSet<String> = file.items.iter().filter_map(displayed).collect();
        for item in &file.items {
            match item {
                Item::Enum(item) if is_public(&item.vis) && has_text(&item.attrs, &item.ident, &shown) => {
                    let name = item.ident.to_string();
                    if !ELSEWHERE.contains(&&*name) {
                        found
                            .extend(item.variants.iter().map(|variant| format!("{name}::{}", variant.ident)));
                    }
                }
                Item::Struct(item) if is_public(&item.vis) && derives_error(&item.attrs) => {
                    let name = item.ident.to_string();
                    if !ELSEWHERE.contains(&&*name) {
                        found.insert(name);
                    }
                }
                _ => {}
            }
        }
    }
    for there in ON_WINDOWS {
        assert!(found.remove(there), "{there} is gone");
    }
    assert!(found.len() > 150, "the sources are not where they were: {found:?}");
    found
}

const fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn has_text(attributes: &[syn::Attribute], name: &syn::Ident, shown: &BTreeSet<String>) -> bool {
    derives_error(attributes) || shown.contains(&name.to_string())
}

/// True with `#[derive(thiserror::Error)]`.
fn derives_error(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.tokens.to_string().replace(' ', "").contains("thiserror::Error")
    })
}

/// The type for which `Display` is implemented here.
fn displayed(item: &Item) -> Option<String> {
    let Item::Impl(item) = item else { return None };
    let (_, path, _) = item.trait_.as_ref()?;
    let syn::Type::Path(of) = &*item.self_ty else { return None };
    (path.segments.last()?.ident == "Display")
        .then(|| of.path.segments.last().map(|last| last.ident.to_string()))?
}

/// The rules that errors of the contract name, in words.
pub(crate) fn rules() -> BTreeSet<String> {
    let mut rules = Rules::default();
    files().iter().for_each(|file| rules.visit_file(file));
    assert!(rules.0.len() > 150, "the sources are not where they were");
    rules.0
}

/// Rules as they are written down, each with the kind of its error.
#[derive(Default)]
pub(crate) struct Rules(pub(crate) BTreeSet<String>);

impl Rules {
    fn note(&mut self, kind: &str, expression: &Expr) {
        if let Expr::Lit(literal) = expression
            && let Lit::Str(text) = &literal.lit
        {
            self.0.insert(format!("{kind}: {}", text.value()));
        }
    }
}

impl<'ast> Visit<'ast> for Rules {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func
            && let Some(name) = function.path.segments.last()
            && let Some(first) = call.args.first()
        {
            match &*name.ident.to_string() {
                "Rule" => self.note("must be", first),
                "invalid_call" | "invalid_value" | "broken_rule" => self.note("broken rule", first),
                "unsupported" => self.note("does not support", first),
                _ => {}
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if let syn::Member::Named(name) = &field.member {
            match &*name.to_string() {
                "feature" => self.note("does not support", &field.expr),
                "rule" => self.note("rule", &field.expr),
                _ => {}
            }
        }
        visit::visit_field_value(self, field);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let syn::Pat::Ident(name) = &local.pat
            && let Some(init) = &local.init
        {
            match &*name.ident.to_string() {
                "rule" => self.note("rule", &init.expr),
                "feature" => self.note("does not support", &init.expr),
                _ => {}
            }
        }
        visit::visit_local(self, local);
    }

    /// `rules! { Name = "text", }`
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        if found.path.is_ident("rules") {
            let texts = literals(&found.tokens);
            self.0.extend(texts.into_iter().map(|text| format!("broken rule: {text}")));
        }
    }
}

/// The texts among tokens.
pub(crate) fn literals(tokens: &TokenStream) -> Vec<String> {
    let literal = |tree: TokenTree| match tree {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        _ => None,
    };
    tokens.clone().into_iter().filter_map(literal).map(|text| text.value()).collect()
}

/// The texts that the C interface formats, with `…` for each value.
pub(crate) fn texts_of_c() -> Vec<String> {
    let mut paths = Vec::new();
    rust_files(&root().join("tenure-c/src"), &mut paths);
    let mut formats = Formats::default();
    for path in paths {
        formats.visit_file(&syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap());
    }
    assert!(formats.0.len() > 20, "the sources are not where they were: {:?}", formats.0);
    formats.0
}

#[derive(Default)]
struct Formats(Vec<String>);

impl<'ast> Visit<'ast> for Formats {
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        if found.path.is_ident("format") {
            let values = |text: &str| {
                let pieces = text.split(['{', '}']).enumerate();
                pieces.map(|(index, piece)| if index % 2 == 0 { piece } else { "…" }).collect::<String>()
            };
            self.0.extend(literals(&found.tokens).first().map(|text| values(text)));
        }
        visit::visit_macro(self, found);
    }
}

/// Hazards whose exact texts are in `crates/tenure-core/tests/rays`, because only whole programs come to them.
pub(crate) const HAZARDS_OF_RAYS: [&str; 2] = ["StructureTooSmall", "UnbuiltStructure"];

/// The kinds of hazards that there are.
pub(crate) fn hazards() -> BTreeSet<String> {
    let items = files().into_iter().flat_map(|file| file.items);
    let kinds = items.filter_map(|item| match item {
        Item::Enum(item) if item.ident == "HazardKind" => Some(item.variants),
        _ => None,
    });
    let found: BTreeSet<_> = kinds.flatten().map(|kind| kind.ident.to_string()).collect();
    assert!(found.len() > 25, "the sources are not where they were: {found:?}");
    found
}

/// The table of hazards.
pub(crate) fn hazard_tables() -> String {
    fs::read_to_string(root().join("tenure-sim/tests/sim/hazards.txt")).unwrap()
}

/// The lines of hazards in the tests of acceleration structures.
pub(crate) fn hazards_of_rays() -> BTreeSet<String> {
    let mut paths = Vec::new();
    rust_files(&root().join("tenure-core/tests/rays"), &mut paths);
    let mut texts = Texts::default();
    paths
        .iter()
        .for_each(|path| texts.visit_file(&syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap()));
    texts.0.retain(|text| text.contains("acceleration structure '"));
    texts.0
}

#[derive(Default)]
struct Texts(BTreeSet<String>);

impl Visit<'_> for Texts {
    fn visit_lit_str(&mut self, text: &syn::LitStr) {
        self.0.insert(text.value());
    }

    fn visit_macro(&mut self, found: &syn::Macro) {
        self.0.extend(literals(&found.tokens));
    }
}

/// `PoolConfig::min_block` and so on, with the text after "Default" in its documentation.
pub(crate) fn documented_defaults() -> Vec<(String, String)> {
    let items = files().into_iter().flat_map(|file| file.items);
    let structs = items.filter_map(|item| match item {
        Item::Struct(item) if item.ident.to_string().ends_with("Config") => Some(item),
        _ => None,
    });
    let mut found = Vec::new();
    for part in structs {
        for field in &part.fields {
            let documentation: String = field.attrs.iter().filter_map(documentation).collect();
            if let (Some(name), Some((_, default))) = (&field.ident, documentation.split_once("Default ")) {
                found.push((format!("{}::{name}", part.ident), default.replace('`', "")));
            }
        }
    }
    found
}

/// A line of `///`.
fn documentation(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(line) = &attribute.meta else { return None };
    match &line.value {
        Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) if line.path.is_ident("doc") => {
            Some(text.value())
        }
        _ => None,
    }
}

/// The message of each place that logs.
pub(crate) fn log_lines() -> BTreeSet<String> {
    let mut lines = Lines::default();
    files().iter().for_each(|file| lines.visit_file(file));
    assert!(lines.0.len() > 25, "the sources are not where they were: {:?}", lines.0);
    lines.0
}

#[derive(Default)]
struct Lines(BTreeSet<String>);

impl<'ast> Visit<'ast> for Lines {
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        let logs = |first: &syn::PathSegment| first.ident == "tracing" || first.ident == "event";
        if found.path.segments.first().is_some_and(logs) {
            // The target is the first text, the message the last.
            let line = literals(&found.tokens).pop().unwrap_or_default();
            self.0.insert(line);
        }
    }
}

/// The tables of log events.
pub(crate) fn log_tables() -> [String; 2] {
    let table = root().join("messages/tests/log/snapshots/log__lines__lines.snap");
    [ON_DEVICES.to_owned(), fs::read_to_string(table).unwrap()]
}
