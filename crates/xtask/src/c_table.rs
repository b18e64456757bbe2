//! A program in C, written from the headers' code, with each misuse that a look at one argument finds, the status and the text
//! for it, and what a refused call must leave as it was. Then the same call with valid arguments succeeds: nothing else was
//! wrong. What differs is an exception, with its reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use quote::ToTokens as _;
use syn::{Item, Type};

use crate::c_random::{Function, Header, callback, code, inside, kind, list, named};
use crate::header::{code_of, in_c};
use crate::outcome::Trouble;

/// The part of the program that is the same for all headers.
const COMMON: &str = include_str!("c_table.c");

/// A misuse of one argument or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misuse {
    /// A handle.
    Null,
    Released,
    OtherType,
    /// Of another manager.
    Foreign,
    /// A pointer.
    NoPointer,
    /// A size of 0.
    TooSmall,
    /// A longer structure, with bytes that are not zero.
    TooLarge,
    UnknownChain,
    /// The number after those of an enumeration.
    UnknownNumber,
    /// Bit 31.
    UnknownBit,
    /// Text that is not UTF-8.
    WrongText,
}

use Misuse::{
    Foreign, NoPointer, Null, OtherType, Released, TooLarge, TooSmall, UnknownBit, UnknownChain,
    UnknownNumber, WrongText,
};

/// The error of a misuse.
struct Expected {
    status: String,
    /// A part of the text, as whole words; `*` stands for any words.
    text: String,
}

impl Expected {
    fn new(status: &str, text: impl Into<String>) -> Self {
        Self { status: status.to_owned(), text: text.into() }
    }
}

/// A misuse with another result.
struct Exception {
    functions: &'static [&'static str],
    place: &'static str,
    misuse: Misuse,
    /// Empty where the argument is valid.
    status: &'static str,
    /// A part of the text: the reason.
    text: &'static str,
}

const fn except(
    functions: &'static [&'static str],
    place: &'static str,
    misuse: Misuse,
    status: &'static str,
    text: &'static str,
) -> Exception {
    Exception { functions, place, misuse, status, text }
}

/// An argument that is valid, for this reason.
const fn valid(
    functions: &'static [&'static str],
    place: &'static str,
    misuse: Misuse,
    _reason: &'static str,
) -> Exception {
    except(functions, place, misuse, "", "")
}

/// The calls that make descriptors.
const BINDS: &[&str] = &[
    "tn_descriptor_set_create",
    "tn_descriptor_table_create",
    "tn_recording_descriptor_set",
    "tn_recording_descriptors",
];

