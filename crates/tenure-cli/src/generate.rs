//! `tenure gen`: a recording from a seed.

use std::io::{self, IsTerminal, Write};

use tenure_trace::{Encoding, Event, TraceWriter, generate};

use crate::args::GenArgs;
use crate::error::CliError;
use crate::feature::Feature;
use crate::output::{self, ProgressBar};

/// Allocations and frees between two reports of progress, which may cost a system call.
const OPS_A_REPORT: u64 = 1024;

pub(crate) fn run(args: &GenArgs) -> Result<(), CliError> {
    match &args.out {
        Some(file) => {
            let encoding = Encoding::of_name(file);
            if !encoding.is_supported() {
                return Err(CliError::File { file: file.clone(), error: Feature::Zstd.into() });
            }
            let bar = output::progress(args.ops, "generating");
            write(args, TraceWriter::create(file, encoding)?, &bar)
        }
        None => {
            // The bar must not mix with a recording on the terminal.
            let is_shown = io::stdout().is_terminal();
            let bar = if is_shown { ProgressBar::hidden() } else { output::progress(args.ops, "generating") };
            write(args, TraceWriter::new(io::stdout().lock(), Encoding::Plain)?, &bar)
        }
    }
}

fn write<W: Write>(args: &GenArgs, mut writer: TraceWriter<W>, bar: &ProgressBar) -> Result<(), CliError> {
    let mut ops = 0_u64;
    for event in generate(args.workload, args.seed, args.ops) {
        writer.event(&event)?;
        ops += u64::from(!matches!(event, Event::Frame { .. }));
        if ops.is_multiple_of(OPS_A_REPORT) {
            bar.set_position(ops);
        }
    }
    writer.finish()?;
    Ok(())
}
