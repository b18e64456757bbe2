//! Buffers and textures that are created and released in C++, by tenure and by VMA.

use std::path::PathBuf;
use std::process::Command;

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::command::{cargo_printed, root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c, c_instructions, debian};

/// Rounds for callgrind: the difference has no first calls in it.
const ROUNDS: [u64; 2] = [10, 30];
/// Resources of a round.
const COUNT: u64 = 1000;
/// The kinds that the program has, with the managers of each.
const LINES: [[&str; 2]; 4] = [
    ["4 KiB buffer", "tenure"],
    ["4 KiB buffer", "VMA"],
    ["64x64 texture", "tenure"],
    ["64x64 texture", "VMA"],
];

/// Measures on the first Vulkan device, and prints a table.
pub(crate) fn run_and_print() -> Outcome {
    if !succeeds("valgrind", &["--version"]) {
        debian::packages(&["valgrind"])?;
    }
    let folder = target().join("c-managers");
    archive::build()?;
    archive::assemble(&target().join("release"), &folder.join("package"))?;
    let program = folder.join("managers");
    let vendor = vendor()?;
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-O2", "-DNDEBUG"]);
    for headers in ["Vulkan-Headers/include", "VulkanMemoryAllocator/include"] {
        command.arg("-isystem").arg(vendor.join(headers));
    }
    command.arg(root().join("crates/tenure-c/benches/managers.cpp")).arg("-o").arg(&program);
    c::link(&mut command, &folder.join("package"), true);
    // The development package only adds a link with a shorter name.
    run(command.arg("-l:libvulkan.so.1"))?;

    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["in C++", "manager", "create", "release", "frame end", "together", "instructions"]);
    for line in times(&mut Command::new(&program))?.lines() {
        let mut cells: Vec<_> = line.split('|').map(str::to_owned).collect();
        let [kind, manager] = [cells.first(), cells.get(1)].map(|cell| cell.cloned().unwrap_or_default());
        if !LINES.contains(&[&kind, &manager]) {
            return Err(Trouble::Failed(format!("the program has printed: {line}")));
        }
        let counted = ROUNDS.map(|rounds| {
            let mut command = Command::new("valgrind");
            command.arg("--tool=callgrind").args(c_instructions::COLLECT);
            c_instructions::counted(command.arg(&program).args([&kind, &manager]).arg(rounds.to_string()))
        });
        let [few, many] = counted;
        let rounds = (ROUNDS[1] - ROUNDS[0]) * COUNT;
        cells.push((many?.saturating_sub(few?) / rounds).to_string());
        table.add_row(cells);
    }
    println!("{table}");
    Ok(())
}

fn times(program: &mut Command) -> Result<String, Trouble> {
    let output = program.output().map_err(|error| Trouble::Failed(format!("{error}: {program:?}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Trouble::Failed(format!("{}: {program:?}\n{said}", output.status))),
    }
}

/// The folder with the headers of VMA and Vulkan, in the sources of a crate that the benchmarks use.
fn vendor() -> Result<PathBuf, Trouble> {
    let text = cargo_printed(&["metadata", "--format-version", "1"]).map_err(Trouble::Failed)?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| Trouble::Failed(error.to_string()))?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .find(|package| package["name"] == "vk-mem")
        .and_then(|package| package["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| Trouble::Failed("no package depends on vk-mem".to_owned()))?;
    Ok(PathBuf::from(manifest).with_file_name("vendor"))
}