const EXCEPTIONS: &[Exception] = &[
    // Pointers that may be null.
    valid(
        &[
            "tn_frame_execute",
            "tn_frame_submit_all",
            "tn_gpu_flush_uploads",
            "tn_gpu_submit_external",
            "tn_recording_submit",
            "tn_release_queue_submit",
            "tn_reserved_update",
        ],
        "done",
        NoPointer,
        "may be null",
    ),
    valid(&["tn_gpu_release_after", "tn_release_queue_push"], "point", NoPointer, "may be null"),
    valid(&["tn_device_create_sim", "tn_gpu_create", "tn_plan"], "desc", NoPointer, "may be null"),
    valid(&["tn_gpu_compact", "tn_gpu_shutdown", "tn_plan", "tn_upload"], "out", NoPointer, "may be null"),
    valid(&["tn_gpu_shutdown"], "text", NoPointer, "may be null"),
    valid(&["tn_gpu_submit_external"], "wait", NoPointer, "may be null"),
    valid(&["tn_gpu_declare_state"], "at", NoPointer, "may be null"),
    valid(&["tn_graph_pass"], "number", NoPointer, "may be null"),
    valid(&["tn_plan_check"], "peak", NoPointer, "may be null"),
    valid(&["tn_heap_pools_create"], "tn_HeapPoolsDesc.budget", NoPointer, "may be null"),
    valid(&["tn_reserved_update"], "tn_TileUpdate.after", NoPointer, "may be null"),
    valid(BINDS, "tn_Bind.sampler", Null, "may be null"),
    valid(BINDS, "tn_Bind.structure", Null, "may be null"),
    // Of no interest to the call.
    valid(&["tn_has_backend"], "backend", UnknownNumber, "this library does not have it"),
    valid(
        &["tn_heap_pools_create"],
        "tn_MemoryType.flags",
        UnknownBit,
        "a later bit is memory for special purposes",
    ),
    valid(&["tn_recording_generate_mips"], "texture", Foreign, "of one mip there is nothing to fill"),
    valid(&["tn_recording_copy_slice"], "tn_Copy.src", Null, "the slice is the source"),
    valid(&["tn_recording_copy_slice"], "tn_Copy.src", Released, "the slice is the source"),
    valid(&["tn_recording_copy_slice"], "tn_Copy.src", OtherType, "the slice is the source"),
    valid(&["tn_recording_copy_slice"], "tn_Copy.src", Foreign, "the slice is the source"),
    // Another error comes first.
    except(
        BINDS,
        "tn_Bind.view",
        Null,
        "TN_ERROR_POINTER",
        "binds[0]: must be a view, a sampler, both of them, data, or a structure",
    ),
    except(
        BINDS,
        "tn_Bind.data",
        NoPointer,
        "TN_ERROR_POINTER",
        "binds[0]: must be a view, a sampler, both of them, data, or a structure",
    ),
    except(
        BINDS,
        "tn_Bind.structure",
        Released,
        "TN_ERROR_POINTER",
        "binds[0]: an acceleration structure stands alone",
    ),
    except(
        BINDS,
        "tn_Bind.structure",
        OtherType,
        "TN_ERROR_POINTER",
        "binds[0]: an acceleration structure stands alone",
    ),
    except(
        BINDS,
        "tn_Bind.structure",
        Foreign,
        "TN_ERROR_POINTER",
        "binds[0]: an acceleration structure stands alone",
    ),
    except(
        &["tn_reserved_buffer_create"],
        "tn_BufferDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a reserved resource: must be 0",
    ),
    except(
        &["tn_reserved_texture_create"],
        "tn_TextureDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a reserved resource: must be 0",
    ),
    except(
        &["tn_reserved_texture_create"],
        "tn_Texels.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a reserved resource: must be 0",
    ),
    except(
        &["tn_readback_texture_create"],
        "tn_TextureDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "must be 0",
    ),
    except(&["tn_readback_texture_create"], "tn_Texels.data", NoPointer, "TN_ERROR_ARGUMENT", "must be 0"),
    except(
        &["tn_pages_buffer_create"],
        "tn_BufferDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a resource in a page: must be 0",
    ),
    except(
        &["tn_pages_texture_create"],
        "tn_TextureDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a resource in a page: must be 0",
    ),
    except(
        &["tn_pages_texture_create"],
        "tn_Texels.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "data of a resource in a page: must be 0",
    ),
    except(
        &["tn_graph_buffer", "tn_recording_transient_buffer"],
        "tn_BufferDesc.data",
        NoPointer,
        "TN_ERROR_TRANSIENT",
        "data: a transient resource has no initial contents",
    ),
    except(
        &["tn_graph_texture", "tn_recording_transient_texture"],
        "tn_TextureDesc.data",
        NoPointer,
        "TN_ERROR_TRANSIENT",
        "data: a transient resource has no initial contents",
    ),
    except(
        &["tn_graph_texture", "tn_recording_transient_texture"],
        "tn_Texels.data",
        NoPointer,
        "TN_ERROR_TRANSIENT",
        "data: a transient resource has no initial contents",
    ),
    except(
        &["tn_graph_buffer", "tn_recording_transient_buffer"],
        "tn_BufferDesc.read_only",
        UnknownBit,
        "TN_ERROR_TRANSIENT",
        "read_only: commands write a transient resource",
    ),
    except(
        &["tn_graph_texture", "tn_recording_transient_texture"],
        "tn_TextureDesc.read_only",
        UnknownBit,
        "TN_ERROR_TRANSIENT",
        "read_only: commands write a transient resource",
    ),
];

