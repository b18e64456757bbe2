//! A program in C, written from the headers' code, that calls all functions with random arguments: valid ones, and each kind of
//! misuse.

use std::fmt::Write as _;

use quote::ToTokens as _;
use syn::{FnArg, Item, Pat, Type};

use crate::header::{code_of, in_c, is_exported, output};
use crate::outcome::Trouble;

/// The part of the program that is the same for all headers.
const COMMON: &str = include_str!("c_random.c");

/// The functions and structures of a header.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) functions: Vec<Function>,
    pub(crate) structures: Vec<Structure>,
    /// The functions of the program, by their types.
    pub(crate) callbacks: Vec<(String, Type)>,
    /// The handles, by the order of their first mention.
    pub(crate) handles: Vec<String>,
}

pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) inputs: Vec<(String, Type)>,
    pub(crate) output: String,
}

pub(crate) struct Structure {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, Type)>,
}

/// The program releases handles by itself, so that it knows them.
const RELEASE: &str = "tn_release";

/// The other functions that end a handle: their first.
const ENDS: [&str; 3] = ["tn_frame_end", "tn_recording_submit", "tn_recorder_finish"];

/// The program for `tenure.h`.
pub(crate) fn program() -> Result<String, Trouble> {
    Header::read()?.program().map_err(Trouble::Failed)
}

/// The type without spaces.
pub(crate) fn code(kind: &Type) -> String {
    kind.to_token_stream().to_string().replace(' ', "")
}

/// The argument of a generic type of this name.
pub(crate) fn inside<'a>(code: &'a str, name: &str) -> Option<&'a str> {
    code.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>')
}

impl Header {
    /// That of `tenure.h`.
    pub(crate) fn read() -> Result<Self, Trouble> {
        let mut header = Self::default();
        for code in code_of("tenure.h")? {
            let parsed = syn::parse_file(&code).map_err(|error| Trouble::Failed(error.to_string()))?;
            parsed.items.iter().try_for_each(|item| header.add(item)).map_err(Trouble::Failed)?;
        }
        Ok(header)
    }

    fn add(&mut self, item: &Item) -> Result<(), String> {
        match item {
            Item::Fn(function) if is_exported(&function.attrs) => {
                let name = function.sig.ident.to_string();
                if name == RELEASE {
                    return Ok(());
                }
                let mut inputs = Vec::new();
                for input in &function.sig.inputs {
                    let FnArg::Typed(input) = input else { return Err(format!("{name} is a method")) };
                    let Pat::Ident(ident) = &*input.pat else { return Err(format!("{name}: a pattern")) };
                    let handle = code(&input.ty);
                    let handle = inside(&handle, "Out").unwrap_or(&handle);
                    if handle.starts_with("Handle<") {
                        let kind = in_c(&syn::parse_str::<Type>(handle).map_err(|error| error.to_string())?)?;
                        let kind = kind.trim_end_matches('*').to_owned();
                        if !self.handles.contains(&kind) {
                            self.handles.push(kind);
                        }
                    }
                    inputs.push((format!("its_{}", ident.ident), (*input.ty).clone()));
                }
                self.functions.push(Function { name, inputs, output: output(&function.sig.output)? });
            }
            Item::Struct(structure)
                if structure.ident.to_string().starts_with("tn_")
                    && !["tn_Str", "tn_Chain"].contains(&structure.ident.to_string().as_str()) =>
            {
                let fields = structure.fields.iter().filter_map(|field| {
                    let name = field.ident.as_ref()?.to_string();
                    Some((name.trim_start_matches("r#").to_owned(), field.ty.clone()))
                });
                let name = structure.ident.to_string();
                self.structures.push(Structure { name, fields: fields.collect() });
            }
            Item::Type(alias) if matches!(*alias.ty, Type::BareFn(_)) => {
                self.callbacks.push((alias.ident.to_string(), (*alias.ty).clone()));
            }
            _ => {}
        }
        Ok(())
    }

