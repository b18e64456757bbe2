//! Samplers, of which equal ones are one (spec D5).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::exhausted::{DescriptorPart, NoDescriptors, count, users_by_name};
use super::{CpuSlot, DescriptorGarbage};
use crate::device::{
    AddressMode, BorderColor, Compare, Descriptor, DescriptorKind, Device, Filter, SamplerDesc,
};
use crate::gpu::Shared;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;
use crate::{Error, Name};

/// A sampler. Equal ones share one descriptor, which is freed once the last of them is dropped and no
/// recording and no GPU work uses it any more. `Send` and `Sync`; a clone is cheap.
///
/// ```
/// use tenure::device::{Filter, SamplerDesc};
/// use tenure::{Config, Gpu};
/// use tenure::sim;
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default(), "smooth")?;
/// let again = gpu.create_sampler(&SamplerDesc::default(), "smooth, too")?;
/// assert_eq!(smooth.index(), again.index());
/// let sharp = gpu.create_sampler(&SamplerDesc { mag: Filter::Nearest, ..SamplerDesc::default() }, "sharp")?;
/// assert_ne!(smooth.index(), sharp.index());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Sampler<D: Device> {
    pub(super) inner: Arc<SamplerInner<D>>,
}

impl<D: Device> Clone for Sampler<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// The one descriptor of equal samplers.
pub(super) struct SamplerInner<D: Device> {
    pub(super) name: Name,
    desc: SamplerDesc,
    /// `None` only inside `drop`.
    slot: Option<CpuSlot<D>>,
    record: RecordKey,
    born: Stamp,
    /// Declared last, as in every handle.
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Device> SamplerInner<D> {
    pub(super) const fn slot(&self) -> &CpuSlot<D> {
        match &self.slot {
            Some(slot) => slot,
            None => unreachable!(),
        }
    }
}

/// A description, to be compared bit by bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    filters: [Filter; 3],
    address: [AddressMode; 3],
    anisotropy: u32,
    compare: Option<Compare>,
    border: BorderColor,
    /// Bias and range of mip levels.
    levels: [u32; 3],
}

impl Key {
    fn new(desc: &SamplerDesc) -> Self {
        let SamplerDesc { mag, min, mip, address, mip_bias, anisotropy, compare, min_lod, max_lod, border } =
            *desc;
        // Adding 0 makes the negative 0 a positive one.
        let levels = [mip_bias, min_lod, max_lod].map(|level| (level + 0.0).to_bits());
        Self { filters: [mag, min, mip], address, anisotropy, compare, border, levels }
    }
}

/// The samplers that live.
pub(super) struct Samplers<D: Device> {
    by_desc: Mutex<HashMap<Key, Weak<SamplerInner<D>>>>,
    /// How often one was asked for that there was already.
    pub(super) shared: AtomicU64,
}

impl<D: Device> Default for Samplers<D> {
    fn default() -> Self {
        Self { by_desc: Mutex::new(HashMap::new()), shared: AtomicU64::new(0) }
    }
}

impl<D: Device> Sampler<D> {
    pub(crate) fn create(shared: &Arc<Shared<D>>, desc: &SamplerDesc, name: Name) -> Result<Self, Error> {
        let refuse = |source| Error::device(&name, source);
        shared.clock.check().map_err(refuse)?;
        desc.validate(shared.device().properties().descriptors.anisotropy).map_err(refuse)?;
        let samplers = &shared.descriptors.samplers;
        let key = Key::new(desc);
        let mut by_desc = samplers.by_desc.lock();
        if let Some(inner) = by_desc.get(&key).and_then(Weak::upgrade) {
            samplers.shared.fetch_add(1, Ordering::Relaxed);
            return Ok(Self { inner });
        }
        if shared.is_out_of_samplers() {
            let alive: Vec<_> = by_desc.values().filter_map(Weak::upgrade).collect();
            // Whoever lets go of a sampler last takes the lock, too.
            drop(by_desc);
            return Err(shared.no_samplers(&name, &alive));
        }
        let slot = shared.make_descriptor(&name, &Descriptor::Sampler(*desc))?;
        let record = shared.register(&name, ObjectKind::Sampler, 0);
        let (born, slot) = (shared.clock.stamp(), Some(slot));
        let inner = SamplerInner { name, desc: *desc, slot, record, born, shared: shared.clone() };
        let inner = Arc::new(inner);
        by_desc.insert(key, Arc::downgrade(&inner));
        Ok(Self { inner })
    }

    /// Its description; of equal ones, the first.
    #[must_use]
    pub fn desc(&self) -> &SamplerDesc {
        &self.inner.desc
    }

    /// The name that the first of equal ones was given.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.inner.name
    }

    /// The heap that it is in, with others; shaders do not see it.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        self.inner.slot().heap()
    }

    /// Its index in the heap.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.inner.slot().index()
    }
}

impl<D: Device> Shared<D> {
    /// Whether the device takes no other sampler, even after what it is done with is given back.
    fn is_out_of_samplers(&self) -> bool {
        let limit = u64::from(self.device().properties().descriptors.samplers);
        let is_full = || self.descriptors.cpu.usage(DescriptorKind::Sampler).used >= limit;
        if is_full() {
            self.reclaim();
        }
        is_full()
    }

    fn no_samplers(&self, name: &Name, alive: &[Arc<SamplerInner<D>>]) -> Error {
        let usage = self.descriptors.cpu.usage(DescriptorKind::Sampler);
        let error = NoDescriptors {
            name: name.clone(),
            kind: DescriptorKind::Sampler,
            part: DescriptorPart::Samplers,
            requested: 1,
            capacity: self.device().properties().descriptors.samplers,
            free: 0,
            largest_free: 0,
            waiting: count(usage.used - usage.alive),
            users: users_by_name(alive.iter().map(|sampler| (sampler.name.clone(), 1))),
        };
        error.into()
    }
}

impl<D: Device> Drop for SamplerInner<D> {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let this: *const Self = self;
        let mut by_desc = self.shared.descriptors.samplers.by_desc.lock();
        let key = Key::new(&self.desc);
        // Another may have taken its place already.
        if by_desc.get(&key).is_some_and(|sampler| std::ptr::eq(sampler.as_ptr(), this)) {
            by_desc.remove(&key);
        }
        drop(by_desc);
        self.shared.registry.remove(self.record);
        self.shared.descriptors.cpu.note_dropped(DescriptorKind::Sampler);
        self.shared.release_descriptors(DescriptorGarbage::Cpu(slot), self.born);
    }
}
