//! The traits of the contract, by capability, and the types that name their objects.

mod derived;
mod descriptors;
mod list;
mod memory;
mod permit;
mod queries;
mod queue;
mod rays;
mod residency;
mod sets;
mod tiles;

pub use descriptors::{Descriptor, DescriptorDevice, DescriptorSource};
pub use list::{Barrier, CommandList, QueueTransfer};
pub use memory::{Mapping, MemoryDevice};
pub use permit::{Checked, Permit};
pub use queries::QueryDevice;
pub use queue::{QueueDevice, SubmitSync};
pub use rays::{AccelerationStructureRange, RayDevice};
pub use residency::{MemoryBlock, ResidencyDevice};
pub use sets::{SetDevice, SetWrite};
pub use tiles::{TileDevice, TileSource, TileUpdate};

use crate::{DeviceError, DeviceFault, Properties, SingleManager};

/// One GPU behind one API: the sum of all capabilities. See the [crate documentation](crate).
///
/// Generic code with `D: Device` can call the methods of all traits. Code with a concrete device imports the traits, one by one
/// or by [`prelude`](crate::prelude).
pub trait Device: QueueDevice + SetDevice + TileDevice + ResidencyDevice {
    /// The properties of the device. They do not change.
    fn properties(&self) -> &Properties;

    /// The slot for the single manager of the device and all of its clones.
    fn single_manager(&self) -> &SingleManager;

    /// Sets the name of an object for debuggers and validation messages. Never fails; a device without names ignores it.
    fn set_name(&self, permit: Permit<Self>, object: ObjectRef<'_, Self>, name: &str);

    /// `Err` with the reason once the device is lost.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn status(&self) -> Result<(), DeviceError>;

    /// The GPU faults reported by the driver; none before the loss of the device, and on devices that do not report any.
    fn device_faults(&self) -> Vec<DeviceFault> {
        Vec::new()
    }

    /// The value of a word of [marker memory](crate::MarkerLimits), also of a lost device; 0 before the first marker in it. Lists
    /// may write it meanwhile.
    fn marker(&self, word: u32) -> u32 {
        let _ = word;
        0
    }
}

/// An object to be named.
pub enum ObjectRef<'a, D: Device> {
    /// A heap.
    Heap(&'a D::Heap),
    /// A resource.
    Resource(&'a D::Resource),
    /// A command list.
    List(&'a D::List),
    /// A heap of descriptors.
    DescriptorHeap(&'a D::DescriptorHeap),
    /// A pool of descriptor sets.
    SetPool(&'a D::SetPool),
    /// A heap of queries.
    QueryHeap(&'a D::QueryHeap),
    /// An acceleration structure.
    AccelerationStructure(&'a D::AccelerationStructure),
}
