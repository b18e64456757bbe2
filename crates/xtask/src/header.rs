//! The headers of `tenure-c`, written from its Rust code: functions, structures, values and their documentation.

use std::fmt::Write as _;
use std::fs;

use quote::ToTokens as _;
use syn::{
    Attribute, Expr, Fields, FnArg, GenericArgument, Item, Lit, Meta, PathArguments, ReturnType, Type,
};

use crate::command::root;
use crate::outcome::{Outcome, Trouble};

const FOLDER: &str = "crates/tenure-c";

/// The headers, each with its files of Rust code and the text around the declarations.
const HEADERS: [(&str, &[&str], &str, &str); 3] = [
    (
        "tenure.h",
        &[
            "status",
            "types",
            "descriptor_types",
            "library",
            "sim",
            "gpu",
            "object",
            "resource",
            "cost",
            "descriptor",
            "recording",
            "transfer",
            "query_types",
            "query",
            "upload_ring",
            "structure",
            "reserved",
            "graph",
            "present",
            "swapchain",
            "plan",
            "suballocator",
            "release_queue",
            "heap_pools",
            "recorder",
            "compaction",
        ],
        include_str!("header/tenure.head.h"),
        include_str!("header/tenure.tail.h"),
    ),
    (
        "tenure_vulkan.h",
        &["vulkan", "descriptor_vulkan", "adopt_vulkan"],
        include_str!("header/tenure_vulkan.head.h"),
        include_str!("header/tenure_vulkan.tail.h"),
    ),
    (
        "tenure_d3d12.h",
        &["d3d12"],
        include_str!("header/tenure_d3d12.head.h"),
        include_str!("header/tenure_d3d12.tail.h"),
    ),
];

/// Writes the headers.
pub(crate) fn write() -> Outcome {
    for (name, text) in generated()? {
        let path = root().join(FOLDER).join("include").join(name);
        fs::write(&path, text).map_err(|error| failed(name, &error.to_string()))?;
    }
    Ok(())
}

/// Checks that the headers are those that `write` would write.
pub(crate) fn check() -> Outcome {
    for (name, text) in generated()? {
        let path = root().join(FOLDER).join("include").join(name);
        let found = fs::read_to_string(&path).map_err(|error| failed(name, &error.to_string()))?;
        if found != text {
            let line = found.lines().zip(text.lines()).position(|(found, text)| found != text);
            let line = line.unwrap_or_else(|| found.lines().count().min(text.lines().count())) + 1;
            return Err(failed(name, &format!("line {line} differs from the code: cargo xtask header")));
        }
    }
    Ok(())
}

fn failed(name: &str, reason: &str) -> Trouble {
    Trouble::Failed(format!("{FOLDER}/include/{name}: {reason}"))
}

fn generated() -> Result<Vec<(&'static str, String)>, Trouble> {
    HEADERS
        .iter()
        .map(|(name, files, head, tail)| {
            let mut text = (*head).to_owned();
            for (code, file) in code_of(name)?.iter().zip(*files) {
                let declared =
                    declarations(code).map_err(|reason| failed(name, &format!("{file}.rs: {reason}")))?;
                text.push_str(&declared);
            }
            text.push_str(tail);
            Ok((*name, text))
        })
        .collect()
}

/// The Rust code of a header, by file.
pub(crate) fn code_of(header: &str) -> Result<Vec<String>, Trouble> {
    let files = HEADERS.iter().filter(|(name, ..)| *name == header).flat_map(|(_, files, ..)| *files);
    files
        .map(|file| {
            let path = root().join(FOLDER).join("src").join(file).with_extension("rs");
            fs::read_to_string(&path).map_err(|error| failed(header, &error.to_string()))
        })
        .collect()
}

/// The name of a structure, and the names of its fields.
type Structure = (String, Vec<String>);

