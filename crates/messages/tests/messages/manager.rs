//! The manager's errors: provoked on the simulated device where that is short, made otherwise.

use std::time::Duration;

use tenure_core::device::{
    AccelerationStructureKind, DeviceError, MAX_QUEUES, MemoryTypeId, QueryKind, QueueKind, ResourceDesc,
    prelude::*,
};
use tenure_core::time::NotIdle;
use tenure_core::*;
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use crate::table::Table;

const SOON: Duration = Duration::from_millis(1);

fn gpu(config: impl Into<Config>) -> Gpu<Device> {
    Gpu::new(Device::new(Profile::DISCRETE), config.into()).unwrap()
}

fn rock() -> BufferDesc {
    BufferDesc::new(256, Usage::VERTEX).name("rock")
}

/// The errors of a program that goes wrong in each way.
pub(crate) fn provoke(table: &mut Table) {
    configurations(table);
    buffers(table);
    recordings(table);
    endings(table);
}

fn configurations(table: &mut Table) {
    let refused = |config: Config| Gpu::new(Device::new(Profile::DISCRETE), config);
    table.refused(refused(FrameConfig::default().in_flight(0).into()));
    table.refused(refused(DescriptorConfig::default().static_resources(Some(u32::MAX)).into()));
    table.refused(refused(PoolConfig::default().min_block(5000).into()));
    table.refused(refused(PressureConfig::default().high(96).into()));
    let device = Device::new(Profile::DISCRETE);
    let _first = Gpu::new(device.clone(), Config::default()).unwrap();
    table.refused(Gpu::new(device, Config::default()));
}

fn buffers(table: &mut Table) {
    let gpu = gpu(DescriptorConfig::default().static_resources(Some(16)));
    let rock = gpu.create_buffer(&rock()).unwrap();
    table.refused(gpu.create_buffer(&BufferDesc::new(0, Usage::VERTEX).name("sand")));
    table.refused(rock.write(0, &[1]));
    table.refused(gpu.upload(&rock, 200, &[0; 100]));
    let camera = BufferDesc::new(64, Usage::CONSTANT).memory(MemoryUse::Upload).name("camera");
    let camera = gpu.create_buffer(&camera).unwrap();
    table.refused(camera.write(60, &[0; 8]));
    let grass = gpu.create_buffer(&BufferDesc::new(256, Usage::SHADER_READ).name("grass")).unwrap();
    let view = gpu.create_buffer_view(&grass, &BufferViewDesc::raw().name("grass view")).unwrap();
    let binds = vec![(&view).into(); 17];
    table.refused(gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("meadow")));
    for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
        gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
    }
    let open = gpu.record(Queue::Graphics, "minimap").unwrap();
    drop(rock);
    table.refused(gpu.create_buffer(&BufferDesc::new(64 << 20, Usage::VERTEX).name("level")));
    gpu.device().faults().clear();
    drop(open);
    let other = self::gpu(Config::default());
    let mut recording = other.record(Queue::Graphics, "draw").unwrap();
    table.refused(recording.use_resource(&grass, Subresource::All, State::PIXEL_SHADER));
}

fn recordings(table: &mut Table) {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    let gpu = Gpu::new(device, Config::from(FrameConfig::default().in_flight(1).timeout(SOON))).unwrap();
    let rock = gpu.create_buffer(&rock().own_resource()).unwrap();
    let camera = BufferDesc::new(64, Usage::CONSTANT).memory(MemoryUse::Upload).name("camera");
    let camera = gpu.create_buffer(&camera).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    table.refused(recording.use_resource(&rock, Subresource::All, State::INDEX));
    table.refused(recording.use_resource(&rock, Subresource::One(3), State::VERTEX_OR_CONSTANT));
    table.refused(recording.use_resource(&camera, Subresource::All, State::COPY_DST));
    table.refused(recording.use_resource(
        &rock,
        Subresource::All,
        State::COPY_DST | State::VERTEX_OR_CONSTANT,
    ));
    let object = ResourceDesc::Buffer(BufferInfo::new(64, Usage::VERTEX));
    let object = gpu.device().create_committed(&object, MemoryTypeId(0)).unwrap();
    let rejected =
        gpu.adopt_buffer(object, &BufferDesc::new(64, Usage::VERTEX).name("terrain"), State::INDEX);
    table.add(&rejected.unwrap_err());
    table.refused(gpu.read_back(&rock, 0, 16));
    table.refused(gpu.create_upload_ring(&UploadRingDesc::new(1000).name("ring")));
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(1024).name("ring")).unwrap();
    table.refused(ring.allocate(recording.split().1, 4096, 4).map(drop));
    let _held = ring.allocate(recording.split().1, 900, 4).map(drop);
    table.refused(ring.allocate(recording.split().1, 900, 4).map(drop));
    drop(recording);
    let frame = gpu.begin_frame().unwrap();
    table.refused(gpu.begin_frame());
    let foreign = self::gpu(Config::default()).record(Queue::Graphics, "of another").unwrap();
    let draw = frame.record(Queue::Graphics, "draw").unwrap();
    table.add(&frame.submit_all(vec![draw, foreign]).unwrap_err());
    frame.end().unwrap();
    table.refused(gpu.begin_frame());
    gpu.device().run_until_idle();
}

