//! Recordings.

use std::ffi::c_void;

use tenure_core::{BufferLayout, Commands, Subresources, SyncPoint, TexelBlock};

use crate::call::{call, call_create};
use crate::convert::{queue, region, state, subresource, sync_point};
use crate::descriptor_types::shaders;
use crate::held::RecordingOf;
use crate::object::{
    AccelerationStructure, ApiHandles, Backend, Buffer, DescriptorSet, DescriptorTable, Frame, Gpu,
    Recording, Reserved, Texture, View, on, on_same, slice_place,
};
use crate::pointer::{In, Out};
use crate::slot::{Alone, Handle, Object as _};
use crate::types::*;

/// Opens a recording on a queue, inside or outside of a frame. Objects released while it is open live until it is submitted and
/// complete, or released. A recording must be used by one thread at a time.
///
/// Errors: `TN_ERROR_DEVICE` for a queue that the device does not have; `TN_ERROR_SHUT_DOWN`, `TN_ERROR_DEVICE_LOST`,
/// `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_begin(
    gpu: Handle<Gpu>,
    queue: tn_Queue,
    name: tn_Str,
    out: Out<Handle<Recording>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, queue, name) = (gpu.get()?, self::queue(queue)?, name.name()?);
        Ok(on_same!(gpu, gpu => RecordingOf::Own(gpu.record(queue, name)?)))
    })
}

/// Submits a recording, after pending uploads. `done` may be null. The handle is invalid afterwards, also on error, except for
/// `TN_ERROR_HANDLE`, `TN_ERROR_BUSY`, `TN_ERROR_POINTER`, `TN_ERROR_CALLBACK` and `TN_ERROR_PANIC`.
///
/// Errors: `TN_ERROR_DEVICE` for an invalid command; `TN_ERROR_STATE` for a write to a resource that has become read-only since;
/// `TN_ERROR_QUERY`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_submit(recording: Handle<Recording>, done: Out<tn_SyncPoint>) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        on!(&*recording.alone()?, recording => recording.check_own()?);
        // SAFETY: nothing refers to the recording here, and calls around a callback have no shared reference to it.
        let recording = unsafe { recording.take() }?;
        let point = on!(recording, recording => recording.into_own()?.submit()?);
        done.set(point.into());
        Ok(())
    })
}

/// Submits recordings in this order, with one submission of the API for as many consecutive ones of a queue as possible: for
/// programs that record on several threads. `done`, which may be null, completes all of them. The handles are invalid afterwards,
/// also on error, except for `TN_ERROR_HANDLE`, `TN_ERROR_BUSY`, `TN_ERROR_FOREIGN`, `TN_ERROR_POINTER`, `TN_ERROR_CALLBACK` and
/// `TN_ERROR_PANIC`. The recordings before one that fails are submitted, the others discarded.
///
/// Errors: as `tn_recording_submit`; `TN_ERROR_FOREIGN`; `TN_ERROR_BUSY` also for a recording that occurs twice.
#[unsafe(no_mangle)]
extern "C" fn tn_frame_submit_all(
    frame: Handle<Frame>,
    recordings: In<Handle<Recording>>,
    count: usize,
    done: Out<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let (frame, recordings) = (frame.alone()?, recordings.array(count, "recordings")?);
        done.set(on!(&*frame, frame => submit_all(frame, recordings)?).into());
        Ok(())
    })
}

fn submit_all<D: Backend>(
    frame: &tenure_core::Frame<D>,
    handles: &[Handle<Recording>],
) -> Result<SyncPoint, Failure> {
    let all = handles.iter().map(Handle::alone).collect::<Result<Vec<_>, _>>()?;
    // Before any handle ends.
    for recording in &all {
        let recording = D::recording_of(recording)?;
        recording.check_own()?;
        frame.check_recording(recording)?;
    }
    let own = |recording: Alone<'_, Recording>| D::own_recording(recording.take())?.into_own();
    let points = frame.submit_all(all.into_iter().map(own).collect::<Result<_, _>>()?)?;
    let mut done = SyncPoint::NONE;
    points.iter().for_each(|point| done.merge(point));
    Ok(done)
}

/// Makes the submission of the recording wait on the GPU for a sync point.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_FOREIGN`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_wait_for(recording: Handle<Recording>, point: In<tn_SyncPoint>) -> tn_Status {
    call(|| {
        let point = sync_point(&point.value("a tn_SyncPoint")?);
        on!(&mut *recording.alone()?, recording => recording.wait_for(&point)?);
        Ok(())
    })
}

