//! The triangles, drawn by both APIs off screen and in a window, and compared with the expected picture.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use crate::command::{cargo, root, run, target};
use crate::devices::{BUILD_ALL, C_VULKAN, build_in_lab, example, windows_in_lab};
use crate::lab::{Lab, System};
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c, debian};

/// The frame that the picture shows.
const FRAMES: &str = "30";

const EXPECTED: &str = "examples/triangle.png";

/// The tolerance of a colour, of 255, because rasterisers and filters round differently.
const TOLERANCE: u8 = 12;

/// Percent of the pixels: edges of the triangles and of the squares.
const MOST_DIFFERENT: f64 = 2.0;

/// Both APIs draw the triangles. A window without a display is a failure.
pub(crate) fn check(is_native: bool) -> Outcome {
    if is_native || cfg!(windows) {
        let apis: &[&str] = if cfg!(windows) { &["vulkan", "d3d12"] } else { &["vulkan"] };
        return apis.iter().try_for_each(|api| {
            let mut cargo = Command::new("cargo");
            cargo.args(example(&format!("triangle-{api}"))).arg("--");
            draw_both(api, &cargo)
        });
    }
    let lab = windows_in_lab()?;
    for (system, api) in [(System::Linux, "vulkan"), (System::Windows, "d3d12")] {
        let name = format!("triangle-{api}");
        build_in_lab(system, &name)?;
        draw_both(api, &lab.command(&system.built(&format!("examples/{name}")), 300))?;
    }
    draw_in_cpp(&lab)
}

/// The same picture off screen from C++, byte by byte, with the shaders that the example in Rust writes.
fn draw_in_cpp(lab: &Lab) -> Outcome {
    debian::packages(&["g++", "libvulkan-dev"])?;
    cargo(&[&BUILD_ALL[..], &["--quiet"], &C_VULKAN].concat())?;
    let folder = target().join("triangle");
    archive::assemble(&target().join("debug/deps"), &folder)?;
    let [program, shaders, drawn, picture] =
        ["triangle", "triangle.spv", "triangle.pam", "triangle.png"].map(|name| folder.join(name));
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O1", "examples/triangle-vulkan.cpp", "-lvulkan", "-o"]).arg(&program);
    compiler.args(c::WARNINGS);
    c::link(&mut compiler, &folder, false);
    run(&mut compiler)?;

    let rust = System::Linux.built("examples/triangle-vulkan");
    let mut command = lab.command(&rust, 300);
    command.args(["--headless", "--frames", FRAMES, "--picture"]).arg(&picture);
    run_unreproached(command.arg("--write-shaders").arg(&shaders))?;
    let mut command = lab.command(&program, 300);
    command.args(["--frames", FRAMES, "--picture"]).arg(&drawn).arg("--shaders").arg(&shaders);
    run_validated(&mut command)?;
    let failed = |reason: String| Trouble::Failed(format!("{}: {reason}", drawn.display()));
    let expected = as_pam(&read(&picture).map_err(failed)?);
    match fs::read(&drawn).map_err(|error| failed(error.to_string()))? == expected {
        true => Ok(()),
        false => Err(failed(format!("differs from {}", picture.display()))),
    }
}

/// A picture as a file in the format that the program in C++ writes.
fn as_pam((width, height, texels): &Picture) -> Vec<u8> {
    let head =
        format!("P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n");
    [head.as_bytes(), texels].concat()
}

const LAYER: &str = "VK_LAYER_KHRONOS_validation";

/// The beginning of the lines of Vulkan's loader about the layers.
const LOADER: &str = "[Vulkan Loader]";

/// Runs a program with the validation layer and its checks of synchronisation. The loader says whether it has the layer: without
/// it, it would only warn.
fn run_validated(command: &mut Command) -> Outcome {
    command
        .env("VK_INSTANCE_LAYERS", LAYER)
        .env("VK_LAYER_VALIDATE_SYNC", "1")
        .env("VK_LOADER_DEBUG", "layer");
    let said = run_unreproached(command)?;
    match has_layer(&said) {
        true => Ok(()),
        false => Err(Trouble::Failed(format!("without {LAYER}: {command:?}"))),
    }
}

/// True where the loader of Vulkan says that it has inserted the layer.
fn has_layer(said: &str) -> bool {
    let inserted = format!("Insert instance layer \"{LAYER}\"");
    said.lines().any(|line| line.starts_with(LOADER) && line.contains(&inserted))
}

