//! The descriptors of tables and sets, and their sources.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::declared_uses::Part;
use super::followers::WeakFollower;
use super::sampler::SamplerInner;
use super::service::DescriptorService;
use super::view::{ViewInner, constant_size};
use super::{BoundUse, Sampler, SetDescriptor, ShaderStages, ShownUse, View};
use crate::block_set::BlockKey;
use crate::device::{
    AccelerationStructureKind, Allowed, BindingKind, CallRule, DescriptorDevice, DescriptorKind,
    DescriptorSource, Device, DeviceError, State,
};
use crate::held_objects::LazyHeldObjects;
use crate::memory::{MemoryUse, MovableBacking};
use crate::resource::{AccelerationStructure, Constant, ViewGuard};
use crate::{Error, Name};

/// One descriptor of a table or a set: made from a reference to a [`View`] or a [`Sampler`], or from the
/// [`Constant`]s of a recording. In sets only: made from references to both, the view of a texture and its
/// sampler ([`BindingKind::CombinedSampler`]). For ray tracing, an [`AccelerationStructure`] is bound without a
/// view, in a set, or on Direct3D 12 in a table.
///
/// ```
/// use tenure::{
///     Config, DescriptorSetDesc, Format, Gpu, SamplerDesc, SetDescriptor, SetLayoutDesc,
///     TextureDesc, TextureViewDesc, Usage, descriptor::{BindingKind, SetBinding}, sim,
/// };
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
/// let grass = gpu.create_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ))?;
/// let grass = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default())?;
/// let binding = SetBinding::new(0, BindingKind::CombinedSampler);
/// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]))?;
/// let binds = [SetDescriptor::new(0, (&grass, &smooth))];
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

impl<'a, D: Device> From<&Self> for Bind<'a, D> {
    fn from(bind: &Self) -> Self {
        *bind
    }
}

/// A descriptor of a set, without its binding and its element.
impl<'a, D: Device> From<&SetDescriptor<'a, D>> for Bind<'a, D> {
    fn from(descriptor: &SetDescriptor<'a, D>) -> Self {
        descriptor.bind
    }
}

/// The sources of descriptors; more than a few are stored on the heap.
pub(super) type Sources<'a, D> = SmallVec<[DescriptorSource<'a, D>; 16]>;

impl<'a, D: Device> Bind<'a, D> {
    /// The kind of binding, and the source of the descriptor.
    ///
    /// The error is boxed: an unboxed one overlaps the bytes of the source, the compiler then copies each source in
    /// pieces of one and seven bytes, and creating a table of four descriptors takes four times as long.
    #[inline]
    pub(super) fn source<'s>(
        &self,
        service: &DescriptorService<D>,
        held: LazyHeldObjects<'s, D>,
    ) -> Result<(BindingKind, DescriptorSource<'s, D>), Box<Error>>
    where
        'a: 's,
    {
        match self.0 {
            What::View(view) => {
                let inner = &*view.inner;
                if !std::ptr::eq(&*inner.service, service) {
                    return Err(foreign(&inner.name));
                }
                let Some(binding) = inner.binding else { return Err(target(view)) };
                let (heap, index) = inner.held(held);
                Ok((binding, DescriptorSource::Copy { heap, index }))
            }
            What::Sampler(sampler) => {
                let inner = &*sampler.inner;
                if !std::ptr::eq(&*inner.service, service) {
                    return Err(foreign(&inner.name));
                }
                let source = DescriptorSource::Copy { heap: sampler.heap(), index: sampler.index() };
                Ok((BindingKind::Sampler, source))
            }
            What::Combined(view, sampler) => combined(service, view, sampler, held),
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

    /// Appends the source of the descriptor to `sources`: written in place instead of returned, to avoid a copy.
    #[inline]
    fn add_source<'s>(
        &self,
        service: &DescriptorService<D>,
        held: LazyHeldObjects<'s, D>,
        sources: &mut Sources<'s, D>,
    ) -> Result<BindingKind, Box<Error>>
    where
        'a: 's,
    {
        if let What::View(view) = self.0 {
            let inner = &*view.inner;
            if !std::ptr::eq(&*inner.service, service) {
                return Err(foreign(&inner.name));
            }
            let Some(binding) = inner.binding else { return Err(target(view)) };
            let (heap, index) = inner.held(held);
            sources.push(DescriptorSource::Copy { heap, index });
            return Ok(binding);
        }
        let (binding, source) = self.source(service, held)?;
        sources.push(source);
        Ok(binding)
    }

    /// The evictable block of the resource.
    #[inline]
    pub(crate) fn block(&self) -> Option<BlockKey> {
        match self.0 {
            What::View(view) | What::Combined(view, _) => view.inner.block(),
            What::Sampler(_) | What::Structure(_) | What::Constant(_) => None,
        }
    }

    /// The evictable block of the resource, if it does not move.
    pub(super) fn fixed_block(&self) -> Option<BlockKey> {
        match self.0 {
            What::View(view) | What::Combined(view, _) => view.inner.fixed_block(),
            What::Sampler(_) | What::Structure(_) | What::Constant(_) => None,
        }
    }

    /// The declared use of its resource; `None` for samplers, and for constants of a recording, which are always
    /// ready.
    pub(crate) fn shown(&self, stages: ShaderStages) -> Result<Option<BoundUse<'a, D>>, Error> {
        match self.0 {
            What::View(view) | What::Combined(view, _) => match view.inner.shown(stages) {
                Some(shown) => Ok(Some(BoundUse::View(shown))),
                None => Err(*target(view)),
            },
            What::Structure(structure) => Ok(Some(BoundUse::Structure(structure))),
            What::Sampler(_) | What::Constant(_) => Ok(None),
        }
    }

    /// A reference for lasting tables and sets; `None` for constants of a recording.
    fn kept(&self) -> Option<KeptBind<D>> {
        match self.0 {
            What::View(view) => Some(KeptBind::View(view.inner.clone())),
            What::Sampler(sampler) => Some(KeptBind::Sampler(sampler.inner.clone())),
            What::Combined(view, sampler) => {
                Some(KeptBind::Combined(view.inner.clone(), sampler.inner.clone()))
            }
            What::Structure(structure) => Some(KeptBind::Structure(structure.inner.keep(MemoryUse::GpuOnly))),
            What::Constant(_) => None,
        }
    }
}

