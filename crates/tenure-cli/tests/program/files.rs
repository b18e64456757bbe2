//! Commands never overwrite their input files, under any name.

use std::fs;
#[cfg(unix)]
use std::fs::File;
use std::path::PathBuf;
use std::process::Output;
#[cfg(unix)]
use std::process::Stdio;

use crate::running::{run, status, stderr, stdout, tenure};

const FRAME: &str = "id,lower,upper,size\nshadow,0,3,16\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.path("frame.csv"), FRAME).unwrap();
        fs::write(folder.path("passes.csv"), "pass,name\n0,shadow\n").unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = tenure(args);
        command.current_dir(self.0.path()).output().unwrap()
    }

    /// Checks that the command is refused with both names, and changes no file.
    fn refuses(&self, args: &[&str], option: &str, other: &str) {
        self.is_refusal(&self.run(args), option, other);
    }

    fn is_refusal(&self, output: &Output, option: &str, other: &str) {
        let wanted = format!("{other} is the same file, and would be overwritten");
        let text = stderr(output);
        assert!(status(output) == 2 && text.starts_with(option) && text.contains(&wanted), "{text}");
        assert_eq!(stdout(output), "");
        assert_eq!(fs::read_to_string(self.path("frame.csv")).unwrap(), FRAME);
    }
}

#[test]
fn the_input_of_a_plan_is_not_overwritten() {
    let folder = Folder::new();
    folder.refuses(&["plan", "frame.csv", "--out", "frame.csv"], "--out", "FILE");
    folder.refuses(&["plan", "frame.csv", "--svg", "./frame.csv"], "--svg", "FILE");
    let detour = format!("../{}/frame.csv", folder.0.path().file_name().unwrap().display());
    folder.refuses(&["plan", "frame.csv", "--out", &detour], "--out", "FILE");
    folder.refuses(
        &["plan", "frame.csv", "--svg", "passes.csv", "--passes", "passes.csv"],
        "--svg",
        "--passes",
    );
}

#[test]
fn two_outputs_are_two_files() {
    let folder = Folder::new();
    folder.refuses(&["plan", "frame.csv", "--out", "new", "--svg", "./new"], "--svg", "--out");
    assert!(!folder.path("new").exists());
    fs::write(folder.path("old"), "old").unwrap();
    folder.refuses(&["plan", "frame.csv", "--out", "old", "--svg", "old"], "--svg", "--out");
    assert_eq!(fs::read_to_string(folder.path("old")).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn links_are_identified_with_their_targets() {
    let folder = Folder::new();
    fs::hard_link(folder.path("frame.csv"), folder.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink("frame.csv", folder.path("soft.csv")).unwrap();
    for link in ["hard.csv", "soft.csv"] {
        folder.refuses(&["plan", "frame.csv", "--out", link], "--out", "FILE");
    }
}

#[cfg(unix)]
#[test]
fn redirected_streams_are_identified_with_their_files() {
    let folder = Folder::new();
    let input = || Stdio::from(File::open(folder.path("frame.csv")).unwrap());
    let output = tenure(&["plan", "-", "--out", "frame.csv"]).current_dir(&folder.0).stdin(input()).output();
    folder.is_refusal(&output.unwrap(), "--out", "FILE");

    let told = File::create(folder.path("told")).unwrap();
    let mut command = tenure(&["plan", "frame.csv", "--out", "told"]);
    let output = command.current_dir(&folder.0).stdout(told).stderr(Stdio::piped()).output().unwrap();
    folder.is_refusal(&output, "--out", "standard output");
}

#[cfg(feature = "report")]
#[test]
fn a_page_does_not_overwrite_its_recording() {
    let folder = Folder::new();
    fs::write(folder.path("a.csv"), crate::running::TINY).unwrap();
    fs::hard_link(folder.path("a.csv"), folder.path("b.csv")).unwrap();
    for option in ["--html", "--perfetto"] {
        folder.refuses(&["report", "a.csv", option, "b.csv"], option, "FILE");
    }
    folder.refuses(&["report", "a.csv", "--html", "frame.csv", "--plan", "frame.csv"], "--html", "--plan");
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), crate::running::TINY);
}

#[test]
fn standard_input_is_read_once() {
    for args in [&["compare", "-", "-"][..], &["plan", "-", "--svg", "a.svg", "--passes", "-"]] {
        let output = run(args);
        let text = stderr(&output);
        assert!(
            status(&output) == 2 && text.contains("standard input") && text.contains("not both"),
            "{text}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_can_be_named_twice() {
    let folder = Folder::new();
    let output = folder.run(&["plan", "frame.csv", "--out", "/dev/null", "--svg", "/dev/null"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_printed_is_an_error() {
    for args in [&["--help"][..], &["--version"], &["plan", "--help"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = tenure(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert!(status(&output) == 2 && stderr(&output).contains("cannot write the output"), "{args:?}");
    }
    assert_eq!(status(&run(&["--help"])), 0);
}