/// Checks that the pictures off screen and in a window are the same.
fn draw_both(api: &str, program: &Command) -> Outcome {
    for (how, arguments) in [("headless", &["--headless"][..]), ("window", &[])] {
        let picture = format!("target/triangle-{api}-{how}.png");
        // A picture of an earlier run must not be mistaken for this one's.
        let _absent = fs::remove_file(root().join(&picture));
        let mut command = Command::new(program.get_program());
        command.args(program.get_args()).args(arguments).args(["--frames", FRAMES, "--picture", &picture]);
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        match api {
            "vulkan" => run_validated(&mut command)?,
            _ => run_unreproached(&mut command).map(drop)?,
        }
        let percent = compare(&root().join(&picture), &root().join(EXPECTED))?;
        println!("{picture}: {percent:.3} % of its pixels differ from {EXPECTED}");
    }
    Ok(())
}

/// Runs a program, which prints the messages of the validation layers: there must be none. Returns its output.
fn run_unreproached(command: &mut Command) -> Result<String, Trouble> {
    let output = command.current_dir(root()).output();
    let output = output.map_err(|error| Trouble::Failed(format!("{error}: {command:?}")))?;
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    said.lines().filter(|line| !line.starts_with(LOADER)).for_each(|line| println!("{line}"));
    let is_reproached = ["Validation Error", "VUID-", "SYNC-HAZARD"].iter().any(|word| said.contains(word));
    match output.status.success() && !is_reproached {
        true => Ok(said),
        false => Err(Trouble::Failed(format!("{}, with messages above: {command:?}", output.status))),
    }
}

/// Width, height, and the texels.
type Picture = (u32, u32, Vec<u8>);

/// Percent of the pixels that differ.
fn compare(drawn: &Path, expected: &Path) -> Result<f64, Trouble> {
    let failed = |reason: String| Trouble::Failed(format!("{}: {reason}", drawn.display()));
    let (drawn, expected) = (read(drawn).map_err(failed)?, read(expected).map_err(failed)?);
    let percent = difference(&drawn, &expected).map_err(failed)?;
    if percent > MOST_DIFFERENT {
        return Err(failed(format!("{percent:.3} % of the pixels differ from {EXPECTED}")));
    }
    Ok(percent)
}

fn read(path: &Path) -> Result<Picture, String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong = |error: png::DecodingError| format!("{}: {error}", path.display());
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().map_err(wrong)?;
    let mut texels = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let info = reader.next_frame(&mut texels).map_err(wrong)?;
    if info.color_type != png::ColorType::Rgba {
        return Err(format!("{}: not RGBA", path.display()));
    }
    Ok((info.width, info.height, texels))
}

fn difference(drawn: &Picture, expected: &Picture) -> Result<f64, String> {
    if (drawn.0, drawn.1) != (expected.0, expected.1) {
        return Err(format!("{} by {}, not {} by {}", drawn.0, drawn.1, expected.0, expected.1));
    }
    let pixels = drawn.2.as_chunks::<4>().0.iter().zip(expected.2.as_chunks::<4>().0);
    let differs = |(one, other): &(&[u8; 4], &[u8; 4])| {
        one.iter().zip(*other).any(|(one, other)| one.abs_diff(*other) > TOLERANCE)
    };
    Ok(100.0 * pixels.filter(differs).count() as f64 / f64::from(drawn.0 * drawn.1))
}

#[cfg(test)]
mod tests {
    use super::{Picture, difference, has_layer};

    fn grey(width: u32, light: u8) -> Picture {
        (width, 1, vec![light; width as usize * 4])
    }

    #[test]
    fn the_loader_says_whether_it_has_the_layer() {
        assert!(has_layer(
            "a\n[Vulkan Loader] INFO | LAYER:   Insert instance layer \"VK_LAYER_KHRONOS_validation\" (lib.so)"
        ));
        let missing = "[Vulkan Loader] ERROR | LAYER:  Layer \"VK_LAYER_KHRONOS_validation\" was not found but was requested by env \
            var VK_INSTANCE_LAYERS!\n[Vulkan Loader] INFO | LAYER:   Insert instance layer \"VK_LAYER_MESA_device_select\" (lib.so)";
        assert!(!has_layer(missing) && !has_layer(""));
    }

    #[test]
    fn pixels_differ_beyond_the_tolerance() {
        let same = |other: &Picture| difference(&grey(100, 100), other);
        assert_eq!(same(&grey(100, 112)), Ok(0.0));
        assert_eq!(same(&grey(100, 113)), Ok(100.0));
        let mut one = grey(100, 100);
        one.2[7] = 0;
        assert_eq!(same(&one), Ok(1.0));
        assert!(same(&grey(99, 100)).is_err());
    }
}
