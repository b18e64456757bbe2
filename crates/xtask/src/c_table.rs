//! A program in C, written from the headers' code, with each misuse that a look at one argument finds, and the status for it.
//! Other statuses are exceptions, with their reasons.

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

impl Misuse {
    /// The status, and a part of the text; without one the text has the wrong number.
    const fn expected(self) -> (&'static str, Option<&'static str>) {
        match self {
            Null => ("TN_ERROR_HANDLE", Some("null")),
            Released => ("TN_ERROR_HANDLE", Some("was released")),
            OtherType => ("TN_ERROR_HANDLE", Some("is no")),
            Foreign => ("TN_ERROR_FOREIGN", Some("different")),
            NoPointer => ("TN_ERROR_POINTER", Some("null")),
            TooSmall | TooLarge => ("TN_ERROR_STRUCT_SIZE", Some("struct_size")),
            UnknownChain => ("TN_ERROR_CHAIN", Some("next")),
            UnknownNumber | UnknownBit => ("TN_ERROR_ENUM", None),
            WrongText => ("TN_ERROR_TEXT", Some("UTF-8")),
        }
    }
}

/// A call that returns something else.
struct Exception {
    /// The name, or its beginning, which ends with `_`; each function without one.
    function: &'static str,
    place: &'static str,
    misuse: Misuse,
    /// Without one the argument is valid, and the call is left out.
    status: &'static str,
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

impl Exception {
    fn is_of(&self, name: &str) -> bool {
        let is_beginning = self.function.is_empty() || self.function.ends_with('_');
        if is_beginning { name.starts_with(self.function) } else { name == self.function }
    }
}

const fn except(
    function: &'static str,
    place: &'static str,
    misuse: Misuse,
    status: &'static str,
    reason: &'static str,
) -> Exception {
    Exception { function, place, misuse, status, reason }
}

const TRANSIENT: &str = "TN_ERROR_TRANSIENT";

const EXCEPTIONS: &[Exception] = &[
    // Pointers that may be null.
    except("", "done", NoPointer, "", "may be null"),
    except("", "point", NoPointer, "", "may be null"),
    except("tn_device_create_sim", "desc", NoPointer, "", "may be null"),
    except("tn_gpu_create", "desc", NoPointer, "", "may be null"),
    except("tn_gpu_shutdown", "out", NoPointer, "", "may be null"),
    except("tn_gpu_shutdown", "text", NoPointer, "", "may be null"),
    except("tn_gpu_submit_external", "wait", NoPointer, "", "may be null"),
    except("tn_gpu_declare_state", "at", NoPointer, "", "may be null"),
    except("tn_upload", "out", NoPointer, "", "may be null"),
    except("tn_graph_pass", "number", NoPointer, "", "may be null"),
    except("tn_plan", "desc", NoPointer, "", "may be null"),
    except("tn_plan", "out", NoPointer, "", "may be null"),
    except("tn_plan_check", "peak", NoPointer, "", "may be null"),
    except("tn_gpu_compact", "out", NoPointer, "", "may be null"),
    except("", "tn_HeapPoolsDesc.budget", NoPointer, "", "may be null"),
    except("", "tn_Bind.sampler", Null, "", "may be null"),
    except("", "tn_Bind.data", NoPointer, "TN_ERROR_POINTER", "a view beside data"),
    except("", "tn_Bind.view", Null, "TN_ERROR_POINTER", "a descriptor of nothing"),
    except("", "tn_Bind.structure", Null, "", "may be null"),
    except("", "tn_Bind.structure", Released, "TN_ERROR_POINTER", "beside a view"),
    except("", "tn_Bind.structure", OtherType, "TN_ERROR_POINTER", "beside a view"),
    except("", "tn_Bind.structure", Foreign, "TN_ERROR_POINTER", "beside a view"),
    except("tn_recording_generate_mips", "texture", Foreign, "", "of one mip there is nothing to fill"),
    except("tn_reserved_update", "tn_TileUpdate.after", NoPointer, "", "may be null"),
    // Numbers.
    except("tn_has_backend", "backend", UnknownNumber, "", "no error: this library does not have it"),
    except("tn_set_log", "most", UnknownNumber, "TN_ERROR_ENUM", "the text has no number"),
    except("", "tn_MemoryType.flags", UnknownBit, "", "a later bit is memory for special purposes"),
    // Unused.
    except("tn_recording_copy_slice", "tn_Copy.src", Null, "", "the slice is the source"),
    except("tn_recording_copy_slice", "tn_Copy.src", Released, "", "the slice is the source"),
    except("tn_recording_copy_slice", "tn_Copy.src", OtherType, "", "the slice is the source"),
    except("tn_recording_copy_slice", "tn_Copy.src", Foreign, "", "the slice is the source"),
    // Another error comes first.
    except("tn_reserved_", "tn_BufferDesc.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_reserved_", "tn_TextureDesc.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except(
        "tn_readback_texture_create",
        "tn_TextureDesc.data",
        NoPointer,
        "TN_ERROR_ARGUMENT",
        "no contents",
    ),
    except("tn_readback_texture_create", "tn_Texels.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_pages_", "tn_BufferDesc.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_pages_", "tn_TextureDesc.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_reserved_texture_create", "tn_Texels.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_pages_texture_create", "tn_Texels.data", NoPointer, "TN_ERROR_ARGUMENT", "no contents"),
    except("tn_recording_copy_slice", "tn_Copy.dst", Foreign, "TN_ERROR_OTHER_RECORDING", "no slice"),
    except("tn_recording_end_query", "out", NoPointer, "TN_ERROR_QUERY", "a scope that has not begun"),
    except("tn_read_back", "on", Released, "TN_ERROR_HANDLE", "the text has both types"),
    except("tn_buffer_read", "out", NoPointer, "TN_ERROR_NOT_MAPPED", "the buffer is not mapped"),
    except("tn_swapchain_begin", "recording", Foreign, "TN_ERROR_SWAPCHAIN", "there is no image"),
    except("tn_swapchain_finish", "recording", Foreign, "TN_ERROR_SWAPCHAIN", "there is no image"),
    except("tn_recording_transient_", "tn_BufferDesc.read_only", UnknownBit, TRANSIENT, "commands write it"),
    except("tn_recording_transient_", "tn_BufferDesc.data", NoPointer, TRANSIENT, "it has no contents"),
    except("tn_recording_transient_", "tn_TextureDesc.read_only", UnknownBit, TRANSIENT, "commands write it"),
    except("tn_recording_transient_", "tn_TextureDesc.data", NoPointer, TRANSIENT, "it has no contents"),
    except("tn_recording_transient_", "tn_Texels.data", NoPointer, TRANSIENT, "it has no contents"),
    except("tn_graph_", "tn_BufferDesc.read_only", UnknownBit, TRANSIENT, "commands write it"),
    except("tn_graph_", "tn_BufferDesc.data", NoPointer, TRANSIENT, "it has no contents"),
    except("tn_graph_", "tn_TextureDesc.read_only", UnknownBit, TRANSIENT, "commands write it"),
    except("tn_graph_", "tn_TextureDesc.data", NoPointer, TRANSIENT, "it has no contents"),
    except("tn_graph_", "tn_Texels.data", NoPointer, TRANSIENT, "it has no contents"),
];

/// A misuse, as a statement.
struct Call {
    place: String,
    misuse: Misuse,
    statement: String,
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
    /// The exceptions that a call has needed.
    needed: BTreeSet<usize>,
}

/// The program for `tenure.h`.
pub(crate) fn program() -> Result<String, Trouble> {
    let (header, enumerations) = (Header::read()?, enumerations()?);
    let mut table = Table { header, enumerations, text: String::new(), calls: 0, needed: BTreeSet::new() };
    table.write().map_err(Trouble::Failed)?;
    if let Some(at) = (0..EXCEPTIONS.len()).find(|at| !table.needed.contains(at)) {
        let Exception { function, place, misuse, .. } = &EXCEPTIONS[at];
        return Err(Trouble::Failed(format!("no call needs the exception {function}, {place}, {misuse:?}")));
    }
    println!("{} calls with one wrong argument", table.calls);
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
        self.text.push_str(COMMON);
        for structure in &self.header.structures {
            let name = &structure.name;
            let _ = writeln!(
                self.text,
                "static struct {{ {name} value; uint64_t more; }} a_{name};\nstatic void reset_{name}(void);"
            );
        }
        for number in 0..self.header.structures.len() {
            self.structure(number)?;
        }
        let mut tables = Vec::new();
        for number in 0..self.header.functions.len() {
            self.function(number)?;
            tables.push(format!("table_{}();", self.header.functions[number].name));
        }
        let _ = writeln!(self.text, "static void tables(void) {{\n    {}\n}}", tables.join("\n    "));
        self.text.push_str(MAIN);
        Ok(())
    }