/// The `VkCommandBuffer` or `ID3D12GraphicsCommandList` of a recording, with the barriers for the uses recorded so far: call this
/// after declaring the uses, and before recording the commands that need them. On the simulated device, a number.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_native(recording: Handle<Recording>, out: Out<tn_Native>) -> tn_Status {
    call(|| {
        out.check("a tn_Native")?;
        out.set(on!(&mut *recording.alone()?, recording => ApiHandles::list(recording)));
        Ok(())
    })
}

/// Declares how the next commands use resources: barriers are derived from it. On error, earlier entries remain in effect.
///
/// Errors: `TN_ERROR_STATE` for a state that the usage or the queue does not allow; `TN_ERROR_NOT_ACQUIRED` for a transient resource
/// of another recording; `TN_ERROR_FIXED_STATE`, `TN_ERROR_FOREIGN`, `TN_ERROR_ENUM`; `TN_ERROR_HANDLE` for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_use(recording: Handle<Recording>, uses: In<tn_Use>, count: usize) -> tn_Status {
    call(|| {
        let mut recording = recording.alone()?;
        uses.array(count, "uses")?.iter().try_for_each(|one| use_one(&mut recording, one))
    })
}

fn use_one(recording: &mut Recording, one: &tn_Use) -> Result<(), Failure> {
    let (state, part) = (state(one.state)?, subresource(one.subresource));
    match one.resource.kind() {
        Buffer::KIND => {
            let buffer = one.resource.of::<Buffer>();
            on!((recording, buffer.get()?), (list, buffer) => list.use_resource(buffer, part, state)?);
        }
        Texture::KIND => {
            let texture = one.resource.of::<Texture>();
            on!((recording, texture.get()?), (list, texture) => list.use_resource(texture, part, state)?);
        }
        Reserved::KIND => {
            let found = one.resource.of::<Reserved>();
            on!((recording, found.get()?), (list, found) => list.use_resource(found, part, state)?);
        }
        AccelerationStructure::KIND => {
            let found = one.resource.of::<AccelerationStructure>();
            on!((recording, found.get()?), (list, found) => list.use_resource(found, part, state)?);
        }
        View::KIND => {
            let (view, shaders) = (one.resource.of::<View>(), shaders(one.state)?);
            on!((recording, view.get()?), (list, view) => list.use_binds([view], shaders)?);
        }
        DescriptorTable::KIND => {
            let (table, shaders) = (one.resource.of::<DescriptorTable>(), shaders(one.state)?);
            on!((recording, table.get()?), (list, table) => list.use_table(table, shaders)?);
        }
        DescriptorSet::KIND => {
            let (set, shaders) = (one.resource.of::<DescriptorSet>(), shaders(one.state)?);
            on!((recording, set.get()?), (list, set) => list.use_set(set, shaders)?);
        }
        _ => {
            return Err(one.resource.refused(
                "a reserved resource, acceleration structure, buffer, texture, view, table or set",
            ));
        }
    }
    Ok(())
}

/// Declares that the contents of a texture, or of one subresource, are no longer needed: the next use may overwrite them.
///
/// Errors: as `tn_recording_use`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_discard(
    recording: Handle<Recording>,
    texture: Handle<Texture>,
    subresource: u32,
) -> tn_Status {
    call(|| {
        let part = self::subresource(subresource);
        on!((&mut *recording.alone()?, texture.get()?), (list, texture) => list.discard(texture, part)?);
        Ok(())
    })
}

/// Records copies, with their barriers. On error, earlier copies remain recorded.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE`, `TN_ERROR_STATE`, `TN_ERROR_DEVICE`, `TN_ERROR_FOREIGN`, `TN_ERROR_ENUM`; `TN_ERROR_HANDLE`
/// for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_copy(
    recording: Handle<Recording>,
    copies: In<tn_Copy>,
    count: usize,
) -> tn_Status {
    call(|| {
        let mut recording = recording.alone()?;
        copies.array(count, "copies")?.iter().try_for_each(|copy| copy_one(&mut recording, copy))
    })
}

fn copy_one(recording: &mut Recording, copy: &tn_Copy) -> Result<(), Failure> {
    let (src, dst) = (copy.src, copy.dst);
    match (src.kind(), dst.kind()) {
        (Buffer::KIND, Buffer::KIND) => copy_buffer(recording, &src.of(), &dst.of(), copy),
        (Buffer::KIND, Texture::KIND) => copy_to_texture(recording, &src.of(), &dst.of(), copy),
        (Texture::KIND, Buffer::KIND) => copy_to_buffer(recording, &src.of(), &dst.of(), copy),
        (Texture::KIND, Texture::KIND) => copy_texture(recording, &src.of(), &dst.of(), copy),
        (Buffer::KIND | Texture::KIND, _) => Err(dst.refused("a buffer or texture")),
        _ => Err(src.refused("a buffer or texture")),
    }
}

