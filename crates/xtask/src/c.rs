//! The C interface: headers, and programs in C and C++ that call it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, root, run, succeeds, target};
use crate::lab::System;
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c_random, c_table, debian, devices, header};

/// Warnings that the headers and the programs must not cause.
pub(crate) const WARNINGS: [&str; 6] =
    ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow"];
const SANITIZERS: [&str; 3] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"];
const WITHOUT_EXCEPTIONS: [&str; 4] =
    ["-fno-exceptions", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"];
const THREADS: [&str; 2] = ["-fsanitize=thread", "-g"];
/// The libraries of the system that Rust's standard library needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

/// The time limit of a program in the lab.
const SECONDS: u32 = 300;

const RANDOM_SEEDS: std::ops::Range<u32> = 1..5;
const RANDOM_CALLS: u32 = 100_000;
/// Fewer, because they are slower there.
const RANDOM_CALLS_OF_RACES: u32 = 20_000;

/// A program, and how it is built.
struct Program {
    source: &'static str,
    compiler: &'static str,
    standard: &'static str,
    is_static: bool,
    options: &'static [&'static str],
}

const fn program(source: &'static str, compiler: &'static str, standard: &'static str) -> Program {
    Program { source, compiler, standard, is_static: false, options: &[] }
}

const PROGRAMS: [Program; 27] = [
    program("calls.c", "gcc", "-std=c11"),
    Program { options: &SANITIZERS, ..program("calls.c", "clang", "-std=c11") },
    Program { is_static: true, options: &SANITIZERS, ..program("calls.c", "gcc", "-std=c11") },
    Program { options: &SANITIZERS, ..program("misuse.c", "clang", "-std=c11") },
    Program { options: &THREADS, ..program("misuse.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("graphs.c", "clang", "-std=c11") },
    Program { options: &THREADS, ..program("graphs.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("swapchains.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("recordings.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("structures.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("recordings.cpp", "clang++", "-std=c++17") },
    Program { options: &WITHOUT_EXCEPTIONS, ..program("recordings.cpp", "clang++", "-std=c++20") },
    Program { options: &SANITIZERS, ..program("parts.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("parts_misuse.c", "clang", "-std=c11") },
    Program { options: &THREADS, ..program("parts_misuse.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("objects.cpp", "clang++", "-std=c++17") },
    program("objects.cpp", "clang++", "-std=c++20"),
    // Such casts in macros of a header are warnings in the program.
    Program { options: &["-Wold-style-cast"], ..program("objects.cpp", "g++", "-std=c++17") },
    Program { is_static: true, ..program("objects.cpp", "g++", "-std=c++20") },
    Program { options: &SANITIZERS, ..program("callbacks.cpp", "clang++", "-std=c++17") },
    Program { is_static: true, ..program("callbacks.cpp", "g++", "-std=c++20") },
    Program { options: &SANITIZERS, ..program("guide.cpp", "clang++", "-std=c++17") },
    Program { options: &["-fno-exceptions"], ..program("results.cpp", "g++", "-std=c++17") },
    Program { options: &WITHOUT_EXCEPTIONS, ..program("results.cpp", "clang++", "-std=c++20") },
    program("descriptors.c", "gcc", "-std=c11"),
    Program { options: &SANITIZERS, ..program("descriptors.c", "clang", "-std=c11") },
    Program { options: &SANITIZERS, ..program("bindless.cpp", "clang++", "-std=c++17") },
];
/// Of them those that call every function of C, on each system.
const CALLERS: [&str; 9] = [
    "calls.c",
    "misuse.c",
    "descriptors.c",
    "graphs.c",
    "swapchains.c",
    "recordings.c",
    "structures.c",
    "parts.c",
    "parts_misuse.c",
];

fn failed(reason: impl Into<String>) -> Trouble {
    Trouble::Failed(reason.into())
}

/// The programs pass, and call every function.
pub(crate) fn check() -> Outcome {
    header::check()?;
    let folder = target().join("c");
    tools(&folder)?;
    fragments(&folder)?;
    refusals()?;
    layouts(&folder)?;
    // A test needs what tests depend on: so the crates below are those that other steps build.
    cargo(&[&devices::BUILD_ALL[..], &["--quiet", "--test", "c_vulkan"]].concat())?;
    let package = folder.join("package");
    archive::assemble(&target().join("debug/deps"), &package)?;
    PROGRAMS.iter().try_for_each(|program| program.run(&package, &folder))?;
    every_function_is_called(&package, &folder)?;
    wrong_arguments(&package, &folder)?;
    random_calls(&package, &folder)?;
    strangers(&package, &folder)?;
    from_source(&folder.join("source"))
}

/// Programs pass with the optimised libraries of an archive; the test command has others.
pub(crate) fn check_archive(package: &Path) -> Outcome {
    let folder = target().join("c-archive");
    tools(&folder)?;
    PROGRAMS
        .iter()
        .filter(|program| !program.is_sanitized())
        .try_for_each(|program| program.run(package, &folder))?;
    strangers(package, &folder)
}

/// Each compiler builds a program with sanitizers, whose libraries are packages of their own in some distributions.
fn tools(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| failed(format!("{}: {error}", folder.display())))?;
    let (source, output) = (folder.join("probe.c"), folder.join("probe"));
    write(&source, "int main(void) { return 0; }\n")?;
    if !succeeds("cmake", &["--version"]) {
        debian::packages(&["cmake"])?;
    }
    if !succeeds("pkg-config", &["--version"]) {
        debian::packages(&["pkg-config"])?;
    }
    let compilers: [(&str, &[&str]); 4] = [
        ("gcc", &["gcc", "libc6-dev"]),
        ("g++", &["g++"]),
        ("clang", &["clang", "libclang-rt-dev"]),
        ("clang++", &["clang", "libclang-rt-dev"]),
    ];
    for (compiler, packages) in compilers {
        let probe = || {
            let mut command = Command::new(compiler);
            command.args(SANITIZERS).arg(&source).arg("-o").arg(&output);
            command
        };
        if !probe().output().is_ok_and(|output| output.status.success()) {
            debian::packages(packages)?;
            run(&mut probe())?;
        }
    }
    Ok(())
}

/// The code of the documents compiles, each block as the body of a function.
fn fragments(folder: &Path) -> Outcome {
    for document in ["docs/guide/c.md", "crates/tenure-c/README.md"] {
        let text = read(&root().join(document))?;
        let found = blocks(&text).map_err(|language| failed(format!("{document}: code in {language}")))?;
        if found.is_empty() {
            return Err(failed(format!("{document} has no code in C")));
        }
        for (language, code) in found {
            let (compiler, standard) = match language {
                "c" => ("gcc", "-std=c11"),
                _ => ("g++", "-std=c++17"),
            };
            let source = folder.join("fragment").with_extension(language);
            write(
                &source,
                &format!("#include \"guide.h\"\nvoid fragment(void);\nvoid fragment(void) {{\n{code}}}\n"),
            )?;
            let mut command = Command::new(compiler);
            command.args([standard, "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]);
            command.args(code.contains("tn::Result").then_some("-fno-exceptions"));
            command.arg("-I").arg(root().join("crates/tenure-c/include"));
            command.arg("-I").arg(root().join("crates/tenure-c/tests/c")).arg(&source);
            run(&mut command)
                .map_err(|trouble| failed(format!("{document}: a block of {language}: {trouble}")))?;
        }
    }
    Ok(())
}

/// The compilers have messages for the lines of a program that are mistakes, and for no other.
fn refusals() -> Outcome {
    let source = root().join("crates/tenure-c/tests/c/refused.cpp");
    let expected: BTreeSet<usize> = (1..)
        .zip(read(&source)?.lines())
        .filter(|(_, line)| line.contains("// refused"))
        .map(|(at, _)| at)
        .collect();
    for (compiler, every_message) in [("g++", "-fmax-errors=0"), ("clang++", "-ferror-limit=0")] {
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", every_message]);
        command.arg("-I").arg(root().join("crates/tenure-c/include")).arg(&source);
        let output = command.output().map_err(|error| failed(format!("{error}: {command:?}")))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let found = said.lines().filter_map(|line| line_of(line, &source)).collect();
        if expected != found {
            let wrong: Vec<_> = expected.symmetric_difference(&found).collect();
            return Err(failed(format!("{said}{}: lines {wrong:?}: {command:?}", source.display())));
        }
    }
    Ok(())
}

/// The line of a source that a compiler's message is about.
fn line_of(message: &str, source: &Path) -> Option<usize> {
    message.strip_prefix(source.to_str()?)?.strip_prefix(':')?.split(':').next()?.parse().ok()
}

/// The blocks of C and C++ in a document, with their language.
///
/// # Errors
/// A language whose code is not compiled.
fn blocks(text: &str) -> Result<Vec<(&str, &str)>, &str> {
    let mut found = Vec::new();
    // Every second part is inside of a block.
    for block in text.split("```").skip(1).step_by(2) {
        match block.split_once('\n') {
            Some((language @ ("c" | "cpp"), code)) => found.push((language, code)),
            Some(("sh" | "cmake", _)) => {}
            other => return Err(other.map_or(block, |(language, _)| language)),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, Trouble> {
    fs::read_to_string(path).map_err(|error| failed(format!("{}: {error}", path.display())))
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| failed(format!("{}: {error}", path.display())))
}

impl Program {
    fn is_sanitized(&self) -> bool {
        self.options.iter().any(|option| option.starts_with("-fsanitize="))
    }

    /// Builds and runs it.
    fn run(&self, package: &Path, folder: &Path) -> Outcome {
        let output = folder.join("program");
        let mut command = Command::new(self.compiler);
        command.args([self.standard, "-O1"]).args(WARNINGS).args(self.options);
        command.arg(root().join("crates/tenure-c/tests/c").join(self.source)).arg("-o").arg(&output);
        link(&mut command, package, self.is_static);
        run(&mut command)?;
        // The sanitizer cannot track the synchronisation inside of the library, which is not instrumented.
        // In the folder: one writes a file.
        let mut program = Command::new(output);
        run(program
            .current_dir(folder)
            .env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 halt_on_error=1"))
    }
}

/// Headers and a library of the archive.
pub(crate) fn link(command: &mut Command, package: &Path, is_static: bool) {
    let libraries = package.join("lib");
    command.arg("-I").arg(package.join("include"));
    if is_static {
        command.arg(libraries.join("libtenure.a")).args(SYSTEM);
    } else {
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(&libraries);
        command.arg("-L").arg(&libraries).args(["-ltenure", "-lpthread"]).arg(path);
    }
}

/// A program in C prints sizes and offsets, and one of the crate's tests compares them with Rust's.
fn layouts(folder: &Path) -> Outcome {
    let (_, structures) = header::names()?;
    let mut code =
        "#include <stdio.h>\n#include \"tenure.h\"\n#include \"tenure_vulkan.h\"\nint main(void) {\n"
            .to_owned();
    for (structure, fields) in &structures {
        let _ = writeln!(code, "    printf(\"{structure} %zu\\n\", sizeof({structure}));");
        for field in fields {
            let _ =
                writeln!(code, "    printf(\"{structure}.{field} %zu\\n\", offsetof({structure}, {field}));");
        }
    }
    code.push_str("    return 0;\n}\n");
    let source = folder.join("layouts.c");
    write(&source, &code)?;
    let output = folder.join("layouts");
    let mut command = Command::new("gcc");
    // Padding would become a field of a later version, with any value in it.
    command
        .args(["-std=c11", "-Wpadded"])
        .args(WARNINGS)
        .arg("-I")
        .arg(root().join("crates/tenure-c/include"));
    run(command.arg(&source).arg("-o").arg(&output))?;
    let printed = Command::new(&output).output().map_err(|error| failed(error.to_string()))?;
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let path = root().join("crates/tenure-c/tests/layouts.txt");
    let expected = read(&path)?;
    if printed == expected {
        return Ok(());
    }
    let found = output.with_extension("txt");
    write(&found, &printed)?;
    Err(failed(format!("{} differs from the layouts of the compiler: {}", path.display(), found.display())))
}

/// Runs programs that are linked with the shared library, whose functions the dynamic linker binds at their first call.
fn every_function_is_called(package: &Path, folder: &Path) -> Outcome {
    let (functions, _) = header::names()?;
    let mut called = BTreeSet::new();
    for source in CALLERS {
        let built = folder.join(source).with_extension("lazy");
        let mut command = Command::new("gcc");
        command.args(["-std=c11", "-Wl,-z,lazy"]);
        command.arg(root().join("crates/tenure-c/tests/c").join(source)).arg("-o").arg(&built);
        link(&mut command, package, false);
        run(&mut command)?;
        let log = bindings(&built, folder)?;
        called.extend(log.lines().filter_map(bound).map(str::to_owned));
    }
    let missing: Vec<_> =
        functions.iter().filter(|name| !called.contains(*name)).map(String::as_str).collect();
    println!("{} functions of C, {} called", functions.len(), functions.len() - missing.len());
    match missing.is_empty() {
        true => Ok(()),
        false => Err(failed(format!("no program calls {}", missing.join(", ")))),
    }
}

fn bindings(program: &Path, folder: &Path) -> Result<String, Trouble> {
    let prefix = folder.join("bindings");
    let path = |id: u32| PathBuf::from(format!("{}.{id}", prefix.display()));
    let mut command = Command::new(program);
    command.env("LD_DEBUG", "bindings").env("LD_DEBUG_OUTPUT", &prefix);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let log = path(child.id());
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let text = read(&log);
    // A failure only costs disk space.
    let _removed = fs::remove_file(&log);
    if status.success() { text } else { Err(failed(format!("{status}: {}", program.display()))) }
}

/// Programs that have nothing but the archive, with CMake and with pkg-config; and one with a second static library that is
/// written in Rust, and a second copy of tenure.
fn strangers(package: &Path, folder: &Path) -> Outcome {
    let sources = root().join("crates/tenure-c/tests/package");
    let built = folder.join("cmake");
    let mut configure = Command::new("cmake");
    let mut prefix = OsString::from("-DCMAKE_PREFIX_PATH=");
    prefix.push(package);
    run(configure.arg("-S").arg(&sources).arg("-B").arg(&built).arg(prefix))?;
    run(Command::new("cmake").arg("--build").arg(&built))?;
    for program in ["shared", "static", "cpp"] {
        run(&mut Command::new(built.join(program)))?;
    }

    let pkg_config = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", package.join("lib/pkgconfig")).args(arguments).arg("tenure");
        let output = command.output().map_err(|error| failed(format!("{error}: {command:?}")))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(printed.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
            false => Err(failed(format!("{}: {command:?}", output.status))),
        }
    };
    let program = folder.join("pkg-config");
    let mut command = Command::new("gcc");
    command.arg(sources.join("program.c")).args(pkg_config(&["--cflags", "--libs"])?).arg("-o").arg(&program);
    run(&mut command)?;
    run(Command::new(&program).env("LD_LIBRARY_PATH", package.join("lib")))?;

    // With its own copy of Rust's standard library, as an optimised one has.
    let second = folder.join("libsecond.a");
    let mut command = Command::new("rustc");
    command.args(["--edition", "2024", "--crate-type", "staticlib", "-C", "opt-level=1", "-C", "lto=fat"]);
    run(command.arg(sources.join("second.rs")).arg("-o").arg(&second))?;
    let program = folder.join("second");
    let mut command = Command::new("gcc");
    command.arg(sources.join("second.c")).arg("-o").arg(&program).arg(&second);
    link(&mut command, package, true);
    run(&mut command)?;
    run(Command::new(program).arg(package.join("lib/libtenure.so")))
}

/// Each call with one wrong argument returns the status for it and changes nothing; with valid ones it succeeds.
fn wrong_arguments(package: &Path, folder: &Path) -> Outcome {
    let built = folder.join("table");
    let mut command = generated(&built, &c_table::program()?, &SANITIZERS)?;
    link(&mut command, package, false);
    run(&mut command)?;
    run(Command::new(built).current_dir(folder))
}

/// The command that compiles a program that was written from the headers' code.
fn generated(built: &Path, text: &str, options: &[&str]) -> Result<Command, Trouble> {
    let source = built.with_extension("c");
    write(&source, text)?;
    let mut command = Command::new("clang");
    command.args(["-std=c11", "-O1"]).args(options).arg(&source).arg("-o").arg(built);
    command.arg("-I").arg(root().join("crates/tenure-c/tests/c"));
    Ok(command)
}

/// Calls with random arguments, by the same seeds each time: no crash, no panic, no success for a handle that is none, no leak. At
/// last by two threads with the same handles.
fn random_calls(package: &Path, folder: &Path) -> Outcome {
    let built = folder.join("random");
    let mut command = generated(&built, &c_random::program()?, &SANITIZERS)?;
    link(&mut command, package, false);
    run(&mut command)?;
    RANDOM_SEEDS.into_iter().try_for_each(|seed| call_at_random(&built, folder, seed, RANDOM_CALLS, "1"))?;
    call_at_random(&built, folder, RANDOM_SEEDS.end, RANDOM_CALLS, "2")
}

fn call_at_random(program: &Path, folder: &Path, seed: u32, calls: u32, threads: &str) -> Outcome {
    println!("random calls, seed {seed}, threads: {threads}");
    let mut command = Command::new(program);
    command.args([&seed.to_string(), &calls.to_string(), threads]);
    // Calls that record allocations write files.
    run(command.current_dir(folder).env("TSAN_OPTIONS", "halt_on_error=1"))
}

/// Random calls of two threads, with a library that has ThreadSanitizer: no data race.
pub(crate) fn races(library: &Path, runtime: &Path) -> Outcome {
    let folder = target().join("c-races");
    tools(&folder)?;
    let built = folder.join("random");
    // With the runtime of the library's compiler: that of clang may be too old for it.
    let options = [&THREADS[..], &["-fno-sanitize-link-runtime"]].concat();
    let mut command = generated(&built, &c_random::program()?, &options)?;
    command.arg("-I").arg(root().join("crates/tenure-c/include")).arg(library);
    command.arg("-Wl,--whole-archive").arg(runtime).arg("-Wl,--no-whole-archive").args(SYSTEM);
    run(&mut command)?;
    RANDOM_SEEDS
        .into_iter()
        .try_for_each(|seed| call_at_random(&built, &folder, seed, RANDOM_CALLS_OF_RACES, "2"))
}

/// A project that builds the crate by CMake. The arguments for cargo name the crates that are built already.
fn from_source(built: &Path) -> Outcome {
    let arguments = [&devices::BUILD_ALL[..], &["--quiet", "--lib"], &devices::C_VULKAN].concat().join(";");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root().join("crates/tenure-c/tests/package/source")).arg("-B").arg(built);
    configure.arg(format!("-DTENURE_TARGET_DIR={}", target().display())).arg("-DTENURE_PROFILE=dev");
    run(configure.arg(format!("-DTENURE_CARGO_COMMAND={arguments}")))?;
    run(Command::new("cmake").arg("--build").arg(built))?;
    ["shared", "static"].iter().try_for_each(|program| run(&mut Command::new(built.join(program))))
}

/// Programs in C and C++ for Windows, in the lab: on the simulated device, and on Direct3D 12.
pub(crate) fn on_windows() -> Outcome {
    let lab = devices::windows_in_lab()?;
    // With a test, which adds the features of dev-dependencies: nothing is built twice.
    cargo(&[&["build", "--quiet"][..], &devices::ON_WINDOWS, &devices::C_VULKAN].concat())?;
    let libraries = target().join(System::Windows.triple()).join("debug/deps");
    // That with threads.
    debian::packages(&["g++-mingw-w64-x86-64-posix"])?;
    for source in CALLERS.into_iter().chain(["d3d12.c", "d3d12.cpp", "callbacks.cpp"]) {
        // Beside the library, where it is found.
        let program = libraries.join(source).with_extension("exe");
        let (compiler, options): (_, &[&str]) = match source.ends_with(".cpp") {
            true => ("g++-posix", &["-std=c++17", "-static"]),
            false => ("gcc", &["-std=c11"]),
        };
        let mut command = Command::new(format!("x86_64-w64-mingw32-{compiler}"));
        command.args(options).args(["-O1", "-DTN_SHARED"]).args(WARNINGS);
        command.arg("-I").arg(root().join("crates/tenure-c/include"));
        command.arg(root().join("crates/tenure-c/tests/c").join(source)).arg(libraries.join("tenure_c.dll"));
        command.args(["-ld3d12", "-ld3dcompiler", "-Wl,-Bstatic", "-lpthread"]).arg("-o").arg(&program);
        run(&mut command)?;
        run(&mut lab.command(&program, SECONDS))?;
    }
    Ok(())
}

/// The function of this library that a line of the dynamic linker's log names.
fn bound(line: &str) -> Option<&str> {
    let (_, name) = line.split_once("normal symbol `")?;
    let name = name.split('\'').next()?;
    name.starts_with("tn_").then_some(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{blocks, bound, line_of};

    #[test]
    fn blocks_have_their_language() {
        let text = "# C\n\n```c\nint a;\n```\n\n```sh\ncc\n```\n```cpp\nint b;\nint c;\n```\n";
        assert_eq!(blocks(text), Ok(vec![("c", "int a;\n"), ("cpp", "int b;\nint c;\n")]));
        assert_eq!(blocks("none\n"), Ok(vec![]));
        assert_eq!(blocks("```c++\nint a;\n```\n"), Err("c++"));
    }

    #[test]
    fn messages_have_the_line_of_the_source() {
        let line = |message| line_of(message, Path::new("/a/b.cpp"));
        assert_eq!(line("/a/b.cpp:27:5: error: no"), Some(27));
        assert_eq!(line("In file included from /a/b.cpp:2:"), None);
        assert_eq!(line("/a/b.hpp:27:5: error: no"), None);
    }

    #[test]
    fn bindings_name_functions() {
        let line = "      7:\tbinding file a [0] to libtenure.so [0]: normal symbol `tn_release'";
        assert_eq!(bound(line), Some("tn_release"));
        assert_eq!(bound(&line.replace("tn_release", "malloc")), None);
        assert_eq!(bound("7: calling init: a"), None);
    }
}
