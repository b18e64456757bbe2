//! Everything that takes an object of a manager, with one of another manager: an error, and nothing happens.

use tenure_core::transient::graph::Graph;
use tenure_core::{
    BindingKind, BufferDesc, BufferLayout, BufferViewDesc, DescriptorSetDesc, DescriptorTableDesc, Error,
    Format, Gpu, Plane, Queue, ReservedDesc, SamplerDesc, SetBinding, SetDescriptor, SetLayoutDesc, State,
    Subresource, TexelData, TextureDesc, TextureRegion, TextureViewDesc, TileRegion, UploadRingDesc, Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, bytes, device, gpu, readback, upload};

const TILE: TileRegion = TileRegion::buffer(0, 1);
const TEXEL: TextureRegion =
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [1, 1, 1] };
const LAYOUT: BufferLayout = BufferLayout { offset: 0, row_pitch: 256, rows: 1 };

/// Two managers, each of its own device; all that is named `their …` is the other's.
struct Pair {
    mine: Gpu<Device>,
    other: Gpu<Device>,
}

impl Pair {
    fn new(profile: Profile) -> Self {
        let [mine, other] = [(); 2].map(|()| gpu(&device(profile, Lag::None)));
        // So that the other one's serials exist in the first one, too.
        for _ in 0..8 {
            mine.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        }
        Self { mine, other }
    }

