//! The program from outside: streams, files and exit status.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tenure_trace::{Encoding, TraceReader, Workload};

use crate::running::{TINY, objects, recording, run, run_with_input, status, stderr, stdout, tenure};

#[test]
fn the_built_in_recording_equals_the_repository_s() {
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [own, shared] =
        ["demo", "../../traces"].map(|folder| packaged.join(folder).join("bevy-3d_scene.csv.gz"));
    assert!(fs::read(own).unwrap() == fs::read(shared).unwrap());
}

#[test]
fn without_arguments_three_strategies_are_compared() {
    let output = run(&[]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "no progress bar where there is no terminal");
    let text = stdout(&output);
    for wanted in ["committed", "placed", "pooled", "peak live", "peak reserved", "hazards", "nothing leaked"]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

/// The cells of a row in docs/benchmarks.md whose first cell is `first`.
fn documented(first: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("## A recorded program").nth(1).unwrap();
    let row = section.lines().find_map(|line| line.strip_prefix(&format!("| {first} |"))).unwrap();
    row.trim_matches('|').split('|').map(|cell| cell.replace('*', "").trim().to_owned()).collect()
}

/// Only figures that are the same on every machine.
#[test]
fn docs_have_the_figures_that_the_program_prints() {
    let text = stdout(&run(&[]));
    let printed = |row: &str| {
        let line = text.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("{row} in {text}"));
        line.split(['│', '┆']).skip(2).map(|cell| cell.trim().to_owned()).take(3).collect::<Vec<_>>()
    };
    for (printed_as, documented_as) in [
        ("peak live (MiB)", "peak live, MiB"),
        ("peak reserved (MiB)", "peak reserved, MiB"),
        ("driver memory allocations", "driver memory allocations"),
        ("driver creates", "driver creates"),
        ("driver time, modelled (ms)", "driver time, modelled, ms"),
    ] {
        assert_eq!(documented(documented_as), printed(printed_as), "{printed_as}");
    }
    let [resources, _, objects_created] = &printed("driver creates")[..] else { panic!("{text}") };
    let said = format!("{resources} resources takes {objects_created} objects created by the driver");
    let front_page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    assert!(fs::read_to_string(front_page).unwrap().contains(&said), "{said}");
}

#[test]
fn docs_have_the_figures_of_each_recording() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "gz")) {
        let replayed = |strategy| {
            let output = run(&["replay", file.to_str().unwrap(), "--strategy", strategy, "--json"]);
            objects(&output).remove(0)
        };
        let (ours, committed) = (replayed("pooled"), replayed("committed"));
        let of = |run: &Value, field: &str| run[field].as_u64().unwrap();
        let bytes = |run: &Value, field: &str| of(run, field) as f64;
        let (live, reserved) = (bytes(&ours, "peak_live_bytes"), bytes(&ours, "peak_reserved_bytes"));
        let printed = [
            format!("{:.1}", live / f64::from(1 << 20)),
            format!("{:.3}", live / reserved),
            format!("{:.2}", reserved / bytes(&committed, "peak_reserved_bytes")),
            format!("{} ({})", of(&ours, "driver_allocations"), of(&ours, "steady_state_driver_allocations")),
        ];
        let name = file.file_name().unwrap().to_str().unwrap().trim_end_matches(".csv.gz");
        let cells = documented(name);
        assert_eq!([&cells[0], &cells[1], &cells[2], &cells[4]], printed.each_ref(), "{name}");
        count += 1;
    }
    assert!(count > 5, "{count} recordings");
}

#[test]
fn json_has_a_line_for_each_strategy_with_every_field() {
    let output = run(&["replay", &recording(), "--json"]);
    assert_eq!(status(&output), 0);
    let objects = objects(&output);
    let strategies: Vec<_> = objects.iter().map(|object| object["strategy"].as_str().unwrap()).collect();
    assert_eq!(strategies, ["committed", "placed", "pooled"]);
    for object in &objects {
        assert_eq!(object["trace"], recording());
        assert_eq!(object["device"], "sim");
        assert_eq!(object["profile"], "d3d12-tier2");
        for field in ["failed", "leaks", "hazards"] {
            assert_eq!(object[field], 0, "{field}");
        }
        for field in [
            "ops",
            "frames",
            "peak_live_bytes",
            "peak_live_allocations",
            "peak_reserved_bytes",
            "driver_creates",
            "driver_destroys",
            "driver_allocations",
            "driver_cost_ns",
            "reads_checked",
            "wall_ns",
            "alloc_ns_p50",
            "alloc_ns_p99",
        ] {
            assert!(object[field].as_u64().unwrap() > 0, "{field}");
        }
        assert_eq!(object["stats_peak_reserved_bytes"], object["peak_reserved_bytes"]);
        assert_eq!((&object["watch"], &object["driver_time"]), (&"device".into(), &"modelled".into()));
        for field in ["reserved_at_end_bytes", "steady_state_driver_allocations"] {
            assert!(object[field].is_u64(), "{field}");
        }
    }
}

