//! Buffers and textures that are created and released in C++, by tenure and by VMA or D3D12MA.

use std::path::{Path, PathBuf};
use std::process::Command;

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::command::{cargo_printed, root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c, c_instructions, debian, devices};

/// Rounds for callgrind: the difference has no first calls in it.
const ROUNDS: [u64; 2] = [10, 30];
/// Resources of a round.
const COUNT: u64 = 1000;
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

    print(times(&mut Command::new(&program))?, |kind, manager| {
        let [few, many] = ROUNDS.map(|rounds| {
            let mut command = Command::new("valgrind");
            command.arg("--tool=callgrind").args(c_instructions::COLLECT);
            c_instructions::counted(command.arg(&program).args([kind, manager]).arg(rounds.to_string()))
        });
        let rounds = (ROUNDS[1] - ROUNDS[0]) * COUNT;
        Ok((many?.saturating_sub(few?) / rounds).to_string())
    })
}

/// Measures in the device lab, on Direct3D 12, and prints a table without instructions. `sources`: the folder of D3D12MA, which no
/// crate has.
pub(crate) fn run_and_print_d3d12(sources: &Path) -> Outcome {
    let lab = devices::windows_in_lab()?;
    debian::packages(&["g++-mingw-w64-x86-64-posix"])?;
    archive::build_for_windows()?;
    let folder = target().join("x86_64-pc-windows-gnu/release");
    // Beside the library, where it is found.
    let program = folder.join("managers.exe");
    let mut command = Command::new("x86_64-w64-mingw32-g++-posix");
    command.args(["-std=c++17", "-O2", "-DNDEBUG", "-DTN_SHARED", "-static"]).args(MISSING_FLAGS);
    command
        .arg("-I")
        .arg(root().join("crates/tenure-c/include"))
        .arg("-isystem")
        .arg(sources.join("include"));
    command.arg(root().join("crates/tenure-c/benches/managers_d3d12.cpp"));
    command.arg(sources.join("src/D3D12MemAlloc.cpp")).arg(folder.join("tenure_c.dll"));
    run(command.args(["-ld3d12", "-ldxgi", "-lole32", "-luuid"]).arg("-o").arg(&program))?;
    print(times(&mut lab.command(&program, SECONDS))?, |_, _| Ok("–".to_owned()))
}

/// Constants that the header of Debian's mingw lacks, with their values in Direct3D's.
const MISSING_FLAGS: [&str; 3] = [
    "-DD3D12_HEAP_FLAG_HARDWARE_PROTECTED=static_cast<D3D12_HEAP_FLAGS>(0x8)",
    "-DD3D12_HEAP_FLAG_ALLOW_WRITE_WATCH=static_cast<D3D12_HEAP_FLAGS>(0x200)",
    "-DD3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS=static_cast<D3D12_HEAP_FLAGS>(0x400)",
];
const SECONDS: u32 = 300;

/// Prints the lines of a program as a table, with the instructions of each kind and manager.
fn print(lines: String, instructions: impl Fn(&str, &str) -> Result<String, Trouble>) -> Outcome {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["in C++", "manager", "create", "release", "frame end", "together", "instructions"]);
    for line in lines.lines() {
        let mut cells: Vec<_> = line.split('|').collect();
        let &[kind, manager, _, _, _, _] = &cells[..] else {
            return Err(Trouble::Failed(format!("the program has printed: {line}")));
        };
        let instructions = instructions(kind, manager)?;
        cells.push(&instructions);
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