/// Arguments whose valid values do not follow from their types.
const VALUES: &[(&str, &str, &str)] = &[
    ("tn_gpu_create", "device", "more.device"),
    ("tn_gpu_record", "gpu", "more.gpu"),
    ("tn_gpu_record", "path", "TN_LIT(\"misuse.csv\")"),
    ("tn_gpu_make_read_only", "states", "TN_STATE_COPY_SRC"),
    ("tn_buffer_read", "buffer", "more.readable"),
    ("tn_buffer_write", "buffer", "more.writable"),
    ("tn_upload_ring_allocate", "size", "16"),
    ("tn_upload_ring_allocate", "alignment", "16"),
    ("tn_recording_build_scratch", "size", "256"),
    ("tn_recording_compact", "size", "256"),
    ("tn_recording_copy_structure", "dst", "more.structure"),
    ("tn_recording_dynamic_constants", "layout", "more.dynamic"),
    (
        "tn_recording_write_slice",
        "slice",
        "(memory.tn_RingSlice.value = more.slice, &memory.tn_RingSlice.value)",
    ),
    (
        "tn_recording_copy_slice",
        "slice",
        "(memory.tn_RingSlice.value = more.slice, &memory.tn_RingSlice.value)",
    ),
    (
        "tn_recording_end_query",
        "query",
        "(memory.tn_OpenQuery.value = open_query(), &memory.tn_OpenQuery.value)",
    ),
    ("tn_swapchain_set_frame_latency", "frames", "1"),
    ("tn_swapchain_begin", "swapchain", "swapchain(0, 0)"),
    ("tn_swapchain_finish", "swapchain", "swapchain(1, 0)"),
    ("tn_swapchain_present", "swapchain", "swapchain(1, 1)"),
    ("tn_suballocator_allocate", "size", "16"),
    ("tn_suballocator_allocate", "alignment", "16"),
    ("tn_suballocator_free", "range", "(memory.tn_Range.value = more.range, &memory.tn_Range.value)"),
    ("tn_suballocator_close", "suballocator", "more.ring"),
    ("tn_suballocator_release_up_to", "suballocator", "more.ring"),
    (
        "tn_heap_pools_free",
        "range",
        "(memory.tn_MemoryRange.value = more.memory_range, &memory.tn_MemoryRange.value)",
    ),
    ("tn_release_queue_create", "queues", "1"),
    ("tn_release_queue_close", "recording", "open_recording()"),
];

/// Structures with handles that no call owns: after an error they are empty, and not as before.
const EMPTIED: [&str; 1] = ["tn_SwapchainImage"];

/// Statements that give an argument or field, and the fields among them that the valid description leaves empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Given {
    field: String,
    statements: String,
}

/// A misuse, as a statement after others.
struct Call {
    place: String,
    misuse: Misuse,
    given: Given,
    statement: String,
    expected: Expected,
}

/// The numbers of an enumeration.
struct Enumeration {
    name: String,
    first: u32,
    /// The number after those that follow each other.
    next: u32,
    is_mask: bool,
}

struct Table {
    header: Header,
    enumerations: Vec<Enumeration>,
    text: String,
    calls: usize,
    /// Calls that are checked with valid arguments, too.
    confirmed: usize,
    /// The exceptions that a call has needed, with the function.
    needed: BTreeSet<(usize, String)>,
}

/// The program for `tenure.h`.
pub(crate) fn program() -> Result<String, Trouble> {
    let (header, enumerations) = (Header::read()?, enumerations()?);
    let mut table =
        Table { header, enumerations, text: String::new(), calls: 0, confirmed: 0, needed: BTreeSet::new() };
    table.write().map_err(Trouble::Failed)?;
    let unneeded: Vec<_> = table.unneeded().collect();
    if !unneeded.is_empty() {
        return Err(Trouble::Failed(format!("no call needs the exceptions {}", unneeded.join("; "))));
    }
    println!("{} calls with one wrong argument, {} confirmed by a valid call", table.calls, table.confirmed);
    Ok(table.text)
}