fn endings(table: &mut Table) {
    let gpu = gpu(Config::default());
    let rock = gpu.create_buffer(&rock()).unwrap();
    let lost = Fault::nth(1, FaultKind::Removed("unplugged".to_owned())).of(CallKind::CreateCommitted);
    gpu.shutdown();
    table.refused(gpu.create_buffer(&self::rock()));
    drop(rock);
    let gpu = self::gpu(Config::default());
    gpu.device().faults().inject(lost);
    table.refused(gpu.create_buffer(&BufferDesc::new(64 << 20, Usage::VERTEX).own_resource().name("level")));
}

/// The errors that take long programs, or devices that are broken.
pub(crate) fn make(table: &mut Table) {
    let (name, recording) = (|| Name::from("rock"), || Name::from("draw"));
    let gpu = gpu(Config::default());
    let id = gpu.record(Queue::Graphics, "draw").unwrap().id();
    let errors = [
        Error::WrongLength { name: name(), needed: 256, given: 100 },
        Error::NeverSubmitted { queue: QueueId(0), serial: 9, newest: 3 },
        Error::Discarded { name: name(), recording: recording() },
        Error::OtherRecording { name: recording(), id, used_name: "sky".into(), used_id: id },
        Error::NotAcquired { name: name(), acquired_by: 3, recording: recording(), id },
        Error::Internal { what: "a block without a pool" },
        Error::Contract { rule: ContractRule::Queues { queues: 0, max: MAX_QUEUES } },
    ];
    errors.iter().for_each(|error| table.error(error));
    rules(table, id);
    graphs(table);
    names(table);
    table.add(&NotIdle { incomplete_submissions: 2, open_recordings: 1 });
    for progress in [RecordingProgress::NotBegun, RecordingProgress::Completed] {
        table.add(&progress);
    }
    for scopes in [&[][..], &["shadows", "cascade 1"]] {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        table.add(&RecordingProgress::Running { scopes });
    }
}

fn rules(table: &mut Table, id: RecordingId) {
    let name = || Name::from("bloom");
    for what in [
        Awaited::EarlierFrame,
        Awaited::LastFrame,
        Awaited::UploadRing,
        Awaited::EarlierUploads,
        Awaited::Readback,
        Awaited::ReadbackSubmission,
        Awaited::SwapchainImage,
        Awaited::Query,
        Awaited::QuerySubmission,
    ] {
        table.error(&Error::Timeout { what, waited_ms: 500 });
    }
    for rule in [
        TransientRule::GpuOnly { memory: MemoryUse::Upload },
        TransientRule::Shared,
        TransientRule::WrongType,
        TransientRule::NotDeclared,
        TransientRule::OtherRecording,
        TransientRule::NoUploads,
        TransientRule::GpuIsGone,
    ] {
        table.error(&Error::Transient { name: name(), rule });
    }
    for rule in [
        SwapchainRule::NotFinished,
        SwapchainRule::BegunFirst,
        SwapchainRule::FinishedOnce,
        SwapchainRule::ImageHeld,
        SwapchainRule::OtherSwapchain,
        SwapchainRule::OneAtATime,
        SwapchainRule::WindowLost,
        SwapchainRule::NoQueue,
        SwapchainRule::Format,
        SwapchainRule::Images { images: 99, min: 2, max: 8 },
    ] {
        table.error(&Error::Swapchain { name: "window".into(), rule });
    }
    for rule in [
        QueryRule::NotEnded { kind: QueryKind::Occlusion },
        QueryRule::AlreadyBegun { kind: QueryKind::Occlusion, begun: QueryKind::PipelineStatistics },
        QueryRule::NotBegun,
        QueryRule::OtherRecording { begun_in: id },
        QueryRule::OtherQueue { queue: QueueId(2), earlier: QueueId(0) },
    ] {
        table.error(&Error::Query { recording: "draw".into(), id, rule });
    }
    for rule in [
        StructureRule::TooSmall { needed: 4096, size: 1024 },
        StructureRule::NotCompacted { compacted: 9000, size: 4096 },
        StructureRule::Kinds { src: AccelerationStructureKind::Top, dst: AccelerationStructureKind::Bottom },
        StructureRule::Itself,
    ] {
        table.error(&Error::AccelerationStructure { name: "scene".into(), rule });
    }
    for rule in [
        TileRule::OutOfRange { end: 9, limit: 8 },
        TileRule::Subresource { subresource: 7, count: 7 },
        TileRule::SameResource,
        TileRule::Extents { tiles: 4, source_tiles: 3 },
    ] {
        table.error(&Error::Tiles { name: "map".into(), rule });
    }
    let memory = tenure_heap::InvalidProperties::MemoryTypes { types: 0, max: 32 };
    table.error(&Error::Contract { rule: ContractRule::Memory(memory) });
    table.all([ConfigRule::UpTo { min: 1, field: "pools.max_block", max: 1 << 20 }, ConfigRule::PowerOfTwo]);
    table.all([ConfigRule::Range { min: 1, max: 16 }, ConfigRule::Available { available: 100 }]);
}

