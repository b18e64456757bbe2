//! Upload rings, and scratch memory of builds.

use std::ffi::c_void;

use tenure_core::{BufferLayout, UntypedSlice, UploadRingDesc};

use crate::call::{call, call_create};
use crate::convert::{duration, memory, region, usage};
use crate::object::{ApiHandles, Buffer, Gpu, Recording, Texture, UploadRing, on, on_same, slice_place};
use crate::pointer::{In, Out, Outcome};
use crate::slot::{Handle, Object as _};
use crate::types::*;

/// Flag of `tn_UploadRingDesc`: an allocation larger than the ring gets a buffer of its own, until its submission is complete.
pub const TN_RING_DEDICATE: u32 = 1 << 0;

/// The description of an upload ring: one mapped buffer for data used by one submission, such as vertices of a frame.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_UploadRingDesc {
    /// `sizeof(tn_UploadRingDesc)`.
    pub struct_size: u32,
    /// `TN_RING_…`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The size in bytes, a multiple of the device's alignments of constants and copies.
    pub size: u64,
    /// `TN_USAGE_…`, read-only usages; 0: all read-only usages.
    pub usage: tn_Usage,
    /// `TN_MEMORY_UPLOAD` or `TN_MEMORY_GPU_UPLOAD`; 0: `TN_MEMORY_UPLOAD`.
    pub memory: tn_Memory,
    /// The timeout of an allocation that waits for the GPU, in nanoseconds; 0: 10 seconds.
    pub timeout_ns: u64,
    /// The name in debuggers, messages and reports.
    pub name: tn_Str,
}

/// A slice of an upload ring, for one recording. A plain value, invalid once the recording is submitted or released, or the ring is
/// released.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_RingSlice {
    /// The ring.
    pub ring: Handle<UploadRing>,
    /// Buffer, offset, size, and addresses for GPU and CPU. `mapped` is null on the simulated device, and in memory that requires
    /// flushes: `tn_recording_write_slice` writes there, too.
    pub place: tn_Place,
    /// Internal numbers of the recording and the location in the ring.
    pub numbers: [u64; 6],
}

/// Statistics of an upload ring.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_UploadRingTotals {
    /// `sizeof(tn_UploadRingTotals)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The size of the ring.
    pub capacity: u64,
    /// Bytes in use, including padding and the bytes skipped at the end.
    pub used: u64,
    /// The peak of `used`.
    pub peak_used: u64,
    /// Number of allocations so far.
    pub allocations: u64,
    /// Bytes of all allocations so far.
    pub bytes: u64,
    /// Number of waits for the GPU so far.
    pub waits: u64,
    /// Total time of these waits, in nanoseconds.
    pub waited_ns: u64,
    /// Number of allocations that were too large for the ring and got a buffer of their own.
    pub dedicated: u64,
}

descs! {
    tn_UploadRingDesc: TN_RING_DEDICATE,
    tn_UploadRingTotals: 0,
}

impl Outcome for tn_UploadRingTotals {}

fn ring_desc(desc: &tn_UploadRingDesc) -> Result<UploadRingDesc, Failure> {
    let mut found = UploadRingDesc::new(desc.size).name(desc.name.name()?);
    if desc.usage != 0 {
        found.usage = usage(desc.usage)?;
    }
    if desc.memory != TN_MEMORY_GPU_ONLY {
        found.memory = memory(desc.memory)?;
    }
    if desc.timeout_ns != 0 {
        found.timeout = duration(desc.timeout_ns);
    }
    Ok(if desc.flags & TN_RING_DEDICATE != 0 { found.dedicate() } else { found })
}

/// Creates an upload ring. Its bytes are reused in the order of the frames that allocated them; nothing is freed individually.
///
/// Errors: `TN_ERROR_DEVICE` for an unsupported size, usage or memory; `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_ENUM`,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_upload_ring_create(
    gpu: Handle<Gpu>,
    desc: In<tn_UploadRingDesc>,
    out: Out<Handle<UploadRing>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, ring_desc(desc.desc()?)?);
        Ok(on_same!(gpu, gpu => gpu.create_upload_ring(&desc)?))
    })
}

