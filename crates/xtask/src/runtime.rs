//! The Direct3D 12 backend on another runtime than the system's own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{cargo_with, succeeds, target};
use crate::devices::{TEST_D3D12, windows_in_lab};
use crate::lab::System;
use crate::outcome::{Outcome, Trouble};

/// The folder with the runtime's DLLs.
const FOLDER: &str = "TENURE_D3D12_RUNTIME";

/// Which barriers the tests use; see `tests/d3d12/matrix.rs` of the backend.
const BARRIERS: &str = "TENURE_D3D12_BARRIERS";

/// The whole suite, with legacy and with enhanced barriers. A runtime without enhanced barriers fails: the step
/// exists to test them.
pub(crate) fn d3d12() -> Outcome {
    let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) else {
        return Err(Trouble::NotAsked(format!(
            "set {FOLDER} to a folder with the DLLs of a Direct3D 12 runtime: CONTRIBUTING.md lists the files"
        )));
    };
    let folder = fs::canonicalize(&folder)
        .map_err(|error| Trouble::Failed(format!("{FOLDER} is {}: {error}", folder.display())))?;
    for barriers in ["enhanced", "legacy"] {
        println!("with {barriers} barriers");
        if cfg!(windows) { on_windows(&folder, barriers)? } else { in_lab(&folder, barriers)? }
    }
    Ok(())
}

fn in_lab(folder: &Path, barriers: &str) -> Outcome {
    let (lab, folder) = (windows_in_lab()?, folder.to_string_lossy());
    lab.cargo_with(System::Windows, &TEST_D3D12, &[(FOLDER, &folder), (BARRIERS, barriers)])
}

/// A process for each test, because devices are singletons of their adapter there, and a device that one test
/// removes is lost for all tests in its process.
fn on_windows(folder: &Path, barriers: &str) -> Outcome {
    let beside = Beside::place(folder)?;
    let nextest = ["nextest", "run", "--package", "tenure-d3d12", "--all-features"];
    let arguments: &[&str] =
        if succeeds("cargo", &["nextest", "--version"]) { &nextest } else { &TEST_D3D12 };
    let done = cargo_with(arguments, &[(BARRIERS, barriers)]);
    drop(beside);
    done
}

/// Copies of a runtime's DLLs beside the tests' programs, until dropped.
struct Beside(Vec<PathBuf>);

impl Beside {
    /// A `d3d12core.dll` without a `d3d12.dll` is the Agility SDK's, which Windows' own `d3d12.dll` looks
    /// for in a folder of its own; all else is loaded from beside the program.
    fn place(folder: &Path) -> Result<Self, Trouble> {
        let failed = |error: std::io::Error| Trouble::Failed(format!("{}: {error}", folder.display()));
        let programs = target().join("debug/deps");
        let is_sdk = !folder.join("d3d12.dll").exists();
        let mut placed = Self(Vec::new());
        for file in fs::read_dir(folder).map_err(failed)? {
            let file = file.map_err(failed)?;
            let name = file.file_name().to_string_lossy().to_lowercase();
            if !name.ends_with(".dll") {
                continue;
            }
            let to = destination(&programs, &name, is_sdk);
            fs::create_dir_all(to.parent().unwrap_or(&programs)).map_err(failed)?;
            fs::copy(file.path(), &to).map_err(failed)?;
            placed.0.push(to);
        }
        if placed.0.is_empty() {
            return Err(Trouble::Failed(format!("{FOLDER}: there is no DLL in {}", folder.display())));
        }
        Ok(placed)
    }
}

/// The folder in which the loader finds a DLL with this lowercase name.
fn destination(programs: &Path, name: &str, is_sdk: bool) -> PathBuf {
    let is_in_sdk = is_sdk && matches!(name, "d3d12core.dll" | "d3d12sdklayers.dll");
    if is_in_sdk { programs.join("D3D12").join(name) } else { programs.join(name) }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for copy in &self.0 {
            if let Err(error) = fs::remove_file(copy) {
                eprintln!("xtask: left behind: {}: {error}", copy.display());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::destination;

    #[test]
    fn each_runtime_lies_where_it_is_looked_for() {
        let programs = Path::new("deps");
        let of = |name, is_sdk| destination(programs, name, is_sdk);
        assert_eq!(of("d3d12core.dll", true), programs.join("D3D12/d3d12core.dll"));
        assert_eq!(of("d3d12sdklayers.dll", true), programs.join("D3D12/d3d12sdklayers.dll"));
        assert_eq!(of("d3d10warp.dll", true), programs.join("d3d10warp.dll"));
        assert_eq!(of("d3d12core.dll", false), programs.join("d3d12core.dll"));
    }
}
