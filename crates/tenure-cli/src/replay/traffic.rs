//! The GPU work of each frame. Dropped resources must be kept until the GPU has finished it.

use tenure::device::Device;
use tenure::{Error, Gpu, Queue, Recording, State, Subresource};

use super::checker::{CheckedRead, ReadChecker};
use super::live_objects::Rng;
use super::live_objects::{Among, Objects};
use super::observer::{Moment, Observer};

/// Copies in each frame.
const ROUNDS: usize = 8;

/// Draws in each frame.
pub(super) const DRAWS: usize = 2 * ROUNDS;

/// Submits a frame's work: draws from random uploads and from random meshes that were copied to, with checks of
/// their bytes, and copies from random uploads to random meshes.
///
/// Sources and destinations may be dropped in the next frame, before the GPU has finished.
pub(super) fn submit<D: Device>(
    gpu: &Gpu<D>,
    objects: &mut Objects<D>,
    rng: &mut Rng,
    checker: &mut impl ReadChecker<D>,
    observer: &mut impl Observer<D>,
) -> Result<(), Error> {
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    objects.locate(gpu, &mut recording, observer)?;
    for _ in 0..ROUNDS {
        for among in [Among::Uploads, Among::WrittenMeshes] {
            if let Some(slot) = objects.pick(rng, among)
                && let Some(read) = draw(&mut recording, objects, slot)?
            {
                checker.record_read(gpu, &mut recording, &read)?;
                observer.observe(gpu, Moment::Used { slot });
            }
        }
        let (upload, mesh) = (objects.pick(rng, Among::Uploads), objects.pick(rng, Among::Meshes));
        if let (Some(upload), Some(mesh)) = (upload, mesh) {
            copy(&mut recording, objects, upload, mesh)?;
            observer.observe(gpu, Moment::Used { slot: upload });
            observer.observe(gpu, Moment::Used { slot: mesh });
        }
    }
    let at = recording.submit()?;
    checker.submitted(gpu, at)
}

/// Records the barriers of a draw from a buffer, and returns its expected bytes if known.
fn draw<'a, D: Device>(
    recording: &mut Recording<D>,
    objects: &'a Objects<D>,
    slot: usize,
) -> Result<Option<CheckedRead<'a, D>>, Error> {
    let Some(drawn) = objects.buffer(slot) else { return Ok(None) };
    let Some(content) = drawn.content else { return Ok(None) };
    recording.use_resource(&drawn.buffer, Subresource::All, State::VERTEX_OR_CONSTANT)?;
    recording.barriers();
    Ok(Some(CheckedRead { buffer: &drawn.buffer, slot, content }))
}

fn copy<D: Device>(
    recording: &mut Recording<D>,
    objects: &mut Objects<D>,
    upload: usize,
    mesh: usize,
) -> Result<(), Error> {
    let (Some(from), Some(to)) = (objects.buffer(upload), objects.buffer(mesh)) else { return Ok(()) };
    let Some(content) = from.content else { return Ok(()) };
    let copied = content.copied_to(to.buffer.size());
    recording.copy_buffer(&from.buffer, 0, &to.buffer, 0, copied.bytes().len() as u64)?;
    objects.set_content(mesh, copied);
    Ok(())
}

#[cfg(test)]
mod tests {
    use tenure::device::Device;
    use tenure::{BufferDesc, Config, Gpu, MemoryUse, Queue, Usage, sim};

    use super::super::checker::{ReadChecker, SimulatedChecker};
    use super::super::counted::Counted;
    use super::super::hazards::Hazards;
    use super::super::live_objects::Objects;
    use super::super::live_objects::Rng;
    use super::super::observer::Unobserved;
    use super::super::program::What;
    use super::super::readbacks::Readbacks;
    use super::submit;

    const MESHES: usize = 3;

    /// Runs frames of traffic among a few buffers; `spoil` overwrites a mesh halfway.
    fn run_frames<D: Device>(device: D, checker: &mut impl ReadChecker<D>, spoil: bool) {
        let gpu = Gpu::new(device, Config::default()).unwrap();
        checker.begin(&gpu).unwrap();
        let mut objects = Objects::new(MESHES + 2, 1, false);
        for slot in 0..MESHES + 2 {
            let memory = if slot < MESHES { MemoryUse::GpuOnly } else { MemoryUse::Upload };
            objects.create(&gpu, slot, What::Buffer { size: 100, align: 4, memory }, &[], None).unwrap();
        }
        let mut rng = Rng::new(2);
        for frame in 0..10 {
            let begun = gpu.begin_frame().unwrap();
            submit(&gpu, &mut objects, &mut rng, checker, &mut Unobserved).unwrap();
            if spoil && frame == 5 {
                let written =
                    (0..MESHES).filter_map(|slot| objects.buffer(slot)).find(|mesh| mesh.content.is_some());
                let mut recording = gpu.record(Queue::Graphics, "overwriting").unwrap();
                let source = BufferDesc::new(16, Usage::COPY_SRC).memory(MemoryUse::Upload);
                let source = gpu.create_buffer(&source).unwrap();
                source.write(0, &[0xEE; 16]).unwrap();
                recording.copy_buffer(&source, 0, &written.unwrap().buffer, 0, 16).unwrap();
                recording.submit().unwrap();
            }
            begun.end().unwrap();
        }
        let done = gpu.wait(&gpu.submitted(), gpu.config().frames.shutdown_timeout);
        assert_eq!(done, Ok(true));
        assert!(checker.finish().unwrap() > 10);
        drop(objects);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
    }

    #[test]
    fn overwritten_bytes_are_reported_by_the_simulated_device() {
        let kinds = |spoil| {
            let device = sim::Device::new(sim::Profile::DISCRETE);
            run_frames(device.clone(), &mut SimulatedChecker::default(), spoil);
            let mut kinds: Vec<_> = device.take_hazards().iter().map(|hazard| hazard.kind).collect();
            kinds.dedup();
            kinds
        };
        assert_eq!(kinds(false), []);
        assert_eq!(kinds(true), [sim::HazardKind::WrongBytes]);
    }

    #[test]
    fn reading_back_reports_overwritten_bytes() {
        let found = |spoil| {
            let (device, hazards) = (sim::Device::new(sim::Profile::DISCRETE), Hazards::default());
            run_frames(Counted::new(device.clone()), &mut Readbacks::new(&hazards), spoil);
            device.check_clean().unwrap();
            hazards.kept()
        };
        assert_eq!(found(false), [""; 0]);
        let wrong = found(true);
        assert!(!wrong.is_empty());
        for text in wrong {
            assert!(
                text.starts_with("wrong bytes: the GPU read [ee, ee,") && text.contains("'mesh'"),
                "{text}"
            );
        }
    }
}
