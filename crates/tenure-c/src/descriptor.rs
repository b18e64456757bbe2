//! Samplers, tables and sets, and the descriptors of a recording.

use std::ffi::c_void;

use smallvec::SmallVec;
use tenure_core::{
    Bind, BindingKind, DescriptorOwner, DescriptorSetDesc, DescriptorTableDesc, Name, Scratch, SetDescriptor,
    SetLayoutDesc,
};

use crate::call::{call, call_create};
use crate::descriptor_types::*;
use crate::object::{
    ApiHandles, Backend, Buffer, DescriptorSet, DescriptorTable, Gpu, OwnedText, Recording, Sampler,
    SetLayout, Texture, View, on, on_same,
};
use crate::pointer::{In, Out};
use crate::slot::{AnyHandle, Handle, Object as _};
use crate::types::*;

/// Descriptors on the stack: the same number as in `tenure-core`.
type Binds<T> = SmallVec<[T; 16]>;

/// Converts one descriptor; `scratch` is the scratch memory of its recording.
fn bind<'a, D: Backend>(
    (at, one): (usize, &'a tn_Bind),
    scratch: Option<Scratch<'a, D>>,
) -> Result<Bind<'a, D>, Failure> {
    let has_no_data = one.data.is_null() && one.data_size == 0;
    if !one.structure.is_null() {
        if one.view.is_null() && one.sampler.is_null() && has_no_data {
            return Ok(D::structure_of(one.structure.get()?)?.into());
        }
        let text = format!("binds[{at}]: an acceleration structure stands alone");
        return Err(Failure::new(TN_ERROR_POINTER, text));
    }
    match (one.view.is_null(), one.sampler.is_null(), has_no_data) {
        (false, true, true) => Ok(D::view_of(one.view.get()?)?.into()),
        (true, false, true) => Ok(D::sampler_of(one.sampler.get()?)?.into()),
        (false, false, true) => Ok((D::view_of(one.view.get()?)?, D::sampler_of(one.sampler.get()?)?).into()),
        (true, true, false) => match scratch {
            Some(scratch) => Ok(scratch.constant_bytes(one.data.bytes(one.data_size)?)?.into()),
            None => {
                let text =
                    format!("binds[{at}]: data is for descriptors of a recording: give a view of a buffer");
                Err(Failure::new(TN_ERROR_DEVICE, text))
            }
        },
        _ => {
            let text = format!("binds[{at}]: must be a view, a sampler, both of them, data, or a structure");
            Err(Failure::new(TN_ERROR_POINTER, text))
        }
    }
}

fn table_binds<'a, D: Backend>(
    binds: &'a [tn_Bind],
    scratch: Option<Scratch<'a, D>>,
) -> Result<Binds<Bind<'a, D>>, Failure> {
    binds.iter().enumerate().map(|one| bind(one, scratch)).collect()
}

fn set_binds<'a, D: Backend>(
    layout: &tenure_core::SetLayout<D>,
    binds: &'a [tn_Bind],
    scratch: Option<Scratch<'a, D>>,
) -> Result<Binds<SetDescriptor<'a, D>>, Failure> {
    let is_dynamic = |number| {
        let of_number = |binding: &tenure_core::SetBinding| binding.binding == number;
        layout.bindings().iter().any(|it| of_number(it) && it.kind == BindingKind::DynamicConstants)
    };
    let descriptor = |(at, one): (usize, &'a tn_Bind)| {
        if !one.data.is_null() && is_dynamic(one.binding) {
            let text = format!("binds[{at}]: data at a dynamic binding: use tn_recording_dynamic_constants");
            return Err(Failure::new(TN_ERROR_DEVICE, text));
        }
        Ok(SetDescriptor::new(one.binding, bind((at, one), scratch)?).element(one.element))
    };
    binds.iter().enumerate().map(descriptor).collect()
}

/// Creates a sampler. Equal samplers share one descriptor of the API, so one sampler per material is cheap.
///
/// Errors: `TN_ERROR_NO_DESCRIPTORS` at the device's maximum of distinct samplers; `TN_ERROR_DEVICE` for a field out of range;
/// `TN_ERROR_ENUM`, `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_SHUT_DOWN`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_sampler_create(
    gpu: Handle<Gpu>,
    desc: In<tn_SamplerDesc>,
    out: Out<Handle<Sampler>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, sampler_desc(desc.desc()?)?);
        Ok(on_same!(gpu, gpu => gpu.create_sampler(&desc)?))
    })
}

