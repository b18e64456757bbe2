//! An API object with what tenure keeps beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::block_set::BlockKey;
use crate::device::{
    Api, Device, MemoryFlags, MemoryTypeId, Properties, ResourceDesc, State, StateModel, Usage,
};
use crate::state::StateCell;

/// An API resource, its usage states, and its mapping and address where it has them.
///
/// Shared by all handles into it: a buffer that is divided into ranges has one state.
pub(crate) struct ApiResource<D: Device> {
    pub(crate) object: D::Resource,
    pub(crate) states: StateCell,
    pub(crate) mapping: Option<D::Mapping>,
    /// True for resources whose bytes the CPU reads: mapped ones, and those in the program's own memory.
    pub(crate) is_read_by_cpu: bool,
    pub(crate) address: Option<u64>,
    /// The states that its memory and its usage leave it, on Direct3D 12 fewer than all.
    pub(crate) possible: State,
    /// The evictable block that its memory is in.
    pub(crate) block: Option<BlockKey>,
    /// A number that no other API resource of the process has.
    pub(crate) serial: u64,
    /// The program has dropped the only handle to it, and all views of it.
    is_dropped: AtomicBool,
}

/// What is destroyed of an API resource.
pub(crate) struct ApiParts<D: Device> {
    pub(crate) object: D::Resource,
    pub(crate) mapping: Option<D::Mapping>,
    /// The evictable block that its memory is in.
    pub(crate) block: Option<BlockKey>,
}

fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<D: Device> ApiResource<D> {
    /// Takes an API resource in. `state` is what it was left in; `None` for one just created.
    ///
    /// Inlined, so that it is made where it stays: it is large.
    #[inline(always)]
    pub(crate) fn new(
        device: &D,
        object: D::Resource,
        desc: &ResourceDesc,
        mapping: Option<D::Mapping>,
        state: Option<State>,
    ) -> Self {
        let address = match desc {
            ResourceDesc::Buffer(_) => device.gpu_address(&object),
            ResourceDesc::Texture(_) => None,
        };
        let initial = state.unwrap_or_else(|| initial_state(device, desc));
        Self {
            object,
            states: StateCell::on_device(desc, initial, device.properties(), state.is_none()),
            is_read_by_cpu: mapping.is_some(),
            mapping,
            address,
            possible: possible_states(device, desc),
            block: None,
            serial: next_serial(),
            is_dropped: AtomicBool::new(false),
        }
    }

    /// The program has dropped the only handle to it: nobody reads what is still to be written to it, but for recordings
    /// that are made already.
    pub(crate) fn note_dropped(&self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }

    /// Takes it apart, to destroy it. The rest of it, which is large, is not moved.
    ///
    /// # Errors
    /// The resource, while somebody else holds it.
    #[inline]
    pub(crate) fn take_apart(self: Arc<Self>) -> Result<ApiParts<D>, Arc<Self>> {
        let Self { object, mapping, block, .. } = Arc::try_unwrap(self)?;
        Ok(ApiParts { object, mapping, block })
    }

    /// It is in such memory: Direct3D 12 keeps what is in upload heaps readable and what is in
    /// readback heaps a destination of copies, for life.
    pub(crate) fn set_memory(&mut self, properties: &Properties, memory: MemoryTypeId) {
        let flags = properties.memory_types.get(usize::from(memory.0)).map(|found| found.flags);
        let is_fixed = |flags: &MemoryFlags| {
            let is_host = flags.contains(MemoryFlags::HOST_VISIBLE);
            properties.api == Api::Direct3D12 && is_host && !flags.contains(MemoryFlags::DEVICE_LOCAL)
        };
        let states = match flags.filter(is_fixed) {
            Some(flags) if flags.contains(MemoryFlags::HOST_CACHED) => State::COPY_DST,
            Some(_) => State::all().difference(State::WRITES),
            None => State::all(),
        };
        self.possible &= states;
    }
}

/// Direct3D 12 uses the buffer of an acceleration structure as nothing else, whatever its barriers.
fn possible_states<D: Device>(device: &D, desc: &ResourceDesc) -> State {
    let is_structure = desc.usage().contains(Usage::ACCELERATION_STRUCTURE);
    let is_fixed = device.properties().api == Api::Direct3D12;
    if is_structure && is_fixed { State::ACCELERATION_STRUCTURE } else { State::all() }
}

/// D3D12 creates the buffer of an acceleration structure in its state, for life.
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