fn enumerations() -> Result<Vec<Enumeration>, Trouble> {
    let mut found: Vec<(String, Vec<u32>, bool)> = Vec::new();
    for code in code_of("tenure.h")? {
        let parsed = syn::parse_file(&code).map_err(|error| Trouble::Failed(error.to_string()))?;
        for item in &parsed.items {
            let Item::Const(item) = item else { continue };
            let kind = self::code(&item.ty);
            if !kind.starts_with("tn_") || kind == "tn_Status" {
                continue;
            }
            let number = item.expr.to_token_stream().to_string();
            let at = found.iter().position(|(name, ..)| *name == kind).unwrap_or(found.len());
            if at == found.len() {
                found.push((kind, Vec::new(), false));
            }
            let (_, numbers, is_mask) = &mut found[at];
            *is_mask |= number.contains("<<");
            numbers.extend(number.parse::<u32>());
        }
    }
    let of = |(name, numbers, is_mask): (String, Vec<u32>, bool)| {
        let first = numbers.iter().min().copied().unwrap_or_default();
        let next = (first..).find(|number| !numbers.contains(number)).unwrap_or(u32::MAX);
        Enumeration { name, first: if is_mask { 0 } else { first }, next, is_mask }
    };
    Ok(found.into_iter().map(of).collect())
}

/// The kinds of handles that belong to no manager.
const FREE: [&str; 6] =
    ["tn_Device", "tn_Graph", "tn_Suballocator", "tn_HeapPools", "tn_ReleaseQueue", "tn_Text"];

impl Table {
    fn write(&mut self) -> Result<(), String> {
        let handles = &self.header.handles;
        let _ = writeln!(
            self.text,
            "#include \"check.h\"\n\nenum {{ {}, KINDS }};",
            list(handles.iter().map(|name| kind(name)))
        );
        let names = list(handles.iter().map(|name| format!("\"{name}\"")));
        let _ = writeln!(self.text, "static const char* const kind_names[] = {{ {names} }};");
        self.text.push_str(CALLBACKS);
        for (name, function) in &self.header.callbacks {
            callback(&mut self.text, name, function)?;
        }
        self.memory();
        self.text.push_str(COMMON);
        for structure in &self.header.structures {
            let _ = writeln!(self.text, "static void reset_{}(void);", structure.name);
        }
        for number in 0..self.header.structures.len() {
            self.structure(number)?;
        }
        let mut tables = Vec::new();
        for number in 0..self.header.functions.len() {
            self.function(number)?;
            tables.push(format!("table_{}();", self.header.functions[number].name));
        }
        let _ = writeln!(
            self.text,
            "int main(void) {{\n    first();\n    {}\n    return last();\n}}",
            tables.join("\n    ")
        );
        Ok(())
    }

    /// The memory that calls are given: each structure as an argument and as a result.
    fn memory(&mut self) {
        let mut parts = Vec::new();
        self.text.push_str("static struct Memory {\n");
        for structure in &self.header.structures {
            let name = &structure.name;
            for part in [name.clone(), format!("out_{name}")] {
                let _ = writeln!(self.text, "    struct {{ {name} value; uint64_t more; }} {part};");
                parts.push(part);
            }
        }
        self.text.push_str(
            "    uint64_t room[64];\n    uint64_t numbers[64];\n    tn_Format formats[1];\n    void* handles[1];\n    void* made[2];\n} memory, before;\n",
        );
        parts.extend(["room", "numbers", "formats", "handles", "made"].map(str::to_owned));
        let rows =
            list(parts.iter().map(|part| {
                format!("{{ \"{part}\", offsetof(struct Memory, {part}), sizeof memory.{part} }}")
            }));
        let _ = writeln!(
            self.text,
            "static const struct {{ const char* name; size_t first, size; }} parts[] = {{ {rows} }};"
        );
    }

