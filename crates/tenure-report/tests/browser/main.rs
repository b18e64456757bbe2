//! The page in Chromium: real clicks and keys, and their effects on the page. Pictures of it go to the folder
//! that `TENURE_REPORT_PICTURES` names.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod chromium;
mod own;
#[path = "../program/mod.rs"]
mod program;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use chromium::{Chromium, Page};
use serde_json::{Value, json};
use tenure_report::{History, PlannedResource, TransientPlan};
use tenure_trace::{Workload, generate};

/// Names that would do harm as markup, as script, as a path or in a sentence that is read from left to right.
fn hostile(id: u64) -> String {
    match id % 7 {
        0 => "</script><img src=x onerror=\"window.hacked = 1\">".to_owned(),
        1 => "'\"><svg onload=window.hacked=1>".to_owned(),
        2 => "\u{202e}desrever \u{5d0}\u{5d1}\u{5d2}".to_owned(),
        3 => "long ".repeat(2000),
        4 => "zero\0byte\u{1b}[31m".to_owned(),
        5 => "__proto__".to_owned(),
        _ => "${window.hacked = 1}`{{constructor}}".to_owned(),
    }
}

fn write(history: &History, folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    let mut sink = BufWriter::new(File::create(&file).unwrap());
    history.write_html(&mut sink).unwrap();
    sink.flush().unwrap();
    file
}

fn opened(file: &Path, size: (u32, u32)) -> Page {
    let mut page = Chromium::start().open(file, size);
    page.eval("opened.then((found) => { window.app = found; })");
    page.settle();
    page
}

fn number(page: &mut Page, expression: &str) -> f64 {
    page.eval(expression).as_f64().unwrap_or_else(|| panic!("{expression} is no number"))
}

fn text_of(page: &mut Page, selector: &str) -> String {
    page.eval(&format!("document.querySelector({selector:?}).textContent")).as_str().unwrap().to_owned()
}

/// Saves a screenshot, on request.
fn keep(page: &mut Page, name: &str) {
    if let Some(folder) = std::env::var_os("TENURE_REPORT_PICTURES") {
        fs::create_dir_all(&folder).unwrap();
        page.picture(&PathBuf::from(folder).join(name));
    }
}

/// A small program with malicious names, in the browser.
struct Small {
    run: program::Run,
    page: Page,
}

fn small() -> Small {
    let folder = tempfile::tempdir().unwrap();
    let mut run = program::run(generate(Workload::Frames, 3, 8000), |id| (hostile(id), hostile(id / 3 + 1)));
    run.history.title = hostile(0);
    run.history.plan = Some(TransientPlan {
        passes: vec![hostile(1), "light".to_owned()],
        heaps: vec![3 << 20],
        bound: 2 << 20,
        resources: (0..3)
            .map(|k| PlannedResource {
                name: hostile(k),
                heap: 0,
                first: k,
                end: k + 2,
                offset: k << 20,
                size: 1 << 20,
            })
            .collect(),
    });
    let file = write(&run.history, folder.path(), "small.html");
    let page = opened(&file, (1400, 900));
    Small { run, page }
}

