//! Names that the program makes while it runs.

use tenure_core::{Config, Error, Gpu, Graph, GraphError, Name, Queue, State, Usage};
use tenure_core::{Format, TextureAccess, TextureDesc, TextureViewDesc, UploadRingDesc};
use tenure_sim::{Lag, Profile};

use super::{device, gpu};

#[test]
fn recordings_have_names_that_are_made_at_run_time() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let frame = gpu.begin_frame().unwrap();
    let open: Vec<_> =
        (0..3).map(|cascade| frame.record(Queue::Graphics, format!("cascade {cascade}")).unwrap()).collect();
    let shared = Name::from(String::from("shared"));
    let again = frame.record(Queue::Graphics, &shared).unwrap();
    assert_eq!(gpu.report().open_recordings[1].name, "cascade 1");
    let report = gpu.shutdown();
    assert_eq!(report.open_recordings, ["cascade 0", "cascade 1", "cascade 2", "shared"]);
    drop((open, again));
}

#[test]
fn constants_of_open_recordings_are_distinguished() {
    let gpu = Gpu::new(device(Profile::DISCRETE, Lag::None), Config::default()).unwrap();
    let mut first = gpu.record(Queue::Graphics, String::from("first")).unwrap();
    let constants = first.split().1.untyped_constants(&[1; 64]).unwrap();
    let mut second = gpu.record(Queue::Graphics, String::from("second")).unwrap();
    let error = second.split().1.find(constants).unwrap_err();
    assert_eq!(
        error.to_string(),
        "constants or slices of recording first (#1) are used in recording second (#2): make them in the recording that uses them"
    );
    first.submit().unwrap();
    let Error::OtherRecording { name, id, used_name, .. } = second.split().1.find(constants).unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!((name.as_str(), used_name.as_str()), ("", "second"));
    assert_eq!(id, constants.recording());
}

#[test]
fn passes_have_names_that_are_made_at_run_time() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let mut graph = Graph::new();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let mips: Vec<_> = (0..3).map(|mip| graph.texture(desc.clone().name(format!("mip {mip}")))).collect();
    let passes: Vec<_> = (0..3)
        .map(|mip| {
            graph.pass(Queue::Graphics, format!("blur {mip}")).uses(mips[mip], State::RENDER_TARGET).id()
        })
        .collect();
    let compiled = gpu.plan_graph(&graph).unwrap();
    assert_eq!(compiled.pass(passes[2]).unwrap().name, &Name::from("blur 2"));
    let frame = gpu.begin_frame().unwrap();
    let executed = frame.execute::<Error>(&graph, |pass, recording, _| {
        assert_eq!(gpu.report().open_recordings[0].name, "blur 0", "passes share the first one's recording");
        let _draw = (pass, recording.raw());
        Ok(())
    });
    executed.unwrap();
    graph.pass(Queue::Graphics, format!("blur {}", 3)).uses(mips[0], State::COPY_DST);
    let Err(Error::Graph(GraphError::NotInUsage { pass, .. })) = gpu.plan_graph(&graph) else {
        panic!("no usage for that")
    };
    assert_eq!(pass, "blur 3");
    frame.end().unwrap();
}

/// A few words each: a name, a size, a place, and nothing that takes a lock.
#[test]
fn handles_are_short_in_debug_output() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let rock = super::mesh(&gpu, "rock", 1000);
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = gpu.create_texture(&desc).unwrap();
    let view = gpu.create_texture_view(&grass, &TextureViewDesc::new(TextureAccess::Sampled)).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let mut recording = frame.record(Queue::Graphics, "opaque").unwrap();
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(4096).name("particles")).unwrap();
    let deferred = gpu.defer("pipeline", 7_u32);
    let constants = format!("{:?}", recording.split().1.constants(&[1_u32; 4]).unwrap());
    let texts = [
        (format!("{rock:?}"), "rock"),
        (format!("{grass:?}"), "grass"),
        (format!("{view:?}"), "grass"),
        (format!("{recording:?}"), "opaque"),
        (format!("{frame:?}"), "number: 1"),
        (format!("{gpu:?}"), "is_shut_down: false"),
        (format!("{ring:?}"), "particles"),
        (format!("{deferred:?}"), "7"),
        (constants, "size: 16"),
    ];
    for (text, part) in texts {
        assert!(text.contains(part) && text.len() < 400, "{text}");
    }
    assert_eq!(
        format!("{rock:?}"),
        "Buffer { name: \"rock\", size: 1000, usage: Usage(VERTEX | COPY_DST), memory: GpuOnly, location: Range, .. }"
    );
}
