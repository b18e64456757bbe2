//! What is put into tables and sets.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::store::DescriptorService;
use super::view::constant_size;
use super::{Sampler, View};
use crate::block_set::BlockKey;
use crate::device::{
    AccelerationStructureKind, Allowed, BindingKind, CallRule, DescriptorKind, DescriptorSource, Device,
    DeviceError,
};
use crate::resource::{AccelerationStructure, Constant};
use crate::{Error, Name};

/// One descriptor of a table or a set: made from a reference to a [`View`] or a [`Sampler`], or from
/// the [`Constant`]s of a recording. One of a set alone is made from references to both, the view of a texture
/// and its sampler ([`BindingKind::CombinedSampler`]). Rays are traced through an [`AccelerationStructure`], which a
/// set, or on Direct3D 12 a table, takes without a view.
///
/// ```
/// use tenure::{
///     BindingKind, Config, DescriptorSetDesc, Format, Gpu, SamplerDesc, SetBinding, SetLayoutDesc, TextureDesc,
///     TextureViewDesc, Usage, sim,
/// };
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
/// let grass = gpu.create_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ))?;
/// let grass = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default())?;
/// let binding = SetBinding::new(0, BindingKind::CombinedSampler);
/// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]))?;
/// let binds = [(0, 0, (&grass, &smooth).into())];
/// let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds))?;
/// # let _ = set;
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Bind<'a, D: Device>(What<'a, D>);

enum What<'a, D: Device> {
    View(&'a View<D>),
    Sampler(&'a Sampler<D>),
    Combined(&'a View<D>, &'a Sampler<D>),
    Structure(&'a AccelerationStructure<D>),
    Constant(Constant<'a, D>),
}

impl<D: Device> fmt::Debug for Bind<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            What::View(view) => view.fmt(f),
            What::Sampler(sampler) => sampler.fmt(f),
            What::Combined(view, sampler) => f.debug_tuple("Combined").field(view).field(sampler).finish(),
            What::Structure(structure) => structure.fmt(f),
            What::Constant(constant) => constant.fmt(f),
        }
    }
}

impl<D: Device> Clone for Bind<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Bind<'_, D> {}

impl<D: Device> Clone for What<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for What<'_, D> {}

impl<'a, D: Device> From<&'a View<D>> for Bind<'a, D> {
    fn from(view: &'a View<D>) -> Self {
        Self(What::View(view))
    }
}

impl<'a, D: Device> From<&'a Sampler<D>> for Bind<'a, D> {
    fn from(sampler: &'a Sampler<D>) -> Self {
        Self(What::Sampler(sampler))
    }
}

impl<'a, D: Device> From<(&'a View<D>, &'a Sampler<D>)> for Bind<'a, D> {
    fn from((view, sampler): (&'a View<D>, &'a Sampler<D>)) -> Self {
        Self(What::Combined(view, sampler))
    }
}

impl<'a, D: Device> From<&'a AccelerationStructure<D>> for Bind<'a, D> {
    fn from(structure: &'a AccelerationStructure<D>) -> Self {
        Self(What::Structure(structure))
    }
}

impl<'a, D: Device> From<Constant<'a, D>> for Bind<'a, D> {
    fn from(constant: Constant<'a, D>) -> Self {
        Self(What::Constant(constant))
    }
}

/// What tables and sets that last keep.
pub(super) type Share = Arc<dyn Any + Send + Sync>;

/// What descriptors are made from; of more than a few on the heap.
pub(super) type Sources<'a, D> = SmallVec<[DescriptorSource<'a, D>; 16]>;

impl<'a, D: Device> Bind<'a, D> {
    /// What it is bound as, and what its descriptor is made from.
    ///
    /// The error is boxed: an unboxed one shares the bytes of the source, the compiler then copies each source
    /// in pieces of one and seven bytes, and a table of four descriptors takes four times as long.
    #[inline]
    pub(super) fn source(
        &self,
        service: &DescriptorService<D>,
    ) -> Result<(BindingKind, DescriptorSource<'a, D>), Box<Error>> {
        match self.0 {
            What::View(view) => {
                let inner = &*view.inner;
                if !std::ptr::eq(&*inner.service, service) {
                    return Err(foreign(&inner.name));
                }
                let Some(binding) = inner.binding else { return Err(target(view)) };
                Ok((binding, DescriptorSource::Copy { heap: view.heap(), index: view.index() }))
            }
            What::Sampler(sampler) => {
                let inner = &*sampler.inner;
                if !std::ptr::eq(&*inner.service, service) {
                    return Err(foreign(&inner.name));
                }
                let source = DescriptorSource::Copy { heap: sampler.heap(), index: sampler.index() };
                Ok((BindingKind::Sampler, source))
            }
            What::Combined(view, sampler) => combined(service, view, sampler),
            What::Structure(structure) => traced(service, structure),
            What::Constant(constant) => {
                if !constant.is_of(&service.context) {
                    return Err(foreign(&CONSTANTS.into()));
                }
                let size = constant_size(constant.size(), service.context.device().properties());
                let size = size.map_err(|source| Box::new(Error::device(&CONSTANTS.into(), source)))?;
                let (resource, offset) = (constant.raw(), constant.offset());
                Ok((BindingKind::Constants, DescriptorSource::Constants { resource, offset, size }))
            }
        }
    }

