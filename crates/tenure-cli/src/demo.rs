//! `tenure` without a command: replays the built-in recording with three strategies.

use std::io::Write;

use tenure_trace::read_all;

use crate::error::CliError;
use crate::replay::{Settings, Simulated, Verdict};
use crate::{compare, output, table};

const NAME: &str = "bevy-3d_scene";
const RECORDING: &[u8] = include_bytes!("../demo/bevy-3d_scene.csv.gz");

pub(crate) fn run() -> Result<Verdict, CliError> {
    let trace = read_all(RECORDING, NAME)?;
    let (target, settings) = (Simulated::default(), Settings::default());
    let outcomes = compare::replay_all(&target, (NAME, &trace), &compare::STRATEGIES, &settings)?;
    let allocations = trace.summary.allocs;
    let frames = trace.summary.frames;
    Ok(output::tell(compare::verdict(&outcomes), |out| {
        writeln!(
            out,
            "What a small Bevy scene allocated in {frames} frames ({allocations} buffers and textures), replayed on a \
             simulated GPU:"
        )?;
        write!(out, "{}", table::comparison(&outcomes))
    })?)
}
