//! A wrapper around any device that counts the calls to the driver.

mod counters;

use std::sync::Arc;
use std::time::Instant;

use tenure::device::{
    Checked, Device, HeapDesc, MemoryTypeId, Permit, Priority, Requirements, ResourceDesc, TextureInfo,
    TextureWrite, WrappedList, forward_device,
};
use tenure::{Format, State, Usage, device::QueueId, error::DeviceError};

use counters::{Counters, Kind};
pub use counters::{DriverMemory, Gauge, Live, MemoryCall};

/// A command list of a [`Counted`] device.
pub type List<D> = WrappedList<Counted<D>>;

/// A wrapper around any device that counts the driver's memory allocations, objects and time.
///
/// Every call is passed to the inner device unchanged. A heap counts with its size, a committed resource with its
/// required size. The time covers the calls about memory: creating, destroying and mapping heaps and resources, and
/// querying requirements. Counting costs two readings of the clock and some relaxed atomic additions per call; any
/// thread may call. Clones share the counters.
///
/// ```
/// use tenure::device::{HeapCategory, HeapDesc, MemoryDevice as _, MemoryTypeId, Permit, Priority};
/// use tenure::sim;
/// use tenure_cli::replay::Counted;
///
/// let device = Counted::new(sim::Device::new(sim::Profile::DISCRETE));
/// let gauge = device.gauge();
/// let (memory, category, priority) = (MemoryTypeId(0), HeapCategory::Any, Priority::Normal);
/// let desc = HeapDesc { size: 1 << 20, alignment: 1 << 16, memory, category, priority };
/// let heap = device.create_heap(&desc)?;
/// assert_eq!((gauge.meter().reserved_bytes, gauge.live().heaps), (1 << 20, 1));
/// device.destroy_heap(Permit::checked(), heap);
/// assert_eq!((gauge.meter().reserved_bytes, gauge.meter().allocations), (0, 1));
/// # Ok::<(), tenure::error::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counted<D> {
    inner: D,
    counters: Arc<Counters>,
}

/// A heap of a [`Counted`] device.
pub struct Heap<D: Device> {
    inner: D::Heap,
    memory: DriverMemory,
}

/// A resource of a [`Counted`] device.
pub struct Resource<D: Device> {
    inner: D::Resource,
    /// Memory and offset; `None` for a reserved or uncounted resource.
    place: Option<(DriverMemory, u64)>,
    /// Whether the resource owns the memory.
    is_committed: bool,
    is_counted: bool,
}

impl<D: Device> Resource<D> {
    /// The inner resource.
    pub const fn inner(&self) -> &D::Resource {
        &self.inner
    }

    /// Memory and offset; `None` for a reserved or an adopted resource.
    pub const fn place(&self) -> Option<(DriverMemory, u64)> {
        self.place
    }
}

impl<D: Device> Counted<D> {
    /// Wraps `inner`, with all counters at 0.
    pub fn new(inner: D) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// Like [`new`](Self::new), but also keeps all calls that allocate or free memory until
    /// [`Gauge::take_calls`], without a limit.
    pub fn with_calls(inner: D) -> Self {
        Self { inner, counters: Arc::new(Counters::with_calls()) }
    }

    /// The inner device.
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// The counters, which remain readable after the device was dropped.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(Arc::clone(&self.counters))
    }

    /// Wraps a resource that was created on the inner device. It counts as a live object only.
    pub fn adopt(&self, inner: D::Resource) -> Resource<D> {
        self.counters.live(Kind::Resource);
        Resource { inner, place: None, is_committed: false, is_counted: false }
    }

    fn timed<T>(&self, call: impl FnOnce(&D) -> T) -> T {
        let start = Instant::now();
        let answer = call(&self.inner);
        self.counters.took(start.elapsed());
        answer
    }

    fn resource(&self, inner: D::Resource, place: Option<(DriverMemory, u64)>) -> Resource<D> {
        self.counters.live(Kind::Resource);
        Resource { inner, place, is_committed: false, is_counted: true }
    }

    fn committed(&self, inner: D::Resource, bytes: u64, memory: MemoryTypeId) -> Resource<D> {
        self.counters.created();
        let memory = self.counters.allocated(bytes, memory, false);
        Resource { is_committed: true, ..self.resource(inner, Some((memory, 0))) }
    }
}

/// The permit for the inner device.
const fn inner_permit<D: Device>(_: Permit<Counted<D>>) -> Permit<D> {
    // SAFETY: each call is passed on unchanged, and its caller had a permit for it.
    unsafe { Permit::new() }
}

impl<D: Checked> Checked for Counted<D> {}

