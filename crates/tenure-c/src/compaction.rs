//! Functions: movable resources, and compaction by the program.

use std::ffi::c_void;

use tenure_core::MovableId;

use crate::call::{call, call_to_release};
use crate::callback::{Inside, during};
use crate::heap_pools::{self, tn_CompactionBudget};
use crate::object::{
    ApiHandles, Buffer, DescriptorSet, DescriptorTable, Gpu, Recording, Texture, View, on, slice_place,
    view_place,
};
use crate::pointer::{In, Out, Outcome};
use crate::slot::{AnyHandle, Handle, Object as _};
use crate::types::*;

/// The result of a call of `tn_gpu_compact`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_CompactionReport {
    /// `sizeof(tn_CompactionReport)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes copied by the GPU.
    pub bytes: u64,
    /// Resources moved.
    pub moves: u64,
    /// Resources postponed to a later call, because recordings or uploads use them or the budget was spent.
    pub waiting: u64,
    /// Resources postponed to a later call, because no memory or descriptors were available or their copy was refused.
    pub refused: u64,
    /// Whether nothing is left to do until a resource is created or released.
    pub is_done: tn_Bool,
    /// Must be 0.
    pub reserved: u32,
}

descs! {
    tn_CompactionReport: 0,
}

impl Outcome for tn_CompactionReport {}

/// Receives a moved resource: its id from `tn_movable_id`, and the number of its moves since its creation. Called inside
/// `tn_gpu_take_moved`. Must not unwind. May release handles, except a `tn_Gpu` and a `tn_Swapchain`; other functions return
/// `TN_ERROR_CALLBACK`.
pub type tn_MovedFn = extern "C-unwind" fn(user: *mut c_void, id: u64, moves: u64);

/// Moves resources with `TN_RESOURCE_MOVABLE` out of the emptiest memory blocks, within the budget, and frees empty blocks. The GPU
/// copies them; the call does not wait. Call it repeatedly, for example once per frame, until the report says that it is done.
/// `out` may be null.
///
/// Errors: `TN_ERROR_DEVICE`, and those of `tn_gpu_flush_uploads`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_compact(
    gpu: Handle<Gpu>,
    budget: In<tn_CompactionBudget>,
    out: Out<tn_CompactionReport>,
) -> tn_Status {
    call(|| {
        if !out.is_null() {
            out.check_head()?;
        }
        let budget = heap_pools::budget(&budget.value("a tn_CompactionBudget")?);
        let report = on!(gpu.get()?, gpu => gpu.compact(budget)?);
        out.set(tn_CompactionReport {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            bytes: report.bytes,
            moves: report.moves as u64,
            waiting: report.waiting as u64,
            refused: report.refused as u64,
            is_done: report.is_done.into(),
            reserved: 0,
        });
        Ok(())
    })
}

/// Calls `moved` once for each resource moved since the last call, for programs that store the locations of resources. Released
/// resources are omitted.
///
/// Errors: `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_take_moved(gpu: Handle<Gpu>, moved: Option<tn_MovedFn>, user: *mut c_void) -> tn_Status {
    call(|| {
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_MovedFn is needed");
        let moved = moved.ok_or_else(missing)?;
        for found in on!(gpu.get()?, gpu => gpu.take_moved()) {
            during(Inside::Moved, || moved(user, found.id.get(), found.moves));
        }
        Ok(())
    })
}

/// The id of a movable buffer or texture in `tn_gpu_take_moved`, unique within its manager; 0 for a resource that cannot move,
/// including those with dedicated memory.
#[unsafe(no_mangle)]
extern "C" fn tn_movable_id(handle: AnyHandle) -> u64 {
    let mut id = None;
    call_to_release(|| {
        id = match handle.kind() {
            Buffer::KIND => on!(handle.of::<Buffer>().get()?, buffer => buffer.movable_id()),
            Texture::KIND => on!(handle.of::<Texture>().get()?, texture => texture.movable_id()),
            _ => return Err(handle.refused("a buffer or texture")),
        };
        Ok(())
    });
    id.map_or(0, MovableId::get)
}

/// The location of a buffer, texture, view, table or set for the commands of a recording. A movable resource, also one behind a
/// view or in a table or set, stays there until the recording is submitted, whereas `tn_place` pins it permanently.
///
/// Errors: `TN_ERROR_FOREIGN`, `TN_ERROR_POINTER`; `TN_ERROR_HANDLE` for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_place(
    recording: Handle<Recording>,
    resource: AnyHandle,
    out: Out<tn_Place>,
) -> tn_Status {
    call(|| {
        out.check("a tn_Place")?;
        let mut recording = recording.alone()?;
        out.set(match resource.kind() {
            Buffer::KIND => {
                let buffer = resource.of::<Buffer>();
                on!((&mut *recording, buffer.get()?), (list, buffer) => slice_place(&list.split().1.buffer(buffer)?))
            }
            Texture::KIND => {
                let texture = resource.of::<Texture>();
                on!((&mut *recording, texture.get()?), (list, texture) => texture_place(list, texture)?)
            }
            View::KIND => {
                let view = resource.of::<View>();
                on!((&mut *recording, view.get()?), (list, view) => view_place_in(list, view)?)
            }
            DescriptorTable::KIND => {
                let table = resource.of::<DescriptorTable>();
                on!((&mut *recording, table.get()?), (list, table) => table_place(list, table)?)
            }
            DescriptorSet::KIND => {
                let set = resource.of::<DescriptorSet>();
                on!((&mut *recording, set.get()?), (list, set) => set_place(list, set)?)
            }
            _ => return Err(resource.refused("a buffer, texture, view, table or set")),
        });
        Ok(())
    })
}

fn texture_place<D: ApiHandles>(
    recording: &mut tenure_core::Recording<D>,
    texture: &tenure_core::Texture<D>,
) -> Result<tn_Place, Failure> {
    let object = D::resource(recording.split().1.texture(texture)?);
    Ok(tn_Place { object, size: texture.size(), ..tn_Place::NONE })
}

fn view_place_in<D: ApiHandles>(
    recording: &mut tenure_core::Recording<D>,
    view: &tenure_core::View<D>,
) -> Result<tn_Place, Failure> {
    let found = recording.split().1.view(view)?;
    Ok(view_place::<D>(found.heap(), found.first()))
}

fn table_place<D: ApiHandles>(
    recording: &mut tenure_core::Recording<D>,
    table: &tenure_core::DescriptorTable<D>,
) -> Result<tn_Place, Failure> {
    let found = recording.split().1.table(table)?;
    Ok(D::descriptors(found.heap(), found.first(), found.len()))
}

fn set_place<D: ApiHandles>(
    recording: &mut tenure_core::Recording<D>,
    set: &tenure_core::DescriptorSet<D>,
) -> Result<tn_Place, Failure> {
    let found = recording.split().1.lasting_set(set)?;
    Ok(D::set(found.block(), found.index()))
}