    /// A function that fills a structure with valid values.
    fn structure(&mut self, number: usize) -> Result<(), String> {
        let structure = &self.header.structures[number];
        let name = &structure.name;
        let mut body = format!("    memset(&memory.{name}, 0, sizeof memory.{name});\n");
        let mut is_array = false;
        for (field, of_rust) in &structure.fields {
            if matches!(of_rust, Type::Array(_)) {
                continue;
            }
            let kind = code(of_rust);
            let value = match field.as_str() {
                "struct_size" => format!("sizeof({name})"),
                "next" => continue,
                _ if self.header.is_structure(&kind) => {
                    let _ = writeln!(body, "    reset_{kind}();");
                    format!("memory.{kind}.value")
                }
                _ => self.value(&mut body, &kind, field, is_array)?,
            };
            is_array = kind.starts_with("In<");
            let _ = writeln!(body, "    memory.{name}.value.{field} = {value};");
        }
        if COMMON.contains(&format!("void good_{name}(")) {
            let _ = writeln!(body, "    good_{name}(&memory.{name}.value);");
        }
        let _ = writeln!(self.text, "static void reset_{name}(void) {{\n{body}}}\n");
        Ok(())
    }

    /// A valid value of a type, after the statements in `body`.
    fn value(&self, body: &mut String, kind: &str, name: &str, is_array: bool) -> Result<String, String> {
        if let Some(target) = inside(kind, "Out").filter(|target| self.header.is_structure(target)) {
            // Room, with bytes that a refused call leaves.
            let _ = writeln!(body, "    memset(&memory.out_{target}, 0x5a, sizeof memory.out_{target});");
            if self.header.has_size(target) {
                for (field, value) in [
                    ("struct_size", format!("sizeof({target})")),
                    ("flags", "0".into()),
                    ("next", "NULL".into()),
                ] {
                    let _ = writeln!(body, "    memory.out_{target}.value.{field} = {value};");
                }
            }
            return Ok(format!("&memory.out_{target}.value"));
        }
        if let Some(target) = inside(kind, "In").or_else(|| inside(kind, "Out")) {
            return Ok(match target {
                "c_void" => "memory.room".to_owned(),
                "AnyHandle" => {
                    body.push_str("    memory.handles[0] = objects[KIND_tn_Buffer][MINE];\n");
                    "memory.handles".to_owned()
                }
                target if kind.starts_with("In<Handle<") => {
                    let pointer = named(target)?;
                    let kind = self::kind(pointer.trim_end_matches('*'));
                    let _ = writeln!(body, "    memory.handles[0] = objects[{kind}][MINE];");
                    format!("({pointer} const*)memory.handles")
                }
                "tn_Chain" => "NULL".to_owned(),
                "tn_Format" => "memory.formats".to_owned(),
                target if self.header.is_structure(target) => {
                    let _ = writeln!(body, "    reset_{target}();");
                    format!("&memory.{target}.value")
                }
                target if kind.starts_with("Out<") => format!("({}*)memory.room", named(target)?),
                target => format!("(const {}*)memory.numbers", named(target)?),
            });
        }
        if inside(kind, "Handle").is_some() {
            let pointer = named(kind)?;
            return Ok(format!("objects[{}][MINE]", self::kind(pointer.trim_end_matches('*'))));
        }
        if let Some(function) = inside(kind, "Option") {
            return Ok(format!("program_{function}"));
        }
        if let Some(found) = self.enumerations.iter().find(|found| found.name == kind) {
            return Ok(if name == "its_format" {
                "TN_FORMAT_R8_UNORM".to_owned()
            } else {
                found.first.to_string()
            });
        }
        Ok(match kind {
            "AnyHandle" => format!("objects[{}][MINE]", self::kind(any(name))),
            "*mutc_void" => "memory.room".to_owned(),
            "tn_Str" => "(tn_Str){NULL, 0}".to_owned(),
            "usize" if name == "its_size" => "16".to_owned(),
            "usize" if is_array => "1".to_owned(),
            _ => "0".to_owned(),
        })
    }