#[test]
fn the_page_equals_the_statistics_of_the_manager() {
    let Small { run, mut page } = small();
    let shown = page.eval(
        "[...Array(app.history.frameCount).keys()].map((frame) => {
            app.setFrame(frame);
            app.update();
            const cells = [...document.querySelectorAll('#totals tbody td')];
            const bytes = (k) => Number(cells[k].firstChild.title.replace(/\\D/g, ''));
            const whole = (k) => Number(cells[k].textContent.replace(/,/g, ''));
            const { dropped, size, padding } = app.history.objects;
            const there = [...app.history.at(app.time)];
            const waiting = there.filter((object) => dropped[object] <= app.time);
            return {
                reserved: bytes(0), live_bytes: bytes(1), pending_bytes: bytes(3), live: whole(4), pending: whole(5),
                drawn: app.map.strips.reduce((sum, strip) => sum + strip.objects.length, 0),
                there: there.length, waiting: waiting.length,
                waiting_bytes: waiting.reduce((sum, object) => sum + size[object] + padding[object], 0),
                stacked: app.series.bands.reduce((sum, _, band) => sum + app.series.total(band, frame), 0),
            };
        })",
    );
    assert_eq!(shown.as_array().unwrap().len(), run.frames.len());
    for (shown, ((stats, _), frame)) in
        shown.as_array().unwrap().iter().zip(run.frames.iter().zip(&run.history.frames))
    {
        let live = run.history.objects.iter().filter(|o| o.born <= frame.at && frame.at < o.dropped);
        let live: u64 = live.map(|object| object.size).sum();
        let objects = stats.live_objects + stats.pending_releases;
        let expected = json!({
            "reserved": stats.reserved, "live_bytes": live, "pending_bytes": stats.pending_bytes,
            "live": stats.live_objects, "pending": stats.pending_releases, "drawn": objects, "there": objects,
            "waiting": stats.pending_releases, "waiting_bytes": stats.pending_bytes, "stacked": stats.reserved,
        });
        assert_eq!(shown, &expected, "frame {}", frame.number);
    }
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn names_are_text_and_nothing_else() {
    let Small { mut page, .. } = small();
    page.eval("document.querySelector('#largest-part').open = true");
    page.press("c", false);
    page.press("End", false);
    page.settle();
    assert_eq!(page.eval("window.hacked ?? null"), Value::Null);
    assert_eq!(number(&mut page, "document.querySelectorAll('img, svg').length"), 0.0);
    assert_eq!(number(&mut page, "document.scripts.length"), 2.0);
    let names =
        page.eval("[...document.querySelectorAll('#largest td.name bdi')].map((name) => name.textContent)");
    let names: Vec<_> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.contains(&hostile(0).as_str()), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("… (10,000 characters)")), "{names:?}");
    assert!(names.iter().all(|name| name.chars().count() < 300 && !name.contains(['\0', '\u{1b}'])));
    assert_eq!(text_of(&mut page, "h1"), hostile(0));
    assert!(text_of(&mut page, "#plan-table").contains("onerror"));
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn keys_work_as_documented_on_the_page() {
    let Small { run, mut page } = small();
    let last = run.frames.len() as f64 - 1.0;
    let frame = |page: &mut Page| number(page, "app.frame");
    page.press("Home", false);
    assert_eq!(frame(&mut page), 0.0);
    page.press("ArrowRight", false);
    page.press("ArrowRight", true);
    assert_eq!(frame(&mut page), 11.0);
    page.press("ArrowLeft", false);
    assert_eq!(frame(&mut page), 10.0);
    let shown = run.history.frames[10].number.to_string();
    assert_eq!(text_of(&mut page, "#now"), format!("Frame {shown}"));
    page.press(",", false);
    assert_eq!(number(&mut page, "app.time"), f64::from(run.history.frames[10].at) - 1.0);
    assert!(text_of(&mut page, "#now").contains("after event"));
    page.press(".", false);
    assert_eq!(text_of(&mut page, "#now"), format!("Frame {shown}"));
    page.press("End", false);
    assert_eq!(frame(&mut page), last);

    page.press("c", false);
    page.press("Home", false);
    let compared = text_of(&mut page, "#compare-text");
    let (from, to) = (run.history.frames.first().unwrap(), run.history.frames.last().unwrap());
    let new = run.history.objects.iter().filter(|o| o.born > from.at && o.born <= to.at && o.dropped > to.at);
    assert!(compared.contains(&format!(": {} (", new.count())), "{compared}");
    page.press("c", false);
    assert!(text_of(&mut page, "#compare-text").starts_with("Press c"));

    for (key, colour) in [("2", "kind"), ("3", "age"), ("4", "use"), ("1", "tag")] {
        page.press(key, false);
        assert_eq!(page.eval("document.querySelector('#colour').value"), colour);
    }
    page.press("+", false);
    let wide = number(&mut page, "app.range[1] - app.range[0]");
    assert!(wide <= last / 2.0 + 2.0, "{wide}");
    page.press("0", false);
    assert_eq!(number(&mut page, "app.range[1] - app.range[0]"), last + 1.0);
    page.press("?", false);
    assert_eq!(page.eval("document.querySelector('#keys').hidden"), false);
    page.press("/", false);
    for key in ["P", "R", "O", "T", "O"] {
        page.press(key, false);
    }
    let found = "app.history.at(app.time).filter((object) => app.history.objects.dropped[object] > app.time
        && (app.history.name(object) + app.history.tag(object)).includes('__proto__')).length";
    let found = number(&mut page, found);
    assert_eq!(text_of(&mut page, "#found"), format!("{found} live objects"));
    assert_eq!(frame(&mut page), 0.0, "what is typed into the field is no command");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn clicks_work_as_documented_on_the_page() {
    let Small { run, mut page } = small();
    let frames = run.frames.len() as f64;
    let middle = page.place(".chart .layers", (0.5, 0.5));
    page.click(middle);
    let clicked = number(&mut page, "app.frame");
    assert!(clicked > frames * 0.4 && clicked < frames * 0.6, "{clicked} of {frames}");
    page.click_on("#on");
    assert_eq!(number(&mut page, "app.frame"), clicked + 1.0);
    page.click_on("#peak");
    let peak = run.frames.iter().map(|(stats, _)| stats.reserved).max().unwrap();
    let frame = number(&mut page, "app.frame") as usize;
    assert_eq!(run.frames[frame].0.reserved, peak);

    let (from, to) = (page.place("#overview", (0.25, 0.5)), page.place("#overview", (0.5, 0.5)));
    page.drag(from, to);
    let range = page.eval("app.range");
    let (begin, end) = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
    assert!((begin - frames * 0.25).abs() < 3.0 && (end - frames * 0.5).abs() < 3.0, "{range}");
    page.click_on("#all");
    assert_eq!(number(&mut page, "app.range[1]"), frames);

    // An object in the blocks: its description under the mouse, and after a click.
    page.place("#map", (0.5, 0.5));
    let at = page.eval(
        "{ const object = app.map.strips.find((strip) => strip.objects.length).objects[0];
           const { x, y, width } = app.map.boxOf(object);
           const { left, top } = app.map.element.getBoundingClientRect();
           [left + 1 + x + width / 2, top + 1 + y + 8 - app.map.element.scrollTop, object] }",
    );
    let object = at[2].as_u64().unwrap() as usize;
    let at = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    page.point(at);
    assert_eq!(page.eval("document.querySelector('#tip').hidden"), false);
    let size = format!("({} B)", grouped(run.history.objects[object].size));
    assert!(text_of(&mut page, "#tip").contains(&size));
    page.click(at);
    assert_eq!(number(&mut page, "app.selected"), object as f64);
    assert!(text_of(&mut page, "#object").contains(&size));
    page.press("ArrowDown", false);
    assert_ne!(number(&mut page, "app.selected"), object as f64);

    page.click_on("summary");
    page.click_on("#largest tbody tr");
    let selected = number(&mut page, "app.selected") as usize;
    let live = run.history.objects.iter().filter(|o| {
        let at = run.history.frames[frame].at;
        o.born <= at && at < o.released
    });
    assert_eq!(run.history.objects[selected].size, live.map(|object| object.size).max().unwrap());
    assert_eq!(page.complaints, [""; 0]);
}

