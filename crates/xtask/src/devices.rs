//! The backends, on real devices.

use std::fs;
use std::path::PathBuf;

use crate::command::{cargo, cargo_with};
use crate::debian;
use crate::lab::{Lab, System};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain;

/// Tests of the workspace, but for the backend whose tests are those of devices. What needs a device is said in
/// addition: the same crates with the same features are built once.
pub(crate) const TEST_ALL: [&str; 5] = ["test", "--workspace", "--all-features", "--exclude", "tenure-d3d12"];
const VULKAN: [&str; 2] = ["--test", "vulkan"];
const DROP_IN_VULKAN: [&str; 2] = ["--test", "vulkan_device"];
const PROGRAM: [&str; 2] = ["--test", "devices"];

pub(crate) const TEST_D3D12: [&str; 4] = ["test", "--package", "tenure-d3d12", "--all-features"];

/// The drop-in for the crate `gpu-allocator`. The original is there too, for comparison: the version
/// tells them apart.
pub(crate) const DROP_IN: &str = "gpu-allocator@0.28.100";
const DROP_IN_D3D12: [&str; 8] =
    ["test", "--package", DROP_IN, "--lib", "--test", "d3d12_device", "--test", "surface"];

/// The Vulkan backend: in the lab, or on this machine's own driver.
pub(crate) fn vulkan(is_native: bool) -> Outcome {
    if is_native || cfg!(windows) {
        return cargo(&[&TEST_ALL[..], &VULKAN, &DROP_IN_VULKAN].concat());
    }
    let lab = Lab::ready().map_err(|trouble| match trouble {
        Trouble::NoDevice(remedy) => Trouble::NoDevice(format!(
            "{remedy}; or on a Vulkan driver and validation layers of this machine: cargo xtask test vulkan --native"
        )),
        other => other,
    })?;
    lab.cargo(System::Linux, &[&TEST_ALL[..], &VULKAN, &DROP_IN_VULKAN].concat())
}

/// The Vulkan backend on the software device that this machine's own Debian has, with the features of its day.
pub(crate) fn vulkan_of_host() -> Outcome {
    debian::packages(&["libvulkan1", "mesa-vulkan-drivers", "vulkan-validationlayers"])?;
    let Some(driver) = software_driver() else {
        return Err(Trouble::Failed("mesa-vulkan-drivers has no lavapipe".to_owned()));
    };
    let driver = driver.to_string_lossy();
    // The second name is for loaders from before 2022.
    cargo_with(
        &[&TEST_ALL[..], &VULKAN].concat(),
        &[("VK_DRIVER_FILES", &driver), ("VK_ICD_FILENAMES", &driver)],
    )
}

/// The manifest of lavapipe; its name has the architecture in it on some releases.
fn software_driver() -> Option<PathBuf> {
    let folder = fs::read_dir("/usr/share/vulkan/icd.d").ok()?;
    folder
        .flatten()
        .find(|file| file.file_name().to_string_lossy().starts_with("lvp_icd"))
        .map(|file| file.path())
}

/// The Direct3D 12 backend: on Windows as it is, elsewhere cross-compiled and in the lab.
pub(crate) fn d3d12() -> Outcome {
    if cfg!(windows) {
        cargo(&TEST_D3D12)?;
        return cargo(&DROP_IN_D3D12);
    }
    let triple = System::Windows.triple();
    toolchain::target(triple)?;
    toolchain::component("clippy")?;
    let package = ["--target", triple, "--package", "tenure-d3d12", "--all-features"];
    let clippy = [&["clippy", "--all-targets"][..], &package, &["--", "-D", "warnings"]].concat();
    cargo(&clippy)?;
    document(&package)?;
    let drop_in = ["--target", triple, "--package", DROP_IN, "--all-features"];
    document(&drop_in)?;
    check_msvc()?;
    let lab = windows_in_lab()?;
    // Its tests read recordings, whose compression is in C: for that the lab has brought the compiler.
    cargo(&[&["clippy", "--all-targets"][..], &drop_in, &["--", "-D", "warnings"]].concat())?;
    lab.cargo(System::Windows, &TEST_D3D12)?;
    lab.cargo(System::Windows, &DROP_IN_D3D12)
}