/// Creates a descriptor table: consecutive descriptors that shaders access by index. Tables are immutable: to change one, create
/// another and release the old one. A slot of a bindless array is a table with one descriptor: its index is the `offset` of
/// `tn_place`, and stays the same until the release. The table keeps its views and samplers alive, whose handles can be released.
///
/// Errors: `TN_ERROR_NO_DESCRIPTORS`; `TN_ERROR_DEVICE` for an empty table, a mix of views and samplers, views of targets, `data`,
/// and on Vulkan without descriptor indexing; `TN_ERROR_POINTER` for an entry that sets none or several of its objects;
/// `TN_ERROR_HANDLE`, `TN_ERROR_FOREIGN`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_descriptor_table_create(
    gpu: Handle<Gpu>,
    desc: In<tn_DescriptorTableDesc>,
    out: Out<Handle<DescriptorTable>>,
) -> tn_Status {
    fn make<D: Backend>(
        gpu: &tenure_core::Gpu<D>,
        binds: &[tn_Bind],
        name: Name,
    ) -> Result<tenure_core::DescriptorTable<D>, Failure> {
        let binds = table_binds(binds, None)?;
        Ok(gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name(name))?)
    }
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let (binds, name) = (desc.binds.array(desc.bind_count, "binds")?, desc.name.name()?);
        Ok(on_same!(gpu, gpu => make(gpu, binds, name)?))
    })
}

/// Creates a descriptor set layout; `tn_place` returns the `VkDescriptorSetLayout`. Sets keep it alive.
///
/// Errors: `TN_ERROR_DEVICE` for an empty layout, a duplicate binding number, and on a device without sets; `TN_ERROR_ENUM`,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_set_layout_create(
    gpu: Handle<Gpu>,
    desc: In<tn_SetLayoutDesc>,
    out: Out<Handle<SetLayout>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let bindings = desc.bindings.array(desc.binding_count, "bindings")?;
        let bindings = bindings.iter().map(set_binding).collect::<Result<Binds<_>, _>>()?;
        let wanted = SetLayoutDesc::new(&bindings).name(desc.name.name()?);
        Ok(on_same!(gpu, gpu => gpu.create_set_layout(&wanted)?))
    })
}

/// Creates a descriptor set; `tn_place` returns the `VkDescriptorSet`. Sets are immutable: to change one, create another and
/// release the old one. The set keeps its layout, views and samplers alive, whose handles can be released.
///
/// Errors: `TN_ERROR_DEVICE` for a binding, an element or a kind that the layout does not have, a duplicate descriptor, and `data`;
/// `TN_ERROR_POINTER` for an entry that sets none or several of its objects; `TN_ERROR_HANDLE`, `TN_ERROR_FOREIGN`,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_descriptor_set_create(
    gpu: Handle<Gpu>,
    desc: In<tn_DescriptorSetDesc>,
    out: Out<Handle<DescriptorSet>>,
) -> tn_Status {
    fn make<D: Backend>(
        gpu: &tenure_core::Gpu<D>,
        layout: &tenure_core::SetLayout<D>,
        binds: &[tn_Bind],
        name: Name,
    ) -> Result<tenure_core::DescriptorSet<D>, Failure> {
        let binds = set_binds(layout, binds, None)?;
        Ok(gpu.create_descriptor_set(&DescriptorSetDesc::new(layout, &binds).name(name))?)
    }
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let (binds, name) = (desc.binds.array(desc.bind_count, "binds")?, desc.name.name()?);
        Ok(on_same!((gpu, desc.layout.get()?), (gpu, layout) => make(gpu, layout, binds, name)?))
    })
}

/// The owner of a descriptor heap index, as text for messages: the name of a table or recording. For a freed index, the name of the
/// former owner is known with the setting `descriptors.poison`.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE` for an index outside the heap, `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_descriptor_owner(
    gpu: Handle<Gpu>,
    kind: tn_DescriptorKind,
    index: u32,
    out: Out<Handle<OwnedText>>,
) -> tn_Status {
    call_create(out, || {
        let kind = descriptor_kind(kind)?;
        let text = match on!(gpu.get()?, gpu => gpu.descriptor_owner(kind, index)) {
            DescriptorOwner::Static { name } => format!("table {name}"),
            DescriptorOwner::Dynamic { recording } => format!("recording {recording}"),
            DescriptorOwner::Freed { name } => format!("freed by {name}"),
            DescriptorOwner::OutOfRange => {
                let text = format!("index {index}: the heap of kind {kind:?} does not have it");
                return Err(Failure::new(TN_ERROR_OUT_OF_RANGE, text));
            }
            // Also for kinds of owners that may be added.
            _ => "free".to_owned(),
        };
        Ok(OwnedText(text))
    })
}

/// Sets the descriptor heaps for the next commands: once in each recording that uses tables or descriptors of a recording, and
/// again after the program has set its own heaps. No effect on APIs with descriptor sets.
///
/// Errors: `TN_ERROR_DEVICE` on a copy queue.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_set_descriptor_heaps(recording: Handle<Recording>) -> tn_Status {
    call(|| {
        on!(&mut *recording.alone()?, recording => recording.set_descriptor_heaps()?);
        Ok(())
    })
}