fn copy_buffer(
    recording: &mut Recording,
    src: &Handle<Buffer>,
    dst: &Handle<Buffer>,
    copy: &tn_Copy,
) -> Result<(), Failure> {
    let (from, to, size) = (copy.src_offset, copy.dst_offset, copy.size);
    on!((recording, src.get()?, dst.get()?), (list, src, dst) => list.copy_buffer(src, from, dst, to, size)?);
    Ok(())
}

/// The layout of the texels in the buffer of a copy.
pub(crate) fn layout(
    offset: u64,
    copy: &tn_Copy,
    [width, height, _]: [u32; 3],
    block: TexelBlock,
) -> BufferLayout {
    let rows = if copy.rows == 0 { height.div_ceil(block.height.max(1)) } else { copy.rows };
    let tight = u64::from(width.div_ceil(block.width.max(1))) * u64::from(block.bytes);
    BufferLayout { offset, row_pitch: if copy.row_pitch == 0 { tight } else { copy.row_pitch }, rows }
}

fn copy_to_texture(
    recording: &mut Recording,
    src: &Handle<Buffer>,
    dst: &Handle<Texture>,
    copy: &tn_Copy,
) -> Result<(), Failure> {
    fn record<D: ApiHandles>(
        commands: &mut Commands<D>,
        src: &tenure_core::Buffer<D>,
        dst: &tenure_core::Texture<D>,
        copy: &tn_Copy,
    ) -> Result<(), Failure> {
        let region = region(&copy.region, dst.info())?;
        let layout = layout(copy.src_offset, copy, region.extent, region.block(dst.info().format));
        commands.copy_buffer_to_texture(src, layout, dst, region)?;
        Ok(())
    }
    on!((recording, src.get()?, dst.get()?), (list, src, dst) => record(list, src, dst, copy))
}

fn copy_to_buffer(
    recording: &mut Recording,
    src: &Handle<Texture>,
    dst: &Handle<Buffer>,
    copy: &tn_Copy,
) -> Result<(), Failure> {
    fn record<D: ApiHandles>(
        commands: &mut Commands<D>,
        src: &tenure_core::Texture<D>,
        dst: &tenure_core::Buffer<D>,
        copy: &tn_Copy,
    ) -> Result<(), Failure> {
        let region = region(&copy.region, src.info())?;
        let layout = layout(copy.dst_offset, copy, region.extent, region.block(src.info().format));
        commands.copy_texture_to_buffer(src, region, dst, layout)?;
        Ok(())
    }
    on!((recording, src.get()?, dst.get()?), (list, src, dst) => record(list, src, dst, copy))
}

fn copy_texture(
    recording: &mut Recording,
    src: &Handle<Texture>,
    dst: &Handle<Texture>,
    copy: &tn_Copy,
) -> Result<(), Failure> {
    let part = subresource(copy.subresource);
    on!((recording, src.get()?, dst.get()?), (list, src, dst) => list.copy_texture(src, dst, part)?);
    Ok(())
}

/// Fills the mips of a texture after the first, each from the previous one, with a linear filter, including barriers: of one layer,
/// or of all with `TN_ALL`. The texture needs `TN_USAGE_COPY_SRC` and `TN_USAGE_COPY_DST`. Not supported on Direct3D 12, where it
/// takes a compute pass: see `tn_gpu_generates_mips`.
///
/// Errors: `TN_ERROR_DEVICE` for an unsupported format or queue; those of `tn_recording_use`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_generate_mips(
    recording: Handle<Recording>,
    texture: Handle<Texture>,
    layer: u32,
) -> tn_Status {
    call(|| {
        let part = if layer == TN_ALL { Subresources::ALL } else { Subresources::layer(layer) };
        let mut recording = recording.alone()?;
        on!((&mut *recording, texture.get()?), (list, texture) => list.generate_mips(texture, part)?);
        Ok(())
    })
}

/// Copies constants to memory of the recording, aligned for constants. The location is invalid once the recording is submitted or
/// released.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY`; `TN_ERROR_DEVICE` for a size of 0, or more than a buffer can hold.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_constants(
    recording: Handle<Recording>,
    data: In<c_void>,
    size: usize,
    out: Out<tn_Place>,
) -> tn_Status {
    call(|| {
        out.check("a tn_Place")?;
        let bytes = data.bytes(size)?;
        out.set(on!(&mut *recording.alone()?, recording => {
            slice_place(&*recording.split().1.constant_bytes(bytes)?)
        }));
        Ok(())
    })
}