/// Keeps a resource alive for a lasting table or set, and is the source for rewriting it after a move.
pub(super) enum KeptBind<D: Device> {
    View(Arc<ViewInner<D>>),
    Sampler(Arc<SamplerInner<D>>),
    Combined(Arc<ViewInner<D>>, Arc<SamplerInner<D>>),
    Structure(Arc<ViewGuard<D>>),
}

/// The heap and the index of a descriptor.
pub(super) type DescriptorIndex<D> = (Arc<<D as DescriptorDevice>::DescriptorHeap>, u32);

impl<D: Device> KeptBind<D> {
    fn view(&self) -> Option<&Arc<ViewInner<D>>> {
        match self {
            Self::View(view) | Self::Combined(view, _) => Some(view),
            Self::Sampler(_) | Self::Structure(_) => None,
        }
    }

    /// The declared use of its resource; `None` for samplers.
    pub(super) fn shown(&self, stages: ShaderStages) -> Option<ShownUse<'_, D>> {
        match self {
            Self::View(view) | Self::Combined(view, _) => view.shown(stages),
            Self::Structure(resource) => {
                Some(ShownUse { resource, part: Part::All, state: State::ACCELERATION_STRUCTURE })
            }
            Self::Sampler(_) => None,
        }
    }

    /// The source of its descriptor once the current move has ended; `None` for structures, which have no descriptor.
    fn next(&self) -> Option<(DescriptorIndex<D>, Option<DescriptorIndex<D>>)> {
        match self {
            Self::View(view) => Some((view.next(), None)),
            Self::Sampler(sampler) => Some((sampler.place(), None)),
            Self::Combined(view, sampler) => Some((view.next(), Some(sampler.place()))),
            Self::Structure(_) => None,
        }
    }
}

/// The source of a kept descriptor.
pub(super) fn kept_source<D: Device>(
    ((heap, index), sampler): &(DescriptorIndex<D>, Option<DescriptorIndex<D>>),
) -> DescriptorSource<'_, D> {
    match sampler {
        None => DescriptorSource::Copy { heap, index: *index },
        Some((samplers, sampler)) => {
            DescriptorSource::Combined { views: heap, view: *index, samplers, sampler: *sampler }
        }
    }
}

/// The movable resources of a lasting table or set, and the sources for rewriting it.
pub(super) struct KeptBinds<D: Device> {
    pub(super) binds: Box<[KeptBind<D>]>,
    /// The movable resources, without duplicates.
    pub(super) movables: Box<[Arc<MovableBacking<D>>]>,
}

