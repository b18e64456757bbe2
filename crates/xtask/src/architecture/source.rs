//! Reads a crate's source: its modules, and every path that their code names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ImplItem, Item, ItemMod, ItemUse, Lit, Meta, Token, TraitItem, TypeParamBound, UseTree,
    Visibility,
};

/// A crate's modules. The first is the crate's root.
pub(super) struct Source {
    pub(super) modules: Vec<Module>,
    pub(super) trait_objects: Vec<TraitObject>,
    /// The traits that are public where they are defined.
    pub(super) public_traits: BTreeSet<String>,
}

/// The type of a trait object in the code.
pub(super) struct TraitObject {
    /// The names of the types that it is an argument of, from the outside in.
    pub(super) within: Vec<String>,
    pub(super) traits: Vec<String>,
    pub(super) site: Site,
}

/// One module: its definitions, imports and paths.
pub(super) struct Module {
    /// The names from the root down, without `crate`; empty for the root.
    pub(super) path: Vec<String>,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// Names of the items that are written here. Those that a macro generates are not known.
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Every path of at least two segments, and all that are imported.
    pub(super) paths: Vec<NamedPath>,
}

/// One name that a `use` brings into a module.
pub(super) struct Import {
    /// The name in the module; `None` for a glob.
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
}

/// A path in the code.
pub(super) struct NamedPath {
    pub(super) segments: Vec<String>,
    pub(super) site: Site,
    /// Re-exported, which does not count as a use.
    pub(super) is_reexport: bool,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) file: PathBuf,
    pub(super) line: usize,
}

impl Source {
    /// Reads the crate whose root is this file. Sites are relative to `base`.
    pub(super) fn read(root: &Path, base: &Path) -> Result<Self, String> {
        let mut reader = Reader::new(root, base);
        let parsed = parse(root)?;
        reader.items(&parsed.items);
        reader.finish()
    }

    /// Reads a crate from text, for tests.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        let mut reader = Reader::new(Path::new("src/lib.rs"), Path::new(""));
        reader.items(&syn::parse_file(text).expect("the text is Rust").items);
        reader.finish().expect("the text needs no other files")
    }

    /// The module at the top level that contains this one; `None` for the root.
    pub(super) fn top(&self, module: usize) -> Option<&str> {
        self.modules[module].path.first().map(String::as_str)
    }
}

fn parse(file: &Path) -> Result<syn::File, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    syn::parse_file(&text).map_err(|error| {
        let at = error.span().start();
        format!("{}:{}: {error}", file.display(), at.line)
    })
}