    /// Checks that nothing was submitted, and nothing failed, in either manager.
    fn end(self) {
        for gpu in [self.other, self.mine] {
            let device = gpu.device().clone();
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}

#[track_caller]
fn is_foreign<T>(what: &str, answer: Result<T, Error>) {
    match answer {
        Err(Error::Foreign { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
        Ok(_) => panic!("{what}: accepted"),
    }
}

/// Its own manager would not know of such a use, and would destroy it in use.
#[test]
fn resources_of_another_manager_are_refused() {
    let Pair { mine, other } = Pair::new(Profile::DISCRETE);
    let source = upload(&mine, 1024, 1);
    let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::SHADER_READ | Usage::RENDER_TARGET;
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage);
    let sparse = ReservedDesc::buffer(1 << 20, Usage::COPY_SRC);
    let (my_texture, my_sparse) =
        (mine.create_texture(&desc).unwrap(), mine.create_reserved(&sparse).unwrap());
    let buffer = BufferDesc::new(20 << 20, Usage::SHADER_READ | Usage::COPY_SRC).name("their buffer");
    let buffer = other.create_buffer(&buffer).unwrap();
    let texture = other.create_texture(&desc.name("their texture")).unwrap();
    let sparse = other.create_reserved(&sparse.name("their tiles")).unwrap();
    let out = readback(&mine, "out", 1024);
    let submitted = mine.submitted();

    let mut it = mine.record(Queue::Graphics, "mine").unwrap();
    for state in [State::COPY_SRC, State::COMMON] {
        is_foreign("use_resource, buffer", it.use_resource(&buffer, Subresource::All, state));
        is_foreign("use_resource, texture", it.use_resource(&texture, Subresource::One(0), state));
        is_foreign("use_resource, reserved", it.use_resource(&sparse, Subresource::All, state));
    }
    is_foreign("copy_buffer, to", it.copy_buffer(&source, 0, &buffer, 0, 1024));
    is_foreign("copy_buffer, from", it.copy_buffer(&buffer, 0, &out, 0, 1024));
    is_foreign("copy_buffer_to_texture, to", it.copy_buffer_to_texture(&source, LAYOUT, &texture, TEXEL));
    is_foreign(
        "copy_buffer_to_texture, from",
        it.copy_buffer_to_texture(&buffer, LAYOUT, &my_texture, TEXEL),
    );
    is_foreign("copy_texture_to_buffer, from", it.copy_texture_to_buffer(&texture, TEXEL, &out, LAYOUT));
    is_foreign("copy_texture_to_buffer, to", it.copy_texture_to_buffer(&my_texture, TEXEL, &buffer, LAYOUT));
    is_foreign("copy_texture, from", it.copy_texture(&texture, &my_texture, Subresource::All));
    is_foreign("copy_texture, to", it.copy_texture(&my_texture, &texture, Subresource::One(0)));
    is_foreign("discard", it.discard(&texture, Subresource::All));
    is_foreign("Commands::read_back", it.read_back(&buffer, 0, 4));
    is_foreign("Commands::read_back_texture", it.read_back_texture(&texture, TEXEL));
    is_foreign("Gpu::read_back", mine.read_back(&buffer, 0, 4));
    is_foreign("Gpu::read_back_texture", mine.read_back_texture(&texture, TEXEL));
    is_foreign("upload", mine.upload(&buffer, 0, &[1; 4]));
    is_foreign("upload of nothing", mine.upload(&buffer, 0, &[]));
    is_foreign("upload_texture", mine.upload_texture(&texture, TEXEL, TexelData::new(&[1; 4])));
    is_foreign("copy_mappings", my_sparse.copy_mappings(Queue::Graphics, TILE, &sparse, TILE));
    is_foreign("create_buffer_view", mine.create_buffer_view(&buffer, &BufferViewDesc::raw()));
    is_foreign("create_texture_view", mine.create_texture_view(&texture, &TextureViewDesc::sampled()));

    let frame = mine.begin_frame().unwrap();
    let theirs = other.record(Queue::Graphics, "theirs").unwrap();
    is_foreign("Frame::submit", frame.submit(theirs));
    assert_eq!(other.stats().open_recordings, 0, "it is discarded");
    frame.end().unwrap();
    assert_eq!((mine.submitted(), other.submitted().iter().count()), (submitted, 0), "nothing was submitted");

    it.copy_buffer(&source, 0, &out, 0, 1024).unwrap();
    it.submit().unwrap();
    // The other manager does not count it as used, and may free it while mine uses it.
    drop((buffer, texture, sparse));
    mine.reclaim().unwrap();
    assert_eq!(bytes(&out), [1; 1024]);
    drop((source, my_texture, my_sparse, out));
    Pair { mine, other }.end();
}

#[test]
fn objects_of_another_managers_recording_are_refused() {
    let Pair { mine, other } = Pair::new(Profile::VULKAN_NVIDIA);
    let ring = other.create_upload_ring(&UploadRingDesc::new(1 << 16).name("their ring")).unwrap();
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST);
    let texture = mine.create_texture(&desc).unwrap();
    let buffer = mine.create_buffer(&BufferDesc::new(1024, Usage::VERTEX)).unwrap();
    let mut theirs = other.record(Queue::Graphics, "theirs").unwrap();
    let mut it = mine.record(Queue::Graphics, "mine").unwrap();
    let (_, their_scratch) = theirs.split();
    let (commands, scratch) = it.split();
    let slice = ring.allocate(their_scratch, 1024, 512).unwrap();
    let constant = their_scratch.constants(&[1.0_f32; 4]).unwrap();
    let untyped = their_scratch.untyped_constants(&[1; 16]).unwrap();
    is_foreign("UploadRing::allocate", ring.allocate(scratch, 16, 4));
    is_foreign("copy_slice", commands.copy_slice(&slice, 0, &buffer, 0, 4));
    is_foreign("copy_slice_to_texture", commands.copy_slice_to_texture(&slice, LAYOUT, &texture, TEXEL));
    is_foreign("Scratch::descriptors", scratch.descriptors(&[constant.into()]));
    assert!(matches!(scratch.find(untyped), Err(Error::OtherRecording { .. })));
    let layout = [SetBinding::new(0, BindingKind::Constants)];
    let layout = mine.create_set_layout(&SetLayoutDesc::new(&layout).name("mine")).unwrap();
    is_foreign("Scratch::set, constants", scratch.set(&layout, &[SetDescriptor::new(0, constant)]));
    drop((it, theirs, layout, texture, buffer, ring));
    Pair { mine, other }.end();
}

#[test]
fn descriptors_of_another_manager_are_refused() {
    let Pair { mine, other } = Pair::new(Profile::VULKAN_NVIDIA);
    let shown = |gpu: &Gpu<Device>| {
        let buffer = gpu.create_buffer(&BufferDesc::new(256, Usage::SHADER_READ)).unwrap();
        gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap()
    };
    let layout = |gpu: &Gpu<Device>| {
        let bindings = [SetBinding::new(0, BindingKind::Buffer), SetBinding::new(1, BindingKind::Sampler)];
        gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("layout")).unwrap()
    };
    let (my_view, my_layout) = (shown(&mine), layout(&mine));
    let (view, their_layout) = (shown(&other), layout(&other));
    let sampler = other.create_sampler(&SamplerDesc::default().name("theirs")).unwrap();
    is_foreign(
        "create_descriptor_table, view",
        mine.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table")),
    );
    is_foreign(
        "create_descriptor_table, sampler",
        mine.create_descriptor_table(&DescriptorTableDesc::new(&[(&sampler).into()]).name("table")),
    );
    let set = [SetDescriptor::new(0, &view)];
    is_foreign(
        "create_descriptor_set, view",
        mine.create_descriptor_set(&DescriptorSetDesc::new(&my_layout, &set).name("set")),
    );
    let smooth = [SetDescriptor::new(1, &sampler)];
    is_foreign(
        "create_descriptor_set, sampler",
        mine.create_descriptor_set(&DescriptorSetDesc::new(&my_layout, &smooth).name("set")),
    );
    let own = [SetDescriptor::new(0, &my_view)];
    is_foreign(
        "create_descriptor_set, layout",
        mine.create_descriptor_set(&DescriptorSetDesc::new(&their_layout, &own).name("set")),
    );
    let mut it = mine.record(Queue::Graphics, "mine").unwrap();
    let (_, scratch) = it.split();
    is_foreign("Scratch::descriptors, view", scratch.descriptors(&[(&view).into()]));
    is_foreign("Scratch::descriptors, sampler", scratch.descriptors(&[(&sampler).into()]));
    is_foreign("Scratch::set, layout", scratch.set(&their_layout, &own));
    is_foreign("Scratch::set, view", scratch.set(&my_layout, &set));
    drop((it, my_view, my_layout, view, their_layout, sampler));
    Pair { mine, other }.end();
}

/// Their serials exist here, too, and mean other submissions.
#[test]
fn points_of_another_manager_are_refused() {
    let Pair { mine, other } = Pair::new(Profile::DISCRETE);
    let buffer = other.create_buffer(&BufferDesc::new(64, Usage::VERTEX)).unwrap();
    let uploaded = other.upload(&buffer, 0, &[1; 64]).unwrap();
    let flushed = other.flush_uploads().unwrap();
    let submitted = other.record(Queue::Graphics, "theirs").unwrap().submit().unwrap();
    let frame = other.begin_frame().unwrap();
    let executed = frame.execute(&Graph::default(), |_, _, _| Ok::<_, Error>(())).unwrap();
    assert_eq!(executed.iter().count(), 0, "a graph without passes submits nothing");
    frame.end().unwrap();
    assert!(other.wait(&submitted, SECOND).unwrap());
    let mut merged = mine.submitted();
    merged.merge(&submitted);
    let points = [
        ("Recording::submit", submitted),
        ("flush_uploads", flushed),
        ("Upload::sync_point", uploaded.sync_point().unwrap()),
        ("Gpu::submitted", other.submitted()),
        ("Gpu::completed", other.completed().unwrap()),
        ("merge", merged),
    ];
    let desc = ReservedDesc::buffer(1 << 20, Usage::COPY_SRC);
    let [sparse, copied] = [(); 2].map(|()| mine.create_reserved(&desc).unwrap());
    let mut it = mine.record(Queue::Graphics, "mine").unwrap();
    for (what, point) in points {
        is_foreign(what, mine.wait(&point, SECOND));
        is_foreign(what, it.wait_for(&point));
        is_foreign(what, mine.release_after((), point).map_err(Error::from));
        is_foreign(what, sparse.map((Queue::Graphics, point), TILE));
        is_foreign(what, sparse.unmap((Queue::Graphics, point), TILE));
        is_foreign(what, sparse.copy_mappings((Queue::Graphics, point), TILE, &copied, TILE));
    }
    is_foreign("merge, at its own", other.wait(&merged, SECOND));
    is_foreign("wait_upload, submitted", mine.wait_upload(&uploaded, SECOND));
    let pending = other.upload(&buffer, 0, &[1; 64]).unwrap();
    is_foreign("wait_upload, pending", mine.wait_upload(&pending, SECOND));
    drop((it, sparse, copied, buffer));
    Pair { mine, other }.end();
}

/// A pass cannot submit a recording of another manager in place of its own, though it has the same number.
#[test]
fn a_pass_cannot_exchange_its_recording() {
    let Pair { mine, other } = Pair::new(Profile::DISCRETE);
    let number = mine.record(Queue::Graphics, "number").unwrap().id();
    while other.record(Queue::Graphics, "number").unwrap().id() < number {}
    let mut graph = Graph::default();
    graph.pass(Queue::Graphics, "pass");
    let frame = mine.begin_frame().unwrap();
    let mut theirs = Some(other.record(Queue::Graphics, "theirs").unwrap());
    let answer = frame.execute(&graph, |_, recording, _| {
        if let Some(theirs) = &mut theirs {
            std::mem::swap(recording, theirs);
        }
        Ok::<_, Error>(())
    });
    assert!(matches!(answer, Err(Error::Transient { .. })), "{answer:?}");
    frame.end().unwrap();
    drop(theirs);
    assert_eq!(other.submitted().iter().count(), 0);
    Pair { mine, other }.end();
}
