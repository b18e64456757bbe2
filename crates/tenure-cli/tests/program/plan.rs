//! `tenure plan`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tenure_plan::{check, csv};

use crate::running::{run_with_input, status, stderr, stdout};

const FRAME: &str = "id,lower,upper,size\n\
                     shadow,0,3,16\n\
                     gbuffer,1,5,32\n\
                     light,3,6,16\n\
                     <bloom>,5,7,32\n";

fn plan(args: &[&str], input: &str) -> Output {
    run_with_input(&[&["plan"], args].concat(), input.as_bytes())
}

fn summary(args: &[&str]) -> Value {
    let output = plan(args, FRAME);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn json_has_every_field() {
    let mut object = summary(&["-", "--json"]);
    assert!(object["wall_us"].is_u64());
    object.as_object_mut().unwrap().remove("wall_us");
    let wanted = serde_json::json!(
        { "buffers": 4, "lower_bound": 48, "peak": 48, "proven": true, "nodes": 0 }
    );
    assert_eq!(object, wanted);
}

#[test]
fn the_text_reports_the_peak() {
    let output = plan(&["-"], FRAME);
    let told = stdout(&output);
    assert!(told.starts_with("4 resources in 48 bytes, which is optimal; "), "{told}");
}

#[test]
fn every_effort_is_accepted() {
    for more in [["--nodes", "0"], ["--budget-us", "100"], ["--threads", "2"], ["--capacity", "1000"]] {
        assert_eq!(summary(&["-", "--json", more[0], more[1]])["lower_bound"], 48);
    }
    assert_eq!(status(&plan(&["-", "--nodes", "1", "--budget-us", "1"], FRAME)), 2);
    assert_eq!(status(&plan(&["-", "--threads", "0"], FRAME)), 2);
}

#[test]
fn an_unreachable_capacity_is_reported() {
    let output = plan(&["-", "--capacity", "47"], FRAME);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("No plan within 47 was found"), "{}", stdout(&output));
}

#[test]
fn files_hold_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (source, placed, picture) = (path("frame.csv"), path("placed.csv"), path("plan.svg"));
    fs::write(&source, FRAME).unwrap();
    let output = plan(&[&source, "--out", &placed, "--svg", &picture], "");
    assert_eq!(status(&output), 0, "{}", stderr(&output));

    let placed = fs::read_to_string(placed).unwrap();
    let items = csv::read(FRAME.as_bytes()).unwrap().items;
    let lines: Vec<&str> = placed.lines().collect();
    assert_eq!(lines[0], "id,lower,upper,size,offset");
    for (line, original) in lines[1..].iter().zip(FRAME.lines().skip(1)) {
        assert!(line.starts_with(&format!("{original},")), "{line}");
    }
    let offsets: Vec<u64> =
        lines[1..].iter().map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(check(&items, &offsets), Ok(48));

    let picture = fs::read_to_string(picture).unwrap();
    let picture = roxmltree::Document::parse(&picture).unwrap();
    let texts: Vec<_> = picture.descendants().filter(|node| node.has_tag_name("text")).collect();
    let shown = |text: &str| texts.iter().any(|node| node.text() == Some(text));
    for text in ["gbuffer", "<bloom>", "48 bytes", "peak = lower bound", "0", "7"] {
        assert!(shown(text), "{text}");
    }
}

#[test]
fn a_picture_names_passes_queues_and_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (passes, picture) = (path("passes.csv"), path("plan.svg"));
    fs::write(&passes, "name,queue,pass\nshadows,graphics,0\n<b>&\u{1b}[31m,compute,1\nlights,graphics,6\n")
        .unwrap();
    let input = "id,lower,upper,size,kind\nshadow,0,3,16,depth\ngbuffer,1,5,32,color\nlight,3,7,16,\n";
    let output = plan(&["-", "--svg", &picture, "--passes", &passes], input);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let picture = fs::read_to_string(picture).unwrap();
    let picture = roxmltree::Document::parse(&picture).unwrap();
    let texts: Vec<_> = picture.descendants().filter_map(|node| node.text()).collect();
    for wanted in ["shadows", "<b>&\u{fffd}[31m", "lights", "graphics", "compute", "depth", "color", "kinds"]
    {
        assert!(texts.contains(&wanted), "{wanted} in {texts:?}");
    }
    assert_eq!(status(&plan(&["-", "--passes", &passes], input)), 2, "the names are for a picture");
    fs::write(&passes, "pass,name\nx,shadows\n").unwrap();
    let output = plan(&["-", "--svg", &path("other.svg"), "--passes", &passes], input);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("passes.csv:2: pass is \"x\", which is not a number"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn alignments_classes_and_pins_are_read() {
    let input = "size,id,class,upper,lower,alignment,pinned\n\
                 5,a,0,2,0,4,\n\
                 5,b,0,2,0,4,8\n\
                 9,c,1,2,0,,\n";
    let output = plan(&["-", "--json"], input);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((object["peak"].as_u64(), object["proven"].as_bool()), (Some(22), Some(true)));
}

#[test]
fn bad_files_are_errors_with_line_numbers() {
    let header = "id,lower,upper,size\n";
    let cases = [
        ("", "stdin:1: the header has no column id"),
        ("id,lower,size\n", "stdin:1: the header has no column upper"),
        ("id,lower,upper,size,size\n", "stdin:1: the header has the column size twice"),
        ("a,0,1,1\nb,2,2,1\n", "stdin:3: lower (2) is not less than upper (2)"),
        ("a,3,2,1\n", "stdin:2: lower (3) is not less than upper (2)"),
        ("a,0,1,-7\n", "stdin:2: size is -7, which is less than 0"),
        ("a,0,1,99999999999999999999999\n", "stdin:2: size is 99999999999999999999999, which is too large"),
        ("a,0,1,\n", "stdin:2: there is no size"),
        ("a,0,1\n", "stdin:2: there is no size"),
        ("a,0,1,x\n", "stdin:2: size is \"x\", which is not a number"),
        ("a,0,1,1.5\n", "stdin:2: size is \"1.5\", which is not a number"),
        ("a,0,1,1\n\nb,0,1,1\na,0,1,1\n", "stdin:5: the id \"a\" was used in line 2"),
        ("a,0,1,18446744073709551615\n", "stdin: the items up to item 0 take more than"),
    ];
    for (lines, wanted) in cases {
        let is_header = lines.is_empty() || lines.starts_with("id");
        let input = if is_header { lines.to_owned() } else { format!("{header}{lines}") };
        let output = plan(&["-", "--json"], &input);
        let told = stderr(&output);
        assert_eq!(status(&output), 2, "{input:?}: {told}");
        assert!(told.starts_with(wanted), "{input:?}: {told}");
        assert_eq!(stdout(&output), "", "{input:?}");
    }
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let output = plan(&["no-such-file.csv"], "");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("no-such-file.csv: "), "{}", stderr(&output));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap();
    let output = plan(&["-", "--out", folder], FRAME);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with(folder), "{}", stderr(&output));
}