/// The functions of all headers but Direct3D's, and their structures.
pub(crate) fn names() -> Result<(Vec<String>, Vec<Structure>), Trouble> {
    let (mut functions, mut structures) = (Vec::new(), Vec::new());
    for (name, ..) in HEADERS.iter().filter(|header| header.0 != "tenure_d3d12.h") {
        for code in code_of(name)? {
            let parsed = syn::parse_file(&code).map_err(|error| failed(name, &error.to_string()))?;
            for item in &parsed.items {
                match item {
                    Item::Fn(function) if is_exported(&function.attrs) => {
                        functions.push(function.sig.ident.to_string())
                    }
                    Item::Struct(structure) if structure.ident.to_string().starts_with("tn_") => {
                        let fields = structure.fields.iter().filter_map(|field| field.ident.as_ref());
                        let fields =
                            fields.map(|field| field.to_string().trim_start_matches("r#").to_owned());
                        structures.push((structure.ident.to_string(), fields.collect()));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok((functions, structures))
}

/// The declarations of a file, in its order. Values that follow each other become one enumeration.
fn declarations(code: &str) -> Result<String, String> {
    let parsed = syn::parse_file(code).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut values = String::new();
    for item in &parsed.items {
        if let Item::Const(value) = item
            && value.ident.to_string().starts_with("TN_")
        {
            let name = value.ident.to_string();
            // What no enumerator holds is a macro of the head.
            if !matches!(
                name.as_str(),
                "TN_TO_NUL" | "TN_STATIC" | "TN_ALL" | "TN_FOREVER" | "TN_ABI_VERSION"
            ) {
                comment(&mut values, &value.attrs, "    ");
                let number = value.expr.to_token_stream().to_string().replace(" ", "").replace("<<", " << ");
                let _ = writeln!(values, "    {name} = {number},");
            }
            continue;
        }
        if !values.is_empty() {
            let _ = writeln!(text, "enum {{\n{}\n}};", values.trim_end().trim_end_matches(','));
            values.clear();
        }
        declaration(&mut text, item)?;
    }
    if !values.is_empty() {
        let _ = writeln!(text, "enum {{\n{}\n}};", values.trim_end().trim_end_matches(','));
    }
    Ok(text)
}

fn declaration(text: &mut String, item: &Item) -> Result<(), String> {
    match item {
        Item::Type(alias) if alias.ident.to_string().starts_with("tn_") => {
            let name = alias.ident.to_string();
            text.push('\n');
            comment(text, &alias.attrs, "");
            match &*alias.ty {
                Type::BareFn(function) => {
                    let inputs: Result<Vec<_>, String> = function
                        .inputs
                        .iter()
                        .map(|input| {
                            let name =
                                input.name.as_ref().map_or_else(String::new, |(name, _)| name.to_string());
                            Ok(declared(&in_c(&input.ty)?, &name))
                        })
                        .collect();
                    let output = output(&function.output)?;
                    let _ = writeln!(text, "typedef {output}(TN_CALL* {name})({});", inputs?.join(", "));
                }
                plain => {
                    let _ = writeln!(text, "typedef {} {name};", in_c(plain)?);
                }
            }
        }
        Item::Struct(structure) if structure.ident.to_string().starts_with("tn_") => {
            let name = &structure.ident;
            text.push('\n');
            comment(text, &structure.attrs, "");
            let _ = writeln!(text, "typedef struct {name} {{");
            let Fields::Named(fields) = &structure.fields else {
                return Err(format!("{name} has no fields"));
            };
            for field in &fields.named {
                let ident = field.ident.as_ref().map_or_else(String::new, ToString::to_string);
                comment(text, &field.attrs, "    ");
                let declared = match &field.ty {
                    Type::Array(array) => {
                        let length = array.len.to_token_stream();
                        format!("{}[{length}]", declared(&in_c(&array.elem)?, ident.trim_start_matches("r#")))
                    }
                    plain => declared(&in_c(plain)?, ident.trim_start_matches("r#")),
                };
                let _ = writeln!(text, "    {declared};");
            }
            let _ = writeln!(text, "}} {name};");
        }
        Item::Fn(function) if is_exported(&function.attrs) => {
            text.push('\n');
            comment(text, &function.attrs, "");
            let output = output(&function.sig.output)?;
            let inputs: Result<Vec<_>, String> = function
                .sig
                .inputs
                .iter()
                .map(|input| match input {
                    FnArg::Typed(input) => {
                        let name = input.pat.to_token_stream().to_string();
                        Ok(declared(&in_c(&input.ty)?, &name))
                    }
                    FnArg::Receiver(_) => Err("a method".to_owned()),
                })
                .collect();
            let inputs = inputs?;
            let inputs = if inputs.is_empty() { "void".to_owned() } else { inputs.join(", ") };
            let line = format!("TN_API {output} TN_CALL {}({inputs});", function.sig.ident);
            text.push_str(&wrapped(&line));
        }
        _ => {}
    }
    Ok(())
}

/// A declaration in lines of at most 120 characters.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut length = 0;
    for word in line.split_inclusive(", ") {
        if length + word.trim_end().len() > 120 {
            let trimmed = text.trim_end().len();
            text.truncate(trimmed);
            text.push_str("\n    ");
            length = 4;
        }
        text.push_str(word);
        length += word.len();
    }
    text.push('\n');
    text
}

pub(crate) fn is_exported(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string().contains("no_mangle"))
}

/// `type name`, or `type* name`.
fn declared(kind: &str, name: &str) -> String {
    format!("{kind} {name}").trim_end().to_owned()
}

/// The documentation as a comment.
fn comment(text: &mut String, attributes: &[Attribute], indent: &str) {
    let lines: Vec<String> = attributes.iter().filter_map(documentation).collect();
    match lines.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(text, "{indent}/** {} */", one.trim());
        }
        [first, rest @ ..] => {
            let _ = writeln!(text, "{indent}/** {}", first.trim());
            for line in rest {
                let _ = writeln!(text, "{}", format!("{indent} * {}", line.trim()).trim_end());
            }
            let _ = writeln!(text, "{indent} */");
        }
    }
}

fn documentation(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    let Lit::Str(line) = &literal.lit else { return None };
    // Headers are plain text.
    attribute.path().is_ident("doc").then(|| line.value().replace('`', "").replace('…', "..."))
}

/// The type of a result as C has it.
pub(crate) fn output(kind: &ReturnType) -> Result<String, String> {
    match kind {
        ReturnType::Default => Ok("void".to_owned()),
        ReturnType::Type(_, kind) => in_c(kind),
    }
}

/// A type as C has it.
pub(crate) fn in_c(kind: &Type) -> Result<String, String> {
    let unknown = || format!("no type of C for {}", kind.to_token_stream());
    match kind {
        Type::Ptr(pointer) => {
            let target = in_c(&pointer.elem)?;
            Ok(if pointer.mutability.is_some() { format!("{target}*") } else { format!("const {target}*") })
        }
        Type::Path(path) => {
            let last = path.path.segments.last().ok_or_else(unknown)?;
            let argument = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.first(),
                _ => None,
            };
            let argument = match argument {
                Some(GenericArgument::Type(argument)) => Some(argument),
                _ => None,
            };
            let name = last.ident.to_string();
            Ok(match (name.as_str(), argument) {
                ("u32", _) => "uint32_t".to_owned(),
                ("i32", _) => "int32_t".to_owned(),
                ("u64", _) => "uint64_t".to_owned(),
                ("usize", _) => "size_t".to_owned(),
                ("f32", _) => "float".to_owned(),
                ("c_void", _) => "void".to_owned(),
                ("AnyHandle", _) => "void*".to_owned(),
                ("Text", _) => "const char*".to_owned(),
                ("Handle", Some(object)) => format!("{}*", handle(object)?),
                ("In", Some(target)) => match in_c(target)? {
                    pointer if pointer.ends_with('*') => format!("{pointer} const*"),
                    value => format!("const {value}*"),
                },
                ("Com", Some(interface)) => format!("struct {}*", interface.to_token_stream()),
                ("Out", Some(target)) => format!("{}*", in_c(target)?),
                ("Option", Some(function)) => in_c(function)?,
                ("PFN_vkGetInstanceProcAddr", _) => name,
                ("Instance", _) => "VkInstance".to_owned(),
                ("PhysicalDevice", _) => "VkPhysicalDevice".to_owned(),
                ("Device", _) => "VkDevice".to_owned(),
                ("Queue", _) => "VkQueue".to_owned(),
                ("DeviceCreateInfo", _) => "struct VkDeviceCreateInfo".to_owned(),
                _ if name.starts_with("tn_") => name,
                _ => return Err(unknown()),
            })
        }
        _ => Err(unknown()),
    }
}

