//! Plays random operations with every suballocator, each beside its model.

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use comfy_table::Table;
use fuzz_cases::operations::{SUBALLOCATORS, play};

/// Plays random operations with every suballocator, each beside its model.
#[derive(Parser)]
struct Arguments {
    /// Operations of each.
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// Another one gives other operations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One of them alone.
    #[arg(long, value_parser = PossibleValuesParser::new(SUBALLOCATORS.iter().map(|(name, _)| *name)))]
    only: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header([
        "suballocator",
        "operations",
        "time",
        "",
    ]);
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|only| only == name);
    let mut is_fine = true;
    for (name, _) in SUBALLOCATORS.iter().filter(|(name, _)| wanted(name)) {
        let begun = Instant::now();
        let (operations, seed) = (arguments.operations, arguments.seed);
        // In a thread, whose panic is a result.
        let played = thread::spawn(move || play(name, operations, seed)).join();
        is_fine &= played.is_ok();
        let seconds = format!("{:.0} s", begun.elapsed().as_secs_f64());
        let result = if played.is_ok() { "as its model" } else { "differs from its model" };
        eprintln!("{name}: {seconds}, {result}");
        table.add_row([(*name).to_owned(), operations.to_string(), seconds, result.to_owned()]);
    }
    println!("{table}");
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
