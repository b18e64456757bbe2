//! `tenure report`: the events of a recording as a page or a timeline.

use crate::args::ReportArgs;
use crate::error::CliError;
use crate::replay::Verdict;
use crate::{html, perfetto};

pub(crate) fn run(args: &ReportArgs) -> Result<Verdict, CliError> {
    match (&args.html, &args.perfetto) {
        (Some(page), _) => html::run(args, page),
        (None, Some(trace)) => perfetto::run(args, trace),
        // The parser requires one of them.
        (None, None) => Err(CliError::Usage("choose an output: --html or --perfetto".to_owned())),
    }
}