/// A moving object is one object: it stays where frames are compared, and it stays selected where it is now.
#[test]
fn moving_objects_stay_one_object() {
    let program::Moves { run, places, .. } = program::movable(3, 60);
    let folder = tempfile::tempdir().unwrap();
    let mut page = opened(&write(&run.history, folder.path(), "moves.html"), (1400, 900));
    for (from, to) in [(1, 4), (5, 9), (23, 27), (30, 31)] {
        let show = format!(
            "app.compare = {from}; app.setFrame({to}); app.update(); document.querySelector('#compare-text').textContent"
        );
        let text = page.eval(&show).as_str().unwrap().to_owned();
        let is_in = |name: &&String, other: usize| places[other].contains_key(*name);
        let new = places[to].keys().filter(|name| !is_in(name, from)).count();
        let gone = places[from].keys().filter(|name| !is_in(name, to)).count();
        let stayed = places[from].keys().filter(|name| is_in(name, to)).count();
        assert!(stayed > 0 && text.contains(&format!(": {new} (")), "{new}: {text}");
        assert!(text.contains(&format!("; {gone} (")) && text.contains(&format!("; {stayed} (")), "{text}");
    }
    let moved = run.history.objects.iter().position(|object| object.origin.is_some()).unwrap();
    let (object, origin) = (run.history.objects[moved], run.history.objects[moved].origin.unwrap());
    let before = object.born - 1;
    page.eval(&format!("app.setTime({before}); app.update(); app.select({origin}); 0"));
    assert!(text_of(&mut page, "#object").contains("moved onlater: "));
    page.eval(&format!("app.setTime({}); app.update(); 0", object.born));
    assert_eq!(number(&mut page, "app.selected"), moved as f64);
    assert!(text_of(&mut page, "#object").contains(&format!("byte {}", grouped(object.offset))));
    assert!(text_of(&mut page, "#object").contains("moved here"));
    assert_eq!(page.complaints, [""; 0]);
}

