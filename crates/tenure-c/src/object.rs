//! The objects behind the handles, and the functions for handles of any type.

use std::fs::File;

use ash::vk::Handle as _;
use tenure_core::device::Device;
use tenure_core::{Commands, Graph, Name};
#[cfg(windows)]
use tenure_d3d12::windows::core::Interface as _;
use tenure_trace::{TraceError, TraceRecorder};
use tenure_vulkan::ash;

use crate::call::{call, call_to_release};
use crate::callback::{Destroy, release, settle_all};
use crate::heap_pools::HeapPools;
use crate::held::{BufferOf, RecordingOf, TextureOf};
use crate::pointer::Out;
use crate::present::{Presented, SwapchainOf};
use crate::query_types::QueryOf;
use crate::release_queue::ReleaseQueue;
use crate::slot::{AnyHandle, Handle, Object, Slots, TYPES};
use crate::suballocator::Suballocator;
use crate::types::*;

/// An object on one of the backends.
#[cfg(not(windows))]
pub(crate) enum On<S, V> {
    Sim(S),
    Vulkan(V),
}

/// An object on one of the backends.
#[cfg(windows)]
pub(crate) enum On<S, V, D> {
    Sim(S),
    Vulkan(V),
    D3d12(D),
}

type Sim = tenure_sim::Device;
type Vulkan = tenure_vulkan::Device;
#[cfg(windows)]
type D3d12 = tenure_d3d12::Device;

/// `$Object<Device>` on one of the backends.
#[cfg(not(windows))]
macro_rules! on_backends {
    ($($Object:ident)::+ $(, $Part:ty)?) => {
        On<$($Object)::+<Sim $(, $Part)?>, $($Object)::+<Vulkan $(, $Part)?>>
    };
}

/// `$Object<Device>` on one of the backends.
#[cfg(windows)]
macro_rules! on_backends {
    ($($Object:ident)::+ $(, $Part:ty)?) => {
        On<$($Object)::+<Sim $(, $Part)?>, $($Object)::+<Vulkan $(, $Part)?>, $($Object)::+<D3d12 $(, $Part)?>>
    };
}

macro_rules! slots {
    ($($Type:ident: $kind:literal;)*) => {$(
        impl Object for $Type {
            const KIND: u32 = $kind;
            const TYPE: &'static str = TYPES[$kind];

            fn slots() -> &'static Slots<Self> {
                static SLOTS: Slots<$Type> = Slots::new();
                &SLOTS
            }
        }
    )*};
}

