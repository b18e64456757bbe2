//! `tenure capture` on shells that write the log themselves, without a device.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tempfile::tempdir;
use tenure_trace::read_all;

use crate::running::{objects, run, status, stderr, stdout, tenure};

/// A shell that writes logs of two devices of a process. The second has more memory.
const TWO_DEVICES: &str = r#"
cd "$TENURE_CAPTURE"
head="1 0 capture 1\n1 0 device A card\n1 0 ids 10005 0 4 1\n1 0 type 0 15 0\n"
printf "$head"'2 0 M 1 100 0\n3 0 end\n' > 7-0.log
printf "$head"'2 0 M 1 4096 0\n2 0 R 2 b 1000 80\n2 0 B 2 1 0 1000 64 0\n3 0 P 0\n4 0 D 2\n5 0 F 1\n6 0 en' > 7-1.log
exit 7
"#;

fn capture(more: &[&str], script: &str) -> Output {
    run(&[&["capture"], more, &["--", "sh", "-c", script]].concat())
}

#[test]
fn the_device_with_the_most_memory_is_shown_and_all_are_written() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("two.csv.gz");
    let output = capture(&["--out", file.to_str().unwrap()], TWO_DEVICES);
    assert_eq!((status(&output), stderr(&output).as_str()), (7, ""));
    let text = stdout(&output);
    for wanted in [
        "sh on A card, replayed as vulkan-lavapipe.\nFrames: 1; resources: 1, of at most 0.0 MiB at once.",
        "the program's own blocks",
        "tenure, pooled",
        "one committed resource each",
        "Other devices of the program, with less memory: 1.",
        "The program's own blocks at their peak, in MiB:",
        "ended without destroying its device",
        "two.csv.gz: ",
        "two-2.csv.gz: ",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    let trace = read_all(fs::File::open(&file).unwrap(), "two").unwrap();
    assert_eq!((trace.summary.allocs, trace.summary.frees, trace.summary.frames), (1, 1, 1));
    assert_eq!(trace.summary.peak_live_bytes, 1000);
}

#[test]
fn figures_are_also_json() {
    let output = capture(&["--json"], TWO_DEVICES);
    let found = &objects(&output)[0];
    assert_eq!(found["own"]["peak_bytes"], 4096);
    assert_eq!(found["own"]["allocations"], 1);
    assert_eq!(found["committed"]["driver_allocations"], 1);
    assert_eq!(found["pooled"]["strategy"], "pooled");
    assert_eq!((&found["program"], &found["device"]), (&Value::from("sh"), &Value::from("A card")));
}

#[test]
fn a_page_is_written_with_the_feature_report() {
    let folder = tempdir().unwrap();
    let page = folder.path().join("two.html");
    let output = capture(&["--html", page.to_str().unwrap()], TWO_DEVICES);
    if cfg!(feature = "report") {
        assert_eq!((status(&output), stderr(&output).as_str()), (7, ""));
        assert!(stdout(&output).contains("two.html: 2 frames with 1 allocations"), "{}", stdout(&output));
        assert!(fs::read_to_string(&page).unwrap().ends_with("</html>\n"));
        let output = capture(&["--html", page.to_str().unwrap()], "exit 3");
        assert_eq!((status(&output), page.exists()), (3, true), "the old page stays");
    } else {
        assert_eq!((status(&output), page.exists()), (2, false));
        assert!(stderr(&output).contains("without `tenure report`"), "{}", stderr(&output));
    }
    let output = capture(&["--out", page.to_str().unwrap(), "--html", page.to_str().unwrap()], TWO_DEVICES);
    assert_eq!(status(&output), 2, "one file for both");
}

#[test]
fn a_program_finds_the_layer_and_the_log_folder_which_is_removed() {
    let folder = tempdir().unwrap();
    let note = folder.path().join("note");
    let script = format!(
        "echo \"$TENURE_CAPTURE|$VK_ADD_IMPLICIT_LAYER_PATH|$VK_INSTANCE_LAYERS|$TENURE_CAPTURE_AS|$TENURE_CAPTURE_NAMES\" > \
         '{0}'; cat \"$VK_ADD_LAYER_PATH\"/*.json >> '{0}'",
        note.display()
    );
    let output = capture(&["--as", "mobile", "--names"], &script);
    let text = fs::read_to_string(&note).unwrap();
    let (variables, manifest) = text.split_once('\n').unwrap();
    let [logs, layers, active, card, names] = variables.split('|').collect::<Vec<_>>()[..] else {
        panic!("{variables}")
    };
    assert_eq!((logs, active, names), (layers, "VK_LAYER_TENURE_capture", "1"));
    assert!(card.starts_with("name=vulkan-mobile heaps="), "{card}");
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let library = manifest["layer"]["library_path"].as_str().unwrap();
    assert!(fs::metadata(library).unwrap().is_file(), "{library}");
    assert!(fs::metadata(logs).is_err(), "the folder is gone");
    // The program wrote no log.
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).starts_with("sh used no Vulkan device that the layer saw."),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_exit_status_is_the_program_s() {
    assert_eq!(status(&capture(&[], "exit 3")), 3);
    assert_eq!(status(&capture(&[], "kill -9 $$")), 128 + 9);
}