    /// A function that makes each call with one wrong argument, and then with valid ones.
    fn function(&mut self, number: usize) -> Result<(), String> {
        let function = &self.header.functions[number];
        let Function { name, inputs, output } = function;
        let (mut text, mut body, mut prepared) = (String::new(), String::new(), String::new());
        let mut calls = Vec::new();
        let (mut is_array, mut is_bound, mut made) = (false, false, 0);
        for (input, of_rust) in inputs {
            let kind = code(of_rust);
            let place = format!("{name}_{input}");
            let shown = input.trim_start_matches("its_");
            let _ = writeln!(text, "static {} {place};", in_c(of_rust)?);
            let value = match inside(&kind, "Out").filter(|target| target.starts_with("Handle<")) {
                Some(target) => {
                    let _ = writeln!(prepared, "    if ({place} != NULL) before.made[{made}] = NULL;");
                    made += 1;
                    format!("({}*)&memory.made[{}]", named(target)?, made - 1)
                }
                None => self.value(&mut body, &kind, input, is_array)?,
            };
            for target in EMPTIED.iter().filter(|target| inside(&kind, "Out") == Some(target)) {
                let _ = writeln!(
                    prepared,
                    "    if ({place} != NULL) memset(&before.out_{target}.value, 0, sizeof before.out_{target}.value);"
                );
            }
            let special =
                VALUES.iter().find(|(function, argument, _)| function == name && *argument == shown);
            let value = special.map_or(value, |(.., value)| (*value).to_owned());
            let _ = writeln!(body, "    {place} = {value};");
            self.misuses(&mut calls, &kind, (shown, &place), &Given::default(), is_bound)?;
            is_array = kind.starts_with("In<") || kind.starts_with("Out<");
            is_bound |= kind == "AnyHandle" || inside(&kind, "Handle").is_some();
        }
        if calls.is_empty() {
            let _ = writeln!(self.text, "static void table_{name}(void) {{}}\n");
            return Ok(());
        }
        let arguments = list(inputs.iter().map(|(input, _)| format!("{name}_{input}")));
        let run = match output.as_str() {
            "tn_Status" => format!("return {name}({arguments});"),
            "tn_Str" => format!("return answered({name}({arguments}).size != 0);"),
            _ => format!("return answered({name}({arguments}) != 0);"),
        };
        let _ = writeln!(
            text,
            "static void reset_args_{name}(void) {{\n{body}}}\n\nstatic tn_Status call_{name}(void) {{\n    \
             prepare();\n{prepared}    {run}\n}}\n\nstatic void table_{name}(void) {{"
        );
        let (name, mut groups) = (&name.clone(), Vec::<&Given>::new());
        for Call { given, .. } in &calls {
            if !groups.contains(&given) {
                groups.push(given);
            }
        }
        for given in groups {
            self.group(&mut text, name, given, calls.iter().filter(|call| call.given == *given));
        }
        text.push_str("}\n\n");
        self.text.push_str(&text);
        Ok(())
    }

