//! Checks the files of a command before any is opened: an output must not also be an input, nor be written twice.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::args::{Args, Command};
use crate::error::CliError;

/// Names of standard input and output.
const STANDARD_INPUT: &str = "-";
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// A file, and the name of its argument.
type Named<'a> = (&'static str, &'a Path);

/// All files of a command.
struct Files<'a> {
    read: Vec<Named<'a>>,
    written: Vec<Named<'a>>,
    /// Whether the command prints lines about written files to standard output.
    tells: bool,
}

impl<'a> Files<'a> {
    /// The arguments of a command that name files to read or write.
    fn of(command: &'a Command) -> Self {
        let (read, written, tells) = match command {
            Command::Capture(args) => {
                (vec![], vec![("--out", args.out.as_ref()), ("--html", args.html.as_ref())], true)
            }
            Command::Replay(args) => (vec![("FILE", Some(&args.file))], vec![], false),
            #[cfg(feature = "report")]
            Command::Report(args) => (
                vec![("FILE", Some(&args.file)), ("--plan", args.plan.as_ref())],
                vec![("--html", args.html.as_ref()), ("--perfetto", args.perfetto.as_ref())],
                true,
            ),
            #[cfg(not(feature = "report"))]
            Command::Report(_) => (vec![], vec![], false),
            Command::Compare(args) => (vec![("A", Some(&args.a)), ("B", Some(&args.b))], vec![], false),
            Command::Tune(args) => (vec![("FILE", Some(&args.file))], vec![], false),
            Command::Gen(args) => (vec![], vec![("--out", args.out.as_ref())], false),
            Command::Devices(_) => (vec![], vec![], false),
            Command::Doctor(args) => (vec![], vec![("--out", args.out.as_ref())], true),
            Command::Profile(args) => (vec![("FILE", Some(&args.file))], vec![], false),
            Command::Plan(args) => (
                vec![("FILE", Some(&args.file)), ("--passes", args.passes.as_ref())],
                vec![("--out", args.out.as_ref()), ("--svg", args.svg.as_ref())],
                true,
            ),
        };
        let given = |all: Vec<(&'static str, Option<&'a PathBuf>)>| {
            all.into_iter().filter_map(|(name, path)| Some((name, path?.as_path()))).collect()
        };
        Self { read: given(read), written: given(written), tells }
    }
}

/// Checks the files of a command.
///
/// # Errors
/// If a file is both read and written, under any name; is written twice; is standard output, where a line about it is
/// printed; or if standard input is read twice.
pub(crate) fn check(args: &Args) -> Result<(), CliError> {
    let Some(command) = &args.command else { return Ok(()) };
    let Files { read, written, tells } = Files::of(command);
    let mut from_input = read.iter().filter(|(_, path)| *path == Path::new(STANDARD_INPUT));
    if let (Some((a, _)), Some((b, _))) = (from_input.next(), from_input.next()) {
        return Err(CliError::Usage(format!("standard input can be {a} or {b}, not both")));
    }
    let mut taken: Vec<(&str, Identity)> =
        read.iter().filter_map(|(name, path)| Some((*name, Identity::of_input(path)?))).collect();
    if tells && let Some(place) = Identity::of_output() {
        taken.push(("standard output", place));
    }
    for (name, path) in written {
        if tells && STANDARD_OUTPUT.iter().any(|output| path == Path::new(output)) {
            return Err(CliError::Usage(format!(
                "{name} needs a file: standard output has the line with the result"
            )));
        }
        let Some(place) = Identity::of_file(path) else { continue };
        if let Some((other, _)) = taken.iter().find(|(_, taken)| *taken == place) {
            let path = path.display();
            return Err(CliError::Usage(format!(
                "{name} {path}: {other} is the same file, and would be overwritten: name another one"
            )));
        }
        taken.push((name, place));
    }
    Ok(())
}

/// The identity of a regular file, or the path of a missing one. Devices and pipes have no identity: they may be
/// written more than once.
#[derive(PartialEq, Eq)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

impl Identity {
    fn of_input(path: &Path) -> Option<Self> {
        if path == Path::new(STANDARD_INPUT) {
            Self::of_stream(std::io::stdin())
        } else {
            Self::of_file(path)
        }
    }

    fn of_output() -> Option<Self> {
        Self::of_stream(std::io::stdout())
    }

    fn of_file(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(data) => Self::of_existing(&data, path),
            // The folder may have several names.
            Err(_) => {
                let folder =
                    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                Some(Self::Path(fs::canonicalize(folder).ok()?.join(path.file_name()?)))
            }
        }
    }

    #[cfg(unix)]
    fn of_existing(data: &Metadata, _path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        data.is_file().then(|| Self::Inode(data.dev(), data.ino()))
    }

    #[cfg(unix)]
    fn of_stream(stream: impl std::os::fd::AsFd) -> Option<Self> {
        let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
        Self::of_existing(&file.metadata().ok()?, Path::new(STANDARD_INPUT))
    }

    /// The standard library does not identify hard links.
    #[cfg(not(unix))]
    fn of_existing(data: &Metadata, path: &Path) -> Option<Self> {
        if data.is_file() { fs::canonicalize(path).ok().map(Self::Path) } else { None }
    }

    #[cfg(not(unix))]
    fn of_stream<S>(_stream: S) -> Option<Self> {
        None
    }
}