/// The documentation of a package, without warnings.
fn document(package: &[&str]) -> Outcome {
    cargo_with(&[&["doc", "--no-deps"][..], package].concat(), &[("RUSTDOCFLAGS", "-D warnings")])
}

/// What the cross-compiled programs of the lab need.
pub(crate) fn windows_in_lab() -> Result<Lab, Trouble> {
    toolchain::target(System::Windows.triple())?;
    let lab = Lab::ready()?;
    debian::packages(&["gcc-mingw-w64-x86-64"])?;
    Ok(lab)
}

/// The program `tenure` on the devices that it finds: what they are, and recordings replayed on them.
pub(crate) fn program(is_native: bool) -> Outcome {
    let show = ["run", "--release", "--quiet", "--package", "tenure-cli", "--", "devices"];
    let test = [&TEST_ALL[..], &PROGRAM].concat();
    if is_native || cfg!(windows) {
        cargo(&show)?;
        return cargo(&test);
    }
    let lab = windows_in_lab()?;
    let on_windows = ["--package", "tenure-cli", "--test", "devices"];
    let lint = ["clippy", "--quiet", "--all-targets", "--target", System::Windows.triple()];
    cargo(&[&lint[..], &on_windows, &["--", "-D", "warnings"]].concat())?;
    lab.cargo(System::Linux, &show)?;
    lab.cargo(System::Linux, &test)?;
    lab.cargo(System::Windows, &show)?;
    lab.cargo(System::Windows, &[&["test"][..], &on_windows].concat())
}

const fn example(name: &str) -> [&str; 7] {
    ["run", "--release", "--quiet", "--package", "tenure", "--example", name]
}

/// A thousand frames of four recording threads, and those of a render graph, on both APIs.
pub(crate) fn frames(is_native: bool) -> Outcome {
    let frame = |device| [&example("frame")[..], &["--", "--device", device]].concat();
    let graph = |device| {
        let asked = ["--", "--device", device, "--resolution", "1080p", "--frames", "50"];
        [&example("render-graph")[..], &asked].concat()
    };
    let on_all = |device, run: &dyn Fn(&[&str]) -> Outcome| {
        run(&frame(device))?;
        run(&graph(device))
    };
    if cfg!(windows) {
        on_all("vulkan", &cargo)?;
        return on_all("d3d12", &cargo);
    }
    if is_native {
        return on_all("vulkan", &cargo);
    }
    let lab = windows_in_lab()?;
    on_all("vulkan", &|arguments| lab.cargo(System::Linux, arguments))?;
    on_all("d3d12", &|arguments| lab.cargo(System::Windows, arguments))
}

/// Both APIs draw the voxel world, and draw the same.
pub(crate) fn pictures(is_native: bool) -> Outcome {
    let (vulkan, d3d12) = (example("voxel-vulkan"), example("voxel-d3d12"));
    let compared = [&d3d12[..], &["--", "--compare", "target/voxel-vulkan.png"]].concat();
    if cfg!(windows) {
        cargo(&vulkan)?;
        return cargo(&compared);
    }
    if is_native {
        return cargo(&vulkan);
    }
    let lab = windows_in_lab()?;
    lab.cargo(System::Linux, &vulkan)?;
    lab.cargo(System::Windows, &compared)
}

/// The other toolchain of Windows can be checked without its linker.
fn check_msvc() -> Outcome {
    let triple = "x86_64-pc-windows-msvc";
    if let Err(trouble) = toolchain::target(triple) {
        println!("not checked for {triple}: {trouble}");
        return Ok(());
    }
    cargo(&["check", "--target", triple, "--package", "tenure-d3d12", "--all-features"])
}
