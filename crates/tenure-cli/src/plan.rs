//! `tenure plan`: reads a list of resources, places them, and reports the plan.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use tenure_plan::csv::{self, PassRow, Table};
use tenure_plan::svg::Picture;
use tenure_plan::{Plan, plan};

use crate::args::PlanArgs;
use crate::error::{CliError, PlanFileError};
use crate::input::Input;
use crate::output;
use crate::replay::Verdict;

/// The JSON output.
#[derive(Serialize)]
struct Summary {
    buffers: usize,
    lower_bound: u64,
    peak: u64,
    proven: bool,
    wall_us: u64,
    nodes: u64,
}

pub(crate) fn run(args: &PlanArgs) -> Result<Verdict, CliError> {
    let (name, table) = Input::open(&args.file)?.table()?;
    let passes = args.passes.as_deref().map(|file| Input::open(file)?.passes()).transpose()?;
    let planning = output::working("planning");
    let begin = Instant::now();
    let plan = match plan(&table.items, &args.options()) {
        Ok(plan) => plan,
        Err(error) => return Err(PlanFileError::Items { name, error, table: Box::new(table) }.into()),
    };
    drop(planning);
    let wall_us = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
    if let Some(file) = &args.out {
        write(file, |sink| csv::write(sink, &table, &plan.offsets))?;
    }
    if let Some(file) = &args.svg {
        let picture = picture(&name, &table, &plan, passes.as_deref().unwrap_or_default());
        write(file, |sink| picture.write(sink))?;
    }
    let fits = args.capacity.is_none_or(|capacity| plan.peak <= capacity);
    let verdict = if fits { Verdict::Clean } else { Verdict::Faulty };
    Ok(output::tell(verdict, |out| {
        let buffers = table.items.len();
        if !args.json {
            return writeln!(out, "{}", in_words(buffers, &plan, wall_us, args.capacity));
        }
        let Plan { lower_bound, peak, proven, nodes, .. } = plan;
        let summary = Summary { buffers, lower_bound, peak, proven, wall_us, nodes };
        serde_json::to_writer(&mut *out, &summary)?;
        writeln!(out)
    })?)
}

fn picture<'a>(title: &'a str, table: &'a Table, plan: &'a Plan, passes: &'a [PassRow]) -> Picture<'a> {
    let mut picture = Picture::new(&table.items, &plan.offsets)
        .title(title)
        .names(table.ids.iter().map(String::as_str))
        .kinds(table.kinds.iter().map(String::as_str));
    for class in &plan.classes {
        picture = picture.lower_bound(class.class, class.lower_bound);
    }
    passes.iter().fold(picture, |picture, row| picture.pass(row.pass, &row.name, &row.queue))
}

fn in_words(buffers: usize, plan: &Plan, wall_us: u64, capacity: Option<u64>) -> String {
    let Plan { lower_bound, peak, nodes, .. } = plan;
    let quality =
        if plan.proven { "which is optimal".to_owned() } else { format!("the lower bound is {lower_bound}") };
    let fit = match capacity {
        Some(capacity) if *peak > capacity => format!(" No plan within {capacity} was found."),
        _ => String::new(),
    };
    format!("{buffers} resources in {peak} bytes, {quality}; {wall_us} µs, {nodes} placements tried.{fit}")
}

fn write(
    file: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), PlanFileError> {
    let write = || {
        let mut sink = BufWriter::new(File::create(file)?);
        content(&mut sink)?;
        sink.flush()
    };
    write().map_err(|error| PlanFileError::Io { file: file.to_path_buf(), error })
}