    /// A function that fills a structure with valid values.
    fn structure(&mut self, number: usize) -> Result<(), String> {
        let structure = &self.header.structures[number];
        let name = &structure.name;
        let mut body = format!("    memset(&a_{name}, 0, sizeof a_{name});\n");
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
                    format!("a_{kind}.value")
                }
                _ => self.value(&mut body, &kind, field, is_array)?,
            };
            is_array = kind.starts_with("In<");
            let _ = writeln!(body, "    a_{name}.value.{field} = {value};");
        }
        if COMMON.contains(&format!("void good_{name}(")) {
            let _ = writeln!(body, "    good_{name}(&a_{name}.value);");
        }
        let _ = writeln!(self.text, "static void reset_{name}(void) {{\n{body}}}\n");
        Ok(())
    }

    /// A valid value of a type, after the statements in `body`.
    fn value(&self, body: &mut String, kind: &str, name: &str, is_array: bool) -> Result<String, String> {
        let reset = |body: &mut String, target: &str| {
            let _ = writeln!(body, "    reset_{target}();");
            format!("&a_{target}.value")
        };
        if let Some(target) = inside(kind, "In").or_else(|| inside(kind, "Out")) {
            return Ok(match target {
                "c_void" => "room".to_owned(),
                "AnyHandle" => {
                    body.push_str("    handles[0] = objects[KIND_tn_Buffer][MINE];\n");
                    "handles".to_owned()
                }
                "tn_Chain" => "NULL".to_owned(),
                target if self.header.is_structure(target) => reset(body, target),
                target if target.starts_with("Handle<") => format!("({}*)&made", named(target)?),
                target if kind.starts_with("Out<") => format!("({}*)room", named(target)?),
                target => format!("(const {}*)numbers", named(target)?),
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
            // The first argument of a readback.
            "AnyHandle" if name == "its_on" => "objects[KIND_tn_Gpu][MINE]".to_owned(),
            "AnyHandle" => "objects[KIND_tn_Buffer][MINE]".to_owned(),
            "*mutc_void" => "room".to_owned(),
            "tn_Str" => "(tn_Str){NULL, 0}".to_owned(),
            "usize" if name == "its_size" => "16".to_owned(),
            "usize" if is_array => "1".to_owned(),
            _ => "0".to_owned(),
        })
    }

    /// A function that makes each call with one wrong argument.
    fn function(&mut self, number: usize) -> Result<(), String> {
        let function = &self.header.functions[number];
        let Function { name, inputs, output } = function;
        let (mut declared, mut body) = (String::new(), String::new());
        let mut calls = Vec::new();
        let (mut is_array, mut is_bound) = (false, false);
        for (input, of_rust) in inputs {
            let kind = code(of_rust);
            let place = format!("{name}_{input}");
            let shown = input.trim_start_matches("its_");
            let _ = writeln!(declared, "static {} {place};", in_c(of_rust)?);
            let value = self.value(&mut body, &kind, input, is_array)?;
            let _ = writeln!(body, "    {place} = {value};");
            self.misuses(&mut calls, &kind, (shown, &place), "", is_bound)?;
            is_array = kind.starts_with("In<") || kind.starts_with("Out<");
            is_bound |= kind == "AnyHandle" || inside(&kind, "Handle").is_some();
        }
        let arguments = list(inputs.iter().map(|(input, _)| format!("{name}_{input}")));
        let run = match output.as_str() {
            "tn_Status" => format!("return {name}({arguments});"),
            _ => format!("(void){name}({arguments});\n    return 0;"),
        };
        let _ = writeln!(
            declared,
            "static void reset_args_{name}(void) {{\n{body}}}\n\nstatic tn_Status call_{name}(void) {{\n    \
             {run}\n}}\n\nstatic void table_{name}(void) {{"
        );
        let mut made = 0;
        for Call { place, misuse, statement } in calls {
            let found = EXCEPTIONS.iter().position(|exception| {
                exception.is_of(name) && exception.place == place && exception.misuse == misuse
            });
            let (mut status, part) = misuse.expected();
            if let Some(at) = found {
                status = EXCEPTIONS[at].status;
                self.needed.insert(at);
            }
            if status.is_empty() {
                continue;
            }
            // The text of other errors is of no interest.
            let part = if found.is_some() { Some("") } else { part };
            let part = match part {
                Some(part) => part.to_owned(),
                None if place.ends_with(".flags") => "flags".to_owned(),
                None => number_of(&statement),
            };
            let returned = if output == "tn_Status" {
                format!("call_{name}()")
            } else {
                format!("(call_{name}(), {status})")
            };
            let _ = writeln!(
                declared,
                "    reset_args_{name}();\n    forget_error();\n    {statement}\n    \
                 expect(\"{name}\", \"{place}\", \"{misuse:?}\", {returned}, {status}, \"{part}\");"
            );
            made += 1;
        }
        declared.push_str("}\n\n");
        self.text.push_str(&declared);
        self.calls += made;
        Ok(())
    }

    /// The misuses of an argument or field, after a statement that gives it.
    fn misuses(
        &self,
        calls: &mut Vec<Call>,
        kind: &str,
        (shown, place): (&str, &str),
        given: &str,
        is_bound: bool,
    ) -> Result<(), String> {
        let mut add = |misuse, value: &str| {
            let statement = format!("{given}{place} = {value};");
            calls.push(Call { place: shown.to_owned(), misuse, statement });
        };
        let handle = match inside(kind, "Handle") {
            Some(_) => Some(named(kind)?.trim_end_matches('*').to_owned()),
            None => (kind == "AnyHandle").then(|| "tn_Buffer".to_owned()),
        };
        if let Some(handle) = handle {
            let object = |index| format!("objects[{}][{index}]", self::kind(&handle));
            add(Null, "NULL");
            add(Released, &object("RELEASED"));
            let other = if handle == "tn_Text" { "tn_Device" } else { "tn_Text" };
            add(OtherType, &format!("objects[{}][MINE]", self::kind(other)));
            if is_bound && !FREE.contains(&handle.as_str()) {
                add(Foreign, &object("OTHERS"));
            }
            return Ok(());
        }
        if inside(kind, "Option").is_some() {
            add(NoPointer, "NULL");
        } else if let Some(found) = self.enumerations.iter().find(|found| found.name == kind) {
            match found.is_mask {
                true => add(UnknownBit, "UINT32_C(1) << 31"),
                false => add(UnknownNumber, &found.next.to_string()),
            }
        } else if kind == "tn_Str" {
            add(WrongText, "wrong_text");
        } else if let Some(target) = inside(kind, "In").or_else(|| inside(kind, "Out")) {
            add(NoPointer, "NULL");
            if target == "AnyHandle" {
                self.misuses(calls, target, (&format!("{shown}[]"), "handles[0]"), given, true)?;
            } else if self.header.is_structure(target) {
                let given = format!("{given}{place} = &a_{target}.value;\n    ");
                let value = format!("a_{target}.value");
                self.fields(calls, target, (target, &value), &given, kind.starts_with("In<"))?;
            }
        }
        Ok(())
    }

    fn fields(
        &self,
        calls: &mut Vec<Call>,
        name: &str,
        (shown, place): (&str, &str),
        given: &str,
        is_in: bool,
    ) -> Result<(), String> {
        let structure = self.header.structures.iter().find(|structure| structure.name == name);
        let fields = structure.map(|structure| &structure.fields[..]).unwrap_or_default();
        let has_size = self.header.has_size(name);
        for (at, (field, of_rust)) in fields.iter().enumerate() {
            let (shown, of) = (format!("{shown}.{field}"), place);
            let place = format!("{place}.{field}");
            let mut add = |misuse, statement| {
                calls.push(Call { place: shown.clone(), misuse, statement: format!("{given}{statement}") });
            };
            let kind = code(of_rust);
            match field.as_str() {
                "struct_size" => {
                    add(TooSmall, format!("{place} = 0;"));
                    add(TooLarge, format!("{place} = sizeof a_{name};\n    a_{name}.more = 1;"));
                }
                "flags" if has_size => add(UnknownBit, format!("{place} = UINT32_C(1) << 31;")),
                "next" => add(UnknownChain, format!("{place} = &unknown.chain;")),
                _ if !is_in || matches!(of_rust, Type::Array(_)) => {}
                _ if self.header.is_structure(&kind) => {
                    self.fields(calls, &kind, (&shown, &place), given, true)?;
                }
                _ => {
                    // An array is there with its count.
                    let count = fields.get(at + 1).filter(|(_, next)| code(next) == "usize");
                    let given = match count {
                        Some((count, _)) => format!("{given}{of}.{count} = 1;\n    "),
                        None => given.to_owned(),
                    };
                    self.misuses(calls, &kind, (&shown, &place), &given, true)?;
                }
            }
        }
        Ok(())
    }
}

