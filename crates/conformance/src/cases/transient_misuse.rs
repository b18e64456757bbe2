//! Invalid uses of transient resources are refused without an effect.

use tenure_core::transient::graph::{Graph, GraphError, ResourceId};
use tenure_core::{
    BufferDesc, Error, Format, MemoryUse, Queue, State, Stats, Subresource, TextureDesc, Usage,
};

use crate::Harness;
use crate::bench::Bench;

const TARGET: Usage = Usage::RENDER_TARGET.union(Usage::SHADER_READ);

fn target(name: &'static str) -> TextureDesc {
    TextureDesc::d2(64, 64, Format::Rgba8Unorm, TARGET).name(name)
}

fn depth(name: &'static str) -> TextureDesc {
    TextureDesc::d2(64, 64, Format::D32Float, Usage::DEPTH_STENCIL).name(name)
}

fn list(name: &'static str) -> BufferDesc {
    BufferDesc::new(4096, Usage::SHADER_READ | Usage::COPY_SRC).name(name)
}

/// A graph of two passes. Both use one texture and one buffer, and each uses a texture of its own. One more depth
/// target and one more buffer are declared and never used.
struct Small {
    graph: Graph,
    both: ResourceId,
    buffer: ResourceId,
    first: ResourceId,
    second: ResourceId,
}

impl Small {
    /// The graph with this number of samples for each texel.
    fn new(samples: u32) -> Self {
        let mut graph = Graph::new();
        let target = |name| target(name).samples(samples);
        let (both, buffer) = (graph.texture(target("both")), graph.buffer(list("list")));
        let (first, second) = (graph.texture(target("first")), graph.texture(target("second")));
        graph.texture(depth("culled depth").samples(samples));
        graph.buffer(list("culled list"));
        let one = graph.pass(Queue::Graphics, "one");
        one.uses(both, State::RENDER_TARGET).uses(first, State::RENDER_TARGET).uses(buffer, State::COPY_DST);
        let two = graph.pass(Queue::Graphics, "two").uses(both, State::PIXEL_SHADER);
        two.uses(second, State::RENDER_TARGET).uses(buffer, State::COPY_SRC);
        Self { graph, both, buffer, first, second }
    }
}

/// The statistics that a refused call must not change, once its recordings are dropped.
fn footprint(stats: &Stats) -> [u64; 3] {
    let alive = stats.resources_created - stats.resources_destroyed;
    [stats.reserved, alive, stats.open_recordings]
}

fn refused_by_rule<T>(result: Result<T, Error>, wanted: &str) {
    match result {
        Err(Error::Transient { name, .. }) => assert_eq!(name.as_str(), wanted),
        Err(error) => panic!("{wanted}: {error}"),
        Ok(_) => panic!("{wanted} was found"),
    }
}

/// A pass can access the resources that it declared, as the type that was declared, and no others.
pub fn passes_use_only_declared_resources<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for samples in bench.sample_counts(&[target("both"), depth("culled depth")]) {
        use_declared_resources(&bench, samples);
    }
    bench.end();
}

fn use_declared_resources<H: Harness>(bench: &Bench<'_, H>, samples: u32) {
    let Small { graph, both, buffer, first, second } = Small::new(samples);
    let mut larger = graph.clone();
    let foreign = larger.texture(target("foreign"));
    let frame = bench.gpu.begin_frame().unwrap();
    let mut passes = 0;
    let done = frame.execute(&graph, |pass, recording, resources| {
        let (own, other, other_name) =
            if pass.index() == 0 { (first, second, "second") } else { (second, first, "first") };
        assert_eq!(resources.texture(own)?.info().width, 64);
        let info = resources.texture(both)?.info();
        assert_eq!((info.format, info.samples), (Format::Rgba8Unorm, samples));
        assert_eq!(resources.buffer(buffer)?.size(), 4096);
        refused_by_rule(resources.texture(other), other_name);
        refused_by_rule(resources.buffer(other), other_name);
        refused_by_rule(resources.texture(buffer), "list");
        refused_by_rule(resources.buffer(both), "both");
        refused_by_rule(resources.texture(foreign), "");
        if pass.index() == 0 {
            let staging = bench.staging(&[7; 4096]);
            recording.copy_buffer(&staging, 0, resources.buffer(buffer)?, 0, 4096)?;
        }
        passes += 1;
        Ok::<_, Error>(())
    });
    bench.wait(&done.unwrap());
    assert_eq!(passes, 2);
    frame.end().unwrap();
}

