//! Builds the programs.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::outcome::Trouble;

/// Programs that were built, and the allocators in them.
#[derive(Default)]
pub(super) struct Built {
    programs: Vec<(String, PathBuf)>,
    allocators: Vec<String>,
}

impl Built {
    /// The program of a target.
    pub(super) fn program(&self, target: &str) -> Result<&Path, Trouble> {
        let found = self.programs.iter().find(|(name, _)| name == target);
        let found = found.ok_or_else(|| Trouble::Failed(format!("cargo has built no program {target}")))?;
        Ok(&found.1)
    }

    /// The version of their only `gpu-allocator`.
    pub(super) fn allocator(&self) -> Result<&str, Trouble> {
        match &self.allocators[..] {
            // Cargo leaves the name out where the folder has it: `…/gpu-allocator#0.28.100`.
            [only] => only.rsplit(['@', '#']).next(),
            _ => None,
        }
        .ok_or_else(|| Trouble::Failed(format!("not one gpu-allocator was built, but {:?}", self.allocators)))
    }

    fn note(&mut self, line: &str) {
        let Ok(Message { package_id, target, executable }) = serde_json::from_str(line) else { return };
        if target.name == "gpu_allocator" {
            self.allocators.push(package_id);
        } else if let Some(executable) = executable {
            self.programs.push((target.name, executable));
        }
    }
}

/// The messages of cargo that are about something built; others have no target.
#[derive(Deserialize)]
struct Message {
    package_id: String,
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Cargo with some arguments, in a folder.
pub(super) fn cargo(folder: &Path, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(folder);
    command
}

/// Runs a `cargo build`.
pub(super) fn build(mut command: Command) -> Result<Built, Trouble> {
    command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| Trouble::Failed(format!("{error}: {shown}")))?;
    if !output.status.success() {
        return Err(Trouble::Failed(format!("{}: {shown}", output.status)));
    }
    let mut built = Built::default();
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| built.note(line));
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::Built;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///a/b#gpu-allocator@0.28.100","target":{"kind":["lib"],"name":"gpu_allocator"},"executable":null}"#;
    const PROGRAM: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///a/c#scenes@0.1.0","target":{"kind":["bin"],"name":"scenes"},"executable":"/t/scenes"}"#;

    #[test]
    fn messages_name_programs_and_the_allocator() {
        let mut built = Built::default();
        for line in [LIBRARY, PROGRAM, r#"{"reason":"build-finished","success":true}"#, "text"] {
            built.note(line);
        }
        assert_eq!(
            built.program("scenes").map(|path| path.display().to_string()),
            Ok("/t/scenes".to_owned())
        );
        assert!(built.program("others").is_err());
        assert_eq!(built.allocator(), Ok("0.28.100"));
        let mut named = Built::default();
        named.note(&LIBRARY.replace("b#gpu-allocator@", "gpu-allocator#"));
        assert_eq!(named.allocator(), Ok("0.28.100"));
        built.note(&LIBRARY.replace("0.28.100", "0.28.0"));
        assert!(built.allocator().is_err(), "there are two of them");
    }
}