#[test]
fn the_same_seed_prints_the_same_except_for_times() {
    let timeless = |seed| {
        let output = run(&["replay", &recording(), "--json", "--seed", seed, "--frames-in-flight", "4"]);
        let mut objects = objects(&output);
        for object in objects.iter_mut().filter_map(Value::as_object_mut) {
            object.retain(|field, _| !["wall_ns", "alloc_ns_p50", "alloc_ns_p99"].contains(&field.as_str()));
        }
        objects
    };
    assert_eq!(timeless("9"), timeless("9"));
}

#[test]
fn generated_recordings_are_replayed_from_a_pipe() {
    for workload in Workload::ALL {
        let generated = run(&["gen", workload.name(), "--ops", "3000", "--seed", "4"]);
        assert_eq!((status(&generated), stderr(&generated).as_str()), (0, ""));
        let output = run_with_input(&["replay", "-", "--json", "--strategy", "pooled"], &generated.stdout);
        assert_eq!(status(&output), 0, "{workload}: {}", stderr(&output));
        let objects = objects(&output);
        assert_eq!(objects.len(), 1);
        assert_eq!(objects[0]["trace"], "stdin");
        assert_eq!(objects[0]["ops"], 3000);
    }
}

#[test]
fn file_names_select_the_encoding_of_generated_files() {
    let folder = tempfile::tempdir().unwrap();
    let plain = run(&["gen", "voxel", "--ops", "500"]).stdout;
    let all = [("a.csv", Encoding::Plain), ("a.csv.gz", Encoding::Gzip), ("a.csv.zst", Encoding::Zstd)];
    for (name, encoding) in all.into_iter().filter(|(_, encoding)| encoding.is_supported()) {
        let file = folder.path().join(name);
        let output = run(&["gen", "voxel", "--ops", "500", "--out", file.to_str().unwrap()]);
        assert_eq!((status(&output), stdout(&output).as_str()), (0, ""));
        let reader = TraceReader::open(&file).unwrap();
        assert_eq!(reader.encoding(), encoding);
        assert_eq!(reader.finish().unwrap().allocs, 250);
        if encoding == Encoding::Plain {
            assert_eq!(fs::read(&file).unwrap(), plain);
        }
    }
}

#[test]
fn damage_is_reported_with_its_line_before_the_replay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.csv");
    let name = file.to_str().unwrap();
    let cases: [(&[u8], &str); 5] = [
        (b"", ":1: the header"),
        (b"op,id,size,align,kind,frame\nalloc,1\n", ":2: 2 columns"),
        (&[TINY.as_bytes(), b"free,1,2304,,,1\n"].concat(), ":5: double free of id 1"),
        (&[TINY.as_bytes(), b"\xFF\n"].concat(), ":5: invalid UTF-8"),
        (&[0x1F, 0x8B, 8, 0, 0, 0], ":1: cannot read (gzip)"),
    ];
    for (bytes, reason) in cases {
        fs::write(&file, bytes).unwrap();
        let output = run(&["replay", name, "--json"]);
        assert_eq!(status(&output), 2);
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).starts_with(&format!("{name}{reason}")), "{}", stderr(&output));
        let piped = run_with_input(&["replay", "-"], bytes);
        assert_eq!((status(&piped), stdout(&piped).as_str()), (2, ""));
        assert!(stderr(&piped).starts_with(&format!("stdin{reason}")), "{}", stderr(&piped));
    }
}