    /// Adds what its descriptor is made from to `sources`: written where it stays, and not by way of a result.
    #[inline]
    fn add_source(
        &self,
        service: &DescriptorService<D>,
        sources: &mut Sources<'a, D>,
    ) -> Result<BindingKind, Box<Error>> {
        if let What::View(view) = self.0 {
            let inner = &*view.inner;
            if !std::ptr::eq(&*inner.service, service) {
                return Err(foreign(&inner.name));
            }
            let Some(binding) = inner.binding else { return Err(target(view)) };
            sources.push(DescriptorSource::Copy { heap: view.heap(), index: view.index() });
            return Ok(binding);
        }
        let (binding, source) = self.source(service)?;
        sources.push(source);
        Ok(binding)
    }

    /// The evictable block that it shows.
    #[inline]
    pub(crate) fn block(&self) -> Option<BlockKey> {
        match self.0 {
            What::View(view) | What::Combined(view, _) => view.inner.block,
            What::Sampler(_) | What::Structure(_) | What::Constant(_) => None,
        }
    }

    /// A share in it, for what lasts; nothing of constants, which do not.
    pub(super) fn share(&self) -> Option<Share> {
        match self.0 {
            What::View(view) => Some(view.inner.clone()),
            What::Sampler(sampler) => Some(sampler.inner.clone()),
            What::Combined(view, sampler) => Some(Arc::new((view.inner.clone(), sampler.inner.clone()))),
            What::Structure(structure) => Some(structure.inner.keep()),
            What::Constant(_) => None,
        }
    }
}

/// A structure that rays are traced through.
fn traced<'a, D: Device>(
    service: &DescriptorService<D>,
    structure: &'a AccelerationStructure<D>,
) -> Result<(BindingKind, DescriptorSource<'a, D>), Box<Error>> {
    if !Arc::ptr_eq(structure.inner.context(), &service.context) {
        return Err(foreign(structure.name()));
    }
    if !structure.kind().is_compatible(AccelerationStructureKind::Top) {
        let rule = "rays are traced through a top-level structure (kind)";
        let source = DeviceError::invalid_value(rule, structure.kind() as u64);
        return Err(Box::new(Error::device(structure.name(), source)));
    }
    Ok((BindingKind::AccelerationStructure, DescriptorSource::Structure(structure.raw())))
}

/// A view of a texture with its sampler.
fn combined<'a, D: Device>(
    service: &DescriptorService<D>,
    view: &'a View<D>,
    sampler: &'a Sampler<D>,
) -> Result<(BindingKind, DescriptorSource<'a, D>), Box<Error>> {
    let (seen, sampling) = (&*view.inner, &*sampler.inner);
    for (owner, name) in [(&seen.service, &seen.name), (&sampling.service, &sampling.name)] {
        if !std::ptr::eq(&**owner, service) {
            return Err(foreign(name));
        }
    }
    let kind = seen.binding.ok_or_else(|| target(view))?;
    if kind != BindingKind::Texture {
        let source = DeviceError::invalid_call(CallRule::BindingKind, kind, BindingKind::Texture);
        return Err(Box::new(Error::device(&seen.name, source)));
    }
    let (views, samplers) = (view.heap(), sampler.heap());
    let source = DescriptorSource::Combined { views, view: view.index(), samplers, sampler: sampler.index() };
    Ok((BindingKind::CombinedSampler, source))
}

const CONSTANTS: &str = "constants";

#[cold]
fn foreign(name: &Name) -> Box<Error> {
    Box::new(Error::Foreign { name: name.clone() })
}

#[cold]
fn target<D: Device>(view: &View<D>) -> Box<Error> {
    let rule = "shaders do not read views of targets (kind)";
    let source = DeviceError::invalid_value(rule, view.kind() as u64);
    Box::new(Error::device(view.name(), source))
}

#[cold]
fn in_sets_alone(name: &Name, binding: BindingKind) -> Box<Error> {
    let source = DeviceError::invalid_value(CallRule::InSetsAlone, binding);
    Box::new(Error::device(name, source))
}

/// The heap in which shaders find such a binding; `None`: they find it in sets alone.
const fn heap_of(binding: BindingKind) -> Option<DescriptorKind> {
    match binding {
        BindingKind::Sampler => Some(DescriptorKind::Sampler),
        binding if binding.is_for_sets_alone() => None,
        _ => Some(DescriptorKind::Resource),
    }
}

/// What a table is made from, added to `sources`: at least one descriptor, and all of one kind, which
/// is returned.
#[inline]
pub(super) fn gather<'a, D: Device>(
    service: &DescriptorService<D>,
    name: &Name,
    binds: &[Bind<'a, D>],
    sources: &mut Sources<'a, D>,
) -> Result<DescriptorKind, Box<Error>> {
    let mut found = None;
    for bind in binds {
        let binding = bind.add_source(service, sources)?;
        let Some(kind) = heap_of(binding) else { return Err(in_sets_alone(name, binding)) };
        if *found.get_or_insert(kind) != kind {
            let rule = "views and samplers are in different tables (index)";
            let source = DeviceError::invalid_value(rule, sources.len() as u64 - 1);
            return Err(Box::new(Error::device(name, source)));
        }
    }
    let empty = || Error::device(name, DeviceError::invalid_desc("descriptors", 0_u32, Allowed::AtLeast(1)));
    found.ok_or_else(|| Box::new(empty()))
}

/// Shares in all that something lasting is made from.
pub(super) fn shares<'a, D: Device>(
    name: &Name,
    binds: impl Iterator<Item = Bind<'a, D>>,
) -> Result<Box<[Share]>, Error> {
    let share = |(index, bind): (usize, Bind<'a, D>)| {
        let rule = "constants of a recording do not last (index)";
        let source = DeviceError::invalid_value(rule, index as u64);
        bind.share().ok_or_else(|| Error::device(name, source))
    };
    binds.enumerate().map(share).collect()
}