/// Invalid graphs are errors that name the pass or the resource, and no object is created.
pub fn invalid_graphs_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let before = footprint(&bench.gpu.stats());
    let refuse = |build: &dyn Fn(&mut Graph)| -> GraphError {
        let mut graph = Graph::new();
        build(&mut graph);
        let frame = bench.gpu.begin_frame().unwrap();
        let executed = frame.execute(&graph, |_, _, _| -> Result<(), Error> {
            panic!("a pass of an invalid graph is executed")
        });
        frame.end().unwrap();
        let Err(Error::Graph(error)) = executed else { panic!("{executed:?}") };
        let planned = bench.gpu.plan_graph(&graph).map(|_| ());
        assert_eq!(planned, Err(Error::Graph(error.clone())));
        assert_eq!(footprint(&bench.gpu.stats()), before, "{error}");
        error
    };
    let error = refuse(&|graph| {
        let read = graph.texture(target("read"));
        graph.pass(Queue::Graphics, "reader").uses(read, State::PIXEL_SHADER);
    });
    assert!(matches!(&error, GraphError::NotWrittenFirst { pass, .. } if *pass == "reader"), "{error}");
    let error = refuse(&|graph| {
        let foreign = Small::new(1).second;
        graph.pass(Queue::Graphics, "stranger").uses(foreign, State::RENDER_TARGET);
    });
    assert!(matches!(error, GraphError::UnknownResource { index: 3, resources: 0, .. }), "{error}");
    let error = refuse(&|graph| {
        let color = graph.texture(target("colour"));
        graph.pass(Queue::Graphics, "writer").uses(color, State::UNORDERED_ACCESS);
    });
    assert!(matches!(error, GraphError::NotInUsage { usage, .. } if usage.contains(TARGET)), "{error}");
    let error = refuse(&|graph| {
        let mapped = graph.buffer(list("mapped").memory(MemoryUse::Upload));
        graph.pass(Queue::Graphics, "writer").uses(mapped, State::COPY_DST);
    });
    assert!(matches!(error, GraphError::NotGpuOnly { memory: MemoryUse::Upload, .. }), "{error}");
    let error = refuse(&|graph| {
        let color = graph.texture(target("colour"));
        let own = graph.pass(Queue::Graphics, "first").uses(color, State::RENDER_TARGET).id();
        graph.pass(Queue::Graphics, "second");
        let mut other = graph.clone();
        let later = other.pass(Queue::Graphics, "third").after(own).id();
        graph.pass(Queue::Graphics, "third").after(later);
    });
    assert!(matches!(error, GraphError::NotEarlier { index: 2, after: 2, .. }), "{error}");
    bench.end();
}

/// A pass that fails ends the execution of its graph; the next graph is executed as usual.
pub fn failed_passes_leave_nothing_behind<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for samples in bench.sample_counts(&[target("both"), depth("culled depth")]) {
        fail_in_passes(&bench, samples);
    }
    bench.end();
}

#[derive(Debug)]
enum Failure {
    Own(usize),
    Tenure(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Tenure(error)
    }
}

fn fail_in_passes<H: Harness>(bench: &Bench<'_, H>, samples: u32) {
    let Small { graph, buffer, both, .. } = Small::new(samples);
    for failing in [0, 1, 2, 1, 0, 2] {
        let frame = bench.gpu.begin_frame().unwrap();
        let mut readback = None;
        let executed = frame.execute(&graph, |pass, recording, resources| {
            if pass.index() == failing {
                return Err(Failure::Own(failing));
            }
            let list = resources.buffer(buffer)?;
            if pass.index() == 0 {
                recording.use_resource(resources.texture(both)?, Subresource::All, State::RENDER_TARGET)?;
                let staging = bench.staging(&[9; 4096]);
                recording.copy_buffer(&staging, 0, list, 0, 4096)?;
            } else {
                readback = Some(recording.read_back(list, 4000, 96)?);
            }
            Ok(())
        });
        match executed {
            Ok(done) => {
                assert_eq!(failing, 2);
                bench.wait(&done);
                assert_eq!(readback.unwrap().poll().unwrap(), Some(vec![9; 96]));
            }
            Err(Failure::Own(by)) => assert_eq!(by, failing),
            Err(Failure::Tenure(error)) => panic!("{error}"),
        }
        frame.end().unwrap();
        assert_eq!(bench.gpu.stats().open_recordings, 0);
    }
    let frame = bench.gpu.begin_frame().unwrap();
    let executed = frame.execute(&graph, |_, recording, _| {
        *recording = frame.record(Queue::Graphics, "another")?;
        Ok::<_, Error>(())
    });
    refused_by_rule(executed, "one");
    frame.end().unwrap();
}

/// Another recording cannot use a transient resource before the recording that acquired it is submitted. Transient
/// resources cannot be in memory that the CPU accesses.
pub fn transient_resources_belong_to_their_recording<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for samples in bench.sample_counts(&[target("held")]) {
        acquire_for_a_recording(&bench, samples);
    }
    bench.end();
}

fn acquire_for_a_recording<H: Harness>(bench: &Bench<'_, H>, samples: u32) {
    let frame = bench.gpu.begin_frame().unwrap();
    let mut own = frame.record(Queue::Graphics, "own").unwrap();
    let mut other = frame.record(Queue::Graphics, "other").unwrap();
    let held = own.transient_texture(&target("held").samples(samples)).unwrap();
    // These two are acquired and never used.
    drop(own.transient_texture(&target("culled").samples(samples)).unwrap());
    drop(other.transient_buffer(&list("culled")).unwrap());
    let used = other.use_resource(&held, Subresource::All, State::RENDER_TARGET);
    let Err(Error::NotAcquired { name, acquired_by, recording, .. }) = used else { panic!("{used:?}") };
    assert_eq!((name.as_str(), recording.as_str()), ("held", "other"));
    assert_eq!(format!("#{acquired_by}"), own.id().to_string());
    let error = own.transient_buffer(&list("mapped").memory(MemoryUse::Readback)).map(|_| ()).unwrap_err();
    let Error::Transient { name, .. } = &error else { panic!("{error}") };
    assert_eq!(name.as_str(), "mapped");
    for desc in [list("empty").size(0), list("odd").alignment(3)] {
        let refused = own.transient_buffer(&desc).map(|_| ());
        assert!(matches!(&refused, Err(Error::Device { name, .. }) if *name == desc.name), "{refused:?}");
    }
    own.use_resource(&held, Subresource::All, State::RENDER_TARGET).unwrap();
    own.barriers();
    frame.submit(own).unwrap();
    // The recording that acquired it is submitted, so that other recordings can use it.
    other.use_resource(&held, Subresource::All, State::PIXEL_SHADER).unwrap();
    drop(held);
    frame.submit(other).unwrap();
    frame.end().unwrap();
}
