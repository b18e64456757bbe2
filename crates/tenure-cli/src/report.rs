//! `tenure report`: what happens in a recording, for those who look at it.

use std::fs;
use std::path::Path;

use crate::args::ReportArgs;
use crate::error::CliError;
use crate::replay::Verdict;
use crate::{html, perfetto};

/// Names of standard output.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

pub(crate) fn run(args: &ReportArgs) -> Result<Verdict, CliError> {
    let inputs = [Some(args.file.as_path()), args.plan.as_deref()];
    if inputs == [Some(Path::new("-")); 2] {
        return Err(CliError::Usage("standard input can be the recording or --plan, not both".to_owned()));
    }
    match (&args.html, &args.perfetto) {
        (Some(page), _) => {
            check_written("--html", page, &inputs)?;
            html::run(args, page)
        }
        (None, Some(trace)) => {
            check_written("--perfetto", trace, &inputs)?;
            perfetto::run(args, trace)
        }
        // The parser asks for one of them.
        (None, None) => Err(CliError::Usage("what to write is to be said: --html or --perfetto".to_owned())),
    }
}

/// Refuses standard output, where the line about the file would be in the file, and what is read, which would be lost.
fn check_written(option: &str, file: &Path, inputs: &[Option<&Path>]) -> Result<(), CliError> {
    if STANDARD_OUTPUT.iter().any(|name| file == Path::new(name)) {
        return Err(CliError::Usage(format!(
            "{option} needs a file: on standard output is a line that says what was written"
        )));
    }
    let Ok(written) = fs::canonicalize(file) else { return Ok(()) };
    let is_written = |input: &&Path| fs::canonicalize(input).is_ok_and(|input| input == written);
    let is_read = written.is_file() && inputs.iter().flatten().any(is_written);
    if !is_read {
        return Ok(());
    }
    let file = file.display();
    Err(CliError::Usage(format!("{option} {file}: that file is read, and would be lost: name another one")))
}
