//! Running programs at the workspace's root.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::failures::Failures;
use crate::outcome::{Outcome, Trouble};
use crate::times;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../..")
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    // Cargo's configuration may name it, too.
    static TARGET: LazyLock<PathBuf> = LazyLock::new(|| {
        let metadata = cargo_printed(&["metadata", "--no-deps", "--format-version", "1"]).ok();
        let metadata: Option<Value> = metadata.and_then(|text| serde_json::from_str(&text).ok());
        let folder = metadata.and_then(|metadata| metadata["target_directory"].as_str().map(PathBuf::from));
        folder.unwrap_or_else(|| root().join("target"))
    });
    TARGET.clone()
}

/// Runs a command, which passes if its exit status is 0, at the workspace's root unless it names a folder. Its output is
/// passed on; names and messages of failing tests are also part of the trouble.
pub(crate) fn run(command: &mut Command) -> Outcome {
    judged(command, |_| true)
}

/// Runs named tests: there must be at least one. Otherwise a renamed test would be skipped silently.
pub(crate) fn run_named_tests(command: &mut Command) -> Outcome {
    judged(command, |found| !found.has_no_test())
}

/// Runs a command, which must succeed and print the expected text.
fn judged(command: &mut Command, is_fine: impl FnOnce(&Failures) -> bool) -> Outcome {
    let shown = format!("{command:?}");
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    match watched(command) {
        Ok((status, found)) if status.success() => match is_fine(&found) {
            true => Ok(()),
            false => Err(Trouble::Failed(format!("no test has this name: {shown}"))),
        },
        Ok((status, failures)) => Err(Trouble::Failed(format!("{status}: {shown}{}", failures.said()))),
        Err(error) => Err(Trouble::Failed(format!("{error}: {shown}"))),
    }
}

fn watched(command: &mut Command) -> io::Result<(ExitStatus, Failures)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let printed = child.stdout.take();
    let failures =
        printed.map_or_else(|| Ok(Failures::default()), |printed| pass_on(BufReader::new(printed)));
    let status = child.wait()?;
    Ok((status, failures?))
}

/// Prints every line that is read, and notes the tests that failed.
fn pass_on(mut printed: impl BufRead) -> io::Result<Failures> {
    let mut failures = Failures::default();
    let mut line = Vec::new();
    while printed.read_until(b'\n', &mut line)? > 0 {
        io::stdout().write_all(&line)?;
        let text = String::from_utf8_lossy(&line);
        failures.note(text.trim_end());
        times::note(text.trim_end());
        line.clear();
    }
    Ok(failures)
}

/// A lock for the installation of tools: waits for other steps that install. Held until it is dropped.
pub(crate) fn installing() -> Result<File, Trouble> {
    let path = target().join("installing.lock");
    let failed = |error: io::Error| Trouble::Failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(target()).map_err(failed)?;
    let file = File::create(&path).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Runs cargo.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// Runs cargo with some environment variables set.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).args(times::with_report(arguments)).envs(environment.iter().copied()))
}

/// True when a command succeeds; its output is not shown.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The trimmed output of a successful command.
pub(crate) fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The trimmed output of cargo, or an error with the end of its messages.
pub(crate) fn cargo_printed(arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new("cargo").args(arguments).current_dir(root()).output();
    let ran = ran.map_err(|error| format!("cargo {}: {error}", arguments.join(" ")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if ran.status.success() {
        return Ok(text(&ran.stdout));
    }
    let said = text(&ran.stderr);
    let last: Vec<_> = said.lines().rev().take(10).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    Err(format!("cargo {}: {}\n{}", arguments.join(" "), ran.status, last.join("\n")))
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::path::Path;
    use std::process::Command;

    use super::{root, run};

    #[cfg(unix)]
    #[test]
    fn a_command_runs_in_its_own_folder_or_at_the_root() {
        let folder = env::temp_dir();
        let is_at = |path: &Path| ["-c".into(), format!("test . -ef '{}'", path.display())];
        assert!(run(Command::new("sh").args(is_at(&folder)).current_dir(&folder)).is_ok());
        assert!(run(Command::new("sh").args(is_at(&root()))).is_ok());
        assert!(run(Command::new("sh").args(is_at(&folder))).is_err());
    }
}
