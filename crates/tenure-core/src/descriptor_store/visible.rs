//! Shader-visible descriptor heaps.

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::DescriptorStore;
use super::dynamic_part::{DynamicPart, PieceId};
use super::owners::DescriptorOwner;
use super::static_part::{PartUse, StaticPart, StaticRange};
use crate::config::{Check, ConfigUnit, DescriptorConfig};
use crate::device::{
    DescriptorHeapDesc, DescriptorKind, DescriptorLimits, DescriptorSource, Device, DeviceError, ObjectRef,
    Permit,
};
use crate::error::{DescriptorPart, DescriptorUser, NoDescriptors};
use crate::permit::OwnPermit as _;
use crate::repeated::Repeated;
use crate::{Config, ConfigError, Error, Name};

/// The shader-visible heap of one kind.
pub(crate) struct VisibleHeap<D: Device> {
    pub(crate) kind: DescriptorKind,
    pub(crate) heap: D::DescriptorHeap,
    parts: Parts,
    lasting: Mutex<StaticPart>,
    pub(crate) dynamic: Mutex<DynamicPart>,
    poisons: bool,
    refused: Repeated,
}

impl<D: Device> VisibleHeap<D> {
    fn new(config: &DescriptorConfig, kind: DescriptorKind, heap: D::DescriptorHeap, parts: Parts) -> Self {
        let chunk = match kind {
            DescriptorKind::Sampler => config.chunk / 16,
            _ => config.chunk,
        };
        Self {
            kind,
            heap,
            parts,
            lasting: Mutex::new(StaticPart::new(parts.lasting)),
            dynamic: Mutex::new(DynamicPart::new(parts.lasting, parts.dynamic, chunk)),
            poisons: config.poison,
            refused: Repeated::default(),
        }
    }

    /// Writes descriptors that nothing in flight reads.
    pub(crate) fn fill(
        &self,
        device: &D,
        first: u32,
        sources: &[DescriptorSource<'_, D>],
    ) -> Result<(), DeviceError> {
        device.fill_descriptors(Permit::own(), &self.heap, first, sources)
    }

    /// Allocates descriptors for a table. Calls `reclaim` first if dropped descriptors outnumber free ones, or if there is no
    /// sufficient range: descriptors wait for the submissions before the first reclaim after their drop, so that reclaiming only
    /// when the part is full would be too late.
    pub(crate) fn take_static(
        &self,
        count: u32,
        name: &Name,
        reclaim: impl FnOnce(),
    ) -> Result<StaticRange, Error> {
        let at_once = {
            let mut part = self.lasting.lock();
            if part.is_mostly_dropped() { None } else { part.take(count, name) }
        };
        let found = at_once.or_else(|| {
            reclaim();
            self.lasting.lock().take(count, name)
        });
        found.ok_or_else(|| {
            let part = self.lasting.lock();
            self.exhausted(name, count, StaticPart::PART, part.usage(), part.users())
        })
    }

    /// Frees the descriptors of a table that could not be completed.
    pub(crate) fn return_static(&self, range: &StaticRange) {
        self.lasting.lock().free(range, false, false);
    }

    /// Notes that the descriptors of a table await the GPU.
    pub(crate) fn note_dropped(&self, range: &StaticRange) {
        self.lasting.lock().note_dropped(range);
    }

    /// Frees the descriptors of a table, which nothing reads any more.
    pub(crate) fn release_static(&self, device: &D, range: &StaticRange) {
        let mut part = self.lasting.lock();
        let name = part.name(range).filter(|_| self.poisons).map(Name::as_str);
        device.clear_descriptors(Permit::own(), &self.heap, range.first, range.count, name);
        part.free(range, true, self.poisons);
    }

    /// Frees the descriptors of a recording, which nothing reads any more.
    pub(crate) fn release_dynamic(&self, device: &D, last: PieceId) {
        self.dynamic.lock().release(last, self.poisons, |first, count, recording| {
            if count > 0 {
                device.clear_descriptors(
                    Permit::own(),
                    &self.heap,
                    first,
                    count,
                    self.poisons.then_some(recording.as_str()),
                );
            }
        });
    }

    pub(crate) fn exhausted(
        &self,
        name: &Name,
        requested: u32,
        part: DescriptorPart,
        usage: PartUse,
        users: Vec<DescriptorUser>,
    ) -> Error {
        let PartUse { capacity, free, largest_free, waiting, .. } = usage;
        let (name, kind) = (name.clone(), self.kind);
        let error =
            NoDescriptors { name, kind, part, requested, capacity, free, largest_free, waiting, users };
        if let Some(times) = self.refused.note() {
            event!(warn, %error, times, "out of descriptors");
        }
        error.into()
    }

    pub(crate) fn owner(&self, index: u32) -> DescriptorOwner {
        if index >= self.parts.total() {
            DescriptorOwner::OutOfRange
        } else if index < self.parts.lasting {
            self.lasting.lock().owner(index)
        } else {
            self.dynamic.lock().owner(index)
        }
    }

    /// Usage of both parts.
    pub(crate) fn usage(&self) -> [(DescriptorPart, PartUse); 2] {
        [(StaticPart::PART, self.lasting.lock().usage()), (DynamicPart::PART, self.dynamic.lock().usage())]
    }
}

/// Both heaps, created on demand.
pub(crate) struct VisibleHeaps<D: Device> {
    parts: [Parts; 2],
    heaps: [OnceLock<VisibleHeap<D>>; 2],
    /// Held while a heap is being created.
    making: Mutex<()>,
}

impl<D: Device> VisibleHeaps<D> {
    pub(crate) fn new(config: &Config, limits: &DescriptorLimits) -> Result<Self, ConfigError> {
        let parts = [
            Parts::of(config, DescriptorKind::Resource, limits)?,
            Parts::of(config, DescriptorKind::Sampler, limits)?,
        ];
        let heaps = [OnceLock::new(), OnceLock::new()];
        Ok(Self { parts, heaps, making: Mutex::new(()) })
    }