impl<D: Device> KeptBinds<D> {
    /// `None` if nothing can move. Beside an acceleration structure, which has no descriptor to copy, the
    /// movable resources are pinned.
    pub(super) fn of<'a>(binds: impl Iterator<Item = Bind<'a, D>> + Clone) -> Option<Self>
    where
        D: 'a,
    {
        let slots = || binds.clone().filter_map(|bind| bind.kept()?.view()?.as_movable().cloned());
        slots().next()?;
        let binds: Box<[_]> = binds.clone().filter_map(|bind| bind.kept()).collect();
        if binds.iter().any(|bind| matches!(bind, KeptBind::Structure(_))) {
            slots().for_each(|slot| {
                slot.movable.pin();
            });
            return None;
        }
        let mut movables: Vec<_> = slots().map(|slot| slot.movable.clone()).collect();
        movables.sort_unstable_by_key(Arc::as_ptr);
        movables.dedup_by(|one, other| Arc::ptr_eq(one, other));
        Some(Self { binds, movables: movables.into() })
    }

    /// The sources of all descriptors once the current move has ended.
    pub(super) fn next(&self) -> Vec<(DescriptorIndex<D>, Option<DescriptorIndex<D>>)> {
        self.binds.iter().filter_map(KeptBind::next).collect()
    }

    /// Pins all its movable resources.
    pub(super) fn pin(&self) {
        self.movables.iter().for_each(|movable| {
            movable.pin();
        });
    }

    /// Holds all its movable resources while a recording is open.
    pub(super) fn hold(&self, held: LazyHeldObjects<'_, D>) {
        let held = held.get();
        self.movables.iter().for_each(|movable| {
            held.hold(movable);
        });
    }

    /// The evictable blocks that now contain its movable resources.
    pub(super) fn blocks(&self) -> impl Iterator<Item = BlockKey> + '_ {
        self.movables.iter().filter_map(|movable| movable.place().api_resource.block)
    }

    /// Registers the table or set as a follower of all its movable resources.
    pub(super) fn add_follower(
        &self,
        service: &DescriptorService<D>,
        follower: impl Fn() -> WeakFollower<D>,
    ) {
        self.movables.iter().for_each(|movable| service.followers.add(movable, follower()));
    }

    /// Notes that the table or set was dropped.
    pub(super) fn forget_follower(&self, service: &DescriptorService<D>) {
        self.movables.iter().for_each(|movable| service.followers.note_gone(movable));
    }
}

/// An acceleration structure for ray tracing.
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
fn combined<'s, D: Device>(
    service: &DescriptorService<D>,
    view: &'s View<D>,
    sampler: &'s Sampler<D>,
    held: LazyHeldObjects<'s, D>,
) -> Result<(BindingKind, DescriptorSource<'s, D>), Box<Error>> {
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
    let ((views, view), samplers) = (seen.held(held), sampler.heap());
    let source = DescriptorSource::Combined { views, view, samplers, sampler: sampler.index() };
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

/// The shader-visible heap for a kind of binding; `None` for bindings that only sets can have.
const fn heap_of(binding: BindingKind) -> Option<DescriptorKind> {
    match binding {
        BindingKind::Sampler => Some(DescriptorKind::Sampler),
        binding if binding.is_for_sets_alone() => None,
        _ => Some(DescriptorKind::Resource),
    }
}

/// Appends the sources of a table to `sources`: at least one descriptor, all of one kind, which is returned.
#[inline]
pub(super) fn gather<'a: 's, 's, D: Device>(
    service: &DescriptorService<D>,
    name: &Name,
    binds: &[Bind<'a, D>],
    held: LazyHeldObjects<'s, D>,
    sources: &mut Sources<'s, D>,
) -> Result<DescriptorKind, Box<Error>> {
    let mut found = None;
    for bind in binds {
        let binding = bind.add_source(service, held, sources)?;
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

/// References to all resources of a lasting table or set.
pub(super) fn shares<'a, D: Device>(
    name: &Name,
    binds: impl Iterator<Item = Bind<'a, D>>,
) -> Result<Box<[KeptBind<D>]>, Error> {
    let share = |(index, bind): (usize, Bind<'a, D>)| {
        let rule = "constants of a recording do not last (index)";
        let source = DeviceError::invalid_value(rule, index as u64);
        bind.kept().ok_or_else(|| Error::device(name, source))
    };
    binds.enumerate().map(share).collect()
}
