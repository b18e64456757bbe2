//! The backends, on real devices.

use std::fs;
use std::path::PathBuf;

use crate::command::{cargo, cargo_with};
use crate::lab::{Lab, System};
use crate::outcome::{Outcome, Trouble};
use crate::{debian, toolchain};

/// Tests of the workspace without a backend's tests, which need devices. Steps with devices use the same
/// arguments in addition, so that the same crates with the same features are built once.
pub(crate) const TEST_ALL: [&str; 6] =
    ["test", "--workspace", "--all-features", "--no-fail-fast", "--exclude", "tenure-d3d12"];

/// The same choice of crates for programs that are built and then run by path: `cargo run` takes a single
/// package, whose features would cause a rebuild of everything.
pub(crate) const BUILD_ALL: [&str; 5] =
    ["build", "--workspace", "--all-features", "--exclude", "tenure-d3d12"];
const VULKAN: [&str; 2] = ["--test", "vulkan"];
const DROP_IN_VULKAN: [&str; 2] = ["--test", "vulkan_device"];
pub(crate) const C_VULKAN: [&str; 2] = ["--test", "c_vulkan"];
const PROGRAM: [&str; 2] = ["--test", "devices"];
const CAPTURE: [&str; 2] = ["--test", "capture"];

pub(crate) const TEST_D3D12: [&str; 4] = ["test", "--package", "tenure-d3d12", "--all-features"];

/// The drop-in for the crate `gpu-allocator`. The version distinguishes it from the original, which is used for
/// comparison.
pub(crate) const DROP_IN: &str = "gpu-allocator@0.28.100";

/// The packages built for Windows in the lab, always together, for the same reason.
pub(crate) const ON_WINDOWS: [&str; 13] = [
    "--target",
    System::Windows.triple(),
    "--package",
    "tenure-d3d12",
    "--package",
    DROP_IN,
    "--package",
    "tenure-cli",
    "--package",
    "tenure-c",
    "--package",
    "tenure",
    "--all-features",
];

/// Tests that present to windows have this in their names. They run alone, because Wine's threads sometimes
/// deadlock in Xlib, more often with more threads.
const WITH_WINDOWS: &str = "swapchain";
/// All other tests on the device.
const WITHOUT_WINDOWS: [&str; 8] =
    ["--lib", "--test", "d3d12", "--test", "d3d12_device", "--", "--skip", WITH_WINDOWS];
/// Targets that `--all-targets` leaves out, because their manifests say `test = false`.
const DEVICE_TESTS: [&str; 6] = ["--test", "d3d12", "--test", "d3d12_device", "--test", "devices"];
const DROP_IN_D3D12: [&str; 6] = ["test", "--package", DROP_IN, "--lib", "--test", "d3d12_device"];

/// Tests that disguise the device as a discrete card have this in their names. They need a device with one
/// memory type, such as the lab's.
const LOOKS_DISCRETE: &str = "discrete";

/// The Vulkan backend: in the lab, or on this machine's own driver.
pub(crate) fn vulkan(is_native: bool) -> Outcome {
    if is_native || cfg!(windows) {
        println!("left out, because they need the lab's device: tests that disguise it as a discrete card");
        let skip = ["--", "--skip", LOOKS_DISCRETE];
        return cargo(&[&TEST_ALL[..], &VULKAN, &DROP_IN_VULKAN, &C_VULKAN, &skip].concat());
    }
    let lab = Lab::ready().map_err(|trouble| match trouble {
        Trouble::NoDevice(remedy) => Trouble::NoDevice(format!(
            "{remedy}; or on a Vulkan driver and validation layers of this machine: cargo xtask test vulkan --native"
        )),
        other => other,
    })?;
    lab.cargo(System::Linux, &[&TEST_ALL[..], &VULKAN, &DROP_IN_VULKAN, &C_VULKAN].concat())
}

/// The layer, under programs of the lab.
pub(crate) fn capture() -> Outcome {
    let lab = Lab::ready()?;
    lab.cargo(
        System::Linux,
        &[&TEST_ALL[..], &CAPTURE, &["--", "--nocapture", "--test-threads", "1"]].concat(),
    )
}

