//! The locations of descriptors for commands.

use std::fmt;
use std::sync::Arc;

use tenure_core::device::{BindingKind, BufferView, CallRule, DeviceError, Properties, QueueId, check};

use crate::clock::SharedClock;
use crate::descriptors::content::{Content, Slot, What};
use crate::descriptors::heap::{DescriptorHeap, DescriptorHeapState};
use crate::descriptors::set::{SetPool, SetPoolState};
use crate::object::Label;

/// The location of a descriptor for a draw or dispatch.
#[derive(Clone, Copy, Debug)]
pub enum DescriptorAt<'a> {
    /// At an index of a heap, shader-visible or for targets.
    Heap {
        /// The heap.
        heap: &'a DescriptorHeap,
        /// The index.
        index: u32,
    },
    /// In a set.
    Set {
        /// The block.
        block: &'a SetPool,
        /// The number in the block.
        set: u32,
        /// The binding's number.
        binding: u32,
        /// The index of the descriptor in the binding.
        element: u32,
    },
    /// Constants in a set with an offset passed when the set is bound ([`BindingKind::DynamicConstants`]).
    Dynamic {
        /// The block.
        block: &'a SetPool,
        /// The number in the block.
        set: u32,
        /// The binding's number.
        binding: u32,
        /// The index of the descriptor in the binding.
        element: u32,
        /// Bytes from the start of the view.
        offset: u64,
    },
}

/// A recorded [`DescriptorAt`].
pub(crate) struct At {
    pub(crate) slots: Slots,
    index: u32,
    /// Binding and element of a set's.
    named: (u32, u32),
    /// Bytes that dynamic constants are moved by.
    offset: u64,
}

/// The storage of the descriptor.
pub(crate) enum Slots {
    /// A shader-visible heap: the descriptor is read when the command runs.
    Heap(Arc<DescriptorHeapState>),
    /// A heap of targets, whose descriptors are read when the command is recorded.
    Targets(Arc<DescriptorHeapState>, Arc<Content>),
    /// A set with its content at the time of recording.
    Set { block: Arc<SetPoolState>, set: u32, version: u64 },
}

impl At {
    /// Checks that the descriptor exists, and that target slots are filled.
    pub(crate) fn record(properties: &Properties, at: DescriptorAt<'_>) -> Result<Self, DeviceError> {
        match at {
            DescriptorAt::Heap { heap, index } => {
                let heap = &heap.state;
                heap.check_index(index)?;
                Ok(Self { slots: in_heap(heap, index)?, index, named: (0, 0), offset: 0 })
            }
            DescriptorAt::Set { block, set, binding, element } => {
                in_set(&block.state, set, (binding, element), None)
            }
            DescriptorAt::Dynamic { block, set, binding, element, offset } => {
                check::multiple(CallRule::ConstantsAligned, offset, properties.constant_alignment)?;
                in_set(&block.state, set, (binding, element), Some(offset))
            }
        }
    }

    pub(crate) fn label(&self) -> &Arc<Label> {
        match &self.slots {
            Slots::Heap(heap) | Slots::Targets(heap, _) => &heap.label,
            Slots::Set { block, .. } => &block.label,
        }
    }

    /// The current content of the slot.
    pub(crate) fn slot(&self) -> Slot {
        match &self.slots {
            Slots::Heap(heap) => heap.slot(self.index),
            Slots::Targets(_, content) => Slot::Holds(Arc::clone(content)),
            Slots::Set { block, set, .. } => block.slot(*set, self.index).0,
        }
    }

    /// The resource or sampler that it currently describes.
    pub(crate) fn what(&self) -> Option<What> {
        self.read(&self.slot())
    }

    /// The resource or sampler described by this content; `None` if its offset exceeds the buffer.
    pub(crate) fn read(&self, slot: &Slot) -> Option<What> {
        match slot.what()? {
            What::Buffer { resource, view } => {
                let offset = view.offset.checked_add(self.offset)?;
                let inside = offset.checked_add(view.size)? <= resource.layout.bytes();
                inside.then_some(What::Buffer { resource, view: BufferView { offset, ..view } })
            }
            what => Some(what),
        }
    }

    /// Notes that a submission reads it; false if it was recorded before the set was changed.
    pub(crate) fn note(&self, queue: QueueId, serial: u64, observed: &SharedClock) -> bool {
        self.slot().contents().for_each(|content| content.last_use.raise(queue, serial));
        match &self.slots {
            Slots::Heap(heap) => {
                heap.reads.lock().note(self.index, queue, serial, &observed.load());
                true
            }
            Slots::Targets(..) => true,
            Slots::Set { block, set, version } => {
                let mut sets = block.sets.lock();
                let Some(set) = sets.get_mut(*set as usize) else { return true };
                set.reads.raise(queue, serial);
                set.version == *version
            }
        }
    }
}

/// A descriptor of a set. An offset is required for dynamic constants, and refused for other kinds.
fn in_set(
    block: &Arc<SetPoolState>,
    set: u32,
    named: (u32, u32),
    offset: Option<u64>,
) -> Result<At, DeviceError> {
    let (index, kind) = block.layout.find(named.0, named.1)?;
    block.check_set(set)?;
    if (kind == BindingKind::DynamicConstants) != offset.is_some() {
        let rule = "dynamic constants are bound with an offset, and nothing else is";
        return Err(DeviceError::invalid_call(rule, offset.unwrap_or(0), u64::from(named.0)));
    }
    let (_, version) = block.slot(set, index);
    let slots = Slots::Set { block: Arc::clone(block), set, version };
    Ok(At { slots, index, named, offset: offset.unwrap_or(0) })
}

fn in_heap(heap: &Arc<DescriptorHeapState>, index: u32) -> Result<Slots, DeviceError> {
    if heap.desc.shader_visible {
        return Ok(Slots::Heap(Arc::clone(heap)));
    }
    if heap.kind().is_for_shaders() {
        return Err(DeviceError::invalid_value(
            "shaders find descriptors in heaps that they see",
            heap.label.id,
        ));
    }
    match heap.slot(index) {
        Slot::Holds(content) => Ok(Slots::Targets(Arc::clone(heap), content)),
        _ => Err(DeviceError::invalid_value("a target's descriptor holds something", u64::from(index))),
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slots {
            Slots::Heap(_) | Slots::Targets(..) => write!(f, "index {}", self.index),
            Slots::Set { set, .. } => {
                write!(f, "element {} of binding {} of set {set}", self.named.1, self.named.0)
            }
        }
    }
}