/// Allocates descriptors for this submission: consecutive descriptors that shaders access by index, with the same location as a
/// table. They are invalid once the recording is submitted or released; the views may be released after the call.
///
/// Errors: `TN_ERROR_NO_DESCRIPTORS`, and those of `tn_descriptor_table_create`; `TN_ERROR_OUT_OF_MEMORY` for `data`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_descriptors(
    recording: Handle<Recording>,
    binds: In<tn_Bind>,
    count: usize,
    out: Out<tn_Place>,
) -> tn_Status {
    fn make<D: Backend>(
        recording: &mut tenure_core::Recording<D>,
        binds: &[tn_Bind],
    ) -> Result<tn_Place, Failure> {
        let (_, scratch) = recording.split();
        let found = scratch.descriptors(&table_binds(binds, Some(scratch))?)?;
        Ok(D::descriptors(found.heap(), found.first(), found.len()))
    }
    call(|| {
        out.check("a tn_Place")?;
        let binds = binds.array(count, "binds")?;
        out.set(on!(&mut *recording.alone()?, recording => make(recording, binds)?));
        Ok(())
    })
}

/// Allocates a descriptor set for this submission, with the location of a set. It is invalid once the recording is submitted or
/// released; the layout and the views may be released after the call.
///
/// Errors: those of `tn_descriptor_set_create`; `TN_ERROR_OUT_OF_MEMORY` for `data`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_descriptor_set(
    recording: Handle<Recording>,
    layout: Handle<SetLayout>,
    binds: In<tn_Bind>,
    count: usize,
    out: Out<tn_Place>,
) -> tn_Status {
    fn make<D: Backend>(
        recording: &mut tenure_core::Recording<D>,
        layout: &tenure_core::SetLayout<D>,
        binds: &[tn_Bind],
    ) -> Result<tn_Place, Failure> {
        let (_, scratch) = recording.split();
        let found = scratch.set(layout, &set_binds(layout, binds, Some(scratch))?)?;
        Ok(D::set(found.block(), found.index()))
    }
    call(|| {
        out.check("a tn_Place")?;
        let binds = binds.array(count, "binds")?;
        let mut recording = recording.alone()?;
        out.set(
            on!((&mut *recording, layout.get()?), (recording, layout) => make(recording, layout, binds)?),
        );
        Ok(())
    })
}

/// Copies constants to memory of the recording, and returns the set of their page: bind it with `offset` as the dynamic offset of
/// `vkCmdBindDescriptorSets`. The constants of a page share one set. The layout must have one binding,
/// `TN_BINDING_DYNAMIC_CONSTANTS`. On Direct3D 12, use `tn_recording_constants` and a root descriptor instead.
///
/// Errors: `TN_ERROR_DEVICE` for another layout, and for more than `tn_DeviceProperties.constant_size` bytes;
/// `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_FOREIGN`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_dynamic_constants(
    recording: Handle<Recording>,
    layout: Handle<SetLayout>,
    data: In<c_void>,
    size: usize,
    out: Out<tn_Place>,
) -> tn_Status {
    fn make<D: ApiHandles>(
        recording: &mut tenure_core::Recording<D>,
        layout: &tenure_core::SetLayout<D>,
        bytes: &[u8],
    ) -> Result<tn_Place, Failure> {
        let found = recording.split().1.dynamic_constant_bytes(layout, bytes)?;
        Ok(tn_Place {
            offset: found.dynamic_offset().into(),
            size: found.size(),
            gpu_address: found.gpu_address().unwrap_or(0),
            ..D::set(found.set().block(), found.set().index())
        })
    }
    call(|| {
        out.check("a tn_Place")?;
        let bytes = data.bytes(size)?;
        let mut recording = recording.alone()?;
        out.set(
            on!((&mut *recording, layout.get()?), (recording, layout) => make(recording, layout, bytes)?),
        );
        Ok(())
    })
}

/// Makes evictable resources resident for the submission of a recording: buffers, textures, and all resources of views, tables and
/// sets. Needed if shaders access them without `tn_recording_use`, for example by index. On error, earlier entries remain in
/// effect.
///
/// Errors: `TN_ERROR_FOREIGN`; `TN_ERROR_HANDLE` for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_make_resident(
    recording: Handle<Recording>,
    handles: In<AnyHandle>,
    count: usize,
) -> tn_Status {
    call(|| {
        let mut recording = recording.alone()?;
        handles.array(count, "handles")?.iter().try_for_each(|handle| make_resident(&mut recording, *handle))
    })
}

fn make_resident(recording: &mut Recording, handle: AnyHandle) -> Result<(), Failure> {
    macro_rules! resident {
        ($($Type:ident),*) => {
            match handle.kind() {
                $($Type::KIND => {
                    let object = handle.of::<$Type>();
                    on!((recording, object.get()?), (list, object) => list.make_resident(object)?);
                    Ok(())
                })*
                _ => Err(handle.refused("a buffer, texture, view, table or set")),
            }
        };
    }
    resident!(Buffer, Texture, View, DescriptorTable, DescriptorSet)
}