fn graphs(table: &mut Table) {
    let (pass, resource) = (|| Name::from("light"), || Name::from("bloom"));
    let (state, other) = (State::RENDER_TARGET, State::UNORDERED_ACCESS);
    for error in [
        GraphError::UnknownResource { pass: pass(), index: 7, resources: 3 },
        GraphError::UnknownPass { pass: pass(), index: 7, passes: 3 },
        GraphError::NotEarlier { pass: pass(), index: 2, other: "shadow".into(), after: 5 },
        GraphError::UnknownQueue { pass: pass(), queue: QueueId(7), queues: 3 },
        GraphError::InvalidState { pass: pass(), resource: resource(), state: state | other },
        GraphError::NotInUsage { pass: pass(), resource: resource(), state, usage: Usage::SHADER_READ },
        GraphError::NotOnQueue { pass: pass(), resource: resource(), state, kind: QueueKind::Copy },
        GraphError::TwoWrites { pass: pass(), resource: resource(), state, other },
        GraphError::NotWrittenFirst { pass: pass(), resource: resource(), state: State::PIXEL_SHADER },
        GraphError::LeavesPass { resource: resource(), first: "shadow".into(), pass: pass() },
        GraphError::NotGpuOnly { resource: resource(), memory: MemoryUse::Upload },
        GraphError::InvalidDesc {
            resource: resource(),
            source: DeviceError::Unsupported { feature: "tiled resources" },
        },
        GraphError::BadAlignment { resource: resource(), alignment: 48 },
        GraphError::TooLarge { resource: resource(), size: 1 << 40, limit: 1 << 32 },
        GraphError::Plan(tenure_plan::PlanError::TooLarge { item: 3 }),
    ] {
        table.error(&Error::Graph(error));
    }
}

/// The names of kinds that appear in messages.
fn names(table: &mut Table) {
    table.all([
        DescriptorPart::Cpu,
        DescriptorPart::Static,
        DescriptorPart::Dynamic,
        DescriptorPart::Samplers,
    ]);
    table.all([Pressure::Normal, Pressure::High, Pressure::Critical]);
    table.all([Strategy::Pooled, Strategy::Placed, Strategy::Committed]);
    table.all([
        AccelerationStructureKind::Top,
        AccelerationStructureKind::Bottom,
        AccelerationStructureKind::Generic,
    ]);
    table.all([
        QueryKind::Timestamp,
        QueryKind::Occlusion,
        QueryKind::BinaryOcclusion,
        QueryKind::PipelineStatistics,
        QueryKind::CompactedSize,
    ]);
    table.all([ConfigUnit::Count, ConfigUnit::Bytes, ConfigUnit::Descriptors, ConfigUnit::Frames]);
    table.all([ConfigUnit::Milliseconds, ConfigUnit::Percent]);
    table.all([
        ObjectKind::Buffer,
        ObjectKind::Texture,
        ObjectKind::AccelerationStructure,
        ObjectKind::Reserved,
        ObjectKind::Pages,
        ObjectKind::Readback,
        ObjectKind::View,
        ObjectKind::Sampler,
        ObjectKind::DescriptorTable,
        ObjectKind::SetLayout,
        ObjectKind::DescriptorSet,
        ObjectKind::User,
    ]);
    // Those of the simulated device's own objects.
    use tenure_sim::ObjectKind as Simulated;
    table.all([
        Simulated::Heap,
        Simulated::List,
        Simulated::DescriptorHeap,
        Simulated::SetPool,
        Simulated::QueryHeap,
        Simulated::Fence,
        Simulated::Semaphore,
    ]);
}