/// The places of an object are one object in counts and lists; and a click shows the clicked object.
#[test]
fn places_are_not_objects() {
    let program::Moves { run, .. } = program::movable(3, 60);
    let folder = tempfile::tempdir().unwrap();
    let mut page = opened(&write(&run.history, folder.path(), "moves.html"), (1400, 900));
    let created = run.history.objects.iter().filter(|object| object.origin.is_none()).count();
    assert!(text_of(&mut page, "#subtitle").contains(&format!("{created} objects")));
    page.eval("document.querySelector('#largest-part').open = true; 0");
    for frame in [2, 6, 25, 45] {
        let at = run.history.frames[frame].at;
        let there = run.history.objects.iter().filter(|it| it.born <= at && at < it.released);
        let objects: HashSet<_> = there.map(|object| object.name).collect();
        page.eval(&format!("app.setFrame({frame}); app.update(); 0"));
        let caption = text_of(&mut page, "#largest caption");
        assert!(caption.contains(&format!(" of {} objects", objects.len())), "frame {frame}: {caption}");
    }
    // The old place of a moved object, while its bytes wait.
    let kept = page.eval(
        "(() => {
            const o = app.history.objects;
            for (let frame = 0; frame < app.history.frameCount; frame++) {
                const time = app.history.frames.at[frame];
                const hasLeft = (i) => o.dropped[i] <= time && time < o.released[i] && time < o.end[i];
                const left = [...app.history.places.values()].flat().find(hasLeft);
                if (left === undefined) continue;
                app.setFrame(frame);
                app.select(left);
                app.update();
                const kept = app.selected === left;
                app.setTime(o.released[left]);
                app.update();
                return [kept, app.selected === app.history.placeAt(left, app.time) && app.selected !== left];
            }
        })()",
    );
    assert_eq!(kept, json!([true, true]));
    // A released object is shown at its last frame, whichever of its places was clicked.
    let shown = page.eval(
        "[...app.history.places.values()].map((places) => {
            const gone = app.history.objects.released[places[places.length - 1]];
            app.setTime(app.history.lastClock);
            app.update();
            app.select(places[0], true);
            return gone > app.history.lastClock || app.time === gone - 1;
        })",
    );
    assert!(shown.as_array().unwrap().iter().all(|is_right| is_right == true), "{shown}");
    assert_eq!(page.complaints, [""; 0]);
}

/// The number with commas, as on the page.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

#[test]
fn it_is_light_and_dark_narrow_and_on_paper() {
    let Small { mut page, .. } = small();
    let back = "getComputedStyle(document.body).backgroundColor";
    let emulate = |page: &mut Page, scheme: &str| {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        page.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        page.settle();
    };
    emulate(&mut page, "light");
    assert_eq!(page.eval(back), "rgb(255, 255, 255)");
    keep(&mut page, "small-light.png");
    emulate(&mut page, "dark");
    assert_eq!(page.eval(back), "rgb(21, 24, 29)");
    page.press("t", false);
    assert_eq!(page.eval(back), "rgb(255, 255, 255)", "the switch counts for more than the system");
    page.press("t", false);
    assert_eq!(page.eval(back), "rgb(21, 24, 29)");
    for width in [800, 500] {
        page.resize(width, 900);
        page.settle();
        assert_eq!(number(&mut page, "document.documentElement.scrollWidth"), f64::from(width));
        keep(&mut page, &format!("small-{width}.png"));
    }
    page.resize(900, 1200);
    page.eval("app.print(true)");
    page.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    page.settle();
    keep(&mut page, "small-print.png");
    page.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    page.eval("app.print(false)");
    let pages = page.call("Page.printToPDF", json!({}));
    assert!(pages["data"].as_str().unwrap().len() > 10_000);
    page.settle();
    assert_eq!(page.eval("app.isPrinting"), false);
    assert_eq!(page.complaints, [""; 0]);
}