/// The number that a statement assigns, as texts of errors have it.
fn number_of(statement: &str) -> String {
    let number = statement.rsplit("= ").next().unwrap_or_default().trim_end_matches(';');
    if number.contains("<<") { (1_u32 << 31).to_string() } else { number.to_owned() }
}

/// What the callbacks of the program use.
const CALLBACKS: &str = "
static void* made;

/* Callbacks do nothing. */
#define one_in(most) 0
static void inside(void) {}

";

const MAIN: &str = r#"
int main(void) {
    tn_Device* devices[3];
    tn_Gpu* gpus[3];
    tn_SimDesc sim = DESC(tn_SimDesc);
    /* With tables and sets. */
    sim.profile = TN_LIT("vulkan-nvidia");
    for (int at = 0; at < 3; ++at) {
        CHECK(tn_device_create_sim(&sim, &devices[at]) == TN_OK && tn_gpu_create(devices[at], NULL, &gpus[at]) == TN_OK);
    }
    void* sources[3][KINDS] = {{NULL}};
    for (int owner = 0; owner < 3; ++owner) {
        /* Resources first, for what is made of them. */
        for (int again = 0; again < 2; ++again) {
            for (int kind = 0; kind < KINDS; ++kind) {
                const int is_source = kind == KIND_tn_Buffer || kind == KIND_tn_Texture || kind == KIND_tn_SetLayout;
                if (is_source != (again == 0) || kind == KIND_tn_View) continue;
                if (again == 1 && sources[owner][KIND_tn_View] == NULL)
                    sources[owner][KIND_tn_View] = objects[KIND_tn_View][owner] =
                        create(KIND_tn_View, devices[owner], gpus[owner], sources[owner]);
                sources[owner][kind] = objects[kind][owner] = create(kind, devices[owner], gpus[owner], sources[owner]);
            }
        }
    }
    for (int kind = KINDS; kind-- > 0;) {
        if (kind != KIND_tn_Gpu && kind != KIND_tn_Device) CHECK(tn_release(objects[kind][RELEASED]) == TN_OK);
    }
    CHECK(tn_release(gpus[RELEASED]) == TN_OK && tn_release(devices[RELEASED]) == TN_OK);
    tables();
    for (int owner = 0; owner < 2; ++owner) {
        for (int kind = KINDS; kind-- > 0;) {
            if (kind != KIND_tn_Gpu && kind != KIND_tn_Device) CHECK(tn_release(objects[kind][owner]) == TN_OK);
        }
        CHECK(tn_release(gpus[owner]) == TN_OK);
        check_clean(devices[owner]);
        CHECK(tn_release(devices[owner]) == TN_OK);
    }
    if (failures != 0) fprintf(stderr, "%d calls return something else\n", failures);
    return failures != 0;
}
"#;

#[cfg(test)]
mod tests {
    use super::{enumerations, number_of, program};

    #[test]
    fn enumerations_have_a_next_number() {
        let Ok(found) = enumerations() else { panic!("the code of the header") };
        let next = |name: &str| found.iter().find(|found| found.name == name).map(|found| found.next);
        assert_eq!((next("tn_Queue"), next("tn_Backend"), next("tn_Filter")), (Some(3), Some(4), Some(2)));
        assert!(found.iter().any(|found| found.name == "tn_Usage" && found.is_mask));
    }

    #[test]
    fn texts_of_errors_have_the_number() {
        assert_eq!(number_of("a.kind = &b;\n    a.count = 1;\n    a.kind = 12;"), "12");
        assert_eq!(number_of("usage = UINT32_C(1) << 31;"), "2147483648");
    }

    #[test]
    fn every_exception_is_needed() {
        assert!(program().is_ok_and(|program| program.contains("call_tn_buffer_create")));
    }
}