/// Allocates bytes of a ring for a recording, at a multiple of `alignment` in the buffer. Waits while the GPU uses the oldest
/// bytes.
///
/// Errors: `TN_ERROR_TOO_LARGE` for more bytes than the ring has, without `TN_RING_DEDICATE`; `TN_ERROR_HELD_BY_RECORDING` if an
/// open recording may use the oldest bytes, so that waiting would not help: submit it, and call `tn_upload_ring_close` between the
/// recordings of a frame; `TN_ERROR_TIMEOUT`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_FOREIGN`; `TN_ERROR_DEVICE` for a size of 0, and
/// an alignment that is not a power of two.
#[unsafe(no_mangle)]
extern "C" fn tn_upload_ring_allocate(
    ring: Handle<UploadRing>,
    recording: Handle<Recording>,
    size: u64,
    alignment: u64,
    out: Out<tn_RingSlice>,
) -> tn_Status {
    call(|| {
        out.check("a tn_RingSlice")?;
        let mut recording = recording.alone()?;
        let (place, numbers) = on!((ring.get()?, &mut *recording), (ring, list) => {
            let (_, scratch) = list.split();
            let untyped = ring.allocate_untyped(scratch, size, alignment)?;
            let slice = ring.find(scratch, untyped)?;
            let mapped = slice.mapped_ptr().map_or(std::ptr::null_mut(), |first| first.as_ptr().cast());
            (tn_Place { mapped, ..slice_place(&slice) }, untyped.into_raw())
        });
        out.set(tn_RingSlice { ring, place, numbers });
        Ok(())
    })
}

/// Ends a frame of a ring, whose bytes are freed together. Ends of frames and `tn_gpu_reclaim` do this automatically; call it
/// between recordings if one frame needs more than the ring holds.
#[unsafe(no_mangle)]
extern "C" fn tn_upload_ring_close(ring: Handle<UploadRing>) -> tn_Status {
    call(|| {
        on!(ring.get()?, ring => ring.close());
        Ok(())
    })
}

/// Statistics of a ring.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_upload_ring_totals(ring: Handle<UploadRing>, out: Out<tn_UploadRingTotals>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let stats = on!(ring.get()?, ring => ring.stats());
        out.set(tn_UploadRingTotals {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            capacity: stats.capacity,
            used: stats.used,
            peak_used: stats.peak_used,
            allocations: stats.allocations,
            bytes: stats.bytes,
            waits: stats.waits,
            waited_ns: stats.waited_ns,
            dedicated: stats.dedicated,
        });
        Ok(())
    })
}

/// Copies bytes to a slice of this recording, even if its mapped address is null.
///
/// Errors: `TN_ERROR_OTHER_RECORDING` for a slice of another recording; `TN_ERROR_DEVICE` for a slice with the handle of another
/// ring; `TN_ERROR_OUT_OF_RANGE`, `TN_ERROR_FOREIGN`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_write_slice(
    recording: Handle<Recording>,
    slice: In<tn_RingSlice>,
    offset: u64,
    data: In<c_void>,
    size: usize,
) -> tn_Status {
    call(|| {
        let (slice, bytes) = (slice.value("a tn_RingSlice")?, data.bytes(size)?);
        let mut recording = recording.alone()?;
        on!((slice.ring.get()?, &mut *recording), (ring, list) => {
            ring.find(list.split().1, UntypedSlice::from_raw(slice.numbers))?.write(offset, bytes)?;
        });
        Ok(())
    })
}

