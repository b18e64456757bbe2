//! The archive of `tenure-c` for programs in C and C++: headers, libraries, and the files of CMake and pkg-config.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::command::{cargo, root, run, target};
use crate::licenses;
use crate::outcome::{Outcome, Trouble};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files of the crate that carry the version, and their place in the archive.
const WITH_VERSION: [(&str, &str); 3] = [
    ("tenure-config.cmake", "lib/cmake/tenure"),
    ("tenure-config-version.cmake", "lib/cmake/tenure"),
    ("tenure.pc", "lib/pkgconfig"),
];

/// Builds the libraries alone: with the third kind of the crate, for tests, cargo optimises none of them as a whole.
const BUILD: [&str; 7] =
    ["rustc", "--release", "--package", "tenure-c", "--lib", "--crate-type", "cdylib,staticlib"];

/// Builds the libraries of the archive.
///
/// Access to variables of a thread stays a call in the shared one: with descriptors in place of calls (`-enable-tlsdesc`), glibc
/// before 2.40 may change vector registers that the compiler expects to keep.
pub(crate) fn build() -> Outcome {
    cargo(&BUILD)
}

/// Builds the same libraries for Windows. The archive does not have them.
pub(crate) fn build_for_windows() -> Outcome {
    cargo(&[&BUILD[..], &["--target", "x86_64-pc-windows-gnu"]].concat())
}

/// Builds the libraries, and packs the archive if they pass the check.
pub(crate) fn write(check: impl FnOnce(&Path) -> Outcome) -> Outcome {
    let name = format!("tenure-{VERSION}-{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let folder = target().join("archive");
    let archive = folder.join(format!("{name}.tar.gz"));
    let failed = |path: &Path, error: io::Error| Trouble::Failed(format!("{}: {error}", path.display()));
    if archive.exists() {
        // If a check fails, none is left that could be taken for a new one.
        fs::remove_file(&archive).map_err(|error| failed(&archive, error))?;
    }
    build()?;
    assemble(&target().join("release"), &folder.join(&name))?;
    let of_rust = licenses::of_rust()?;
    fs::copy(&of_rust, folder.join(&name).join("LICENSES-OF-RUST.html"))
        .map_err(|error| failed(&of_rust, error))?;
    check(&folder.join(&name))?;
    run(Command::new("tar").arg("-C").arg(&folder).arg("-czf").arg(&archive).arg(&name))?;
    println!("{}", archive.display());
    Ok(())
}

/// Makes the folder that the archive has, with libraries that are built.
pub(crate) fn assemble(libraries: &Path, folder: &Path) -> Outcome {
    let failed = |error| Trouble::Failed(format!("{}: {error}", folder.display()));
    copy_files(libraries, folder).map_err(failed)?;
    fs::write(folder.join("LICENSES-OF-DEPENDENCIES.txt"), licenses::text()?).map_err(failed)?;
    static_library(&libraries.join("libtenure_c.a"), &folder.join("lib"))
}

fn copy_files(libraries: &Path, folder: &Path) -> io::Result<()> {
    let package = root().join("crates/tenure-c");
    if folder.exists() {
        // It may have files that an earlier version had.
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder.join("include"))?;
    for header in fs::read_dir(package.join("include"))? {
        let header = header?;
        fs::copy(header.path(), folder.join("include").join(header.file_name()))?;
    }
    for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(package.join(file), folder.join(file))?;
    }
    for (file, place) in WITH_VERSION {
        let text = fs::read_to_string(package.join("package").join(file))?.replace("@VERSION@", VERSION);
        fs::create_dir_all(folder.join(place))?;
        fs::write(folder.join(place).join(file), text)?;
    }
    fs::copy(libraries.join("libtenure_c.so"), folder.join("lib/libtenure.so"))?;
    Ok(())
}

/// Makes all symbols local except for the functions, so that a program can have another static library written in Rust.
fn static_library(library: &Path, folder: &Path) -> Outcome {
    let object = folder.join("tenure.o");
    run(Command::new("ld").args(["-r", "--whole-archive"]).arg(library).arg("-o").arg(&object))?;
    // The second names the personality function, which each object with unwinding has as a weak symbol.
    let global = ["--keep-global-symbol=tn_*", "--keep-global-symbol=DW.ref.*"];
    // Rust's standard library has its bitcode beside it, which other versions of LLVM cannot read.
    let bitcode = ["--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
    run(Command::new("objcopy").arg("--wildcard").args(global).args(bitcode).arg(&object))?;
    run(Command::new("ar").arg("rcs").arg(folder.join("libtenure.a")).arg(&object))?;
    fs::remove_file(&object).map_err(|error| Trouble::Failed(format!("{}: {error}", object.display())))
}
