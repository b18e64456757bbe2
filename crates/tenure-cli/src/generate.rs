//! `tenure gen`: a recording from a seed.

use std::io::{self, Write};

use tenure_trace::{Encoding, TraceWriter, generate};

use crate::args::GenArgs;
use crate::error::CliError;

pub(crate) fn run(args: &GenArgs) -> Result<(), CliError> {
    match &args.out {
        Some(file) => write(args, TraceWriter::create(file, Encoding::of_name(file))?),
        None => write(args, TraceWriter::new(io::stdout().lock(), Encoding::Plain)?),
    }
}

fn write<W: Write>(args: &GenArgs, mut writer: TraceWriter<W>) -> Result<(), CliError> {
    for event in generate(args.workload, args.seed, args.ops) {
        writer.event(&event)?;
    }
    writer.finish()?;
    Ok(())
}
