//! The GPU's work in each frame, without which nothing would have to live any longer than the
//! program wants it.

use tenure::device::{State, Subresource};
use tenure::{Error, Gpu, Queue, Recording};

use super::meter::Metered;
use super::objects::{Objects, Role};
use super::rng::Rng;

/// Draws and copies in each frame.
const ROUNDS: usize = 8;

/// Submits a frame's work: from random meshes it draws, checking what earlier frames copied there,
/// and to random meshes it copies from random uploads.
///
/// Sources and destinations may be dropped in the next frame, while the GPU is still at it.
pub(super) fn submit<D: Metered>(gpu: &Gpu<D>, objects: &mut Objects<D>, rng: &mut Rng) -> Result<(), Error> {
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    for _ in 0..ROUNDS {
        if let Some(mesh) = objects.pick(rng, Role::Mesh) {
            draw(&mut recording, objects, mesh)?;
        }
        if let (Some(upload), Some(mesh)) = (objects.pick(rng, Role::Upload), objects.pick(rng, Role::Mesh)) {
            copy(&mut recording, objects, upload, mesh)?;
        }
    }
    recording.submit()?;
    Ok(())
}

fn draw<D: Metered>(recording: &mut Recording<D>, objects: &Objects<D>, mesh: usize) -> Result<(), Error> {
    let Some(mesh) = objects.buffer(mesh) else { return Ok(()) };
    let Some(content) = mesh.content else { return Ok(()) };
    recording.use_resource(&mesh.buffer, Subresource::All, State::VERTEX_OR_CONSTANT)?;
    recording.barriers();
    D::draw(recording.raw(), mesh.buffer.raw(), mesh.buffer.offset(), content.bytes());
    Ok(())
}

fn copy<D: Metered>(
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
    use tenure::{Config, Gpu, MemoryUse, Queue, sim};

    use super::super::objects::{Objects, Role};
    use super::super::program::What;
    use super::super::rng::Rng;
    use super::submit;

    const MESHES: usize = 3;

    /// Frames of traffic among a few buffers; `spoil` overwrites a mesh in the middle.
    fn hazards(spoil: bool) -> Vec<sim::HazardKind> {
        let device = sim::Device::new(sim::Profile::DISCRETE);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let mut objects = Objects::new(MESHES + 2, 1);
        for slot in 0..MESHES + 2 {
            let memory = if slot < MESHES { MemoryUse::GpuOnly } else { MemoryUse::Dynamic };
            objects.create(&gpu, slot, What::Buffer { size: 100, align: 4, memory }, &[]).unwrap();
        }
        let mut rng = Rng::new(2);
        for frame in 0..10 {
            let begun = gpu.begin_frame().unwrap();
            submit(&gpu, &mut objects, &mut rng).unwrap();
            if spoil && frame == 5 {
                let written =
                    (0..MESHES).filter_map(|slot| objects.buffer(slot)).find(|mesh| mesh.content.is_some());
                let mut recording = gpu.record(Queue::Graphics, "vandal").unwrap();
                let foreign = tenure::BufferDesc::new(16, tenure::device::Usage::COPY_SRC);
                let foreign = gpu.create_buffer(&foreign.memory(MemoryUse::Dynamic)).unwrap();
                foreign.write(0, &[0xEE; 16]).unwrap();
                recording.copy_buffer(&foreign, 0, &written.unwrap().buffer, 0, 16).unwrap();
                recording.submit().unwrap();
            }
            begun.end().unwrap();
        }
        assert!(objects.pick(&mut rng, Role::Readback).is_none());
        drop(objects);
        assert!(gpu.shutdown().is_clean());
        let mut kinds: Vec<_> = device.take_hazards().iter().map(|hazard| hazard.kind).collect();
        kinds.dedup();
        kinds
    }

    #[test]
    fn bytes_that_change_behind_our_back_are_noticed() {
        assert_eq!(hazards(false), []);
        assert_eq!(hazards(true), [sim::HazardKind::WrongBytes]);
    }
}