macro_rules! objects {
    ($($(#[$doc:meta])* $Type:ident = $Rust:ident, $kind:literal;)*) => {
        $(
            $(#[$doc])*
            pub(crate) type $Type = on_backends!(tenure_core::$Rust);

            slots! { $Type: $kind; }
        )*
    };
}

objects! {
    /// `tn_Gpu`
    Gpu = Gpu, 2;
    /// `tn_View`
    View = View, 5;
    /// `tn_Frame`
    Frame = Frame, 6;
    /// `tn_Readback`
    Readback = Readback, 8;
    /// `tn_Sampler`
    Sampler = Sampler, 12;
    /// `tn_SetLayout`
    SetLayout = SetLayout, 13;
    /// `tn_DescriptorTable`
    DescriptorTable = DescriptorTable, 14;
    /// `tn_UploadRing`
    UploadRing = UploadRing, 23;
    /// `tn_AccelerationStructure`
    AccelerationStructure = AccelerationStructure, 24;
    /// `tn_Reserved`
    Reserved = Reserved, 25;
    /// `tn_Pages`
    Pages = PageAllocator, 26;
    /// `tn_DescriptorSet`
    DescriptorSet = DescriptorSet, 15;
}

/// Itself, so that a device is an object of a device.
type Itself<D> = D;

/// `tn_Buffer`
pub(crate) type Buffer = on_backends!(BufferOf);
/// `tn_Texture`
pub(crate) type Texture = on_backends!(TextureOf);
/// `tn_Recording`
pub(crate) type Recording = on_backends!(RecordingOf);
/// `tn_Query`
pub(crate) type Query = on_backends!(QueryOf);
/// `tn_Swapchain`
pub(crate) type Swapchain = on_backends!(SwapchainOf);
/// `tn_Device`
pub(crate) type DeviceObject = on_backends!(Itself);
/// `tn_Deferred`
pub(crate) type Deferred = on_backends!(tenure_core::Deferred, Destroy);
/// `tn_Upload`
pub(crate) type Upload = tenure_core::Upload;

/// `tn_Text`
pub(crate) struct OwnedText(pub(crate) String);

/// `tn_Recorder`
pub(crate) struct Recorder(Option<TraceRecorder<File>>);

impl Recorder {
    pub(crate) fn new(recorder: TraceRecorder<File>) -> Self {
        Self(Some(recorder))
    }

    /// Completes the file, once.
    pub(crate) fn finish(&mut self) -> Result<(), TraceError> {
        self.0.take().map_or(Ok(()), |recorder| recorder.finish().map(drop))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::warn!(target: "tenure", %error, "the recording is not complete");
        }
    }
}

slots! {
    DeviceObject: 1;
    Buffer: 3;
    Texture: 4;
    Recording: 7;
    Deferred: 9;
    Upload: 10;
    OwnedText: 11;
    Graph: 20;
    Swapchain: 21;
    Query: 22;
    Suballocator: 30;
    HeapPools: 31;
    ReleaseQueue: 32;
    Recorder: 33;
}

/// A value on the backend of an object, or of several, which must be on the same one.
macro_rules! on {
    (($($object:expr),+), ($($name:ident),+) => $value:expr) => {
        match ($($object),+) {
            ($($crate::object::On::Sim($name)),+) => $value,
            ($($crate::object::On::Vulkan($name)),+) => $value,
            #[cfg(windows)]
            ($($crate::object::On::D3d12($name)),+) => $value,
            _ => return Err($crate::types::Failure::foreign()),
        }
    };
    ($object:expr, $name:ident => $value:expr) => {
        match $object {
            $crate::object::On::Sim($name) => $value,
            $crate::object::On::Vulkan($name) => $value,
            #[cfg(windows)]
            $crate::object::On::D3d12($name) => $value,
        }
    };
}

/// An object on the backend of another one, or of several, which must be on the same one; or its handle, `in` a slot. Or a value
/// that is made with `$wrap`, which puts an object on that backend.
macro_rules! on_same {
    (($($object:expr),+), ($($name:ident),+) => $value:expr) => {
        match ($($object),+) {
            ($($crate::object::On::Sim($name)),+) => $crate::object::On::Sim($value),
            ($($crate::object::On::Vulkan($name)),+) => $crate::object::On::Vulkan($value),
            #[cfg(windows)]
            ($($crate::object::On::D3d12($name)),+) => $crate::object::On::D3d12($value),
            _ => return Err($crate::types::Failure::foreign()),
        }
    };
    ($object:expr, $name:ident => $value:expr) => {
        match $object {
            $crate::object::On::Sim($name) => $crate::object::On::Sim($value),
            $crate::object::On::Vulkan($name) => $crate::object::On::Vulkan($value),
            #[cfg(windows)]
            $crate::object::On::D3d12($name) => $crate::object::On::D3d12($value),
        }
    };
    ($object:expr, $name:ident, $wrap:ident => $value:expr) => {
        match $object {
            $crate::object::On::Sim($name) => {
                let $wrap = $crate::object::On::Sim;
                $value
            }
            $crate::object::On::Vulkan($name) => {
                let $wrap = $crate::object::On::Vulkan;
                $value
            }
            #[cfg(windows)]
            $crate::object::On::D3d12($name) => {
                let $wrap = $crate::object::On::D3d12;
                $value
            }
        }
    };
    ($object:expr, $name:ident => $made:expr, $of:path, in $slot:expr) => {
        match $object {
            $crate::object::On::Sim($name) => {
                $slot.fill_with($made, |made| $crate::object::On::Sim($of(made)))
            }
            $crate::object::On::Vulkan($name) => {
                $slot.fill_with($made, |made| $crate::object::On::Vulkan($of(made)))
            }
            #[cfg(windows)]
            $crate::object::On::D3d12($name) => {
                $slot.fill_with($made, |made| $crate::object::On::D3d12($of(made)))
            }
        }
    };
}

pub(crate) use {on, on_same};

/// The handles of the graphics API.
pub(crate) trait ApiHandles: Device {
    fn resource(resource: &Self::Resource) -> tn_Native;
    fn list(commands: &mut Commands<Self>) -> tn_Native;
    fn queue(queue: Self::NativeQueue<'_>) -> tn_Native;
    /// Object, offset and size of a view, by its descriptor in a heap that is not shader-visible.
    fn view(heap: &Self::DescriptorHeap, index: u32) -> (tn_Native, u64, u64);
    fn sampler(sampler: &tenure_core::Sampler<Self>) -> tn_Place;
    /// Without an object of its own, the buffer.
    fn structure(structure: &tenure_core::AccelerationStructure<Self>) -> tn_Native {
        Self::resource(structure.raw_buffer())
    }
    fn set_layout(layout: &Self::SetLayout) -> tn_Native;
    /// Descriptors of a shader-visible heap.
    fn descriptors(heap: &Self::DescriptorHeap, first: u32, count: u32) -> tn_Place;
    fn set(pool: &Self::SetPool, index: u32) -> tn_Place;
}

impl ApiHandles for Sim {
    fn resource(resource: &Self::Resource) -> tn_Native {
        resource.number()
    }

    fn list(commands: &mut Commands<Self>) -> tn_Native {
        let _barriers = commands.raw();
        commands.id().get()
    }

    fn queue(queue: Self::NativeQueue<'_>) -> tn_Native {
        queue.id().index() as u64
    }

    fn view(_: &Self::DescriptorHeap, index: u32) -> (tn_Native, u64, u64) {
        (0, u64::from(index), 0)
    }

    fn sampler(sampler: &tenure_core::Sampler<Self>) -> tn_Place {
        tn_Place { offset: sampler.index().into(), ..tn_Place::NONE }
    }

    fn set_layout(_: &Self::SetLayout) -> tn_Native {
        0
    }

    fn descriptors(_: &Self::DescriptorHeap, first: u32, count: u32) -> tn_Place {
        tn_Place { offset: first.into(), size: count.into(), ..tn_Place::NONE }
    }

    fn set(_: &Self::SetPool, index: u32) -> tn_Place {
        tn_Place { offset: index.into(), ..tn_Place::NONE }
    }
}

impl ApiHandles for Vulkan {
    fn resource(resource: &Self::Resource) -> tn_Native {
        let buffer = resource.buffer().map(ash::vk::Handle::as_raw);
        buffer.or_else(|| resource.image().map(ash::vk::Handle::as_raw)).unwrap_or(0)
    }

    fn list(commands: &mut Commands<Self>) -> tn_Native {
        commands.raw().command_buffer().as_raw()
    }

    fn queue(queue: Self::NativeQueue<'_>) -> tn_Native {
        queue.as_raw()
    }

    fn view(heap: &Self::DescriptorHeap, index: u32) -> (tn_Native, u64, u64) {
        let image = heap.image_view(index).map(ash::vk::Handle::as_raw);
        match image.or_else(|| heap.buffer_view(index).map(ash::vk::Handle::as_raw)) {
            Some(object) => (object, 0, 0),
            None => {
                let bytes = heap.buffer(index).unwrap_or_default();
                (bytes.buffer.as_raw(), bytes.offset, bytes.range)
            }
        }
    }

    fn sampler(sampler: &tenure_core::Sampler<Self>) -> tn_Place {
        tn_Place { object: tenure_vulkan::RawHandle::raw(sampler).as_raw(), ..tn_Place::NONE }
    }

    fn structure(structure: &tenure_core::AccelerationStructure<Self>) -> tn_Native {
        structure.raw().raw().as_raw()
    }

    fn set_layout(layout: &Self::SetLayout) -> tn_Native {
        layout.raw().as_raw()
    }

    fn descriptors(heap: &Self::DescriptorHeap, first: u32, count: u32) -> tn_Place {
        let object = heap.set().map_or(0, ash::vk::Handle::as_raw);
        tn_Place { object, offset: first.into(), size: count.into(), ..tn_Place::NONE }
    }

    fn set(pool: &Self::SetPool, index: u32) -> tn_Place {
        tn_Place { object: pool.set(index).map_or(0, ash::vk::Handle::as_raw), ..tn_Place::NONE }
    }
}

#[cfg(windows)]
impl ApiHandles for D3d12 {
    fn resource(resource: &Self::Resource) -> tn_Native {
        resource.raw().as_raw().addr() as u64
    }

    fn list(commands: &mut Commands<Self>) -> tn_Native {
        commands.raw().raw().as_raw().addr() as u64
    }

    fn queue(queue: Self::NativeQueue<'_>) -> tn_Native {
        queue.as_raw().addr() as u64
    }

    fn view(heap: &Self::DescriptorHeap, index: u32) -> (tn_Native, u64, u64) {
        (heap.cpu_handle(index).map_or(0, |handle| handle.ptr as u64), 0, 0)
    }

    fn sampler(sampler: &tenure_core::Sampler<Self>) -> tn_Place {
        tn_Place { object: tenure_d3d12::RawHandle::raw(sampler).ptr as u64, ..tn_Place::NONE }
    }

    fn set_layout(layout: &Self::SetLayout) -> tn_Native {
        match *layout {}
    }

    fn descriptors(heap: &Self::DescriptorHeap, first: u32, count: u32) -> tn_Place {
        tn_Place {
            object: heap.raw().as_raw().addr() as u64,
            offset: first.into(),
            size: count.into(),
            gpu_address: heap.gpu_handle(first).map_or(0, |handle| handle.ptr),
            ..tn_Place::NONE
        }
    }

    fn set(pool: &Self::SetPool, _: u32) -> tn_Place {
        match *pool {}
    }
}

/// Objects of a device as the objects behind handles.
pub(crate) trait Backend: ApiHandles + Presented {
    fn buffer(buffer: BufferOf<Self>) -> Buffer;
    fn texture(texture: TextureOf<Self>) -> Texture;
    fn view_object(view: tenure_core::View<Self>) -> View;
    fn recording(recording: RecordingOf<Self>) -> Recording;
    /// The recording of this backend.
    fn recording_of(recording: &Recording) -> Result<&RecordingOf<Self>, Failure>;
    /// As [`recording_of`](Self::recording_of), with ownership.
    fn own_recording(recording: Recording) -> Result<RecordingOf<Self>, Failure>;
    /// The view and the sampler of this backend.
    fn view_of(view: &View) -> Result<&tenure_core::View<Self>, Failure>;
    fn sampler_of(sampler: &Sampler) -> Result<&tenure_core::Sampler<Self>, Failure>;
    fn structure_of(
        structure: &AccelerationStructure,
    ) -> Result<&tenure_core::AccelerationStructure<Self>, Failure>;
}

macro_rules! backend {
    ($Device:ident: $On:ident) => {
        impl Backend for $Device {
            fn buffer(buffer: BufferOf<Self>) -> Buffer {
                On::$On(buffer)
            }

            fn texture(texture: TextureOf<Self>) -> Texture {
                On::$On(texture)
            }

            fn view_object(view: tenure_core::View<Self>) -> View {
                On::$On(view)
            }

            fn recording(recording: RecordingOf<Self>) -> Recording {
                On::$On(recording)
            }

            fn recording_of(recording: &Recording) -> Result<&RecordingOf<Self>, Failure> {
                if let On::$On(recording) = recording { Ok(recording) } else { Err(Failure::foreign()) }
            }

            fn own_recording(recording: Recording) -> Result<RecordingOf<Self>, Failure> {
                if let On::$On(recording) = recording { Ok(recording) } else { Err(Failure::foreign()) }
            }

            fn view_of(view: &View) -> Result<&tenure_core::View<Self>, Failure> {
                if let On::$On(view) = view { Ok(view) } else { Err(Failure::foreign()) }
            }

            fn structure_of(
                structure: &AccelerationStructure,
            ) -> Result<&tenure_core::AccelerationStructure<Self>, Failure> {
                if let On::$On(structure) = structure { Ok(structure) } else { Err(Failure::foreign()) }
            }

            fn sampler_of(sampler: &Sampler) -> Result<&tenure_core::Sampler<Self>, Failure> {
                if let On::$On(sampler) = sampler { Ok(sampler) } else { Err(Failure::foreign()) }
            }
        }
    };
}

backend!(Sim: Sim);
backend!(Vulkan: Vulkan);
#[cfg(windows)]
backend!(D3d12: D3d12);

impl tn_Place {
    pub(crate) const NONE: Self =
        Self { object: 0, offset: 0, size: 0, gpu_address: 0, mapped: std::ptr::null_mut() };
}

fn buffer_place<D: ApiHandles>(buffer: &tenure_core::Buffer<D>) -> tn_Place {
    tn_Place {
        object: D::resource(buffer.raw()),
        offset: buffer.offset(),
        size: buffer.size(),
        gpu_address: buffer.gpu_address().unwrap_or(0),
        mapped: buffer.mapped_ptr().map_or(std::ptr::null_mut(), |first| first.as_ptr().cast()),
    }
}

fn texture_place<D: ApiHandles>(texture: &tenure_core::Texture<D>) -> tn_Place {
    tn_Place { object: D::resource(texture.raw()), size: texture.size(), ..tn_Place::NONE }
}

fn reserved_place<D: ApiHandles>(reserved: &tenure_core::Reserved<D>) -> tn_Place {
    tn_Place {
        object: D::resource(reserved.raw()),
        size: reserved.size(),
        gpu_address: reserved.gpu_address().unwrap_or(0),
        ..tn_Place::NONE
    }
}

fn structure_place<D: ApiHandles>(structure: &tenure_core::AccelerationStructure<D>) -> tn_Place {
    tn_Place {
        object: D::structure(structure),
        offset: structure.offset(),
        size: structure.size(),
        gpu_address: structure.gpu_address(),
        ..tn_Place::NONE
    }
}

pub(crate) fn view_place<D: ApiHandles>(heap: &D::DescriptorHeap, index: u32) -> tn_Place {
    let (object, offset, size) = D::view(heap, index);
    tn_Place { object, offset, size, ..tn_Place::NONE }
}

fn place_of_view<D: ApiHandles>(view: &tenure_core::View<D>) -> tn_Place {
    view_place::<D>(view.heap(), view.index())
}

fn set_layout_place<D: ApiHandles>(layout: &tenure_core::SetLayout<D>) -> tn_Place {
    tn_Place { object: D::set_layout(layout.raw()), ..tn_Place::NONE }
}

fn table_place<D: ApiHandles>(table: &tenure_core::DescriptorTable<D>) -> tn_Place {
    D::descriptors(table.heap(), table.first(), table.len())
}

fn set_place<D: ApiHandles>(set: &tenure_core::DescriptorSet<D>) -> tn_Place {
    D::set(set.block(), set.index())
}

/// The place of constants, or of a buffer for a recording.
pub(crate) fn slice_place<D: ApiHandles>(slice: &tenure_core::BufferSlice<'_, D>) -> tn_Place {
    tn_Place {
        object: D::resource(slice.raw()),
        offset: slice.offset(),
        size: slice.size(),
        gpu_address: slice.gpu_address().unwrap_or(0),
        ..tn_Place::NONE
    }
}

/// Ends a handle of any type. Its object is destroyed once no open recording and no GPU work can use it; this function does not
/// wait, except for the last `tn_Gpu` of a manager and for a `tn_Swapchain`, which wait for the GPU for a bounded time. Null does
/// nothing. From any thread at any time; no other thread may use the same handle during or after the call. Inside of a callback the
/// object ends when the call around it is over. A recording that was not submitted is discarded, a frame ended.
///
/// Errors: `TN_ERROR_HANDLE` for a handle that was released before, `TN_ERROR_BUSY` for an object that another call uses alone,
/// `TN_ERROR_CALLBACK` for a `tn_Gpu` or `tn_Swapchain` inside of a callback.
#[unsafe(no_mangle)]
extern "C" fn tn_release(handle: AnyHandle) -> tn_Status {
    call_to_release(|| if handle.is_of::<Buffer>() { end::<Buffer>(handle) } else { release_other(handle) })
}

/// A separate function: the search for the kind would make each release of a buffer longer, the most frequent one.
#[inline(never)]
fn release_other(handle: AnyHandle) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    match handle.kind() {
        Gpu::KIND => release_gpu(handle),
        Texture::KIND => end::<Texture>(handle),
        View::KIND => end::<View>(handle),
        Frame::KIND => end::<Frame>(handle),
        Recording::KIND => end::<Recording>(handle),
        Readback::KIND => end::<Readback>(handle),
        DeviceObject::KIND => end::<DeviceObject>(handle),
        Deferred::KIND => end::<Deferred>(handle),
        Upload::KIND => end::<Upload>(handle),
        OwnedText::KIND => end::<OwnedText>(handle),
        Sampler::KIND => end::<Sampler>(handle),
        SetLayout::KIND => end::<SetLayout>(handle),
        DescriptorTable::KIND => end::<DescriptorTable>(handle),
        DescriptorSet::KIND => end::<DescriptorSet>(handle),
        Graph::KIND => end::<Graph>(handle),
        UploadRing::KIND => end::<UploadRing>(handle),
        AccelerationStructure::KIND => end::<AccelerationStructure>(handle),
        Reserved::KIND => end::<Reserved>(handle),
        Pages::KIND => end::<Pages>(handle),
        Query::KIND => end::<Query>(handle),
        Swapchain::KIND => release_swapchain(handle),
        Suballocator::KIND => end::<Suballocator>(handle),
        HeapPools::KIND => end::<HeapPools>(handle),
        ReleaseQueue::KIND => end::<ReleaseQueue>(handle),
        Recorder::KIND => end::<Recorder>(handle),
        _ => Err(handle.refused("this library")),
    }
}

#[inline]
fn end<T: Object>(handle: AnyHandle) -> Result<(), Failure> {
    // SAFETY: `release` keeps the object until the call around a callback is over, and the call around this uses no other.
    unsafe { handle.of::<T>().end() }.map(release)
}

/// The window or surface may end after this call, and a release inside of a callback would be later.
fn release_swapchain(handle: AnyHandle) -> Result<(), Failure> {
    let inside = crate::callback::inside();
    if !inside.is_free() {
        let text = format!("a tn_Swapchain must not be released inside {}", inside.name());
        return Err(Failure::new(TN_ERROR_CALLBACK, text));
    }
    // A lost device holds nothing. The next line checks the handle.
    let _unsettled = settle(handle.of());
    end::<Swapchain>(handle)
}

/// Drops what destroy functions release, before a release that waits until nothing holds the images: objects released by callbacks
/// otherwise end after the call.
fn settle(swapchain: Handle<Swapchain>) -> Result<(), Failure> {
    on!(&*swapchain.alone()?, swapchain => swapchain.reclaim())?;
    settle_all();
    Ok(())
}

fn release_gpu(handle: AnyHandle) -> Result<(), Failure> {
    let inside = crate::callback::inside();
    if inside != crate::callback::Inside::Nothing {
        let text =
            format!("a tn_Gpu must not be released inside {}: the call around it may use it", inside.name());
        return Err(Failure::new(TN_ERROR_CALLBACK, text));
    }
    end::<Gpu>(handle)
}

/// The name of a buffer, texture, view, readback, sampler, set layout, table, set, reserved resource or acceleration structure. Valid until its release; an empty text for
/// other handles. Equal samplers have the name of the first.
#[unsafe(no_mangle)]
extern "C" fn tn_name(handle: AnyHandle) -> tn_Str {
    let mut name = tn_Str::empty();
    let lent = |name: &Name| tn_Str::lent(name.as_str());
    call_to_release(|| {
        name = match handle.kind() {
            Buffer::KIND => on!(handle.of::<Buffer>().get()?, buffer => lent(buffer.name())),
            Texture::KIND => on!(handle.of::<Texture>().get()?, texture => lent(texture.name())),
            View::KIND => on!(handle.of::<View>().get()?, view => lent(view.name())),
            Readback::KIND => on!(handle.of::<Readback>().get()?, readback => lent(readback.name())),
            Sampler::KIND => on!(handle.of::<Sampler>().get()?, sampler => lent(sampler.name())),
            SetLayout::KIND => on!(handle.of::<SetLayout>().get()?, layout => lent(layout.name())),
            DescriptorTable::KIND => on!(handle.of::<DescriptorTable>().get()?, table => lent(table.name())),
            DescriptorSet::KIND => on!(handle.of::<DescriptorSet>().get()?, set => lent(set.name())),
            Reserved::KIND => on!(handle.of::<Reserved>().get()?, reserved => lent(reserved.name())),
            AccelerationStructure::KIND => {
                on!(handle.of::<AccelerationStructure>().get()?, structure => lent(structure.name()))
            }
            _ => return Err(handle.refused("an object with a name")),
        };
        Ok(())
    });
    name
}

/// The place of a buffer, texture, view, sampler, set layout, table, set, reserved resource or acceleration structure: object, offset, size and address in one call. It stays
/// until the release: a movable resource does not move any more. Of a view of a texture the object is the `VkImageView`; of texels in a buffer the `VkBufferView`; of other
/// bytes the `VkBuffer`, with offset and size; of any view and sampler on Direct3D 12 the CPU descriptor handle. Of a table the
/// offset is the index of its first descriptor, by which shaders find it, and the size the number of descriptors; the object is
/// the `VkDescriptorSet` to bind, or the `ID3D12DescriptorHeap*` with the GPU descriptor handle as address. The simulated device
/// has no objects for views, samplers, tables and sets: the offset is the index.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_HANDLE`.
#[unsafe(no_mangle)]
extern "C" fn tn_place(handle: AnyHandle, out: Out<tn_Place>) -> tn_Status {
    call(|| {
        out.check("a tn_Place")?;
        out.set(match handle.kind() {
            Buffer::KIND => on!(handle.of::<Buffer>().get()?, buffer => buffer_place(buffer)),
            Texture::KIND => on!(handle.of::<Texture>().get()?, texture => texture_place(texture)),
            View::KIND => {
                on!(handle.of::<View>().get()?, view => place_of_view(view))
            }
            Sampler::KIND => on!(handle.of::<Sampler>().get()?, sampler => ApiHandles::sampler(sampler)),
            SetLayout::KIND => on!(handle.of::<SetLayout>().get()?, layout => set_layout_place(layout)),
            DescriptorTable::KIND => {
                on!(handle.of::<DescriptorTable>().get()?, table => table_place(table))
            }
            DescriptorSet::KIND => on!(handle.of::<DescriptorSet>().get()?, set => set_place(set)),
            Reserved::KIND => {
                on!(handle.of::<Reserved>().get()?, reserved => reserved_place(reserved))
            }
            AccelerationStructure::KIND => {
                on!(handle.of::<AccelerationStructure>().get()?, structure => structure_place(structure))
            }
            _ => return Err(handle.refused("an object with a place")),
        });
        Ok(())
    })
}