/// Walks through the syntax of one crate.
struct Reader<'a> {
    base: &'a Path,
    read: Source,
    /// The names of the types whose arguments are being read.
    within: Vec<String>,
    current: usize,
    file: PathBuf,
    /// Where files of the current module's children are.
    folder: PathBuf,
    /// In a `use` with a visibility.
    is_reexport: bool,
    failure: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(root: &Path, base: &'a Path) -> Self {
        Self {
            base,
            read: Source {
                modules: vec![Module::new(Vec::new(), None)],
                trait_objects: Vec::new(),
                public_traits: BTreeSet::new(),
            },
            within: Vec::new(),
            current: 0,
            file: root.to_owned(),
            folder: root.parent().unwrap_or(Path::new("")).to_owned(),
            is_reexport: false,
            failure: None,
        }
    }

    fn finish(self) -> Result<Source, String> {
        self.failure.map_or(Ok(self.read), Err)
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.visit_item(item);
        }
    }

    fn module(&mut self) -> &mut Module {
        &mut self.read.modules[self.current]
    }

    fn site(&self, span: Span) -> Site {
        let file = self.file.strip_prefix(self.base).unwrap_or(&self.file).to_owned();
        Site { file, line: span.start().line }
    }

    fn name_path(&mut self, segments: Vec<String>, span: Span) {
        if segments.len() > 1 {
            self.push_path(segments, span, false);
        }
    }

    fn push_path(&mut self, segments: Vec<String>, span: Span, is_reexport: bool) {
        let site = self.site(span);
        self.module().paths.push(NamedPath { segments, site, is_reexport });
    }

    fn imports(&mut self, tree: &UseTree, before: &[String], span: Span) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.imports(&path.tree, &with(&path.ident), path.ident.span()),
            UseTree::Name(name) if name.ident == "self" => {
                let own = before.last().cloned();
                self.import(own.unwrap_or_default(), before.to_vec(), span);
            }
            UseTree::Name(name) => self.import(name.ident.to_string(), with(&name.ident), name.ident.span()),
            UseTree::Rename(rename) => {
                let path = if rename.ident == "self" { before.to_vec() } else { with(&rename.ident) };
                self.import(rename.rename.to_string(), path, rename.ident.span());
            }
            UseTree::Glob(_) => {
                let segments = [before, &["*".to_owned()]].concat();
                self.push_path(segments, span, self.is_reexport);
                self.module().imports.push(Import { name: None, path: before.to_vec() });
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.imports(tree, before, span);
                }
            }
        }
    }

    fn import(&mut self, name: String, path: Vec<String>, span: Span) {
        self.push_path(path.clone(), span, self.is_reexport);
        self.module().imports.push(Import { name: Some(name), path });
    }

    /// Paths in the tokens of a macro, which may stand for anything.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let (segments, group) = path_in(&tokens[at..]);
                    at += 3 * (segments.len() - 1);
                    if let Some(group) = group {
                        self.group_of_paths(&segments, group);
                        at += 3;
                    }
                    self.name_path(segments, first.span());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }

    /// `use crate::{a::X, b}` inside a macro.
    fn group_of_paths(&mut self, before: &[String], group: &proc_macro2::Group) {
        let inside: Vec<_> = group.stream().into_iter().collect();
        for part in inside.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',')) {
            if let Some(TokenTree::Ident(first)) = part.first() {
                let (after, _) = path_in(part);
                self.name_path([before, &after].concat(), first.span());
            }
        }
    }

    /// Paths that an attribute has as text, as in `serde(with = "crate::text")`.
    fn paths_in_text(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.paths_in_text(group.stream()),
                TokenTree::Literal(literal) => {
                    let parsed = syn::parse_str::<syn::LitStr>(&literal.to_string());
                    if let Some(path) = parsed.ok().and_then(|text| text.parse::<syn::Path>().ok()) {
                        self.visit_path(&path);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Enters a module, and leaves it after `read`.
    fn within(&mut self, name: String, file: PathBuf, folder: PathBuf, read: impl FnOnce(&mut Self)) {
        let path = [&self.read.modules[self.current].path[..], std::slice::from_ref(&name)].concat();
        let child = self.read.modules.len();
        self.read.modules.push(Module::new(path, Some(self.current)));
        self.module().children.insert(name, child);
        let (parent, outer_file, outer_folder) = (
            std::mem::replace(&mut self.current, child),
            std::mem::replace(&mut self.file, file),
            std::mem::replace(&mut self.folder, folder),
        );
        read(self);
        (self.current, self.file, self.folder) = (parent, outer_file, outer_folder);
    }

    /// A module in a file of its own.
    fn file_module(&mut self, name: String, attributes: &[Attribute]) {
        let inside = self.folder.join(&name);
        let beside = self.file.parent().unwrap_or(Path::new(""));
        let (file, folder) = match path_attribute(attributes) {
            Some(path) => (beside.join(&path), beside.join(path).parent().unwrap_or(beside).to_owned()),
            None if inside.join("mod.rs").is_file() => (inside.join("mod.rs"), inside),
            None => (inside.with_extension("rs"), inside),
        };
        match parse(&file) {
            Ok(parsed) => self.within(name, file, folder, |reader| reader.items(&parsed.items)),
            Err(reason) => {
                self.failure.get_or_insert(reason);
            }
        }
    }
}

impl Module {
    fn new(path: Vec<String>, parent: Option<usize>) -> Self {
        Self {
            path,
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: Vec::new(),
            paths: Vec::new(),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes_of_item(item)) {
            return;
        }
        if let Some(name) = name_of_item(item) {
            if matches!(item, Item::Trait(it) if matches!(it.vis, Visibility::Public(_))) {
                self.read.public_traits.insert(name.clone());
            }
            self.module().items.insert(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.is_reexport = !matches!(item.vis, Visibility::Inherited);
        self.imports(&item.tree, &[], item.use_token.span);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = item.ident.to_string();
        match &item.content {
            Some((_, items)) => {
                let (file, folder) = (self.file.clone(), self.folder.join(&name));
                self.within(name, file, folder, |reader| reader.items(items));
            }
            None => self.file_module(name, &item.attrs),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first() {
            self.name_path(segments, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.within.push(segment.ident.to_string());
        visit::visit_path_segment(self, segment);
        self.within.pop();
    }

    fn visit_type_trait_object(&mut self, object: &'ast syn::TypeTraitObject) {
        let last = |bound: &TypeParamBound| match bound {
            TypeParamBound::Trait(it) => it.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let traits = object.bounds.iter().filter_map(last).collect();
        let site = self.site(object.span());
        self.read.trait_objects.push(TraitObject { within: self.within.clone(), traits, site });
        visit::visit_type_trait_object(self, object);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }

    /// Documentation has no tokens of its own here; a derive has.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.paths_in_text(list.tokens.clone());
        }
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let path = if item.ident == "self" { "crate".to_owned() } else { item.ident.to_string() };
        let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
        self.import(name.to_string(), vec![path], item.ident.span());
    }

    /// `pub(in crate::memory)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(it) => &it.attrs[..],
            ImplItem::Fn(it) => &it.attrs,
            ImplItem::Type(it) => &it.attrs,
            ImplItem::Macro(it) => &it.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes = match item {
            TraitItem::Const(it) => &it.attrs[..],
            TraitItem::Fn(it) => &it.attrs,
            TraitItem::Type(it) => &it.attrs,
            TraitItem::Macro(it) => &it.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_field_value(&mut self, value: &'ast syn::FieldValue) {
        if !is_for_tests(&value.attrs) {
            visit::visit_field_value(self, value);
        }
    }
}

/// The path at the start of these tokens, and the group that may end it.
fn path_in(tokens: &[TokenTree]) -> (Vec<String>, Option<&proc_macro2::Group>) {
    let is_colon =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == ':');
    let is_parameter =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == '$');
    let (mut segments, mut at) = (Vec::new(), 0);
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        segments.push(ident.to_string());
        if !is_colon(tokens.get(at + 1)) || !is_colon(tokens.get(at + 2)) {
            return (segments, None);
        }
        at += 3;
    }
    if is_parameter(tokens.get(at)) {
        // The arguments of the macro: any tokens.
        segments.push("*".to_owned());
    }
    match tokens.get(at) {
        Some(TokenTree::Group(group)) => (segments, Some(group)),
        _ => (segments, None),
    }
}

fn attributes_of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn name_of_item(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => list.parse_args().is_ok_and(|it| needs_test(&it)),
        _ => false,
    })
}

/// True for a condition that holds in tests alone.
fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let parts =
                list.parse_args_with(syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated);
            parts.is_ok_and(|parts| {
                (list.path.is_ident("all") && parts.iter().any(needs_test))
                    || (list.path.is_ident("any") && parts.iter().all(needs_test))
            })
        }
        Meta::NameValue(_) => false,
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(it) if it.path.is_ident("path") => match &it.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}