/// Records copies from a slice of this recording, with their barriers: `src` of each is ignored, and `src_offset` is relative to
/// the slice. On error, earlier copies remain recorded.
///
/// Errors: as `tn_recording_write_slice`, and those of `tn_recording_copy`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_copy_slice(
    recording: Handle<Recording>,
    slice: In<tn_RingSlice>,
    copies: In<tn_Copy>,
    count: usize,
) -> tn_Status {
    call(|| {
        let slice = slice.value("a tn_RingSlice")?;
        let mut recording = recording.alone()?;
        let copies = copies.array(count, "copies")?;
        copies.iter().try_for_each(|copy| copy_one(&mut recording, &slice, copy))
    })
}

fn copy_one(recording: &mut Recording, slice: &tn_RingSlice, copy: &tn_Copy) -> Result<(), Failure> {
    fn to_buffer<D: ApiHandles>(
        ring: &tenure_core::UploadRing<D>,
        recording: &mut tenure_core::Recording<D>,
        dst: &tenure_core::Buffer<D>,
        (numbers, copy): ([u64; 6], &tn_Copy),
    ) -> Result<(), Failure> {
        let (commands, scratch) = recording.split();
        let slice = ring.find(scratch, UntypedSlice::from_raw(numbers))?;
        commands.copy_slice(&slice, copy.src_offset, dst, copy.dst_offset, copy.size)?;
        Ok(())
    }
    fn to_texture<D: ApiHandles>(
        ring: &tenure_core::UploadRing<D>,
        recording: &mut tenure_core::Recording<D>,
        dst: &tenure_core::Texture<D>,
        (numbers, copy): ([u64; 6], &tn_Copy),
    ) -> Result<(), Failure> {
        let region = region(&copy.region, dst.info())?;
        let (commands, scratch) = recording.split();
        let slice = ring.find(scratch, UntypedSlice::from_raw(numbers))?;
        let block = region.block(dst.info().format);
        let layout: BufferLayout = crate::recording::layout(copy.src_offset, copy, region.extent, block);
        commands.copy_slice_to_texture(&slice, layout, dst, region)?;
        Ok(())
    }
    let how = (slice.numbers, copy);
    match copy.dst.kind() {
        Buffer::KIND => {
            let dst = copy.dst.of::<Buffer>();
            on!((slice.ring.get()?, recording, dst.get()?), (ring, list, dst) => to_buffer(ring, list, dst, how))
        }
        Texture::KIND => {
            let dst = copy.dst.of::<Texture>();
            on!((slice.ring.get()?, recording, dst.get()?), (ring, list, dst) => to_texture(ring, list, dst, how))
        }
        _ => Err(copy.dst.refused("a buffer or texture")),
    }
}

fn scratch_place<D: ApiHandles>(scratch: &tenure_core::BuildScratch<'_, D>) -> tn_Place {
    tn_Place {
        object: D::resource(scratch.raw()),
        offset: scratch.offset(),
        size: scratch.size(),
        gpu_address: scratch.gpu_address().unwrap_or(0),
        ..tn_Place::NONE
    }
}

/// Allocates scratch memory for a build of an acceleration structure, of the size that the API reports for the build. Builds of a
/// recording never share scratch bytes, so that they need no barrier between them, until `tn_recording_reuse_build_scratch`. Memory
/// allocated before that call must not be used by builds recorded after it. It is invalid once the recording is submitted or
/// released.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY`; `TN_ERROR_DEVICE` for a size of 0, or more than a buffer can hold.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_build_scratch(
    recording: Handle<Recording>,
    size: u64,
    out: Out<tn_Place>,
) -> tn_Status {
    call(|| {
        out.check("a tn_Place")?;
        out.set(on!(&mut *recording.alone()?, list => scratch_place(&list.split().1.build_scratch(size)?)));
        Ok(())
    })
}

/// Makes later builds of a recording reuse the scratch memory of earlier ones, after a barrier, to limit the memory of many builds.
/// Memory allocated before this call must not be used by builds recorded after it.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_reuse_build_scratch(recording: Handle<Recording>) -> tn_Status {
    call(|| {
        on!(&mut *recording.alone()?, list => list.reuse_build_scratch());
        Ok(())
    })
}