    fn program(&self) -> Result<String, String> {
        let mut text = "#include \"check.h\"\n#include <pthread.h>\n\n".to_owned();
        let _ = writeln!(text, "enum {{ {}, KINDS }};", list(self.handles.iter().map(|name| kind(name))));
        let names = list(self.handles.iter().map(|name| format!("\"{name}\"")));
        let _ = writeln!(text, "static const char* const kind_names[] = {{ {names} }};");
        text.push_str(COMMON);
        for (name, function) in &self.callbacks {
            callback(&mut text, name, function)?;
        }
        for structure in &self.structures {
            self.structure(&mut text, structure)?;
        }
        for function in &self.functions {
            self.call(&mut text, function)?;
        }
        let calls = list(self.functions.iter().map(|function| format!("call_{}", function.name)));
        let _ = writeln!(text, "static void (*const calls[])(void) = {{ {calls} }};");
        let names = list(self.functions.iter().map(|function| format!("\"{}\"", function.name)));
        let _ = writeln!(text, "static const char* const call_names[] = {{ {names} }};");
        text.push_str(MAIN);
        Ok(text)
    }

    /// A function that fills a structure, and one that gives an array of it or the last result of a call.
    fn structure(&self, text: &mut String, structure: &Structure) -> Result<(), String> {
        let name = &structure.name;
        let _ = writeln!(text, "OWN {name} made_{name};");
        let _ = writeln!(text, "static void fill_{name}({name}* out) {{\n    memset(out, 0, sizeof *out);");
        for (field, kind) in &structure.fields {
            self.field(text, name, field, kind)?;
        }
        text.push_str("}\n\n");
        let _ = writeln!(
            text,
            "static const {name}* array_of_{name}(void) {{\n    OWN {name} all[4];\n    \
             for (int at = 0; at < 4; ++at) fill_{name}(&all[at]);\n    \
             const int is_made = one_in(3);\n    \
             return (const {name}*)elements(is_made ? &made_{name} : all, is_made ? 1 : 4);\n}}\n"
        );
        Ok(())
    }

    fn field(&self, text: &mut String, structure: &str, name: &str, kind: &Type) -> Result<(), String> {
        if let Type::Array(array) = kind {
            let length = array.len.to_token_stream();
            let value = self.value(&code(&array.elem), name, "NULL")?;
            let _ = writeln!(text, "    for (int at = 0; at < {length}; ++at) out->{name}[at] = {value};");
            return Ok(());
        }
        let kind = code(kind);
        let value = match name {
            "struct_size" => {
                format!("is_wild && one_in(6) ? (uint32_t)number() : (uint32_t)sizeof({structure})")
            }
            "flags" => "is_wild && one_in(3) ? 1u << below(one_in(4) ? 32 : 4) : 0".to_owned(),
            // Nothing would complete the work of a device that is run by hand.
            "lag" => "below(4)".to_owned(),
            "next" => "is_wild && one_in(8) ? &chain : NULL".to_owned(),
            _ if self.is_structure(&kind) => {
                let _ = writeln!(text, "    fill_{kind}(&out->{name});");
                return Ok(());
            }
            _ => self.value(&kind, name, "NULL")?,
        };
        let zero = if name == "struct_size" { "" } else { "if (!stays_zero()) " };
        let _ = writeln!(text, "    {zero}out->{name} = {value};");
        Ok(())
    }

    pub(crate) fn is_structure(&self, kind: &str) -> bool {
        self.structures.iter().any(|structure| structure.name == kind)
    }

