//! The part of the page about the memory that a recorded program took itself.

use serde_json::{Value, json};
use tenure_report::History;
use tenure_trace::{OwnMemory, Workload, generate, read_all};

use super::{Page, hostile, keep, number, opened, program, text_of, write};

/// A recording with a large block, 40 small ones, and names that would do harm.
fn recorded() -> OwnMemory {
    let name = |id| {
        let bytes = hostile(id).into_bytes();
        bytes.iter().take(200).map(|byte| format!("%{byte:02x}")).collect::<String>()
    };
    let mut text = format!(
        "#tenure-recording=2\n#type.1=7,0\n#allocations.most=4096\n#allocations.refused=2\n#complete=no\n\
         op,id,size,align,kind,frame,more\n\
         block,1,4194304,,,0,type=1\n\
         map,1,,,,0,\n\
         alloc,1,1048576,4,gpu_only+linear,0,block=1 name={}\n\
         alloc,2,262144,4,gpu_only+optimal,0,block=1 offset=2097152 wants-dedicated name={}\n\
         block,2,8388608,,,0,type=2\nunblock,2,8388608,,,0,\n\
         frame,,,,,1,\nframe,,,,,2,\nunmap,1,,,,2,\nmap,1,,,,2,\nfree,2,262144,,,2,\n",
        name(0),
        name(1)
    );
    for id in 10..50 {
        text += &format!("block,{id},4096,,,2,type=2\nalloc,{id},1024,4,gpu_only+linear,2,block={id}\n");
    }
    text += "frame,,,,,3,\nframe,,,,,4,\n";
    OwnMemory::of(&read_all(text.as_bytes(), "own").unwrap())
}

fn captured(own: OwnMemory) -> (tempfile::TempDir, Page, History) {
    let run = program::run(generate(Workload::Frames, 3, 8000), |id| (hostile(id), String::new()));
    let history = History { own: Some(own), ..run.history };
    let folder = tempfile::tempdir().unwrap();
    let page = opened(&write(&history, folder.path(), "own.html"), (1400, 900));
    (folder, page, history)
}