forward_device! {
    impl<D: Device> Device for Counted<D> {
        type Inner = D;
        type Heap = Heap<D>;
        type Resource = Resource<D>;

        fn inner(&self) -> &D {
            &self.inner
        }

        fn permit(permit: Permit<Self>) -> Permit<D> {
            inner_permit(permit)
        }

        fn heap(heap: &Heap<D>) -> &D::Heap {
            &heap.inner
        }

        fn resource(resource: &Resource<D>) -> &D::Resource {
            &resource.inner
        }

        fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
            self.timed(|inner| inner.requirements(desc))
        }

        fn supports_format(&self, format: Format, usage: Usage) -> bool {
            self.timed(|inner| inner.supports_format(format, usage))
        }

        fn generates_mips(&self, format: Format) -> bool {
            self.timed(|inner| inner.generates_mips(format))
        }

        fn create_heap(&self, desc: &HeapDesc) -> Result<Heap<D>, DeviceError> {
            let inner = self.timed(|inner| inner.create_heap(desc))?;
            self.counters.created();
            let memory = self.counters.allocated(desc.size, desc.memory, true);
            self.counters.live(Kind::Heap);
            Ok(Heap { inner, memory })
        }

        fn destroy_heap(&self, permit: Permit<Self>, heap: Heap<D>) {
            self.timed(|inner| inner.destroy_heap(Self::permit(permit), heap.inner));
            self.counters.destroyed();
            self.counters.given_back(heap.memory);
            self.counters.gone(Kind::Heap);
        }

        fn create_committed(
            &self,
            desc: &ResourceDesc,
            memory: MemoryTypeId,
        ) -> Result<Resource<D>, DeviceError> {
            // Not timed, because the counter makes this query, not the program.
            let bytes = self.inner.requirements(desc)?.size;
            let inner = self.timed(|inner| inner.create_committed(desc, memory))?;
            Ok(self.committed(inner, bytes, memory))
        }

        fn create_committed_with_priority(
            &self,
            permit: Permit<Self>,
            desc: &ResourceDesc,
            memory: MemoryTypeId,
            priority: Priority,
        ) -> Result<Resource<D>, DeviceError> {
            let bytes = self.inner.requirements(desc)?.size;
            let permit = Self::permit(permit);
            let inner =
                self.timed(|inner| inner.create_committed_with_priority(permit, desc, memory, priority))?;
            Ok(self.committed(inner, bytes, memory))
        }

        fn create_placed(
            &self,
            permit: Permit<Self>,
            desc: &ResourceDesc,
            heap: &Heap<D>,
            offset: u64,
        ) -> Result<Resource<D>, DeviceError> {
            let inner =
                self.timed(|inner| inner.create_placed(Self::permit(permit), desc, &heap.inner, offset))?;
            self.counters.created();
            Ok(self.resource(inner, Some((heap.memory, offset))))
        }

        fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource<D>, DeviceError> {
            let inner = self.timed(|inner| inner.create_reserved(desc))?;
            self.counters.created();
            Ok(self.resource(inner, None))
        }

        fn destroy_resource(&self, permit: Permit<Self>, resource: Resource<D>) {
            let Resource { inner: object, place, is_committed, is_counted } = resource;
            if is_counted {
                self.timed(|inner| inner.destroy_resource(Self::permit(permit), object));
                self.counters.destroyed();
                if let Some((memory, _)) = place.filter(|_| is_committed) {
                    self.counters.given_back(memory);
                }
            } else {
                self.inner.destroy_resource(Self::permit(permit), object);
            }
            self.counters.gone(Kind::Resource);
        }

        fn map(&self, resource: &Resource<D>) -> Result<D::Mapping, DeviceError> {
            if resource.is_counted {
                self.timed(|inner| inner.map(&resource.inner))
            } else {
                self.inner.map(&resource.inner)
            }
        }

        fn texture_write_states(&self, info: &TextureInfo) -> State {
            self.timed(|inner| inner.texture_write_states(info))
        }

        fn write_texture(
            &self,
            permit: Permit<Self>,
            texture: &Resource<D>,
            states: (State, State),
            writes: &[TextureWrite<'_>],
        ) -> Result<(), DeviceError> {
            self.timed(|inner| inner.write_texture(Self::permit(permit), &texture.inner, states, writes))
        }

        fn create_list(&self, permit: Permit<Self>, queue: QueueId) -> Result<List<D>, DeviceError> {
            let list = self.inner.create_list(Self::permit(permit), queue)?;
            self.counters.live(Kind::List);
            Ok(List::new(list))
        }

        fn destroy_list(&self, permit: Permit<Self>, list: List<D>) {
            self.inner.destroy_list(Self::permit(permit), list.into_inner());
            self.counters.gone(Kind::List);
        }
    }
}
