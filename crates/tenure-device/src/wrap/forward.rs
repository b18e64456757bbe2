//! The macro that forwards the calls of a wrapper.

/// Implements [`Device`](crate::Device), each of its supertraits, and [`Wrap`](crate::Wrap) for a device that wraps another.
///
/// The given methods and types replace the forwarded ones; types precede methods. `type Inner` and the functions
/// [`inner`](crate::Wrap::inner) and [`permit`](crate::Wrap::permit) are required. Each type parameter has one bound, and there
/// is no `where` clause: a trait with supertraits replaces several bounds.
///
/// A device that counts heaps:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use tenure::device::{HeapDesc, Permit, forward_device};
/// use tenure::{BufferDesc, Config, Gpu, Usage, error::DeviceError, sim};
///
/// struct Counting(sim::Device, AtomicU64);
///
/// forward_device! {
///     impl Device for Counting {
///         type Inner = sim::Device;
///         fn inner(&self) -> &sim::Device { &self.0 }
///         fn permit(_: Permit<Self>) -> Permit<sim::Device> { Permit::checked() }
///         fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError> {
///             self.1.fetch_add(1, Relaxed);
///             self.0.create_heap(desc)
///         }
///     }
/// }
///
/// let device = Counting(sim::Device::new(sim::Profile::DISCRETE), AtomicU64::new(0));
/// let gpu = Gpu::new(device, Config::default())?;
/// let _buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX))?;
/// assert_eq!(gpu.device().1.load(Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A device that counts submissions. Lists and other arguments that name objects of the wrapper are converted to those of the
/// inner device:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use tenure::device::{Checked, Permit, QueueId, SubmitSync, forward_device, prelude::*};
/// use tenure::{error::DeviceError, sim};
///
/// struct Counting(sim::Device, AtomicU64);
///
/// forward_device! {
///     impl Device for Counting {
///         type Inner = sim::Device;
///         fn inner(&self) -> &sim::Device { &self.0 }
///         fn permit(_: Permit<Self>) -> Permit<sim::Device> { Permit::checked() }
///         fn submit_with(
///             &self, permit: Permit<Self>, queue: QueueId, lists: &[&Self::List], sync: SubmitSync<'_, Self>,
///         ) -> Result<(), DeviceError> {
///             let lists: Vec<_> = lists.iter().map(|list| list.inner()).collect();
///             let SubmitSync { waits, external_waits, external_signals, paging, signal } = sync;
///             let sync = SubmitSync { waits, external_waits, external_signals, paging, signal };
///             self.0.submit_with(Self::permit(permit), queue, &lists, sync)?;
///             self.1.fetch_add(1, Relaxed);
///             Ok(())
///         }
///     }
/// }
///
/// impl Checked for Counting {} // like the device that it wraps
///
/// let device = Counting(sim::Device::new(sim::Profile::DISCRETE), AtomicU64::new(0));
/// let mut list = device.create_list(Permit::checked(), QueueId(0))?;
/// list.begin()?;
/// list.close()?;
/// device.submit(Permit::checked(), QueueId(0), &[&list], &[], 1)?; // calls `submit_with`
/// assert_eq!(device.1.load(Relaxed), 1);
/// # Ok::<(), DeviceError>(())
/// ```
///
/// A name that is not part of the contract is an error:
///
/// ```compile_fail,E0432
/// # struct Counting(tenure::sim::Device);
/// tenure::device::forward_device! {
///     impl Device for Counting {
///         type Inner = tenure::sim::Device;
///         fn create_heep(&self) {}
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_device {
    (
        impl $(<$($parameter:ident: $bound:path),+>)? Device for $device:ty {
            $(type $object:ident = $type:ty;)*
            $(
                $(#[$attribute:meta])*
                fn $name:ident $(<$generic:ident>)? ($($arguments:tt)*) $(-> $answer:ty)? $body:block
            )*
        }
    ) => {
        #[deny(clippy::missing_trait_methods)]
        const _: () = {
            #[allow(unused_imports)]
            use $crate::{Wrap as _, contract_names::{$($object as _,)* $($name as _,)*}, prelude::*};
            $crate::forward_device! { @given ($)
                $(type $object = $type;)*
                $($(#[$attribute])* fn $name [$(<$generic>)?] ($($arguments)*) [$(-> $answer)?] $body)*
            }
            $crate::forward_device! { @impls [$(<$($parameter: $bound),+>)?] $device }
        };
    };

    // Defines `given!`, which is its second argument, or the given item of that name.
    (@given ($d:tt)
        $(type $object:ident = $type:ty;)*
        $($(#[$attribute:meta])* fn $name:ident [$($generic:tt)*] $arguments:tt [$($answer:tt)*] $body:block)*
    ) => {
        macro_rules! given {
            $(($object $d($d default:tt)*) => { type $object = $type; };)*
            $(($name $d($d default:tt)*) => { $(#[$attribute])* fn $name $($generic)* $arguments $($answer)* $body };)*
            ($d item:ident $d($d default:tt)*) => { $d($d default)* };
        }
    };

    // Types of the inner device.
    (@types $trait:ident $($name:ident)*) => {
        $(given! { $name type $name = <<Self as $crate::Wrap>::Inner as $crate::$trait>::$name; })*
    };

    // Methods by their parameters, each with the argument for the inner device where it differs.
    (@methods $(
        $name:ident($([$permit:ident])? $($parameter:ident: $type:ty $(= $inner:expr)?),*) $(-> $answer:ty)?;
    )*) => {$(
        given! { $name
            #[inline]
            fn $name(&self $(, $permit: $crate::Permit<Self>)? $(, $parameter: $type)*) $(-> $answer)? {
                $crate::Wrap::inner(self).$name(
                    $(<Self as $crate::Wrap>::permit($permit),)?
                    $($crate::forward_device!(@argument $parameter $(= $inner)?)),*
                )
            }
        }
    )*};

    (@argument $parameter:ident) => { $parameter };
    (@argument $parameter:ident = $inner:expr) => { $inner };

    (@impls [$($generics:tt)*] $device:ty) => {
        impl $($generics)* $crate::Wrap for $device {
            given! { Inner }
            given! { inner }
            given! { permit }
            given! { heap
                #[inline]
                fn heap(heap: &Self::Heap) -> &<Self::Inner as $crate::MemoryDevice>::Heap { heap }
            }
            given! { resource
                #[inline]
                fn resource(resource: &Self::Resource) -> &<Self::Inner as $crate::MemoryDevice>::Resource { resource }
            }
        }

        impl $($generics)* $crate::MemoryDevice for $device {
            $crate::forward_device! { @types MemoryDevice Heap Resource Mapping }
            $crate::forward_device! { @methods
                requirements(desc: &$crate::ResourceDesc) -> Result<$crate::Requirements, $crate::DeviceError>;
                supports_format(format: $crate::Format, usage: $crate::Usage) -> bool;
                generates_mips(format: $crate::Format) -> bool;
                create_heap(desc: &$crate::HeapDesc) -> Result<Self::Heap, $crate::DeviceError>;
                destroy_heap([permit] heap: Self::Heap);
                create_committed(desc: &$crate::ResourceDesc, memory: $crate::MemoryTypeId) -> Result<Self::Resource, $crate::DeviceError>;
                create_placed([permit] desc: &$crate::ResourceDesc, heap: &Self::Heap = <Self as $crate::Wrap>::heap(heap), offset: u64)
                    -> Result<Self::Resource, $crate::DeviceError>;
                destroy_resource([permit] resource: Self::Resource);
                map(resource: &Self::Resource = <Self as $crate::Wrap>::resource(resource)) -> Result<Self::Mapping, $crate::DeviceError>;
                texture_write_states(info: &$crate::TextureInfo) -> $crate::State;
                write_texture(
                    [permit] texture: &Self::Resource = <Self as $crate::Wrap>::resource(texture),
                    states: ($crate::State, $crate::State), writes: &[$crate::TextureWrite<'_>]
                ) -> Result<(), $crate::DeviceError>;
                gpu_address(resource: &Self::Resource = <Self as $crate::Wrap>::resource(resource)) -> Option<u64>;
                name_range(buffer: &Self::Resource = <Self as $crate::Wrap>::resource(buffer), offset: u64, size: u64, name: &str);
                budget() -> Result<Vec<$crate::HeapBudget>, $crate::DeviceError>;
            }
        }

        impl $($generics)* $crate::ResidencyDevice for $device {
            $crate::forward_device! { @methods
                create_committed_with_priority(
                    [permit] desc: &$crate::ResourceDesc, memory: $crate::MemoryTypeId, priority: $crate::Priority
                ) -> Result<Self::Resource, $crate::DeviceError>;
                make_resident([permit] blocks: &[$crate::MemoryBlock<'_, Self>] = &$crate::Inward::all(blocks, $crate::Inward::block))
                    -> Result<$crate::PagingPoint, $crate::DeviceError>;
                evict([permit] blocks: &[$crate::MemoryBlock<'_, Self>] = &$crate::Inward::all(blocks, $crate::Inward::block))
                    -> Result<(), $crate::DeviceError>;
                set_priority([permit] block: $crate::MemoryBlock<'_, Self> = $crate::Inward::block(&block), priority: $crate::Priority)
                    -> Result<(), $crate::DeviceError>;
                budget_changed() -> bool;
                take_trim_request() -> Option<$crate::TrimRequest>;
                reserve(bytes: &[u64]);
            }
        }

        impl $($generics)* $crate::TileDevice for $device {
            $crate::forward_device! { @methods
                create_reserved(desc: &$crate::ResourceDesc) -> Result<Self::Resource, $crate::DeviceError>;
                tile_layout(resource: &Self::Resource = <Self as $crate::Wrap>::resource(resource))
                    -> Result<$crate::TileLayout, $crate::DeviceError>;
                update_tiles(
                    [permit] queue: $crate::QueueId,
                    updates: &[$crate::TileUpdate<'_, Self>] = &$crate::Inward::all(updates, $crate::Inward::update),
                    waits: &[$crate::QueueSerial], signal: u64
                ) -> Result<(), $crate::DeviceError>;
            }
        }

        impl $($generics)* $crate::RayDevice for $device {
            $crate::forward_device! { @types RayDevice AccelerationStructure }
            $crate::forward_device! { @methods
                create_acceleration_structure(
                    [permit] range: &$crate::AccelerationStructureRange<'_, Self> = &$crate::Inward::range(range)
                ) -> Result<Self::AccelerationStructure, $crate::DeviceError>;
                destroy_acceleration_structure([permit] structure: Self::AccelerationStructure);
                acceleration_structure_address(structure: &Self::AccelerationStructure) -> u64;
            }
        }

        impl $($generics)* $crate::DescriptorDevice for $device {
            $crate::forward_device! { @types DescriptorDevice DescriptorHeap }
            $crate::forward_device! { @methods
                create_descriptor_heap(desc: &$crate::DescriptorHeapDesc) -> Result<Self::DescriptorHeap, $crate::DeviceError>;
                destroy_descriptor_heap([permit] heap: Self::DescriptorHeap);
                write_descriptor(
                    [permit] heap: &Self::DescriptorHeap, index: u32,
                    descriptor: &$crate::Descriptor<'_, Self> = &$crate::Inward::descriptor(descriptor)
                ) -> Result<(), $crate::DeviceError>;
                fill_descriptors(
                    [permit] heap: &Self::DescriptorHeap, first: u32,
                    sources: &[$crate::DescriptorSource<'_, Self>] = &$crate::Inward::all(sources, $crate::Inward::source)
                ) -> Result<(), $crate::DeviceError>;
                clear_descriptors([permit] heap: &Self::DescriptorHeap, first: u32, count: u32, freed_by: Option<&str>);
            }
        }

        impl $($generics)* $crate::SetDevice for $device {
            $crate::forward_device! { @types SetDevice SetLayout SetPool }
            $crate::forward_device! { @methods
                create_set_layout(bindings: &[$crate::SetBinding]) -> Result<Self::SetLayout, $crate::DeviceError>;
                destroy_set_layout([permit] layout: Self::SetLayout);
                create_set_pool([permit] layout: &Self::SetLayout, sets: u32) -> Result<Self::SetPool, $crate::DeviceError>;
                destroy_set_pool([permit] block: Self::SetPool);
                write_set(
                    [permit] block: &Self::SetPool, set: u32,
                    writes: &[$crate::SetWrite<'_, Self>] = &$crate::Inward::all(writes, $crate::Inward::write)
                ) -> Result<(), $crate::DeviceError>;
                clear_set([permit] block: &Self::SetPool, set: u32, freed_by: Option<&str>);
            }
        }

        impl $($generics)* $crate::QueryDevice for $device {
            $crate::forward_device! { @types QueryDevice QueryHeap }
            $crate::forward_device! { @methods
                create_query_heap(desc: &$crate::QueryHeapDesc) -> Result<Self::QueryHeap, $crate::DeviceError>;
                destroy_query_heap([permit] heap: Self::QueryHeap);
            }
        }

        impl $($generics)* $crate::QueueDevice for $device {
            $crate::forward_device! { @types QueueDevice ExternalPoint }
            type List = $crate::WrappedList<Self>;
            type NativeQueue<'a> = <<Self as $crate::Wrap>::Inner as $crate::QueueDevice>::NativeQueue<'a>;
            given! { create_list
                fn create_list(&self, permit: $crate::Permit<Self>, queue: $crate::QueueId) -> Result<Self::List, $crate::DeviceError> {
                    $crate::Wrap::inner(self).create_list(<Self as $crate::Wrap>::permit(permit), queue).map($crate::WrappedList::new)
                }
            }
            given! { submit_external
                fn submit_external<T>(
                    &self, permit: $crate::Permit<Self>, queue: $crate::QueueId, waits: &[$crate::QueueSerial], signal: u64,
                    run: impl FnOnce(Self::NativeQueue<'_>) -> T,
                ) -> Result<T, $crate::DeviceError> {
                    let permit = <Self as $crate::Wrap>::permit(permit);
                    $crate::Wrap::inner(self).submit_external(permit, queue, waits, signal, run)
                }
            }
            // Through `submit_with`, as by default: if that is given, it sees all submissions.
            given! { submit
                #[inline]
                fn submit(
                    &self, permit: $crate::Permit<Self>, queue: $crate::QueueId, lists: &[&Self::List],
                    waits: &[$crate::QueueSerial], signal: u64,
                ) -> Result<(), $crate::DeviceError> {
                    self.submit_with(permit, queue, lists, $crate::SubmitSync::new(waits, signal))
                }
            }
            $crate::forward_device! { @methods
                destroy_list([permit] list: Self::List = list.into_inner());
                submit_with(
                    [permit] queue: $crate::QueueId, lists: &[&Self::List] = &$crate::Inward::all(lists, |list| list.inner()),
                    sync: $crate::SubmitSync<'_, Self> = $crate::Inward::sync(sync)
                ) -> Result<(), $crate::DeviceError>;
                completed(queue: $crate::QueueId) -> Result<u64, $crate::DeviceError>;
                wait(target: $crate::QueueSerial, timeout: core::time::Duration) -> Result<bool, $crate::DeviceError>;
            }
        }

        impl $($generics)* $crate::Device for $device {
            $crate::forward_device! { @methods
                properties() -> &$crate::Properties;
                single_manager() -> &$crate::SingleManager;
                set_name([permit] object: $crate::ObjectRef<'_, Self> = $crate::Inward::object(object), name: &str);
                status() -> Result<(), $crate::DeviceError>;
                device_faults() -> Vec<$crate::DeviceFault>;
                marker(word: u32) -> u32;
            }
        }
    };
}

/// A constant for each name that may be given to [`forward_device!`](crate::forward_device): others are not found.
#[allow(missing_docs, non_upper_case_globals)]
#[doc(hidden)]
pub mod contract_names {
    macro_rules! names {
        ($($name:ident)*) => { $(pub const $name: () = ();)* };
    }

    names! {
        Inner inner permit heap resource
        Heap Resource Mapping requirements supports_format generates_mips create_heap destroy_heap create_committed create_placed destroy_resource
        map texture_write_states write_texture gpu_address name_range budget
        create_committed_with_priority make_resident evict set_priority budget_changed take_trim_request reserve
        create_reserved tile_layout update_tiles
        AccelerationStructure create_acceleration_structure destroy_acceleration_structure acceleration_structure_address
        DescriptorHeap create_descriptor_heap destroy_descriptor_heap write_descriptor fill_descriptors clear_descriptors
        SetLayout SetPool create_set_layout destroy_set_layout create_set_pool destroy_set_pool write_set clear_set
        QueryHeap create_query_heap destroy_query_heap
        ExternalPoint create_list destroy_list submit_with submit submit_external completed wait
        properties single_manager set_name status device_faults marker
    }
}