    /// The calls that are given the same, and the valid one.
    fn group<'a>(
        &mut self,
        text: &mut String,
        name: &str,
        given: &Given,
        calls: impl Iterator<Item = &'a Call>,
    ) {
        let reset = format!("    reset_args_{name}();\n    {}", given.statements);
        // Arrays of one element: where they must be empty, the call is refused without a misuse, too.
        let refusal = EXCEPTIONS.iter().find(|exception| {
            let is_refused = exception.misuse == NoPointer && !exception.status.is_empty();
            is_refused && exception.functions.contains(&name) && exception.place == given.field
        });
        let result = match refusal {
            Some(refusal) => format!("{}, \"{}\"", refusal.status, refusal.text),
            None => "TN_OK, \"\"".to_owned(),
        };
        let confirm = |text: &mut String, place: &str, misuse: &str| {
            let _ = writeln!(
                text,
                "    confirm(\"{name}\", \"{place}\", \"{misuse}\", call_{name}(), {result});\n    end(MINE);"
            );
        };
        text.push_str("    begin(MINE);\n");
        let mut accepted = String::new();
        for Call { place, misuse, statement, expected, .. } in calls {
            let found = EXCEPTIONS.iter().position(|exception| {
                exception.functions.contains(&name) && exception.place == place && exception.misuse == *misuse
            });
            self.calls += 1;
            self.confirmed += usize::from(refusal.is_none());
            let misused = format!("\"{name}\", \"{place}\", \"{misuse:?}\"");
            let Expected { status, text: part } = expected;
            let Some(at) = found else {
                let _ = writeln!(
                    text,
                    "{reset}{statement}\n    expect({misused}, call_{name}(), {status}, \"{part}\");"
                );
                continue;
            };
            self.needed.insert((at, name.to_owned()));
            let exception = &EXCEPTIONS[at];
            if exception.status.is_empty() {
                let _ = writeln!(accepted, "    begin(MINE);\n{reset}{statement}");
                confirm(&mut accepted, place, &format!("{misuse:?}"));
                continue;
            }
            let _ = writeln!(
                text,
                "{reset}{statement}\n    except({misused}, call_{name}(), {}, \"{}\", {status}, \"{part}\");",
                exception.status, exception.text
            );
        }
        let _ = writeln!(text, "{reset}");
        confirm(text, &given.field, "");
        text.push_str(&accepted);
    }

    /// The exceptions that no call has needed.
    fn unneeded(&self) -> impl Iterator<Item = String> {
        EXCEPTIONS.iter().enumerate().flat_map(move |(at, exception)| {
            let Exception { functions, place, misuse, .. } = exception;
            let unneeded =
                functions.iter().filter(move |name| !self.needed.contains(&(at, (**name).to_owned())));
            unneeded.map(move |name| format!("{name}, {place}, {misuse:?}"))
        })
    }

    /// The misuses of an argument or field, after statements that give it.
    fn misuses(
        &self,
        calls: &mut Vec<Call>,
        kind: &str,
        (shown, place): (&str, &str),
        given: &Given,
        is_bound: bool,
    ) -> Result<(), String> {
        let mut add = |misuse, value: &str, status: &str, text: &str| {
            let statement = format!("    {place} = {value};");
            let (place, given) = (shown.to_owned(), given.clone());
            calls.push(Call { place, misuse, given, statement, expected: Expected::new(status, text) });
        };
        let is_any = kind == "AnyHandle";
        if is_any || inside(kind, "Handle").is_some() {
            let handle =
                if is_any { any(place).to_owned() } else { named(kind)?.trim_end_matches('*').to_owned() };
            let object = |index| format!("objects[{}][{index}]", self::kind(&handle));
            let other = if handle == "tn_Text" { "tn_Device" } else { "tn_Text" };
            let (wanted, refused) = match is_any {
                true => ("null, where a handle of".to_owned(), "is no handle of*".to_owned()),
                false => (format!("null, where a {handle} is needed"), format!("is not a {handle}: ")),
            };
            add(Null, "NULL", "TN_ERROR_HANDLE", &wanted);
            add(Released, &object("RELEASED"), "TN_ERROR_HANDLE", &format!("this {handle} was released"));
            let text = format!("{refused}it has the type {other}");
            add(OtherType, &format!("objects[{}][MINE]", self::kind(other)), "TN_ERROR_HANDLE", &text);
            if is_bound && !FREE.contains(&handle.as_str()) {
                add(Foreign, &object("OTHERS"), "TN_ERROR_FOREIGN", "belongs to a different");
            }
            return Ok(());
        }
        let unknown = |number: u32| format!("= {number}: unknown in this version");
        if inside(kind, "Option").is_some() {
            add(NoPointer, "NULL", "TN_ERROR_POINTER", "null, where");
        } else if let Some(found) = self.enumerations.iter().find(|found| found.name == kind) {
            let (misuse, number) =
                if found.is_mask { (UnknownBit, 1 << 31) } else { (UnknownNumber, found.next) };
            add(misuse, &number.to_string(), "TN_ERROR_ENUM", &unknown(number));
        } else if kind == "tn_Str" {
            add(WrongText, "wrong_text", "TN_ERROR_TEXT", "text of 1 bytes is not UTF-8 from byte 0 on");
        } else if let Some(target) = inside(kind, "In").or_else(|| inside(kind, "Out")) {
            add(NoPointer, "NULL", "TN_ERROR_POINTER", "null, where");
            if target == "AnyHandle" || kind.starts_with("In<Handle<") {
                let place = "memory.handles[0]";
                self.misuses(calls, target, (&format!("{shown}[]"), place), given, true)?;
            } else if self.header.is_structure(target) {
                let is_in = kind.starts_with("In<");
                let value = if is_in {
                    format!("memory.{target}.value")
                } else {
                    format!("memory.out_{target}.value")
                };
                let mut given = given.clone();
                if shown.contains('.') && given.field != shown {
                    given.field = shown.to_owned();
                    let _ = writeln!(given.statements, "    {place} = &{value};");
                }
                self.fields(calls, target, (target, &value), &given, is_in)?;
            }
        }
        Ok(())
    }

    fn fields(
        &self,
        calls: &mut Vec<Call>,
        name: &str,
        (shown, place): (&str, &str),
        given: &Given,
        is_in: bool,
    ) -> Result<(), String> {
        let structure = self.header.structures.iter().find(|structure| structure.name == name);
        let fields = structure.map(|structure| &structure.fields[..]).unwrap_or_default();
        let has_size = self.header.has_size(name);
        for (at, (field, of_rust)) in fields.iter().enumerate() {
            let (shown, of) = (format!("{shown}.{field}"), place);
            let place = format!("{place}.{field}");
            let mut add = |misuse, statement, status: &str, text: &str| {
                let (place, given) = (shown.clone(), given.clone());
                let expected = Expected::new(status, format!("{name}: {text}"));
                calls.push(Call { place, misuse, given, statement, expected });
            };
            let kind = code(of_rust);
            match field.as_str() {
                "struct_size" => {
                    let whole = of.trim_end_matches(".value");
                    let status = "TN_ERROR_STRUCT_SIZE";
                    add(TooSmall, format!("    {place} = 0;"), status, "struct_size = 0: must be sizeof");
                    let statement = format!("    {place} = sizeof {whole};\n    {whole}.more = 1;");
                    add(TooLarge, statement, status, "struct_size = *: must be sizeof");
                }
                "flags" if has_size => {
                    let statement = format!("    {place} = UINT32_C(1) << 31;");
                    add(UnknownBit, statement, "TN_ERROR_ENUM", "flags has unknown bits: 0x80000000");
                }
                "next" => {
                    add(
                        UnknownChain,
                        format!("    {place} = &unknown.chain;"),
                        "TN_ERROR_CHAIN",
                        "next: no structure",
                    );
                }
                _ if !is_in || matches!(of_rust, Type::Array(_)) => {}
                _ if self.header.is_structure(&kind) => {
                    self.fields(calls, &kind, (&shown, &place), given, true)?;
                }
                _ => {
                    // An array is there with its count.
                    let count = fields.get(at + 1).filter(|(_, next)| code(next) == "usize");
                    let mut given = given.clone();
                    if let Some((count, _)) = count {
                        given.field.clone_from(&shown);
                        let value = self.value(&mut given.statements, &kind, field, false)?;
                        let _ = writeln!(
                            given.statements,
                            "    {place} = {value};\n    if ({of}.{count} == 0) {of}.{count} = 1;"
                        );
                    }
                    self.misuses(calls, &kind, (&shown, &place), &given, true)?;
                }
            }
        }
        Ok(())
    }
}

/// The type of the handle that an argument or field for several types is given.
fn any(name: &str) -> &'static str {
    // The first argument of a readback.
    if name.ends_with("its_on") { "tn_Gpu" } else { "tn_Buffer" }
}

/// What the callbacks of the program use.
const CALLBACKS: &str = "
/* Callbacks do nothing. */
#define one_in(most) 0
static void inside(void) {}

";

#[cfg(test)]
mod tests {
    use super::{enumerations, program};

    #[test]
    fn enumerations_have_a_next_number() {
        let Ok(found) = enumerations() else { panic!("the code of the header") };
        let next = |name: &str| found.iter().find(|found| found.name == name).map(|found| found.next);
        assert_eq!((next("tn_Queue"), next("tn_Backend"), next("tn_Filter")), (Some(3), Some(4), Some(2)));
        assert!(found.iter().any(|found| found.name == "tn_Usage" && found.is_mask));
    }

    #[test]
    fn every_exception_is_needed() {
        assert!(program().is_ok_and(|program| program.contains("call_tn_buffer_create")));
    }
}
