//! Copies to mapped memory, the places of movable resources, and transient resources.

use std::hint::black_box;
use std::sync::Arc;

use tenure_core::device::Mapping as _;
use tenure_core::{Buffer, BufferDesc, Error, Format, Gpu, Queue, TextureDesc, Usage};
use tenure_sim::Profile;

use super::{Rows, gpu};
use crate::Result;
use crate::null::{Device, Mapping, Memory};
use crate::timing::{time, try_time};

/// Copies to mapped memory, which other threads may access at the same time, beside `memcpy`, which allows no concurrent
/// access. Source and destination are in the processor's cache if they fit.
pub(super) fn copies(rows: &mut Rows) -> Result {
    /// Bytes of a round at most, and its most copies.
    const ROUND: (usize, usize) = (1 << 20, 4096);
    for (size, what) in [
        (64, "copy of 64 B to mapped memory"),
        (128, "copy of 128 B to mapped memory"),
        (256, "copy of 256 B to mapped memory"),
        (1 << 10, "copy of 1 KiB to mapped memory"),
        (1 << 20, "copy of 1 MiB to mapped memory"),
    ] {
        let mapping = Mapping::new(Arc::new(Memory::new(size as u64)));
        let (mut plain, bytes) = (vec![1; size], vec![2_u8; size]);
        let count = (ROUND.0 / size).clamp(1, ROUND.1);
        rows.add([(what, "memcpy", count)], || {
            let ours = try_time(|| (0..count).try_for_each(|_| mapping.write(0, black_box(&bytes))))?;
            let memcpy = time(|| {
                for _ in 0..count {
                    black_box(&mut plain[..]).copy_from_slice(black_box(&bytes));
                }
            });
            Ok([(ours, memcpy)])
        })?;
    }
    Ok(())
}

/// Queries of a buffer's place in a recording, first and repeated, and permanent ones; the bound is the place
/// of a fixed buffer.
pub(super) fn places(rows: &mut Rows) -> Result {
    const BUFFERS: usize = 1000;
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let make =
        |desc: BufferDesc| (0..BUFFERS).map(|_| gpu.create_buffer(&desc)).collect::<Result<Vec<_>, _>>();
    let desc = BufferDesc::new(4096, Usage::SHADER_READ);
    let (fixed, movable, pinned) =
        (make(desc.clone())?, make(desc.clone().movable())?, make(desc.movable())?);
    let raw = |buffers: &[Buffer<Device>]| {
        time(|| {
            for buffer in buffers {
                black_box((buffer.raw(), buffer.offset()));
            }
        })
    };
    let lines = [
        ("place of a movable buffer in a recording", "of one that stays", BUFFERS),
        ("the same again", "of one that stays", BUFFERS),
        ("end of a recording, each movable buffer", "of one without", BUFFERS),
        ("raw() and offset() of a pinned buffer", "of one that stays", BUFFERS),
    ];
    rows.add(lines, || {
        let mut recording = gpu.record(Queue::Graphics, "places")?;
        let (_, scratch) = recording.split();
        let ask = |buffers: &[Buffer<Device>]| {
            try_time(|| {
                buffers.iter().try_for_each(|buffer| {
                    let place = scratch.buffer(buffer)?;
                    black_box((place.raw(), place.offset()));
                    Ok::<(), Error>(())
                })
            })
        };
        let (stays, once, again) = (ask(&fixed)?, ask(&movable)?, ask(&movable)?);
        let (pinned, unpinned) = (raw(&pinned), raw(&fixed));
        let with_holds = time(|| drop(recording));
        let other = gpu.record(Queue::Graphics, "places")?;
        let without = time(|| drop(other));
        Ok([(once, stays), (again, stays), (with_holds, without), (pinned, unpinned)])
    })
}

/// Transient textures, eight of them live at a time, as between the passes of a frame. The comparison is
/// the creation and the drop of the same textures.
pub(super) fn transients(rows: &mut Rows) -> Result {
    const TEXTURES: usize = 200;
    /// Creates textures, each after the oldest of eight was dropped.
    fn with_eight_alive<T>(
        descs: &[TextureDesc],
        make: impl Fn(&TextureDesc) -> Result<T, Error>,
    ) -> Result<(), Error> {
        let mut live = Vec::with_capacity(descs.len());
        for desc in descs.iter().cycle().take(TEXTURES) {
            if live.len() == descs.len() {
                live.swap_remove(0);
            }
            live.push(make(black_box(desc))?);
        }
        Ok(())
    }
    let gpu: Gpu<Device> = gpu(Profile::D3D12_TIER2)?;
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let desc = |step: u32| TextureDesc::d2(64 << (step % 4), 256, Format::Rgba8Unorm, usage);
    let descs: Vec<_> = (0..8).map(desc).collect();
    rows.add([("transient texture, acquired and dropped", "created and dropped", TEXTURES)], || {
        let frame = gpu.begin_frame()?;
        let list = frame.record(Queue::Graphics, "transients")?;
        let acquired = try_time(|| with_eight_alive(&descs, |desc| list.transient_texture(desc)))?;
        let created = try_time(|| with_eight_alive(&descs, |desc| gpu.create_texture(desc)))?;
        frame.submit(list)?;
        frame.end()?;
        Ok([(acquired, created)])
    })
}