/// The type of a handle's target.
fn handle(object: &Type) -> Result<String, String> {
    let name = object.to_token_stream().to_string();
    Ok(match name.as_str() {
        "DeviceObject" => "tn_Device".to_owned(),
        "OwnedText" => "tn_Text".to_owned(),
        "Gpu"
        | "Buffer"
        | "Texture"
        | "View"
        | "Frame"
        | "Recording"
        | "Readback"
        | "Deferred"
        | "Upload"
        | "Sampler"
        | "SetLayout"
        | "DescriptorTable"
        | "DescriptorSet"
        | "Graph"
        | "Query"
        | "UploadRing"
        | "AccelerationStructure"
        | "Reserved"
        | "Pages"
        | "Swapchain"
        | "Suballocator"
        | "HeapPools"
        | "ReleaseQueue"
        | "Recorder" => {
            format!("tn_{name}")
        }
        _ => return Err(format!("no handle of C for {name}")),
    })
}

#[cfg(test)]
mod tests {
    use super::declarations;

    #[test]
    fn code_becomes_declarations() {
        let code = r#"
            /// A kind.
            pub type tn_Kind = u32;
            /// None.
            pub const TN_KIND_NONE: tn_Kind = 0;
            /// All.
            pub const TN_KIND_ALL: tn_Kind = 1 << 3;
            /// Bytes.
            #[repr(C)]
            pub struct tn_Bytes {
                /// `sizeof(tn_Bytes)`.
                pub size: u32,
                /// Three.
                pub each: [u32; 3],
                /// The first.
                pub data: In<c_void>,
            }
            fn helper() {}
            /// Releases.
            ///
            /// Errors: none.
            #[unsafe(no_mangle)]
            extern "C" fn tn_release(buffer: Handle<Buffer>, out: Out<Handle<Gpu>>, bytes: In<tn_Bytes>) -> tn_Status {
                helper()
            }
        "#;
        let expected = "\n/** A kind. */\ntypedef uint32_t tn_Kind;\nenum {\n    /** None. */\n    TN_KIND_NONE = 0,\n    \
            /** All. */\n    TN_KIND_ALL = 1 << 3\n};\n\n/** Bytes. */\ntypedef struct tn_Bytes {\n    \
            /** sizeof(tn_Bytes). */\n    uint32_t size;\n    /** Three. */\n    uint32_t each[3];\n    \
            /** The first. */\n    const void* data;\n} tn_Bytes;\n\n/** Releases.\n *\n * Errors: none.\n */\n\
            TN_API tn_Status TN_CALL tn_release(tn_Buffer* buffer, tn_Gpu** out, const tn_Bytes* bytes);\n";
        assert_eq!(declarations(code).as_deref(), Ok(expected));
        assert!(declarations("#[unsafe(no_mangle)] extern \"C\" fn tn_x(name: String) {}").is_err());
    }
}
