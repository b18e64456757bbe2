//! `tenure compare`.

use std::fs;

use serde_json::Value;

use crate::running::{FAILING, TINY, objects, recording, run, run_with_input, status, stderr, stdout};

fn results(arguments: &[&str]) -> String {
    stdout(&run(&[&["replay", &recording(), "--json"], arguments].concat()))
}

#[test]
fn results_and_recordings_are_compared_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("a.json"), path("b.json"));
    fs::write(&a, results(&["--strategy", "committed"])).unwrap();
    fs::write(&b, results(&["--strategy", "pooled"])).unwrap();
    // Single runs are compared whatever their strategies. The other kinds of files hold the same run as b.
    for other in [&b, &recording()] {
        let output = run(&["compare", &a, other, "--json"]);
        assert_eq!((status(&output), stderr(&output)), (0, String::new()));
        let [object] = &objects(&output)[..] else { panic!("one pair of runs") };
        assert_eq!(
            (&object["a"]["strategy"], &object["b"]["strategy"]),
            (&"committed".into(), &"pooled".into())
        );
        let figures = object["figures"].as_array().unwrap();
        let figure = |name: &str| figures.iter().find(|figure| figure["figure"] == name).unwrap();
        let allocations = figure("driver_allocations");
        assert_eq!(allocations["b_is"], "better");
        let number = |field: &str| allocations[field].as_i64().unwrap();
        assert_eq!(number("difference"), number("b") - number("a"));
        let ratio = allocations["ratio"].as_f64().unwrap();
        assert!((ratio - number("b") as f64 / number("a") as f64).abs() < 1e-9);
        assert_eq!(figure("frames")["b_is"], Value::Null);
        assert_eq!((&figure("leaks")["b_is"], &figure("leaks")["ratio"]), (&"the same".into(), &Value::Null));
    }
}

#[test]
fn every_figure_of_a_result_is_in_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    let text = results(&["--strategy", "placed"]);
    fs::write(&file, &text).unwrap();
    let file = file.to_str().unwrap();
    let object = &objects(&run(&["compare", file, file, "--json"]))[0];
    let line: Value = serde_json::from_str(&text).unwrap();
    for (field, value) in line.as_object().unwrap().iter().filter(|(_, value)| value.is_number()) {
        // The manager's own count, which repeats another figure.
        if field != "stats_peak_reserved_bytes" {
            let figures = object["figures"].as_array().unwrap();
            let figure = figures.iter().find(|figure| figure["figure"] == **field);
            assert_eq!(&figure.unwrap_or(&Value::Null)["a"], value, "{field}");
        }
    }
}

#[test]
fn a_table_names_the_better_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    fs::write(&file, results(&[])).unwrap();
    let file = file.to_str().unwrap();
    let output = run(&["compare", file, &recording()]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for wanted in
        ["A: ", "B: ", "peak reserved (MiB)", "B less A", "the same", "better in 0 figures, worse in 0"]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert_eq!(
        text.matches("B is").count(),
        2,
        "the strategy that both have, in a table and a sentence: {text}"
    );
    let all = stdout(&run(&["compare", file, file]));
    assert_eq!(all.matches("A: ").count(), 3, "{all}");
    let tiny = folder.path().join("tiny.csv");
    fs::write(&tiny, TINY).unwrap();
    let other = stdout(&run(&["compare", tiny.to_str().unwrap(), &recording()]));
    assert!(other.contains("different work"), "{other}");
}

#[test]
fn an_empty_recording_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty\u{1b}[31m.csv");
    fs::write(&file, "op,id,size,align,kind,frame\n").unwrap();
    let output = run(&["compare", file.to_str().unwrap(), &recording()]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(!text.contains(['\u{1b}']) && !text.contains("NaN") && !text.contains("inf"), "{text}");
    let json = run(&["compare", file.to_str().unwrap(), &recording(), "--json"]);
    assert_eq!(objects(&json)[0]["figures"][4]["a"], 0);
}

#[test]
fn incomparable_files_are_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (good, bad) = (path("good.json"), path("bad"));
    let line = results(&["--strategy", "pooled"]);
    fs::write(&good, &line).unwrap();
    let negative = line.replacen("\"frames\":", "\"frames\":-", 1);
    let lacking = line.replacen("\"driver_creates\":", "\"driver_creations\":", 1);
    let cases: &[(&[u8], &str)] = &[
        (b"{", "bad:1: not a result"),
        (b"{}\n", "bad:1: not a result"),
        (&line.as_bytes()[..line.len() / 2], "bad:1: not a result"),
        (negative.as_bytes(), "bad:1: not a result"),
        (lacking.as_bytes(), "missing field `driver_creates`"),
        (b"{\xff}", "bad:1: "),
        (b"op,id\n", "bad:1: "),
        (b"", "bad:1: "),
        (&[0x1f, 0x8b, 0, 0], "bad:1: "),
    ];
    for (content, wanted) in cases {
        fs::write(&bad, content).unwrap();
        for arguments in [["compare", &good, &bad], ["compare", &bad, &good]] {
            let output = run(&arguments);
            assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{content:?}");
            assert!(stderr(&output).contains(wanted), "{content:?}: {}", stderr(&output));
        }
    }
    let twice = run(&["compare", "-", "-"]);
    assert!(status(&twice) == 2 && stderr(&twice).contains("not both"), "{}", stderr(&twice));
    let other = run_with_input(&["compare", &good, "-", "--strategy", "placed"], line.as_bytes());
    assert!(status(&other) == 2 && stderr(&other).contains("no common strategy"), "{}", stderr(&other));
    let piped = run_with_input(&["compare", &good, "-"], line.as_bytes());
    assert_eq!(status(&piped), 0, "{}", stderr(&piped));
}