fn cells(page: &mut Page, table: &str) -> Value {
    page.eval(&format!(
        "[...document.querySelectorAll('#{table} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    ))
}

#[test]
fn the_page_equals_the_recording() {
    let (_folder, mut page, history) = captured(recorded());
    assert_eq!(
        page.eval("[0, 1, 2, 3].map((frame) => app.own.all.at(frame))"),
        json!([
            [4_194_304, 1_310_720, 0],
            [4_194_304, 1_310_720, 0],
            [4_358_144, 1_089_536, 0],
            [4_358_144, 1_089_536, 0],
        ])
    );
    let large = page.eval("[0, 3].map((frame) => app.own.rows[0].at(frame))");
    assert_eq!(large, json!([[4_194_304, 1_310_720, 1_835_008], [4_194_304, 1_048_576, 3_145_728]]));
    let (rest, rows) = ("app.own.rows[24].at(3)", "[app.own.rows.length, app.own.rows[24].blocks]");
    assert_eq!((page.eval(rest), page.eval(rows)), (json!([17 * 4096, 17 * 1024, 0]), json!([25, 17])));
    // The rows of the replay add up to its reserved bytes.
    let sums = page.eval(
        "[...history.frames.number.keys()].map((frame) => app.own.replay.reduce((sum, row) => sum + row.at(frame)[0], 0))"
            .replace("history.", "app.history.")
            .as_str(),
    );
    let reserved: Vec<_> = history.frames.iter().map(|frame| frame.totals.reserved).collect();
    assert_eq!(sums, json!(reserved));
    let text = text_of(&mut page, "#own-text");
    let peak = history.frames.last().unwrap().totals.peak_reserved;
    assert_eq!(number(&mut page, "app.own.replayPeak.bytes"), peak as f64);
    for wanted in [
        "reserved 12 MiB at its peak, in frame 1, with resources on 1.25 MiB",
        "allocated 42 blocks, at most 41 at once (the device supports 4,096)",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    let types = json!([
        ["1: local to the GPU, mapped, coherent", "1", "4 MiB", "1.25 MiB", "2.75 MiB", "68.8 %", "1.75 MiB"],
        ["2", "1", "8 MiB", "0 B", "8 MiB", "100.0 %", "8 MiB"],
        ["all", "2", "12 MiB", "1.25 MiB", "10.8 MiB", "89.6 %", "8 MiB"],
    ]);
    assert_eq!(cells(&mut page, "own-types"), types);
    let calls = json!([
        ["allocations", "2", "1.00", "40", "20", "0"],
        ["frees", "1", "0.50", "0", "0", "0"],
        ["maps", "1", "0.50", "1", "0.50", "0"],
        ["unmaps", "0", "0", "1", "0.50", "0"],
        ["resources created", "2", "1.00", "40", "20", "0"],
        ["resources destroyed", "0", "0", "1", "0.50", "0"],
        ["of these at most two frames old", "0", "0", "1", "0.50", "0"],
    ]);
    assert_eq!(cells(&mut page, "own-calls"), calls);
    let notable = cells(&mut page, "own-findings");
    let numbers: Vec<_> = notable.as_array().unwrap().iter().map(|row| (&row[0], &row[1])).collect();
    let numbers = json!(numbers);
    assert_eq!(
        numbers,
        json!([["1", "256 KiB"], ["1", "8 MiB"], ["1", ""], ["2", ""], ["1", "1 MiB"]]),
        "{notable}"
    );
    let text = text_of(&mut page, "#own-alive-text");
    assert!(
        text.starts_with("Alive at the end") && text.contains("41 resources of 1.04 MiB, and 41 blocks"),
        "{text}"
    );
    let alive = cells(&mut page, "own-alive");
    assert_eq!(alive[0], json!([hostile(0), "buffer", "1", "1 MiB"]));
    assert_eq!(alive[1], json!(["(no name)", "buffer", "40", "40 KiB"]));
    assert_eq!(page.eval("window.hacked ?? null"), Value::Null);
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn its_charts_choose_frames_and_say_what_is_there() {
    let (_folder, mut page, _) = captured(recorded());
    let charts = "#own-charts .chart:nth-child";
    let middle = page.place(&format!("{charts}(1) .layers"), (0.5, 0.5));
    page.click(middle);
    let frame = number(&mut page, "app.frame");
    assert!(frame > 0.0);
    assert!(text_of(&mut page, "#tip").contains("with resources"));
    // The first row is below the first title.
    let height = number(&mut page, &format!("document.querySelector('{charts}(2) .layers').clientHeight"));
    let row = page.place(&format!("{charts}(2) .layers"), (0.5, 30.0 / height));
    page.point(row);
    let tip = text_of(&mut page, "#tip");
    assert!(tip.contains("local to the GPU") && tip.contains("largest hole3 MiB"), "{tip}");
    for width in [1400, 800, 500] {
        page.resize(width, 900);
        page.settle();
        assert_eq!(number(&mut page, "document.documentElement.scrollWidth"), f64::from(width));
        page.eval("document.querySelector('#own-part').scrollIntoView(); 0");
        keep(&mut page, &format!("own-{width}.png"));
    }
    assert_eq!(page.complaints, [""; 0]);
}

/// Values that no program has, and no memory at all.
#[test]
fn wild_recordings_are_shown() {
    let huge = format!(
        "#tenure-recording=2\n#allocations.most={0}\n#sparse={0}\n#type.4294967295=4294967295,9\n\
         op,id,size,align,kind,frame,more\n\
         block,{0},17592186044416,,,0,type=4294967295\n\
         alloc,{0},17592186044416,1,gpu_only+optimal,0,block={0} extent=4294967295x4294967295x4294967295 format=4294967295\n\
         frame,,,,,{0},\n",
        u64::MAX
    );
    let empty = "#tenure-recording=2\nop,id,size,align,kind,frame,more\n";
    for (text, size) in [(huge.as_str(), "16 TiB"), (empty, "0 B")] {
        let own = OwnMemory::of(&read_all(text.as_bytes(), "own").unwrap());
        let (_folder, mut page, _) = captured(own);
        assert!(text_of(&mut page, "#own-text").contains(&format!("reserved {size} at its peak")));
        for key in ["Home", "+", "End", "0", "p"] {
            page.press(key, false);
        }
        assert_eq!(page.complaints, [""; 0]);
    }
}

#[test]
fn without_it_there_is_no_such_part() {
    let run = program::run(generate(Workload::Frames, 3, 800), |_| ("thing".to_owned(), String::new()));
    let folder = tempfile::tempdir().unwrap();
    let mut page = opened(&write(&run.history, folder.path(), "none.html"), (1000, 700));
    assert_eq!(page.eval("[document.querySelector('#own-part').hidden, app.own]"), json!([true, null]));
    assert_eq!(page.complaints, [""; 0]);
}