    /// The heap of a kind, if it was created.
    #[inline]
    pub(crate) fn get(&self, kind: DescriptorKind) -> Option<&VisibleHeap<D>> {
        self.heaps.get(kind as usize)?.get()
    }

    /// The existing heaps.
    pub(crate) fn each(&self) -> impl Iterator<Item = &VisibleHeap<D>> {
        self.heaps.iter().filter_map(OnceLock::get)
    }

    /// Whether the device and the configuration have such a heap.
    pub(crate) fn has(&self, kind: DescriptorKind) -> bool {
        self.count(kind) > 0
    }

    /// The number of descriptors of such a heap, also before its creation; 0 without one.
    pub(crate) fn count(&self, kind: DescriptorKind) -> u32 {
        self.parts.get(kind as usize).map_or(0, |parts| parts.total())
    }

    #[cold]
    pub(crate) fn make(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
        kind: DescriptorKind,
    ) -> Result<&VisibleHeap<D>, DeviceError> {
        let unsupported = DeviceError::Unsupported { feature: "descriptor indexing" };
        if !self.has(kind) {
            return Err(unsupported);
        }
        let (Some(place), Some(parts)) = (self.heaps.get(kind as usize), self.parts.get(kind as usize))
        else {
            return Err(unsupported);
        };
        let _making = self.making.lock();
        if let Some(heap) = place.get() {
            return Ok(heap);
        }
        let desc = DescriptorHeapDesc { kind, count: parts.total(), shader_visible: true };
        let heap = device.create_descriptor_heap(&desc)?;
        store.note_made();
        let name = match kind {
            DescriptorKind::Sampler => "samplers for shaders",
            _ => "views for shaders",
        };
        device.set_name(Permit::own(), ObjectRef::DescriptorHeap(&heap), name);
        Ok(place.get_or_init(|| VisibleHeap::new(&store.config, kind, heap, *parts)))
    }

    /// Takes out both heaps, to be destroyed.
    pub(crate) fn take_all(&mut self) -> Vec<D::DescriptorHeap> {
        self.heaps.iter_mut().filter_map(OnceLock::take).map(|heap| heap.heap).collect()
    }
}

/// Descriptors of both parts of a heap; none if the device has no such heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) lasting: u32,
    pub(crate) dynamic: u32,
}

impl Parts {
    pub(crate) const fn total(self) -> u32 {
        self.lasting.saturating_add(self.dynamic)
    }