#[test]
fn runs_of_several_recordings_are_paired_by_their_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("a.json"), path("b.json"));
    let line = results(&["--strategy", "pooled"]);
    let of = |name: &str| line.replace(&recording(), name);
    fs::write(&a, of("one") + &of("two") + &of("three") + &of("old")).unwrap();
    fs::write(&b, of("two") + &of("one") + &of("new")).unwrap();
    let pairs = |arguments: &[&str]| {
        let output = run(arguments);
        let name = |run: &Value| run["trace"].as_str().unwrap().to_owned();
        let pairs: Vec<_> =
            objects(&output).iter().map(|pair| (name(&pair["a"]), name(&pair["b"]))).collect();
        (pairs, stderr(&output))
    };
    let (found, said) = pairs(&["compare", &a, &b, "--json"]);
    let wanted = [("one", "one"), ("two", "two"), ("three", "new")];
    assert_eq!(found, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(said, format!("{a}: runs without a counterpart: 1\n"));
    let (found, said) = pairs(&["compare", &a, &a, "--json"]);
    assert!(found.len() == 4 && found.iter().all(|(a, b)| a == b) && said.is_empty(), "{found:?} {said}");
}

#[test]
fn reasons_for_misleading_figures_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, real, failing) = (path("a.json"), path("b.json"), path("c.csv"));
    let line = results(&["--strategy", "pooled"]);
    fs::write(&file, &line).unwrap();
    fs::write(&real, line.replace("\"modelled\"", "\"measured\"").replace("\"sim\"", "\"vulkan\"")).unwrap();
    fs::write(&failing, FAILING).unwrap();
    let words = |other: &str| stdout(&run(&["compare", &file, other]));
    assert!(words(&real).contains("different devices") && words(&real).contains("is measured, the other"));
    assert!(words(&failing).contains("In B creations failed (1)"), "{}", words(&failing));
    let same = words(&file);
    assert!(!same.contains("different") && !same.contains("measured") && !same.contains("In A"), "{same}");
}

#[test]
fn results_written_by_windows_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (marked, wide) = (path("marked.json"), path("wide.json"));
    let line = results(&["--strategy", "pooled"]);
    fs::write(&marked, format!("\u{feff}{line}")).unwrap();
    let wide_text: Vec<u8> = format!("\u{feff}{line}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&wide, wide_text).unwrap();
    assert_eq!(status(&run(&["compare", &marked, &marked])), 0);
    for arguments in [&["compare", &marked, &wide][..], &["replay", &wide], &["tune", &wide]] {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).starts_with(&format!("{wide}: the text is UTF-16")), "{}", stderr(&output));
    }
    // Where a recording is expected, the error identifies results as such.
    for arguments in [
        &["replay", &marked][..],
        &["tune", &marked],
        #[cfg(feature = "report")]
        &["report", &marked, "--perfetto", &wide],
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).starts_with(&format!("{marked}: this is JSON")), "{}", stderr(&output));
    }
    let none = run(&["compare", &marked, &recording(), "--strategy", "placed"]);
    assert!(stderr(&none).contains("marked.json has no run with that strategy"), "{}", stderr(&none));
}

#[test]
fn damage_is_reported_with_the_encoding_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.csv.gz");
    let whole = fs::read(recording()).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let cut = cut.to_str().unwrap();
    let page = folder.path().join("page.html");
    let mut commands = vec![vec!["compare", cut, cut]];
    if cfg!(feature = "report") {
        commands.push(vec!["report", cut, "--html", page.to_str().unwrap()]);
    }
    for arguments in commands {
        let output = run(&arguments);
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(": cannot read (gzip): "), "{arguments:?}: {}", stderr(&output));
    }
}
