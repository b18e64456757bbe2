//! `Clone`, `Copy` and `Debug` of types that name API objects, which need not implement them. `Debug` shows all other fields.

use std::fmt;

use super::{
    AccelerationStructureRange, Barrier, Descriptor, DescriptorDevice, DescriptorSource, Device, MemoryBlock,
    MemoryDevice, ObjectRef, QueueDevice, SetWrite, SubmitSync, TileSource, TileUpdate,
};

/// References can be copied.
macro_rules! copied {
    ($($name:ident: $device:ident;)*) => {$(
        impl<D: $device> Clone for $name<'_, D> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<D: $device> Copy for $name<'_, D> {}
    )*};
}

copied! {
    Descriptor: MemoryDevice;
    DescriptorSource: DescriptorDevice;
    Barrier: MemoryDevice;
    SubmitSync: QueueDevice;
    AccelerationStructureRange: MemoryDevice;
    MemoryBlock: MemoryDevice;
    SetWrite: DescriptorDevice;
    TileSource: MemoryDevice;
    TileUpdate: MemoryDevice;
}

impl<D: MemoryDevice> fmt::Debug for Barrier<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transition { subresource, before, after, transfer, .. } => f
                .debug_struct("Transition")
                .field("subresource", subresource)
                .field("before", before)
                .field("after", after)
                .field("transfer", transfer)
                .finish_non_exhaustive(),
            Self::Unordered { .. } => f.debug_struct("Unordered").finish_non_exhaustive(),
            Self::Aliasing { from, to, .. } => {
                f.debug_struct("Aliasing").field("from", from).field("to", to).finish_non_exhaustive()
            }
        }
    }
}

impl<D: MemoryDevice> fmt::Debug for Descriptor<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { view, .. } => f.debug_struct("Buffer").field("view", view).finish_non_exhaustive(),
            Self::Texture { view, .. } => {
                f.debug_struct("Texture").field("view", view).finish_non_exhaustive()
            }
            Self::Sampler(info) => f.debug_tuple("Sampler").field(info).finish(),
        }
    }
}

impl<D: DescriptorDevice> fmt::Debug for DescriptorSource<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { index, .. } => f.debug_struct("Copy").field("index", index).finish_non_exhaustive(),
            Self::Combined { view, sampler, .. } => f
                .debug_struct("Combined")
                .field("view", view)
                .field("sampler", sampler)
                .finish_non_exhaustive(),
            Self::Structure(_) => f.write_str("Structure(..)"),
            Self::Constants { offset, size, .. } => f
                .debug_struct("Constants")
                .field("offset", offset)
                .field("size", size)
                .finish_non_exhaustive(),
        }
    }
}

impl<D: Device> fmt::Debug for ObjectRef<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap(_) => "Heap(..)",
            Self::Resource(_) => "Resource(..)",
            Self::List(_) => "List(..)",
            Self::DescriptorHeap(_) => "DescriptorHeap(..)",
            Self::SetPool(_) => "SetPool(..)",
            Self::QueryHeap(_) => "QueryHeap(..)",
            Self::AccelerationStructure(_) => "AccelerationStructure(..)",
        })
    }
}

impl<D: MemoryDevice> fmt::Debug for TileSource<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heap { offset, .. } => {
                f.debug_struct("Heap").field("offset", offset).finish_non_exhaustive()
            }
            Self::Unmapped => f.write_str("Unmapped"),
            Self::CopyOf { region, .. } => {
                f.debug_struct("CopyOf").field("region", region).finish_non_exhaustive()
            }
        }
    }
}

impl<D: MemoryDevice> fmt::Debug for AccelerationStructureRange<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, size, kind, .. } = self;
        write!(f, "AccelerationStructureRange({kind}, {size} B at {offset})")
    }
}

impl<D: MemoryDevice> fmt::Debug for TileUpdate<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, source, .. } = self;
        f.debug_struct("TileUpdate").field("region", region).field("source", source).finish_non_exhaustive()
    }
}

impl<D: DescriptorDevice> fmt::Debug for SetWrite<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetWrite")
            .field("binding", &self.binding)
            .field("element", &self.element)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