    /// An expression with a random value of a type.
    fn value(&self, kind: &str, name: &str, is_bad: &str) -> Result<String, String> {
        if let Some(target) = inside(kind, "In") {
            return Ok(match target {
                "c_void" => "bytes_in()".to_owned(),
                "AnyHandle" => "handles_in()".to_owned(),
                target if self.is_structure(target) => format!("array_of_{target}()"),
                // The call may end them.
                target if target.starts_with("Handle<") => {
                    let pointer = named(target)?;
                    let kind = self::kind(pointer.trim_end_matches('*'));
                    format!("({pointer} const*)handles_to_end_in({kind})")
                }
                target => format!("(const {}*)numbers_in()", named(target)?),
            });
        }
        if inside(kind, "Handle").is_some() {
            let pointer = named(kind)?;
            return Ok(format!("({pointer})handle({}, {is_bad})", self::kind(pointer.trim_end_matches('*'))));
        }
        if let Some(function) = inside(kind, "Option") {
            return Ok(format!("is_wild && one_in(3) ? NULL : program_{function}"));
        }
        Ok(match kind {
            "AnyHandle" => format!("any_handle({is_bad})"),
            "*mutc_void" => "room".to_owned(),
            "tn_Str" => "text()".to_owned(),
            "usize" => "count()".to_owned(),
            "f32" => "fraction()".to_owned(),
            "u64" if name.contains("timeout") => "below(2) * 1000".to_owned(),
            "u64" | "tn_Native" => "number()".to_owned(),
            "i32" => "(int32_t)number()".to_owned(),
            scalar => format!("({})small()", named(scalar)?),
        })
    }

    fn call(&self, text: &mut String, function: &Function) -> Result<(), String> {
        let Function { name, inputs, output } = function;
        let _ = writeln!(text, "static void call_{name}(void) {{\n    int is_bad = 0;");
        let mut made = Vec::new();
        for (input, of_rust) in inputs {
            let kind = code(of_rust);
            let (declared, value) = match inside(&kind, "Out") {
                Some("c_void") => ("void*".to_owned(), "bytes_out()".to_owned()),
                Some(target) if target.starts_with("Handle<") => {
                    let pointer = named(target)?;
                    let _ = writeln!(text, "    {pointer} new_{input} = ({pointer})(void*)&chain;");
                    made.push((input, self::kind(pointer.trim_end_matches('*'))));
                    (format!("{pointer}*"), format!("is_wild && one_in(5) ? NULL : &new_{input}"))
                }
                Some(target) if self.is_structure(target) => {
                    let _ = writeln!(text, "    if (one_in(10)) fill_{target}(&made_{target});");
                    if self.has_size(target) {
                        let size = format!("is_wild && one_in(6) ? 8 : (uint32_t)sizeof({target})");
                        let _ = writeln!(text, "    made_{target}.struct_size = {size};");
                        let _ =
                            writeln!(text, "    made_{target}.next = NULL;\n    made_{target}.flags = 0;");
                    }
                    // Room for one, where a count follows.
                    text.push_str("    most_elements = 1;\n");
                    (format!("{target}*"), format!("is_wild && one_in(5) ? NULL : &made_{target}"))
                }
                Some(target) => (format!("{}*", named(target)?), format!("({}*)bytes_out()", named(target)?)),
                None => {
                    let value = self.value(&kind, input, "&is_bad")?;
                    let ends = ENDS.contains(&name.as_str());
                    let value =
                        if ends { value.replace(")handle(KIND_", ")handle_to_end(KIND_") } else { value };
                    (in_c(of_rust)?, value)
                }
            };
            let _ = writeln!(text, "    {declared} {input} = {value};");
        }
        let arguments = list(inputs.iter().map(|(input, _)| input.clone()));
        if output != "tn_Status" {
            let _ = writeln!(text, "    (void)is_bad;\n    (void){name}({arguments});\n}}\n");
            return Ok(());
        }
        let _ = writeln!(text, "    const tn_Status status = {name}({arguments});");
        let _ = writeln!(text, "    check_status(\"{name}\", status, is_bad);");
        for (input, kind) in made {
            let _ = writeln!(text, "    if ({input} != NULL) keep(\"{name}\", status, {kind}, *{input});");
        }
        text.push_str("}\n\n");
        Ok(())
    }

