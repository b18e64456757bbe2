//! An API object with tenure's data about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::block_set::BlockKey;
use crate::device::{Api, Device, MemoryFlags, MemoryTypeId, ResourceDesc, State, StateModel, Usage};
use crate::state::StateCell;

/// An API resource, its usage states, and its mapping and address if it has them.
///
/// Shared by all handles that refer to it: a buffer divided into ranges has one state.
pub struct ApiResource<D: Device> {
    pub object: D::Resource,
    pub states: StateCell,
    pub mapping: Option<D::Mapping>,
    /// True for resources with bytes that the CPU reads: mapped ones, and those in memory of the program.
    pub is_read_by_cpu: bool,
    pub address: Option<u64>,
    /// The states allowed by its memory and its usage; on Direct3D 12 a subset.
    pub possible: State,
    /// The evictable block that contains its memory.
    pub block: Option<BlockKey>,
    /// A number unique within the process.
    pub serial: u64,
    /// Whether the program has dropped its only handle, and all its views.
    is_dropped: AtomicBool,
}

/// The parts of an API resource, for its destruction.
pub struct ApiParts<D: Device> {
    pub object: D::Resource,
    pub mapping: Option<D::Mapping>,
    /// The evictable block that contains its memory.
    pub block: Option<BlockKey>,
}

fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<D: Device> ApiResource<D> {
    /// Wraps an API resource. `state`: its current state; `None` for a newly created one. `mapped`: the memory type in
    /// which it is mapped. `block`: the evictable block that contains its memory.
    ///
    /// Inlined, so that the large result is constructed in place.
    #[inline(always)]
    pub fn new(
        device: &D,
        object: D::Resource,
        desc: &ResourceDesc,
        mapping: Option<D::Mapping>,
        state: Option<State>,
        (mapped, block): (Option<MemoryTypeId>, Option<BlockKey>),
    ) -> Self {
        let address = device.gpu_address(&object);
        let initial = state.unwrap_or_else(|| initial_state(device, desc));
        Self {
            object,
            states: StateCell::on_device(desc, initial, device.properties(), state.is_none()),
            is_read_by_cpu: mapping.is_some(),
            mapping,
            address,
            possible: possible_states(device, desc, mapped),
            block,
            serial: next_serial(),
            is_dropped: AtomicBool::new(false),
        }
    }

    /// Notes that the program has dropped its only handle: only existing recordings can read pending writes to it.
    pub fn note_dropped(&self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }

    /// Takes the resource apart, to destroy it. The large remainder is not moved.
    ///
    /// # Errors
    /// The resource, while another reference exists.
    #[inline]
    pub fn take_apart(self: Arc<Self>) -> Result<ApiParts<D>, Arc<Self>> {
        let Self { object, mapping, block, .. } = Arc::try_unwrap(self)?;
        Ok(ApiParts { object, mapping, block })
    }
}

/// The states that a resource can have. On Direct3D 12 the buffer of an acceleration structure has a single one. Its memory
/// also restricts them there: resources in upload heaps stay readable, and those in readback heaps stay copy destinations,
/// for their lifetime.
#[inline]
fn possible_states<D: Device>(device: &D, desc: &ResourceDesc, mapped: Option<MemoryTypeId>) -> State {
    let properties = device.properties();
    if properties.api != Api::Direct3D12 {
        return State::all();
    }
    let is_structure = desc.usage().contains(Usage::ACCELERATION_STRUCTURE);
    let of_usage = if is_structure { State::ACCELERATION_STRUCTURE } else { State::all() };
    let found = mapped.and_then(|memory| properties.memory_types.get(usize::from(memory.0)));
    let is_fixed = |flags: &MemoryFlags| {
        flags.contains(MemoryFlags::HOST_VISIBLE) && !flags.contains(MemoryFlags::DEVICE_LOCAL)
    };
    let of_memory = match found.map(|found| found.flags).filter(is_fixed) {
        Some(flags) if flags.contains(MemoryFlags::HOST_CACHED) => State::COPY_DST,
        Some(_) => State::all().difference(State::WRITES),
        None => State::all(),
    };
    of_usage & of_memory
}

/// The state of a new resource. Direct3D 12 creates the buffer of an acceleration structure in its only state.
fn initial_state<D: Device>(device: &D, desc: &ResourceDesc) -> State {
    let is_structure = desc.usage().contains(Usage::ACCELERATION_STRUCTURE);
    let is_fixed = device.properties().state_model == StateModel::Promotion;
    if is_structure && is_fixed { State::ACCELERATION_STRUCTURE } else { State::COMMON }
}

impl<D: Device> AsRef<StateCell> for ApiResource<D> {
    fn as_ref(&self) -> &StateCell {
        &self.states
    }
}
