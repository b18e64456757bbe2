//! The program that has wgpu and vulkano in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Args, run};
use crate::Result;

/// Its name, and that of its folder beside this crate's sources and among the built ones.
const PROGRAM: &str = "managers";

/// Builds and runs the program with the other managers. If it cannot be built, the program of the last build is
/// used: the device lab has no cargo. Without a program, only tenure is measured.
///
/// # Errors
/// As [`run`]; the program cannot be started.
pub fn start(args: &Args) -> Result {
    match program() {
        Ok(program) => {
            let ended = Command::new(&program).args(std::env::args_os().skip(2)).status();
            let ended = ended.map_err(|error| format!("{}: {error}", program.display()))?;
            if ended.success() {
                Ok(())
            } else {
                Err(format!("the program with all managers: {ended}").into())
            }
        }
        Err(error) => {
            eprintln!("left out: wgpu and vulkano: {error}");
            run(args, Vec::new())
        }
    }
}

/// The path of the built program.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    // This program lies in a folder of the target folder.
    let target = own.ancestors().nth(2).ok_or("this program is in no target folder")?.join(PROGRAM);
    let program = target.join("release").join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION);
    match build(&target) {
        Ok(()) => Ok(program),
        Err(_) if program.exists() => Ok(program),
        Err(error) => Err(error),
    }
}

fn build(target: &Path) -> Result {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(PROGRAM).join("Cargo.toml");
    let mut command = Command::new(&cargo);
    command.args(["build", "--release", "--locked", "--manifest-path"]).arg(manifest);
    command.arg("--target-dir").arg(target).stdout(Stdio::null());
    let built = command.status().map_err(|error| format!("{} cannot be run: {error}", cargo.display()))?;
    if built.success() { Ok(()) } else { Err(format!("they could not be built: {built}").into()) }
}
