//! The report as JSON, and its published schema.
//!
//! `TENURE_BLESS=1` writes the schema anew after a change of the format.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::path::Path;

use serde_json::{Map, Value, json};
use tenure_core::{
    BufferDesc, Config, DescriptorTableDesc, Format, Gpu, MemoryUse, PageAllocatorDesc, Queue, Report,
    TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{Device, Profile};

fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Report)).unwrap()
}

/// A report in which no list is empty.
fn report() -> Report {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default().leak_backtraces(true)).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX).name("rock")).unwrap();
    let camera = BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).name("camera");
    let camera = gpu.create_buffer(&camera).unwrap();
    let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = gpu.create_texture(&grass).unwrap();
    let grass_view = gpu.create_texture_view(&grass, &TextureViewDesc::sampled().name("grass view")).unwrap();
    let table = gpu
        .create_descriptor_table(&DescriptorTableDesc::new(&[(&grass_view).into()]).name("meadow"))
        .unwrap();
    let pipeline = gpu.defer("pipeline", 7);
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    let frame = gpu.begin_frame().unwrap();
    let open = frame.record(Queue::Graphics, "forgotten").unwrap();
    // Commands may name it from then on.
    let _place = rock.offset();
    drop(rock);
    frame.end().unwrap();
    let report = gpu.report();
    drop((camera, grass, grass_view, table, pipeline, pages, open));
    report
}

#[test]
fn the_schema_is_the_published_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("TENURE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    // Compared as values: the order of keys depends on features of other crates.
    let published: Value = serde_json::from_str(&published).unwrap_or_default();
    assert!(
        published == schema(),
        "the format has changed: write {} anew with TENURE_BLESS=1",
        path.display()
    );
}

#[test]
fn the_report_equals_the_counters() {
    let report = report();
    let written: Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(written["version"], json!(1));
    assert_eq!(written["backend"], json!("sim"));
    assert_eq!(written["stats"]["reserved"], json!(report.stats.reserved));
    assert_eq!(written["stats"]["live_objects"], json!(6));
    let heaps = written["memory"]["heaps"].as_array().unwrap();
    assert_eq!(heaps.len(), report.memory.heaps.len());
    assert_eq!(heaps[0]["budget"], json!(report.memory.heaps[0].budget));
    for object in &report.objects {
        let of = object
            .pool_index
            .map(|index| (report.pools[index].stats.kind, report.pools[index].stats.memory_type));
        assert_eq!(of, object.pool.zip(object.memory_type), "{}", object.name);
    }
    let names: Vec<_> = written["objects"].as_array().unwrap().iter().map(|object| &object["name"]).collect();
    assert_eq!(names, ["camera", "grass", "grass view", "level", "meadow", "pipeline"]);
    assert_eq!(written["objects"][1]["kind"], json!("texture"));
    assert_eq!(written["objects"][2]["kind"], json!("view"));
    assert_eq!(written["objects"][4]["kind"], json!("descriptor_table"));
    let heap = |kind: &str, part: &str, capacity: u64, used: u64| json!({ "kind": kind, "part": part, "capacity": capacity, "used": used, "peak": used, "waiting": 0 });
    let heaps = [
        heap("resource", "cpu", 1024, 1),
        heap("resource", "static", 16_384, 1),
        heap("resource", "dynamic", 16_384, 0),
    ];
    assert_eq!(written["stats"]["descriptors"]["heaps"], json!(heaps));
    assert_eq!(written["stats"]["descriptors"]["objects_created"], json!(2));
    assert!(written["objects"][0]["backtrace"].as_str().unwrap().contains("report"));
    assert_eq!(written["open_recordings"], json!([{ "name": "forgotten", "age": 0, "held_back": 1000 }]));
    let pools = written["pools"].as_array().unwrap();
    assert_eq!(pools.len(), report.pools.len());
    let kinds: Vec<_> = pools.iter().map(|pool| pool["stats"]["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"uploads") && kinds.contains(&"small_buffers"), "{kinds:?}");
    assert!(pools.iter().all(|pool| !pool["blocks"].as_array().unwrap().is_empty()));
}

/// A resource that the program dropped is listed with the views that keep it alive, also views that only tables
/// keep.
#[test]
fn the_report_names_the_views_that_keep_a_resource() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let [grass, stays] = [(); 2].map(|()| gpu.create_texture(&desc).unwrap());
    let view = |texture, name: &'static str| {
        gpu.create_texture_view(texture, &TextureViewDesc::sampled().name(name)).unwrap()
    };
    let views = [view(&grass, "b"), view(&grass, "a"), view(&stays, "c")];
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&views[0]).into()])).unwrap();
    (0..5).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    drop(grass);
    (0..3).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    let kept = || {
        let objects = gpu.report().objects.into_iter().filter(|object| object.dropped.is_some());
        objects.map(|object| (object.name, object.dropped, object.kept_by)).collect::<Vec<_>>()
    };
    let expected = |names: &[&str]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        vec![("grass".to_owned(), Some(5), names)]
    };
    assert_eq!(kept(), expected(&["a", "b"]));
    drop(views);
    assert_eq!(kept(), expected(&["b"]), "the table keeps it");
    drop(table);
    // The table's rows wait for the GPU, and the view for the table.
    (0..5).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    assert_eq!(kept(), []);
    assert!(gpu.report().objects.iter().all(|object| object.kept_by.is_empty()));
    drop(stays);
}