#[test]
fn bad_usage_is_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    for args in [
        &["replay"] as &[&str],
        &["replay", "no such file"],
        &["replay", folder],
        &["replay", "-", "--strategy", "best"],
        &["replay", "-", "--device", "abacus"],
        &["replay", "-", "--device", "vulkan", "--validation", "maybe"],
        &["devices", "--device", "sim"],
        &["replay", "-", "--frames-in-flight", "17"],
        &["gen", "noise"],
        &["gen", "voxel", "--ops", "-1"],
        &["gen", "voxel", "--ops", "10", "--out", folder],
        &["dance"],
    ] {
        let output = run(args);
        assert_eq!(status(&output), 2, "{args:?}");
        assert!(!stderr(&output).is_empty() && stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn errors_of_wrong_profiles_list_the_right_ones() {
    let output = run(&["replay", "-", "--profile", "help"]);
    assert_eq!(status(&output), 2);
    for profile in tenure::sim::Profile::ALL {
        assert!(stderr(&output).contains(profile.name()));
        let replayed = run_with_input(&["replay", "-", "--profile", profile.name()], TINY.as_bytes());
        assert_eq!(status(&replayed), 0, "{}", stderr(&replayed));
    }
}

#[test]
fn options_of_another_kind_of_device_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--adapter", "0"], "--adapter is for real devices"),
        (&["--device", "sim", "--validation", "off"], "--validation is for real devices"),
        (&["--device", "vulkan", "--profile", "d3d12-uma"], "--profile is for the simulated device"),
        (&["--device", "d3d12", "--profile", "d3d12-uma"], "--profile is for the simulated device"),
    ];
    for (arguments, reason) in cases {
        let output = run_with_input(&[&["replay", "-"][..], arguments].concat(), TINY.as_bytes());
        assert_eq!((status(&output), stdout(&output).as_str()), (2, ""), "{arguments:?}");
        assert!(stderr(&output).starts_with(reason), "{}", stderr(&output));
    }
}

/// Runs the program on a machine whose Vulkan loader, if any, finds no driver.
fn without_drivers(args: &[&str]) -> Output {
    let nowhere = Path::new(env!("CARGO_MANIFEST_DIR")).join("no such driver.json");
    let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, &nowhere));
    tenure(args).envs(variables).output().unwrap()
}

#[test]
#[cfg(not(windows))]
fn missing_devices_are_reported_with_reason_and_remedy() {
    let output = without_drivers(&["devices"]);
    assert_eq!((status(&output), stderr(&output).as_str()), (1, ""));
    let lines = stdout(&output);
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let remedy =
        if tenure_cli::feature::Feature::Vulkan.is_built() { "apt install" } else { "cargo install" };
    assert!(lines[0].starts_with("vulkan: ") && lines[0].contains(remedy), "{lines:?}");
    assert!(lines[1].starts_with("d3d12: ") && lines[1].contains("--target"), "{lines:?}");

    for device in ["vulkan", "d3d12"] {
        let output = without_drivers(&["replay", &recording(), "--device", device]);
        assert_eq!((status(&output), stdout(&output).as_str()), (2, ""));
        assert!(stderr(&output).starts_with(&format!("{device}: ")), "{}", stderr(&output));
    }
}