/// Impossible numbers, in snapshots from other sources.
#[test]
fn wild_snapshots_are_shown() {
    let object = |name: &str, kind: &str, number: u64| {
        json!({ "name": name, "kind": kind, "tag": name, "bytes": number, "frame": number, "heap": number,
            "pool": "uploads", "pool_index": 0, "memory_type": 1, "block": 3, "offset": number, "location": name })
    };
    let pool = json!({ "stats": { "kind": "uploads", "memory_type": 1, "capacity": u64::MAX, "reserved": u64::MAX,
        "used": 1, "requested": u64::MAX, "alignment_waste": u64::MAX, "allocations": 7, "largest_free": u64::MAX },
        "blocks": [{ "number": 3, "size": u64::MAX, "used": u64::MAX }, { "number": 4, "size": 0, "used": 9 }] });
    let snapshot = |frames: u64, pools: &[Value]| {
        let stats = json!({ "frames": frames, "reserved": u64::MAX, "pending_bytes": u64::MAX });
        let names = [hostile(0), hostile(1), hostile(5)];
        let objects: Vec<_> = names
            .iter()
            .flat_map(|name| [0, 1, u64::from(u32::MAX) - 1].map(|number| object(name, name, number)))
            .collect();
        let open = json!([{ "name": hostile(0), "age": u64::MAX, "held_back": u64::MAX }]);
        let heap = json!({ "size": u64::MAX, "budget": u64::MAX, "usage": u64::MAX, "used": u64::MAX, "idle": u64::MAX,
            "ours": { "pools": u64::MAX, "committed": u64::MAX, "pages": u64::MAX, "transient": 0 } });
        let memory = json!({ "heaps": [heap, {}], "types": [{ "heap": 1 }, { "heap": u64::MAX }] });
        json!({ "device": hostile(1), "backend": hostile(0), "stats": stats, "memory": memory, "pools": pools,
            "objects": objects, "open_recordings": open })
    };
    let lines = [snapshot(u64::MAX, &[]), snapshot(0, std::slice::from_ref(&pool)), snapshot(7, &[])];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let history = tenure_report::read_snapshots(text.as_bytes(), &hostile(4)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut page = opened(&write(&history, folder.path(), "wild.html"), (1000, 700));
    for key in ["Home", "c", "ArrowRight", ".", ",", "2", "3", "4", "1", "+", "-", "End"] {
        page.press(key, false);
    }
    assert_eq!(number(&mut page, "app.history.frameCount"), 3.0);
    assert!(text_of(&mut page, "#holds").contains("onerror"));
    assert_eq!(page.eval("window.hacked ?? null"), Value::Null);
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn a_million_events_open_and_scrub() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let run =
        program::run(generate(Workload::Streaming, 1, 1_000_000), |_| ("thing".to_owned(), String::new()));
    let file = write(&run.history, folder.path(), "million.html");
    let (megabytes, made) = (fs::metadata(&file).unwrap().len() as f64 / 1e6, start.elapsed());
    let mut page = opened(&file, (1400, 900));
    // From the beginning of the navigation until the first picture.
    let opened = number(&mut page, "app.shownAt");
    let scrubbed = page.eval(
        "new Promise((done) => {
            const [start, rounds] = [performance.now(), 90];
            let [round, slowest, busy] = [0, 0, 0];
            const next = () => {
                if (round === rounds) return done([rounds / (performance.now() - start) * 1000, slowest, busy / rounds]);
                app.frame = Math.floor(round++ / rounds * app.history.frameCount);
                app.time = app.history.frames.at[app.frame];
                const began = performance.now();
                app.update();
                const took = performance.now() - began;
                [slowest, busy] = [Math.max(slowest, took), busy + took];
                requestAnimationFrame(next);
            };
            next();
        })",
    );
    let [rate, slowest, mean] = [0, 1, 2].map(|k| scrubbed[k].as_f64().unwrap());
    println!(
        "a recording of 1,000,000 allocations and frees: {} frames, page of {megabytes:.1} MB made in {:.1} s; opens in \
         {opened:.0} ms, scrubs at {rate:.0} frames a second ({mean:.1} ms of work each, {slowest:.1} ms at most)",
        run.frames.len(),
        made.as_secs_f64(),
    );
    assert!(opened < 30_000.0 && rate > 2.0, "far too slow, also for a machine with much else to do");
    assert!(megabytes < 10.0);
    assert_eq!(page.complaints, [""; 0]);
}
