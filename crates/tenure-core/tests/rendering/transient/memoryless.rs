//! Targets whose content never leaves a render pass take no memory where it is allocated lazily.

use tenure_core::transient::graph::{Graph, ResourceId};
use tenure_core::{
    Error, Format, Gpu, LocationKind, Queue, Recording, State, Subresource, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Profile};

use super::{PROFILES, device, finish, gpu, target};

/// Depth and multisampled colour of a pass that resolves it, and the result of the pass.
struct Frame {
    graph: Graph,
    color: ResourceId,
    depth: ResourceId,
    resolved: ResourceId,
}

impl Frame {
    /// `usage` is that of the resources that stay in the first pass.
    fn new(usage: Usage) -> Self {
        let mut graph = Graph::new();
        let of_pass = |format, target: Usage, name| {
            TextureDesc::d2(256, 256, format, target | usage).samples(4).name(name)
        };
        let color = graph.texture(of_pass(Format::Rgba8Unorm, Usage::RENDER_TARGET, "colour"));
        let depth = graph.texture(of_pass(Format::D32Float, Usage::DEPTH_STENCIL, "depth"));
        let resolved = graph.texture(target(256, "resolved"));
        let draw = graph.pass(Queue::Graphics, "draw");
        draw.uses(color, State::RENDER_TARGET)
            .uses(depth, State::DEPTH_WRITE)
            .uses(resolved, State::RENDER_TARGET);
        graph.pass(Queue::Graphics, "bloom").uses(resolved, State::PIXEL_SHADER);
        Self { graph, color, depth, resolved }
    }

    /// Runs it; returns the location of the resources that stay in the first pass.
    fn run(&self, gpu: &Gpu<Device>) -> [LocationKind; 2] {
        let mut locations = None;
        let frame = gpu.begin_frame().unwrap();
        let run: Result<_, Error> = frame.execute(&self.graph, |pass, list, resources| {
            let resolved = resources.texture(self.resolved)?;
            if pass.index() > 0 {
                draw(list, resolved, State::PIXEL_SHADER);
                return Ok(());
            }
            let (color, depth) = (resources.texture(self.color)?, resources.texture(self.depth)?);
            draw(list, color, State::RENDER_TARGET);
            draw(list, depth, State::DEPTH_WRITE);
            super::clear(list, resolved, 1);
            locations = Some([color.location(), depth.location()]);
            Ok(())
        });
        run.unwrap();
        frame.end().unwrap();
        locations.unwrap()
    }
}

fn draw(list: &mut Recording<Device>, texture: &Texture<Device>, state: State) {
    list.use_resource(texture, Subresource::All, state).unwrap();
    list.barriers();
    list.raw().use_texture(texture.raw(), Subresource::All, state);
}

/// On a phone only the results of the pass take memory: as much as in a graph without other resources. On other
/// devices the others take the same memory as without that usage.
#[test]
fn targets_of_one_pass_of_a_graph_take_no_bytes_of_a_phone() {
    for &profile in PROFILES {
        let reserved = |usage| {
            let device = device(profile);
            let gpu = gpu(&device);
            let frame = Frame::new(usage);
            let peak = gpu.plan_graph(&frame.graph).unwrap().peak();
            let locations: Vec<_> = (0..4).map(|_| frame.run(&gpu)).collect();
            let stats = gpu.stats();
            let granted: u64 = tenure_core::device::MemoryDevice::budget(gpu.device())
                .unwrap()
                .iter()
                .map(|heap| heap.usage)
                .sum();
            assert_eq!(stats.reserved, granted, "{}", profile.name());
            finish(&device, gpu);
            (peak, stats.reserved_by.transient, stats.memoryless, locations)
        };
        let alone = {
            let device = device(profile);
            let gpu = gpu(&device);
            let mut graph = Graph::new();
            let resolved = graph.texture(target(256, "resolved"));
            graph.pass(Queue::Graphics, "draw").uses(resolved, State::RENDER_TARGET);
            let peak = gpu.plan_graph(&graph).unwrap().peak();
            finish(&device, gpu);
            peak
        };
        let transient = reserved(Usage::TRANSIENT_ATTACHMENT);
        let plain = reserved(Usage::empty());
        assert!(plain.0 > alone && plain.1 > alone && plain.2 == 0, "{}: {plain:?}", profile.name());
        if profile != Profile::VULKAN_MOBILE {
            assert_eq!(transient, plain, "{}", profile.name());
            continue;
        }
        let (peak, bytes, memoryless, locations) = transient;
        assert_eq!(peak, alone);
        assert!(bytes < plain.1 && memoryless > 0, "{bytes} B, not {plain:?}");
        assert!(locations.as_flattened().iter().all(|location| *location == LocationKind::Memoryless));
    }
}

/// If a driver refuses such memory, they get ordinary memory, and later frames are unchanged.
#[test]
fn refused_lazy_memory_is_plain_memory() {
    let device = device(Profile::VULKAN_MOBILE);
    let gpu = gpu(&device);
    let frame = Frame::new(Usage::TRANSIENT_ATTACHMENT);
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted));
    for _ in 0..3 {
        assert_eq!(frame.run(&gpu), [LocationKind::Committed, LocationKind::Memoryless]);
    }
    finish(&device, gpu);
}