    pub(crate) fn has_size(&self, name: &str) -> bool {
        let structure = self.structures.iter().find(|structure| structure.name == name);
        structure.is_some_and(|structure| structure.fields.iter().any(|(field, _)| field == "struct_size"))
    }
}

/// Seeds, calls of each, and the end: everything can be released, and nothing is left.
const MAIN: &str = r#"
static void make_call(uint32_t chosen) {
    const uint32_t before = uses[thread].count;
    calls[chosen]();
    end_uses(before);
}

static void inside(void) {
    if (depth > 1) return;
    ++depth;
    if (one_in(2)) make_call(below(sizeof calls / sizeof *calls));
    if (one_in(2)) release_one();
    --depth;
}

static uint64_t seed = 1;
static uint32_t number_of_calls = 20000;
static int is_told;

static void* play(void* number) {
    thread = *(const uint32_t*)number;
    state = (seed + (uint64_t)thread * 1000) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    memset(room, 'x', sizeof room);
    for (uint32_t at = 0; at < number_of_calls; ++at) {
        const uint32_t chosen = below(sizeof calls / sizeof *calls);
        if (is_told) fprintf(stderr, "%u: %u %s\n", thread, at, call_names[chosen]);
        if (at % 50 == 0) provide();
        is_wild = one_in(3);
        /* A manager that is shut down makes nothing more. */
        if (calls[chosen] == call_tn_gpu_shutdown && !one_in(30)) continue;
        make_call(chosen);
        if (one_in(4)) release_one();
    }
    return NULL;
}

/* The seed, the number of calls, the number of threads, and anything to have the calls told. */
int main(int count_of_arguments, char** arguments) {
    if (count_of_arguments > 1) seed = strtoull(arguments[1], NULL, 10);
    if (count_of_arguments > 2) number_of_calls = (uint32_t)strtoul(arguments[2], NULL, 10);
    const int has_second = count_of_arguments > 3 && strcmp(arguments[3], "2") == 0;
    is_told = count_of_arguments > 4;
    uint32_t numbers[THREADS] = {0, 1};
    pthread_t second;
    if (has_second) CHECK(pthread_create(&second, NULL, play, &numbers[1]) == 0);
    (void)play(&numbers[0]);
    if (has_second) CHECK(pthread_join(second, NULL) == 0);
    for (uint32_t kind = KINDS; kind-- > 0;) {
        while (known_count[kind] > 0) release_of(kind);
    }
    return 0;
}
"#;

/// A name with commas.
pub(crate) fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The number of a handle's type.
pub(crate) fn kind(handle: &str) -> String {
    format!("KIND_{handle}")
}

/// The name of a type in C.
pub(crate) fn named(kind: &str) -> Result<String, String> {
    in_c(&syn::parse_str::<Type>(kind).map_err(|error| format!("{kind}: {error}"))?)
}

/// A function of the program that calls back.
pub(crate) fn callback(text: &mut String, name: &str, function: &Type) -> Result<(), String> {
    let Type::BareFn(function) = function else { return Err(format!("{name} is no function")) };
    let inputs = function.inputs.iter().enumerate();
    let inputs: Vec<_> = inputs
        .map(|(at, input)| Ok(format!("{} unused_{at}", in_c(&input.ty)?)))
        .collect::<Result<_, String>>()?;
    let output = output(&function.output)?;
    let _ = writeln!(text, "static {output} TN_CALL program_{name}({}) {{", inputs.join(", "));
    for at in 0..inputs.len() {
        let _ = writeln!(text, "    (void)unused_{at};");
    }
    text.push_str("    inside();\n");
    if output != "void" {
        let _ = writeln!(text, "    return one_in(8) ? ({output})-1 : ({output})0;");
    }
    text.push_str("}\n\n");
    Ok(())
}