    /// The configured parts, within the device's limits.
    pub(crate) fn of(
        config: &Config,
        kind: DescriptorKind,
        limits: &DescriptorLimits,
    ) -> Result<Self, ConfigError> {
        let (lasting, dynamic, most, default) = match kind {
            DescriptorKind::Resource => (
                ("descriptors.static_resources", config.descriptors.static_resources),
                ("descriptors.dynamic_resources", config.descriptors.dynamic_resources),
                1_000_000,
                if limits.descriptors_per_index > 1 { 8192 } else { 16_384 },
            ),
            DescriptorKind::Sampler => (
                ("descriptors.static_samplers", config.descriptors.static_samplers),
                ("descriptors.dynamic_samplers", config.descriptors.dynamic_samplers),
                2048,
                1024,
            ),
            DescriptorKind::RenderTarget | DescriptorKind::DepthStencil => return Ok(Self::default()),
        };
        let limit = limits.visible(kind).min(most);
        let check = |(field, value): (&'static str, Option<u32>), available: u32| {
            let Some(value) = value else { return Ok(()) };
            let check = Check::new(field, value.into(), ConfigUnit::Descriptors);
            check.range(1, most.into())?;
            check.available(available.into())
        };
        check(lasting, limit)?;
        check(dynamic, limit.saturating_sub(lasting.1.unwrap_or(0)))?;
        Ok(match (lasting.1, dynamic.1) {
            (Some(lasting), Some(dynamic)) => Self { lasting, dynamic },
            (Some(lasting), None) => Self { lasting, dynamic: default.min(limit - lasting) },
            (None, Some(dynamic)) => Self { lasting: default.min(limit - dynamic), dynamic },
            (None, None) => {
                let lasting = default.min(limit / 2);
                Self { lasting, dynamic: default.min(limit - lasting) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConfigRule, DescriptorConfig};

    fn limits(visible_resources: u32) -> DescriptorLimits {
        DescriptorLimits {
            visible_resources,
            visible_samplers: 2048,
            descriptors_per_index: 1,
            samplers: 2048,
            sets: false,
            null: true,
            anisotropy: 16,
            constant_size: 64 << 10,
            storage_size: 1 << 27,
            typed_elements: 1 << 27,
            typed_alignment: 16,
        }
    }

    fn parts(device: u32, lasting: Option<u32>, dynamic: Option<u32>) -> Result<(u32, u32), ConfigError> {
        let config =
            Config::from(DescriptorConfig::default().static_resources(lasting).dynamic_resources(dynamic));
        let parts = Parts::of(&config, DescriptorKind::Resource, &limits(device))?;
        Ok((parts.lasting, parts.dynamic))
    }

    #[test]
    fn defaults_are_limited_by_the_device() {
        assert_eq!(parts(1_000_000, None, None), Ok((16_384, 16_384)));
        let typed = DescriptorLimits { descriptors_per_index: 6, ..limits(1_000_000) };
        let found = Parts::of(&Config::default(), DescriptorKind::Resource, &typed);
        assert_eq!(found, Ok(Parts { lasting: 8192, dynamic: 8192 }));
        assert_eq!(parts(1001, None, None), Ok((500, 501)));
        assert_eq!(parts(1000, Some(900), None), Ok((900, 100)));
        assert_eq!(parts(1000, None, Some(999)), Ok((1, 999)));
        assert_eq!(parts(0, None, None), Ok((0, 0)));
    }

    #[test]
    fn more_than_there_are_is_refused() {
        let refused = |device, lasting, dynamic| {
            let ConfigError { field, value, rule, .. } = parts(device, lasting, dynamic).unwrap_err();
            (field, value, rule)
        };
        let range = ConfigRule::Range { min: 1, max: 1_000_000 };
        let available = |available| ConfigRule::Available { available };
        let (first, second) = ("descriptors.static_resources", "descriptors.dynamic_resources");
        assert_eq!(refused(1_000_000, Some(1_000_001), None), (first, 1_000_001, range));
        // The tier is the limit, even if a device reports more.
        assert_eq!(refused(u32::MAX, Some(1_000_001), None), (first, 1_000_001, range));
        assert_eq!(refused(1000, Some(600), Some(401)), (second, 401, available(400)));
        assert_eq!(refused(1000, Some(0), None), (first, 0, range));
        assert_eq!(refused(1000, None, Some(0)), (second, 0, range));
        assert_eq!(refused(0, Some(1), None), (first, 1, available(0)));
    }
}
