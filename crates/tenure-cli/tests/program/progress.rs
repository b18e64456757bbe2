//! Progress of long commands, shown only on a terminal.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use pty_process::Size;
use pty_process::blocking::{Command, open};

use crate::running::{recording, run, status, stderr};

/// Runs the program with a terminal as standard error and a file as standard output. Returns both outputs.
fn on_a_terminal(arguments: &[&str], out: &Path) -> (String, Vec<u8>) {
    let (mut terminal, end) = open().unwrap();
    terminal.resize(Size::new(24, 80)).unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(arguments)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(File::create(out).unwrap());
    let mut child = command.spawn(end).unwrap();
    let mut shown = Vec::new();
    // Linux reports an error after the other end is closed.
    let _ended = terminal.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    (String::from_utf8_lossy(&shown).into_owned(), fs::read(out).unwrap())
}

#[test]
fn long_commands_show_progress_on_a_terminal_and_clear_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (made, frame, trace, out) =
        (path("made.csv"), path("frame.csv"), path("trace"), folder.path().join("out"));
    fs::write(&frame, "id,lower,upper,size\na,0,2,16\nb,1,3,16\n").unwrap();
    let recording = recording();
    let cases: &[(&[&str], &str)] = &[
        (&["gen", "frames", "--ops", "20000", "--out", &made], "generating"),
        (&["gen", "frames", "--ops", "20000"], "generating"),
        (&["replay", &recording], "committed"),
        #[cfg(feature = "report")]
        (&["report", &recording, "--perfetto", &trace], "replaying"),
        (&["plan", &frame], "planning"),
        (&["compare", &recording, &recording], "pooled"),
        (&["tune", &recording, "--runs", "10"], "tuning"),
    ];
    for (arguments, wanted) in cases {
        let (shown, printed) = on_a_terminal(arguments, &out);
        assert!(shown.contains(wanted), "{arguments:?}: {wanted} in {shown:?}");
        assert!(shown.ends_with("\u{1b}[2K"), "{arguments:?}: {shown:?}");
        assert!(
            !printed.contains(&0x1b) && !printed.contains(&b'\r'),
            "{arguments:?}: only what was asked for"
        );
    }
}

#[test]
fn nothing_is_shown_in_a_pipe_and_the_output_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for arguments in [
        &["gen", "streaming", "--ops", "20000"][..],
        &["tune", &recording(), "--runs", "10", "--json"],
        &["plan", folder.path().join("frame.csv").to_str().unwrap(), "--nodes", "5"],
    ] {
        fs::write(folder.path().join("frame.csv"), "id,lower,upper,size\na,0,2,16\nb,1,3,16\n").unwrap();
        let piped = run(arguments);
        assert_eq!((status(&piped), stderr(&piped)), (0, String::new()), "{arguments:?}");
        let (_, printed) = on_a_terminal(arguments, &out);
        if arguments[0] != "plan" {
            assert!(printed == piped.stdout, "{arguments:?}");
        }
    }
}

#[test]
fn an_error_is_not_mixed_with_the_progress() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.csv");
    fs::write(&file, "op,id,size,align,kind,frame\nfree,1,4,,,0\n").unwrap();
    let (mut terminal, end) = open().unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_tenure")).args(["replay", file.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn(end).unwrap();
    let mut shown = Vec::new();
    let _ended = terminal.read_to_end(&mut shown);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let after_clearing = shown.rsplit("\u{1b}[2K").next().unwrap();
    assert!(after_clearing.starts_with(file.to_str().unwrap()), "{shown:?}");
    assert!(after_clearing.contains("bad.csv:2: free of id 1"), "{shown:?}");
}
