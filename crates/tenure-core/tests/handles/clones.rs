//! Clones of a manager, frames that are stored, and the shutdown of a manager that is still held.

use tenure_core::{
    BufferDesc, BufferViewDesc, Config, DescriptorTableDesc, Error, Frame, FrameConfig, Gpu, Graph, Queue,
    Recording, ReservedDesc, SamplerDesc, SetLayoutDesc, State, Subresource, TextureAccess, TextureDesc,
    TextureViewDesc, UploadRingDesc, Usage,
};
use tenure_core::{Format, MemoryUse, QueueId, SyncPoint};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, device, gpu, mesh, submit};

/// As renderers do: `end` takes the state that `begin` stored.
struct Renderer {
    gpu: Gpu<Device>,
    open: Option<(Frame<Device>, Recording<Device>)>,
}

impl Renderer {
    fn begin(&mut self) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let recording = frame.record(Queue::Graphics, "opaque")?;
        self.open = Some((frame, recording));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some((frame, recording)) = self.open.take() else { return Ok(()) };
        frame.submit(recording)?;
        frame.end()
    }
}

#[test]
fn a_renderer_stores_its_frame() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let mut renderer = Renderer { gpu: gpu(&device), open: None };
    for _ in 0..5 {
        renderer.begin().unwrap();
        drop(mesh(&renderer.gpu, "rock", 1000));
        renderer.end().unwrap();
    }
    renderer.begin().unwrap();
    drop(renderer);
    device.check_clean().unwrap();
}

#[test]
fn the_last_of_all_clones_and_frames_ends_the_manager() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let first = gpu(&device);
    let second = first.clone();
    let frame = first.begin_frame().unwrap();
    drop(first);
    submit(&second);
    drop(second);
    frame.submit(frame.record(Queue::Graphics, "last").unwrap()).unwrap();
    assert!(Gpu::new(device.clone(), Config::default()).is_err(), "the frame is a clone, too");
    frame.end().unwrap();
    device.check_clean().unwrap();
    drop(gpu(&device));
}

#[test]
fn clones_share_all_state() {
    let device = device(Profile::DISCRETE, Lag::None);
    let first = gpu(&device);
    let second = first.clone();
    let rock = mesh(&first, "rock", 1000);
    assert_eq!(second.stats().live_objects, 1);
    second.upload(&rock, 0, &[1; 4]).unwrap();
    assert_eq!(first.upload_stats().pending_bytes, 4);
    assert_eq!(second.submitted(), first.submitted());
}

#[test]
fn calls_after_the_shutdown_are_errors() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device);
    let rock = mesh(&gpu, "rock", 1000);
    let texture = gpu.create_texture(&TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ)).unwrap();
    let sampler = gpu.create_sampler(&SamplerDesc::default()).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let recording = frame.record(Queue::Graphics, "open").unwrap();
    let report = gpu.shutdown();
    assert_eq!((report.leaks.len(), report.timed_out), (3, false), "{report:?}");
    assert_eq!(report.open_recordings.len(), 1);

    let desc = BufferDesc::new(1000, Usage::VERTEX);
    let picture = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let mut graph = Graph::new();
    let target = graph.texture(picture.clone());
    graph.pass(Queue::Graphics, "paint").uses(target, State::RENDER_TARGET);
    let texels = tenure_core::TexelData::new(&[0; 64]);
    let region = tenure_core::TextureRegion {
        mip: 0,
        layer: 0,
        plane: tenure_core::Plane::First,
        origin: [0; 3],
        extent: [4, 4, 1],
    };
    let ring = UploadRingDesc::new(4096);
    let refused = [
        gpu.create_buffer(&desc).err(),
        gpu.create_buffer_with(&desc, &[0; 1000]).err(),
        gpu.create_texture(&picture).err(),
        gpu.create_texture_with(&picture, &[texels]).err(),
        gpu.create_readback_texture(&picture).err(),
        gpu.create_reserved(&ReservedDesc::buffer(1 << 20, Usage::VERTEX)).err(),
        gpu.create_upload_ring(&ring).err(),
        gpu.create_buffer_view(&rock, &BufferViewDesc::raw()).err(),
        gpu.create_texture_view(&texture, &TextureViewDesc::new(TextureAccess::Sampled)).err(),
        gpu.create_sampler(&SamplerDesc::default()).err(),
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&sampler).into()])).err(),
        gpu.create_set_layout(&SetLayoutDesc::new(&[])).err(),
        gpu.record(Queue::Graphics, "late").err(),
        gpu.reserve_recordings(Queue::Graphics, 1).err(),
        gpu.begin_frame().err(),
        frame.record(Queue::Graphics, "late").err(),
        frame.execute::<Error>(&graph, |_, _, _| Ok(())).err(),
        gpu.upload(&rock, 0, &[0; 4]).err(),
        gpu.upload_texture(&texture, region, texels).err(),
        gpu.read_back(&rock, 0, 4).err(),
        gpu.read_back_texture(&texture, region).err(),
    ];
    for (index, error) in refused.into_iter().enumerate() {
        assert!(matches!(error, Some(Error::ShutDown)), "{index}: {error:?}");
    }

    // Calls without new objects succeed, and open frames and recordings can end.
    gpu.reclaim().unwrap();
    gpu.trim();
    let submitted = frame.submit(recording).unwrap();
    assert!(gpu.wait(&submitted, SECOND).unwrap());
    frame.end().unwrap();
    drop((rock, texture, sampler));
    assert!(gpu.shutdown().is_clean());
    let stats = gpu.stats();
    assert_eq!((stats.live_objects, stats.reserved), (0, 0));
    drop(gpu);
    device.check_clean().unwrap();
}