/// The beginning of a shell script that writes a log of one device.
const ONE_DEVICE: &str = r#"
printf '1 0 capture 1\n1 0 application A game\n1 0 device A card\n1 0 type 0 15 0\n2 0 M 1 4096 0\n' > "$TENURE_CAPTURE/7-0.log"
"#;

#[test]
fn the_name_is_that_of_the_application_info() {
    // The command may be a launcher or a shell.
    let output = capture(&[], ONE_DEVICE);
    assert!(stdout(&output).starts_with("A game on A card, "), "{}", stdout(&output));
    assert_eq!(objects(&capture(&["--json"], ONE_DEVICE))[0]["program"], "A game");
}

/// Captures a shell. Resets signals that this process ignores, as in the background.
#[cfg(target_os = "linux")]
fn capture_with_signals(script: &str) -> Output {
    let command = tenure(&["capture", "--", "sh", "-c", script]);
    let mut env = std::process::Command::new("env");
    env.arg("--default-signal").arg(command.get_program()).args(command.get_args()).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_program_too_and_the_recording_is_shown() {
    for (signal, number) in [("TERM", 15), ("HUP", 1)] {
        // The pause is for a slow start of the command.
        let end = format!("echo $TENURE_CAPTURE; sleep 0.3; kill -{signal} $PPID; exec sleep 9");
        let output = capture_with_signals(&[ONE_DEVICE, &end].concat());
        assert_eq!(output.status.code(), Some(128 + number), "{signal}: {output:?}");
        let text = stdout(&output);
        let (folder, table) = text.split_once('\n').unwrap();
        assert!(table.starts_with("A game on A card, "), "{signal}: {text}");
        assert!(fs::metadata(folder).is_err(), "{signal}: the folder is gone");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_command_after_the_program_has_ended() {
    // This log is a pipe that never ends. The last signal ends a failing test.
    let script = "mkfifo $TENURE_CAPTURE/7-0.log
        (sleep 1; kill -INT $PPID; sleep 3; kill -KILL $PPID) > /dev/null 2>&1 &";
    let output = capture_with_signals(script);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(2), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_recording_is_still_shown() {
    let output = capture(&["--out", "/dev/full"], ONE_DEVICE);
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("the program's own blocks"), "{}", stdout(&output));
    assert_eq!(stderr(&output), "/dev/full: No space left on device (os error 28)\n");
}

#[cfg(unix)]
#[test]
fn a_program_may_change_its_folder() {
    let folder = tempdir().unwrap();
    let mut command = tenure(&["capture", "--", "sh", "-c", "cd /; test -d $TENURE_CAPTURE && exit 5"]);
    let output = command.current_dir(folder.path()).env("TMPDIR", ".").output().unwrap();
    assert_eq!(status(&output), 5, "{output:?}");
}

#[test]
fn long_or_unprintable_names_lose_no_recording() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("game.csv");
    // The longest name that the layer writes, in bytes of UTF-8.
    let name = "\u{10348}".repeat(256);
    let output = capture(&["--out", file.to_str().unwrap()], &ONE_DEVICE.replace("A game", &name));
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    let header = read_all(fs::File::open(&file).unwrap(), "game").unwrap().header;
    assert_eq!(header.get("program"), Some(&name[..512]));
    #[cfg(unix)]
    {
        let program = folder.path().join("two\nlines");
        std::os::unix::fs::symlink("/bin/true", &program).unwrap();
        let output = run(&["capture", "--", program.to_str().unwrap()]);
        assert!(stderr(&output).starts_with("two\u{fffd}lines used no"), "{}", stderr(&output));
    }
}

#[test]
fn missing_files_are_named() {
    let output = run(&["capture", "--layer", "/nowhere/layer.so", "--", "sh"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("there is no /nowhere/layer.so: build the layer by `cargo build"));
    let folder = tempdir().unwrap();
    let file = folder.path().join("game.csv");
    let output = run(&["capture", "--out", file.to_str().unwrap(), "--", "/nowhere/game"]);
    assert_eq!((status(&output), file.exists()), (2, false), "no file in vain");
    assert!(stderr(&output).starts_with("cannot start game: "), "{}", stderr(&output));
    assert_eq!(status(&run(&["capture"])), 2);
    let output = capture(&["--out", "/nowhere/game.csv"], TWO_DEVICES);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("/nowhere/game.csv: "), "{}", stderr(&output));
}
