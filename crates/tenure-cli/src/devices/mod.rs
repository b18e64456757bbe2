//! `tenure devices`: what there is on each API.

mod found;
mod gather;
mod table;

use std::io::Write;

use crate::args::DevicesArgs;
use crate::error::CliError;
use crate::output;
use crate::replay::Verdict;
use gather::Devices;

pub(crate) fn run(args: &DevicesArgs) -> Result<Verdict, CliError> {
    let devices = Devices::gather(args.sim);
    let verdict = if devices.found.is_empty() { Verdict::Faulty } else { Verdict::Clean };
    Ok(output::tell(verdict, |out| {
        if args.json {
            for found in &devices.found {
                serde_json::to_writer(&mut *out, found)?;
                writeln!(out)?;
            }
            devices.missing.iter().for_each(output::complain);
            return Ok(());
        }
        write!(out, "{}", table::tables(&devices.found))?;
        for missing in &devices.missing {
            writeln!(out, "{missing}")?;
        }
        Ok(())
    })?)
}