/// Tests that are not repeated on the distribution's device: windows, which need the lab's display, refusals of
/// each call, and devices with hidden features or memory types.
const IN_LAB_ALONE: [&str; 7] = [
    "swapchain::windows",
    "nth_call",
    "suite::bare",
    "suite::buffers",
    "suite::discrete",
    "suite::oldest",
    "suite::wrapped",
];

/// The Vulkan backend on the software device of this machine's Debian release, which may have fewer features.
pub(crate) fn vulkan_of_host() -> Outcome {
    debian::packages(&["libvulkan1", "mesa-vulkan-drivers", "vulkan-validationlayers"])?;
    let Some(driver) = software_driver() else {
        return Err(Trouble::Failed("mesa-vulkan-drivers has no lavapipe".to_owned()));
    };
    let driver = driver.to_string_lossy();
    // The second name is for loaders from before 2022.
    let skipped = IN_LAB_ALONE.map(|tests| ["--skip", tests]).concat();
    cargo_with(
        &[&TEST_ALL[..], &VULKAN, &["--"], &skipped].concat(),
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
    toolchain::component("clippy")?;
    // Some crates contain C code: the lab has the compiler.
    let lab = windows_in_lab()?;
    for targets in [&["--all-targets"][..], &DEVICE_TESTS] {
        cargo(&[&["clippy"][..], &ON_WINDOWS, targets, &["--", "-D", "warnings"]].concat())?;
    }
    cargo_with(&[&["doc", "--no-deps"][..], &ON_WINDOWS].concat(), &[("RUSTDOCFLAGS", "-D warnings")])?;
    let test = |arguments: &[&str], environment: &[(&str, &str)]| {
        lab.cargo_with(System::Windows, &[&["test"][..], &ON_WINDOWS, arguments].concat(), environment)
    };
    // With OpenGL, from which Wine has the vendor and device numbers of adapters: see the lab's `inside`.
    test(&WITHOUT_WINDOWS, &[("WINE_D3D_CONFIG", "")])?;
    test(&["--test", "d3d12", "--", "--test-threads", "1", WITH_WINDOWS], &[])?;
    test(&["--doc"], &[])
}

/// The requirements of the lab's cross-compiled programs.
pub(crate) fn windows_in_lab() -> Result<Lab, Trouble> {
    toolchain::target(System::Windows.triple())?;
    let lab = Lab::ready()?;
    debian::packages(&["gcc-mingw-w64-x86-64"])?;
    Ok(lab)
}

/// The program `tenure` on the devices that it finds: lists them, and replays recordings on them.
pub(crate) fn program(is_native: bool) -> Outcome {
    let test = [&TEST_ALL[..], &PROGRAM].concat();
    if is_native || cfg!(windows) {
        let full = ["--package", "tenure-cli", "--features", "full"];
        cargo(&[&["run", "--release", "--quiet"][..], &full, &["--", "devices"]].concat())?;
        return cargo(&test);
    }
    let lab = windows_in_lab()?;
    lab.cargo(System::Linux, &test)?;
    lab.run_built(System::Linux, "tenure", &["devices"])?;
    lab.cargo(System::Windows, &[&["test"][..], &ON_WINDOWS, &PROGRAM].concat())?;
    lab.run_built(System::Windows, "tenure", &["devices"])
}

/// An example, on this machine's own devices.
pub(crate) const fn example(name: &str) -> [&str; 7] {
    ["run", "--release", "--quiet", "--package", "tenure", "--example", name]
}

/// Builds an example for the lab.
pub(crate) fn build_in_lab(system: System, name: &str) -> Outcome {
    let example = ["--quiet", "--example", name];
    match system {
        System::Linux => cargo(&[&BUILD_ALL[..], &example].concat()),
        System::Windows => cargo(&[&["build"][..], &ON_WINDOWS, &example].concat()),
    }
}

/// An example, in the lab.
fn in_lab(lab: &Lab, system: System, name: &str, arguments: &[&str]) -> Outcome {
    build_in_lab(system, name)?;
    lab.run_built(system, &format!("examples/{name}"), arguments)
}

/// 400 frames of four recording threads, which take a tenth of a second each on a software device, and the
/// frames of a render graph, on both APIs. The world is streamed only on Vulkan.
pub(crate) fn frames(is_native: bool) -> Outcome {
    let on_all = |device, run: &dyn Fn(&str, &[&str]) -> Outcome| {
        run("frame", &["--device", device, "--frames", "400"])?;
        run("render-graph", &["--device", device, "--resolution", "1080p", "--frames", "50"])?;
        if device == "vulkan" { run("streamer", &["--device", device]) } else { Ok(()) }
    };
    let here = |name: &str, arguments: &[&str]| cargo(&[&example(name)[..], &["--"], arguments].concat());
    if cfg!(windows) {
        on_all("vulkan", &here)?;
        return on_all("d3d12", &here);
    }
    if is_native {
        return on_all("vulkan", &here);
    }
    let lab = windows_in_lab()?;
    on_all("vulkan", &|name, arguments| in_lab(&lab, System::Linux, name, arguments))?;
    on_all("d3d12", &|name, arguments| in_lab(&lab, System::Windows, name, arguments))
}

/// The voxel world in a window, whose last frame must be the expected picture. The lab's screen has 640 by 480
/// pixels. Before that the window is resized, minimised and restored.
const VOXELS_IN_WINDOW: [&str; 8] = [
    "--window",
    "--frames",
    "8",
    "--unrest",
    "--size",
    "480x270",
    "--compare",
    "examples/voxel-world-window.png",
];

/// Both APIs draw the same picture of the voxel world off screen, and the expected picture in a window.
pub(crate) fn pictures(is_native: bool) -> Outcome {
    let compare = ["--compare", "target/voxel-vulkan.png"];
    let here = |name: &str, arguments: &[&str]| cargo(&[&example(name)[..], &["--"], arguments].concat());
    if is_native || cfg!(windows) {
        here("voxel-vulkan", &[])?;
        here("voxel-vulkan", &VOXELS_IN_WINDOW)?;
        if cfg!(windows) {
            here("voxel-d3d12", &compare)?;
            here("voxel-d3d12", &VOXELS_IN_WINDOW)?;
        }
        return Ok(());
    }
    let lab = windows_in_lab()?;
    in_lab(&lab, System::Linux, "voxel-vulkan", &[])?;
    lab.run_built(System::Linux, "examples/voxel-vulkan", &VOXELS_IN_WINDOW)?;
    in_lab(&lab, System::Windows, "voxel-d3d12", &compare)?;
    lab.run_built(System::Windows, "examples/voxel-d3d12", &VOXELS_IN_WINDOW)
}

/// The viewer draws the expected picture on both APIs, off screen and in a window that is resized. More frames than the
/// GPU holds, so that each one's resources are reused.
pub(crate) fn viewer(is_native: bool) -> Outcome {
    let on_all = |device, run: &dyn Fn(&[&str]) -> Outcome| {
        let compared = ["--device", device, "--frames", "8", "--compare", "examples/viewer/viewer.png"];
        run(&[&compared[..], &["--headless"]].concat())?;
        run(&[&compared[..], &["--resize"]].concat())
    };
    let here = |arguments: &[&str]| cargo(&[&example("viewer")[..], &["--"], arguments].concat());
    if is_native || cfg!(windows) {
        on_all("vulkan", &here)?;
        return if cfg!(windows) { on_all("d3d12", &here) } else { Ok(()) };
    }
    let lab = windows_in_lab()?;
    for (system, device) in [(System::Linux, "vulkan"), (System::Windows, "d3d12")] {
        build_in_lab(system, "viewer")?;
        on_all(device, &|arguments| lab.run_built(system, "examples/viewer", arguments))?;
    }
    Ok(())
}