#[test]
fn the_report_validates_against_the_schema() {
    let schema = schema();
    let report = serde_json::to_value(report()).unwrap();
    check(&schema, &schema, &report, "report").unwrap();
    // And the schema is not one that accepts everything.
    let mut broken = report.clone();
    broken["stats"]["reserved"] = json!("many");
    assert!(check(&schema, &schema, &broken, "report").is_err());
    broken = report.clone();
    broken["pools"][0]["stats"]["kind"] = json!("swimming");
    assert!(check(&schema, &schema, &broken, "report").is_err());
    broken = report.clone();
    broken.as_object_mut().unwrap().remove("objects");
    assert!(check(&schema, &schema, &broken, "report").is_err());
    broken = report;
    broken["objects"][0]["colour"] = json!("red");
    assert!(check(&schema, &schema, &broken, "report").is_err());
}

/// Validates `value`: the keywords of JSON Schema that the schema uses; any other is an error, so
/// that none is passed over.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = schema.as_object().ok_or_else(|| format!("{at}: a schema is an object"))?;
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => check(root, resolve(root, rule)?, value, at)?,
            "type" => check_type(rule, value, at)?,
            "properties" => check_properties(root, rule, value, at)?,
            "required" => {
                let missing = |name: &&Value| value.get(name.as_str().unwrap_or_default()).is_none();
                if let Some(name) = rule.as_array().into_iter().flatten().find(missing) {
                    return Err(format!("{at}: {name} is missing"));
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"))?;
                }
            }
            "const" if value == rule => {}
            "oneOf" | "anyOf" => {
                let fits = |option: &&Value| check(root, option, value, at).is_ok();
                let count = rule.as_array().into_iter().flatten().filter(fits).count();
                if count == 0 || (keyword == "oneOf" && count > 1) {
                    return Err(format!("{at}: {value} fits {count} alternatives"));
                }
            }
            // These are for numbers; whether there may be none, the type says.
            "minimum" | "maximum" | "format" if value.is_null() => {}
            "minimum" if value.as_u64() >= rule.as_u64() => {}
            "maximum" if value.as_u64() <= rule.as_u64() => {}
            "format" if rule.as_str().is_some_and(|format| format.starts_with("uint")) => {
                if value.as_u64().is_none() {
                    return Err(format!("{at}: {value} is no {rule}"));
                }
            }
            _ => return Err(format!("{at}: {value} breaks, or nobody knows, {keyword}: {rule}")),
        }
    }
    Ok(())
}

fn resolve<'a>(root: &'a Value, reference: &Value) -> Result<&'a Value, String> {
    let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).ok_or_else(|| format!("{reference} leads nowhere"))
}

fn check_type(rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let fits = rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is));
    if fits { Ok(()) } else { Err(format!("{at}: {value} is no {rule}")) }
}

fn check_properties(root: &Value, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let none = Map::new();
    let properties = rule.as_object().unwrap_or(&none);
    for (name, property) in value.as_object().into_iter().flatten() {
        let schema = properties.get(name).ok_or_else(|| format!("{at}: {name} is not in the schema"))?;
        check(root, schema, property, &format!("{at}.{name}"))?;
    }
    Ok(())
}
