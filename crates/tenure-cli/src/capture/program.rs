//! Running a program with the layer.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::json;

use super::card;
use super::folder::Folder;
use super::signals::SignalGuard;
use crate::args::CaptureArgs;
use crate::error::{CaptureError, CliError};
use crate::output;

const LAYER: &str = "VK_LAYER_TENURE_capture";

/// A finished run of a program.
pub(super) struct Run {
    /// File name of the program.
    pub(super) name: String,
    pub(super) status: u8,
    pub(super) logs: Vec<String>,
}

/// File name of the layer's library.
fn library() -> String {
    format!("{}tenure_capture{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

pub(super) fn run(args: &CaptureArgs) -> Result<Run, CliError> {
    let library = found(args.layer.as_deref())?;
    let failed = |error| CliError::File { file: env::temp_dir(), error };
    let folder = Folder::new().map_err(failed)?;
    std::fs::write(folder.path().join("layer.json"), manifest(&library)).map_err(failed)?;
    // The command line has at least one word.
    let (program, arguments) =
        args.program.split_first().ok_or_else(|| CliError::Usage("no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(environment(folder.path(), |name| env::var_os(name)));
    command.env("TENURE_CAPTURE", folder.path());
    match args.card {
        Some(card) => command.env("TENURE_CAPTURE_AS", card::table(card.profile())),
        None => command.env_remove("TENURE_CAPTURE_AS"),
    };
    match args.names {
        true => command.env("TENURE_CAPTURE_NAMES", "1"),
        false => command.env_remove("TENURE_CAPTURE_NAMES"),
    };
    let shown = output::printable(&Path::new(program).file_name().unwrap_or(program).to_string_lossy());
    let ended = command.spawn().and_then(|mut child| {
        let _until_it_ends = SignalGuard::for_program(child.id());
        child.wait()
    });
    let status = match ended {
        Ok(status) => status_code(status),
        Err(error) => return Err(CaptureError::NotStarted { program: shown, error }.into()),
    };
    let logs = folder.logs().map_err(failed)?;
    Ok(Run { name: shown, status, logs })
}

/// The layer's library: at the given path, or beside this program, or among the libraries that cargo built with
/// it.
fn found(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let looked = match named {
        Some(file) => vec![file.to_path_buf()],
        None => {
            let program = env::current_exe()?;
            let beside = program.with_file_name(library());
            let built = program.with_file_name("deps").join(library());
            vec![beside, built]
        }
    };
    let found = looked.iter().find(|file| file.is_file()).and_then(|file| file.canonicalize().ok());
    found.ok_or_else(|| CaptureError::NoLayer { looked, library: library() }.into())
}

/// The manifest that registers the layer with the loader.
fn manifest(library: &Path) -> String {
    json!({
        "file_format_version": "1.1.2",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": library,
            "api_version": "1.4.0",
            "implementation_version": "1",
            "description": "Writes down the memory events of a program",
            // The loader requires it of implicit layers.
            "disable_environment": { "DISABLE_TENURE_CAPTURE": "1" },
        },
    })
    .to_string()
}

/// Variables that lead the loader to the manifest. Older loaders find only explicit layers; newer ones load the
/// layer once.
fn environment(folder: &Path, given: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let separator = if cfg!(windows) { ";" } else { ":" };
    let with = |name: &'static str, more: &OsStr| {
        let mut value =
            given(name).filter(|value| !value.is_empty()).map_or_else(OsString::new, |mut value| {
                value.push(separator);
                value
            });
        value.push(more);
        (name, value)
    };
    vec![
        with("VK_ADD_IMPLICIT_LAYER_PATH", folder.as_os_str()),
        with("VK_ADD_LAYER_PATH", folder.as_os_str()),
        with("VK_INSTANCE_LAYERS", OsStr::new(LAYER)),
    ]
}

/// The exit status of the program; after a signal, the number that shells use.
fn status_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or(signal).unwrap_or(1);
    // Larger codes of Windows remain failures.
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{environment, found, manifest};

    #[test]
    fn layers_and_paths_of_the_user_are_kept() {
        let given = |name: &str| match name {
            "VK_INSTANCE_LAYERS" => Some(OsString::from("VK_LAYER_KHRONOS_validation")),
            "VK_ADD_LAYER_PATH" => Some(OsString::new()),
            _ => None,
        };
        let separator = if cfg!(windows) { ";" } else { ":" };
        let expected = [
            ("VK_ADD_IMPLICIT_LAYER_PATH", "folder".to_owned()),
            ("VK_ADD_LAYER_PATH", "folder".to_owned()),
            ("VK_INSTANCE_LAYERS", format!("VK_LAYER_KHRONOS_validation{separator}VK_LAYER_TENURE_capture")),
        ];
        let found = environment(Path::new("folder"), given);
        assert_eq!(found, expected.map(|(name, value)| (name, OsString::from(value))));
    }

    #[test]
    fn the_manifest_names_the_library() {
        let text = manifest(Path::new("/a \"b\"/layer.so"));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["layer"]["library_path"], "/a \"b\"/layer.so");
    }

    #[test]
    fn a_missing_library_is_an_error_with_the_remedy() {
        let error = found(Some(Path::new("/nowhere/layer.so"))).unwrap_err().to_string();
        assert!(
            error.starts_with("there is no /nowhere/layer.so: build the layer by `cargo build"),
            "{error}"
        );
    }
}