#[test]
fn refused_objects_are_returned() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let info = tenure_core::BufferInfo::new(4096, Usage::VERTEX);
    let desc = tenure_core::device::ResourceDesc::Buffer(info);
    let memory = tenure_core::device::MemoryTypeId(0);
    let own = tenure_core::device::MemoryDevice::create_committed(&device, &desc, memory).unwrap();
    gpu.shutdown();
    let rejected = gpu.adopt_buffer(own, &BufferDesc::new(4096, Usage::VERTEX), State::COMMON).unwrap_err();
    assert!(matches!(rejected.error, Error::ShutDown));
    tenure_core::device::MemoryDevice::destroy_resource(
        &device,
        tenure_core::device::Permit::checked(),
        rejected.object,
    );
    drop(gpu);
    device.check_clean().unwrap();
}

/// A frame that is never ended, a recording that is never submitted, a GPU that does not finish: a shutdown
/// waits for submissions, for at most its timeout.
#[test]
fn open_work_does_not_delay_a_shutdown() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let config = FrameConfig::default().shutdown_timeout(std::time::Duration::from_millis(10));
    let gpu = Gpu::new(device.clone(), Config::from(config)).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let open = frame.record(Queue::Graphics, "open").unwrap();
    frame.submit(frame.record(Queue::Graphics, "slow").unwrap()).unwrap();
    assert!(gpu.shutdown().timed_out);
    assert!(matches!(gpu.begin_frame(), Err(Error::ShutDown)));
    drop(open);
    drop(frame);
    device.run_until_idle();
    assert!(gpu.shutdown().is_clean(), "it is done in the end");
}

/// Threads work while one of them shuts down: all of them stop with an error, and nothing is left.
#[test]
fn a_shutdown_under_load_leaves_nothing() {
    for _ in 0..20 {
        let device = device(Profile::DISCRETE, Lag::Submissions(2));
        let gpu = gpu(&device);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let gpu = gpu.clone();
                scope.spawn(move || assert!(matches!(work(&gpu), Error::ShutDown)));
            }
            while gpu.submitted().serial(QueueId(0)) < 20 {
                std::thread::yield_now();
            }
            gpu.shutdown();
        });
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(gpu.stats().reserved, 0, "{:?}", gpu.stats().pools);
        drop(gpu);
        device.check_clean().unwrap();
    }
}

/// Works until a call is refused.
fn work(gpu: &Gpu<Device>) -> Error {
    let step = || -> Result<SyncPoint, Error> {
        let rock = gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX | Usage::COPY_DST))?;
        gpu.upload(&rock, 0, &[1; 100])?;
        let mut recording = gpu.record(Queue::Graphics, "work")?;
        recording.use_resource(&rock, Subresource::All, State::VERTEX_OR_CONSTANT)?;
        let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
        drop(recording.transient_texture(&desc)?);
        let staging = BufferDesc::new(100, Usage::COPY_SRC).memory(MemoryUse::Upload);
        drop(gpu.create_buffer(&staging)?);
        recording.submit()
    };
    loop {
        match step() {
            Ok(_) => {}
            Err(Error::Transient { .. }) => return Error::ShutDown,
            Err(error) => return error,
        }
    }
}
