//! The compilations of the test command: this program is a wrapper of the compiler that records the CPU time of
//! each unit.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cpu;

/// The variable with the file for the records; if set, this program acts as the wrapper of the compiler.
const NOTES: &str = "TENURE_COMPILED";
/// Cargo's variable for a wrapper of the compiler.
pub(crate) const WRAPPER: &str = "RUSTC_WRAPPER";
/// Units that the summary lists.
const LISTED: usize = 15;

/// Makes cargo below a command record its compilations. A wrapper set by the user is kept, and nothing is
/// recorded.
pub(crate) fn note_in(command: &mut Command, this_program: &Path, notes: &Path) {
    let has_wrapper = env::var_os(WRAPPER).is_some_and(|wrapper| !wrapper.is_empty());
    if !has_wrapper && cfg!(target_os = "linux") {
        command.env(WRAPPER, this_program).env(NOTES, notes);
    }
}

/// If this program was started as the wrapper: compiles, and returns the exit status.
pub(crate) fn as_wrapper() -> Option<ExitCode> {
    let notes = PathBuf::from(env::var_os(NOTES)?);
    let mut arguments = env::args_os().skip(1);
    let compiler = arguments.next()?;
    // The program's own commands inherit the variable.
    if !Path::new(&compiler).file_stem()?.to_string_lossy().contains("rustc")
        && !compiler.to_string_lossy().contains("clippy-driver")
    {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    let status = Command::new(&compiler).args(&arguments).status();
    if let Some(unit) = unit(&arguments) {
        let line = format!("{:.2}\t{unit}\n", cpu::of_children().unwrap_or_default());
        let file = OpenOptions::new().create(true).append(true).open(notes);
        // A missing record is not a failure.
        let _unnoted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    Some(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The crate, and whether it is compiled as a test or only checked; nothing for questions to the compiler.
fn unit(arguments: &[OsString]) -> Option<String> {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let name = arguments.iter().position(|argument| argument == "--crate-name");
    let name = arguments.get(name? + 1).filter(|name| *name != "___")?;
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let emits_code =
        arguments.iter().any(|argument| argument.starts_with("--emit") && argument.contains("link"));
    let test = if has("--test") { " (test)" } else { "" };
    let check = if emits_code { "" } else { " (checked)" };
    Some(format!("{name}{test}{check}"))
}

/// The number of compilations, and the longest ones. `None` without records.
pub(crate) fn summary(notes: &Path) -> String {
    fs::read_to_string(notes).map_or_else(|_| String::new(), |notes| summary_of(&notes))
}

fn summary_of(notes: &str) -> String {
    let mut units: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for (seconds, unit) in notes.lines().filter_map(|line| line.split_once('\t')) {
        let sum = units.entry(unit).or_default();
        *sum = (sum.0 + seconds.parse::<f64>().unwrap_or(0.0), sum.1 + 1);
    }
    let (seconds, count) = units.values().fold((0.0, 0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1));
    let mut units: Vec<_> = units.into_iter().collect();
    units.sort_by(|(_, one), (_, other)| other.0.total_cmp(&one.0));
    let mut text = format!("compiled: {count} units, {seconds:.0} s of CPU time; the longest:\n");
    for (unit, (seconds, count)) in units.into_iter().take(LISTED) {
        let _never_fails = writeln!(text, "  {seconds:8.1} s  {unit}, {count} times");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{summary_of, unit};

    #[test]
    fn units_are_named_by_crate_and_kind() {
        let of = |line: &str| unit(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("--crate-name ash --emit=dep-info,metadata,link"), Some("ash".to_owned()));
        assert_eq!(
            of("--crate-name ash --emit=dep-info,metadata --test"),
            Some("ash (test) (checked)".to_owned())
        );
        assert_eq!(of("--crate-name ___ --print cfg"), None);
        assert_eq!(of("-vV"), None);
    }

    #[test]
    fn units_compiled_twice_are_summed() {
        let text = summary_of("1.5\tash\n2.0\tcore\n1.0\tash\nbroken\n");
        assert_eq!(
            text,
            "compiled: 3 units, 4 s of CPU time; the longest:\n       2.5 s  ash, 2 times\n       2.0 s  core, 1 times\n"
        );
    }
}
