//! `tenure report`: its output, and its errors for bad input.

use std::fs;
use std::path::Path;

use super::running::{FAILING, TINY, recording, run, run_with_input, status, stderr, stdout};

#[test]
fn a_recording_becomes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let output = run(&["report", &recording(), "--html", page]);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    // One frame more than the recording has marks: the events after the last.
    assert!(stdout(&output).contains("page.html: 899 frames with 2090 allocations"), "{}", stdout(&output));
    let text = fs::read_to_string(page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
    assert!(text.contains("Content-Security-Policy"));
}

#[test]
fn the_same_recording_becomes_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<_> = ["one.html", "two.html"]
        .iter()
        .map(|name| {
            let page = folder.path().join(name);
            let output = run_with_input(&["report", "-", "--html", page.to_str().unwrap()], TINY.as_bytes());
            assert_eq!(status(&output), 0, "{}", stderr(&output));
            fs::read(page).unwrap()
        })
        .collect();
    assert!(pages[0] == pages[1]);
}

#[test]
fn snapshots_are_detected_and_bad_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let args = ["report", "-", "--html", page.to_str().unwrap()];
    let output = run_with_input(&args, b"\n{\"stats\":{\"frames\":3}}\n{\"stats\":{\"frames\":4}}\n");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("2 frames with 0 allocations"));
    let output = run_with_input(&args, b"{\"stats\":{\"frames\":3}}\n{\"stats\":\n");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("stdin: line 2: "), "{}", stderr(&output));
    let output = run_with_input(&args, b"nonsense\n");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("stdin:1: "), "{}", stderr(&output));
}

/// The chapter writes file names in capitals.
#[test]
fn the_guide_quotes_the_output_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    let (recording, snapshots) =
        (written("a", b"nonsense\n"), written("b", b"{\"stats\":{}}\n{\"stats\":\n"));
    let utf16 = written("c", b"\xff\xfeo\0p\0");
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/seeing-memory.md");
    let chapter = fs::read_to_string(chapter).unwrap();
    for (file, page, quote, said) in [
        (&recording, &page, "FILE:LINE: ...", format!("{recording}:1: ")),
        (&snapshots, &page, "FILE: line LINE: ...", format!("{snapshots}: line 2: ")),
        (&utf16, &page, "FILE: the text is UTF-16", format!("{utf16}: the text is UTF-16")),
        (
            &utf16,
            &utf16,
            "--html FILE: FILE is the same file",
            format!("--html {utf16}: FILE is the same file"),
        ),
    ] {
        assert!(chapter.contains(&format!("- `{quote}`: ")), "{quote}");
        let output = run(&["report", file, "--html", page]);
        assert!(stderr(&output).starts_with(&said), "{quote}: {}", stderr(&output));
    }
}

#[test]
fn a_plan_is_shown_and_an_unwritable_page_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, page) = (folder.path().join("frame.csv"), folder.path().join("page.html"));
    fs::write(&plan, "id,lower,upper,size,class\nshadow,0,3,16,0\ngbuffer,1,5,32,9\n").unwrap();
    let args = ["report", "-", "--plan", plan.to_str().unwrap(), "--html"];
    let output = run_with_input(&[&args[..], &[page.to_str().unwrap()]].concat(), TINY.as_bytes());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let nowhere = folder.path().join("no/such/folder/page.html");
    let output = run_with_input(&[&args[..], &[nowhere.to_str().unwrap()]].concat(), TINY.as_bytes());
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("page.html: "), "{}", stderr(&output));
}

#[test]
fn snapshots_may_come_after_a_byte_order_mark_and_empty_lines() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let args = ["report", "-", "--html", page.to_str().unwrap()];
    for before in ["\u{feff}", "\n\n\n\n\n\n\n\n\n", "\u{feff}\r\n\r\n"] {
        let output = run_with_input(&args, format!("{before}{{\"stats\":{{\"frames\":3}}}}\n").as_bytes());
        assert_eq!(status(&output), 0, "{before:?}: {}", stderr(&output));
    }
}

#[test]
fn a_page_of_a_recording_whose_creations_fail_is_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let output = run_with_input(&["report", "-", "--html", page.to_str().unwrap()], FAILING.as_bytes());
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).starts_with("stdin pooled: failed: "), "{}", stderr(&output));
    assert!(fs::read_to_string(page).unwrap().ends_with("</html>\n"));
}

#[test]
fn damage_leaves_the_old_page() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.html"), folder.path().join("new.html"));
    fs::write(&old, "the old page").unwrap();
    for damaged in ["nonsense\n", "{\"stats\":7}\n"] {
        for page in [&old, &new] {
            let output =
                run_with_input(&["report", "-", "--html", page.to_str().unwrap()], damaged.as_bytes());
            assert_eq!(status(&output), 2, "{damaged}");
        }
    }
    assert_eq!(fs::read_to_string(&old).unwrap(), "the old page");
    assert!(!new.exists());
    // A shorter page replaces the old file completely.
    fs::write(&old, vec![b'x'; 1 << 20]).unwrap();
    let output = run_with_input(&["report", "-", "--html", old.to_str().unwrap()], TINY.as_bytes());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(fs::read_to_string(&old).unwrap().ends_with("</html>\n"));
}
