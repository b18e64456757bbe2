//! Samplers; equal samplers share a descriptor.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::service::DescriptorService;
use crate::descriptor_store::{CpuSlot, RetiredDescriptor, count, users_by_name};
use crate::device::{Descriptor, DescriptorKind, Device, SamplerInfo, SamplerKey};
use crate::error::{DescriptorPart, NoDescriptors};
use crate::memory::MakeRoom;
use crate::registry::{ObjectKind, RegistryKey};
use crate::repeated::Repeated;
use crate::time::Stamp;
use crate::{Error, Name};

/// A sampler to create.
///
/// ```
/// use tenure::{SamplerDesc, descriptor::{Filter, SamplerInfo}};
/// let smooth = SamplerDesc::default().name("smooth");
/// let sharp = SamplerDesc::new(SamplerInfo::default().mag(Filter::Nearest)).name("sharp");
/// # let _ = (smooth, sharp);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SamplerDesc {
    /// Filtering, addressing and comparison. *Default*: trilinear, repeating, all mips.
    pub info: SamplerInfo,
    /// The name. Samplers with an equal `info` share one descriptor, whatever their names are.
    pub name: Name,
}

impl SamplerDesc {
    /// A sampler without a name.
    #[must_use]
    pub fn new(info: SamplerInfo) -> Self {
        Self { info, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

impl From<SamplerInfo> for SamplerDesc {
    fn from(info: SamplerInfo) -> Self {
        Self::new(info)
    }
}

/// A sampler. Equal samplers share one descriptor, which is freed once the last of them is dropped and no
/// recording and no GPU work uses it any more. `Send` and `Sync`; a clone is cheap.
///
/// ```
/// use tenure::{Config, Gpu, SamplerDesc, descriptor::{Filter, SamplerInfo}, sim};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default().name("smooth"))?;
/// let again = gpu.create_sampler(&SamplerDesc::default().name("smooth, too"))?;
/// assert_eq!(smooth.index(), again.index());
/// let nearest = SamplerInfo::default().mag(Filter::Nearest);
/// let sharp = gpu.create_sampler(&SamplerDesc::new(nearest).name("sharp"))?;
/// assert_ne!(smooth.index(), sharp.index());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Sampler<D: Device> {
    pub(super) inner: Arc<SamplerInner<D>>,
}

debug_fields!([D: Device] Sampler<D>, "Sampler", this, name: this.inner.name, info: this.inner.info);

impl<D: Device> Clone for Sampler<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// The descriptor that equal samplers share.
pub(super) struct SamplerInner<D: Device> {
    pub(super) name: Name,
    info: SamplerInfo,
    /// `None` only inside `drop`.
    slot: Option<CpuSlot<D>>,
    registry_key: RegistryKey,
    born: Stamp,
    /// Declared last, as in every handle.
    pub(super) service: Arc<DescriptorService<D>>,
}

impl<D: Device> SamplerInner<D> {
    /// The heap and the index of its descriptor.
    pub(super) fn place(&self) -> (Arc<D::DescriptorHeap>, u32) {
        let slot = self.slot();
        (slot.slot.object.clone(), slot.index())
    }

    pub(super) const fn slot(&self) -> &CpuSlot<D> {
        match &self.slot {
            Some(slot) => slot,
            None => unreachable!(),
        }
    }
}

/// Live samplers.
pub(super) struct Samplers<D: Device> {
    by_info: Mutex<HashMap<SamplerKey, Weak<SamplerInner<D>>>>,
    /// The number of refused samplers.
    refused: Repeated,
}

impl<D: Device> Default for Samplers<D> {
    fn default() -> Self {
        Self { by_info: Mutex::new(HashMap::new()), refused: Repeated::default() }
    }
}

impl<D: Device> Sampler<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        desc: &SamplerDesc,
    ) -> Result<Self, Error> {
        let (context, SamplerDesc { info, name }) = (&service.context, desc);
        let refuse = |source| Error::device(name, source);
        context.clock.check().map_err(refuse)?;
        info.validate(context.device().properties().descriptors.anisotropy).map_err(refuse)?;
        let samplers = &service.samplers;
        let key = SamplerKey::of(info);
        let mut by_info = samplers.by_info.lock();
        if let Some(inner) = by_info.get(&key).and_then(Weak::upgrade) {
            service.store().samplers_shared.fetch_add(1, Ordering::Relaxed);
            return Ok(Self { inner });
        }
        if service.is_out_of_samplers() {
            let alive: Vec<_> = by_info.values().filter_map(Weak::upgrade).collect();
            // Dropping the last reference to a sampler takes the lock, too.
            drop(by_info);
            return Err(service.no_samplers(name, &alive));
        }
        let slot = service.make_descriptor(room, name, &Descriptor::Sampler(*info))?;
        let registry_key = context.register(name, ObjectKind::Sampler, 0);
        let (born, slot) = (context.clock.stamp(), Some(slot));
        let (name, info, service) = (name.clone(), *info, service.clone());
        let inner = SamplerInner { name, info, slot, registry_key, born, service };
        let inner = Arc::new(inner);
        by_info.insert(key, Arc::downgrade(&inner));
        Ok(Self { inner })
    }

    /// Filtering, addressing and comparison.
    #[must_use]
    pub fn info(&self) -> &SamplerInfo {
        &self.inner.info
    }

    /// The name of the first of the equal samplers.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.inner.name
    }

    /// The heap that contains its descriptor, among others; it is not shader-visible.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        self.inner.slot().heap()
    }

    /// The index in the heap.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.inner.slot().index()
    }
}

impl<D: Device> DescriptorService<D> {
    /// Whether the device refuses another sampler, even after unused ones were released.
    fn is_out_of_samplers(&self) -> bool {
        let limit = u64::from(self.context.device().properties().descriptors.samplers);
        let is_full = || self.store().cpu.usage(DescriptorKind::Sampler).used >= limit;
        if is_full() {
            self.context.reclaim_now();
        }
        is_full()
    }

    fn no_samplers(&self, name: &Name, alive: &[Arc<SamplerInner<D>>]) -> Error {
        let usage = self.store().cpu.usage(DescriptorKind::Sampler);
        let error = NoDescriptors {
            name: name.clone(),
            kind: DescriptorKind::Sampler,
            part: DescriptorPart::Samplers,
            requested: 1,
            capacity: self.context.device().properties().descriptors.samplers,
            free: 0,
            largest_free: 0,
            waiting: count(usage.used - usage.alive),
            users: users_by_name(alive.iter().map(|sampler| (sampler.name.clone(), 1))),
        };
        if let Some(times) = self.samplers.refused.note() {
            event!(warn, %error, times, "out of descriptors");
        }
        error.into()
    }
}

impl<D: Device> Drop for SamplerInner<D> {
    #[inline(never)]
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let this: *const Self = self;
        let mut by_info = self.service.samplers.by_info.lock();
        let key = SamplerKey::of(&self.info);
        // Another sampler may have taken the entry already.
        if by_info.get(&key).is_some_and(|sampler| std::ptr::eq(sampler.as_ptr(), this)) {
            by_info.remove(&key);
        }
        drop(by_info);
        self.service.context.unregister(self.registry_key);
        self.service.store().cpu.note_dropped(DescriptorKind::Sampler);
        self.service.context.release_descriptors(RetiredDescriptor::Cpu(slot), self.born);
    }
}