#[test]
fn simulated_devices_are_listed_when_asked_for() {
    let output = without_drivers(&["devices", "--sim", "--json"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("vulkan: "), "{}", stderr(&output));
    let objects = objects(&output);
    let simulated: Vec<_> = objects.iter().filter(|object| object["device"] == "sim").collect();
    let ids: Vec<_> = simulated.iter().map(|object| object["id"].as_str().unwrap()).collect();
    let profiles: Vec<_> = tenure::sim::Profile::ALL.iter().map(tenure::sim::Profile::name).collect();
    assert_eq!(ids, profiles);
    let of = |id: &str| simulated.iter().find(|object| object["id"] == id).unwrap();
    let card = of("d3d12-tier2");
    assert_eq!(card["heaps"][0]["size"], 8_u64 << 30);
    assert_eq!(card["memory_types"][1]["heap"], 1);
    assert_eq!(card["queues"][2]["kind"], "copy");
    assert_eq!((&card["state_model"], &card["uma"]), (&"promotion".into(), &false.into()));
    assert_eq!(card["features"]["reserved_buffers"], true);
    assert_eq!((&card["alignments"]["constant"], &card["alignments"]["heap"]), (&256.into(), &65536.into()));
    assert_eq!(card["heap_categories"], serde_json::json!(["any"]));
    let apart = serde_json::json!(["buffers", "targets", "textures"]);
    assert_eq!(of("d3d12-tier1")["heap_categories"], apart);
    assert_eq!(of("vulkan-nvidia")["state_model"], "explicit");
}

#[test]
fn the_table_of_devices_has_a_column_each() {
    let output = without_drivers(&["devices", "--sim"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for profile in tenure::sim::Profile::ALL {
        assert!(text.contains(&format!("sim {}", profile.name())), "{text}");
    }
    for wanted in
        ["memory heaps", "8 GiB device, budget 7.2 GiB", "heap 1 host-visible", "copy, family 0", "✓"]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[test]
fn a_replay_with_failures_is_status_1_with_the_reason() {
    let huge = "op,id,size,align,kind,frame\nalloc,1,10000000000000,4,gpu_only+linear,0\n";
    let output = run_with_input(&["replay", "-", "--json", "--strategy", "pooled"], huge.as_bytes());
    assert_eq!(status(&output), 1);
    assert_eq!(objects(&output)[0]["failed"], 1);
    assert!(stderr(&output).starts_with("stdin pooled: failed: "), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_does_not_crash() {
    for args in [&["gen", "voxel", "--ops", "18446744073709551615"] as &[&str], &["replay", &recording()]] {
        let mut child = tenure(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_does_not_change_the_status() {
    let huge = "op,id,size,align,kind,frame\nalloc,1,10000000000000,4,gpu_only+linear,0\n";
    let item = "id,lower,upper,size\na,0,1,8\n";
    let cases: [(&[&str], &str); 4] = [
        (&["replay", "-"], huge),
        (&["replay", "-", "--json"], huge),
        (&["plan", "-", "--capacity", "1"], item),
        (&["plan", "-", "--capacity", "1", "--json"], item),
    ];
    for (args, input) in cases {
        let mut child =
            tenure(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_status_2() {
    let item = "id,lower,upper,size\na,0,1,8\n";
    let input = std::env::temp_dir().join(format!("tenure-full-{}.csv", std::process::id()));
    fs::write(&input, item).unwrap();
    let file = input.to_str().unwrap();
    for args in [
        &[] as &[&str],
        &["replay", &recording(), "--json"],
        &["gen", "voxel"],
        &["devices", "--sim"],
        &["plan", file],
        &["plan", file, "--json"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = tenure(args).stdout(full).output().unwrap();
        assert_eq!(status(&output), 2, "{args:?}");
        assert!(stderr(&output).contains("cannot write the"), "{args:?}: {}", stderr(&output));
    }
    for option in ["--out", "--svg"] {
        for place in ["/dev/full", "/nowhere/plan"] {
            let output = run(&["plan", file, option, place]);
            assert_eq!(status(&output), 2, "{option} {place}");
            assert!(stderr(&output).starts_with(place), "{}", stderr(&output));
        }
    }
    fs::remove_file(input).unwrap();
}

#[test]
fn a_byte_order_mark_at_the_beginning_is_skipped_by_all_readers() {
    assert_eq!(status(&run_with_input(&["replay", "-"], format!("\u{feff}{TINY}").as_bytes())), 0);
    let item = "\u{feff}id,lower,upper,size\na,0,1,8\n";
    assert_eq!(status(&run_with_input(&["plan", "-"], item.as_bytes())), 0);
    for (command, text) in
        [("replay", format!("\u{feff}\u{feff}{TINY}")), ("plan", format!("\u{feff}{item}"))]
    {
        let output = run_with_input(&[command, "-"], text.as_bytes());
        assert_eq!(status(&output), 2, "{command}");
        assert!(stderr(&output).starts_with("stdin:1: "), "{}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn endless_lines_take_no_memory() {
    for (command, header, end) in [
        ("replay", "op,id,size,align,kind,frame\n", "stdin:2: the line is longer than 2048 bytes"),
        ("plan", "id,lower,upper,size\n", "stdin:2: the line is longer than 65536 bytes"),
    ] {
        let script = format!(
            "ulimit -v 1000000; (printf '{}'; head -c 3000000000 /dev/zero | tr '\\0' a) | '{}' {command} -",
            header.trim_end().to_owned() + "\\n",
            env!("CARGO_BIN_EXE_tenure")
        );
        let output =
            std::process::Command::new("sh").arg("-c").arg(script).stdin(Stdio::null()).output().unwrap();
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains(end), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_do_not_control_the_terminal() {
    for args in
        [&["replay", "a\u{1b}[31m.csv"][..], &["compare", "a\u{1b}[31m.csv", "b"], &["tune", "a\r\u{9b}m"]]
    {
        let output = run(args);
        assert_eq!(status(&output), 2);
        let said = stderr(&output);
        assert!(said.ends_with('\n') && !said.trim_end().contains(char::is_control), "{said:?}");
    }
}
