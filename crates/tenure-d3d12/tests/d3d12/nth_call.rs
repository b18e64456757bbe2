//! Frames in which each call of the runtime that can fail fails once.
//!
//! Functions are put into the tables of the runtime's interfaces, as [`interposed`](crate::interposed) does.
//! They count the calls of threads that enable this, and refuse one of them.

use core::ffi::c_void;
use std::cell::Cell;
use std::sync::OnceLock;

use conformance::{Harness as _, refusal};
use tenure_core::device::prelude::*;
use tenure_core::{Config, Gpu, QueueId};
use tenure_d3d12::DeviceConfig;
use tenure_d3d12::windows::Win32::Foundation::{E_OUTOFMEMORY, HANDLE};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_LIST_TYPE, D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_FENCE_FLAG_NONE, ID3D12CommandAllocator,
    ID3D12CommandAllocator_Vtbl, ID3D12CommandQueue_Vtbl, ID3D12Device_Vtbl, ID3D12Device3,
    ID3D12Device3_Vtbl, ID3D12Device10, ID3D12Device10_Vtbl, ID3D12Fence, ID3D12Fence_Vtbl,
    ID3D12GraphicsCommandList, ID3D12GraphicsCommandList_Vtbl, ID3D12Resource_Vtbl,
};
use tenure_d3d12::windows::core::{GUID, HRESULT, Interface};

use crate::bench::{UPLOAD, buffer};
use crate::harness::{D3d12, PERMIT};
use crate::interposed::{PUTTING, put};

type This = *mut c_void;
/// A pointer to an argument or a result, which is passed on.
type Any = *mut c_void;

thread_local! {
    /// The number of calls of this thread before the refused one, and its error.
    static REFUSED: Cell<Option<(u32, HRESULT)>> = const { Cell::new(None) };
}

/// Counts a call; returns the error if it is refused.
fn count() -> Option<HRESULT> {
    let (left, answer) = REFUSED.get()?;
    REFUSED.set(left.checked_sub(1).map(|left| (left, answer)));
    (left == 0).then_some(answer)
}

/// Functions that may refuse a call, and the runtime's own.
macro_rules! functions {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        #[derive(Default)]
        struct Real {
            $($name: OnceLock<unsafe extern "system" fn(This, $($kind),*) -> HRESULT>,)*
        }

        static REAL: Real = Real { $($name: OnceLock::new(),)* };

        $(
            unsafe extern "system" fn $name(this: This, $($argument: $kind),*) -> HRESULT {
                if let Some(refused) = count() {
                    return refused;
                }
                let real = REAL.$name.get().expect("the function is in place");
                // SAFETY: as the caller has it.
                unsafe { real(this, $($argument),*) }
            }
        )*
    };
}

functions! {
    create_heap(desc: Any, id: *const GUID, out: *mut This);
    create_committed(memory: Any, flags: i32, desc: Any, state: i32, clear: Any, id: *const GUID, out: *mut This);
    create_placed(heap: This, at: u64, desc: Any, state: i32, clear: Any, id: *const GUID, out: *mut This);
    create_committed_3(
        memory: Any, flags: i32, desc: Any, layout: i32, clear: Any, session: This, formats: u32, list: Any,
        id: *const GUID, out: *mut This
    );
    create_placed_2(
        heap: This, at: u64, desc: Any, layout: i32, clear: Any, formats: u32, list: Any, id: *const GUID,
        out: *mut This
    );
    create_descriptor_heap(desc: Any, id: *const GUID, out: *mut This);
    create_allocator(kind: D3D12_COMMAND_LIST_TYPE, id: *const GUID, out: *mut This);
    create_list(
        node: u32, kind: D3D12_COMMAND_LIST_TYPE, allocator: This, pipeline: This, id: *const GUID, out: *mut This
    );
    create_query_heap(desc: Any, id: *const GUID, out: *mut This);
    create_fence(value: u64, flags: i32, id: *const GUID, out: *mut This);
    make_resident(objects: u32, list: *const This);
    enqueue_make_resident(flags: i32, objects: u32, list: *const This, fence: This, value: u64);
    evict(objects: u32, list: *const This);
    wait(fence: This, value: u64);
    close();
    reset_list(allocator: This, pipeline: This);
    reset_allocator();
    map(part: u32, read: Any, out: *mut Any);
    set_event(value: u64, event: HANDLE);
}

/// Puts one of the functions above into the place of one of an interface's table.
macro_rules! interpose {
    ($table:expr, $type:ty, { $($function:ident => $ours:ident),* $(,)? }) => {
        let table: *const $type = $table;
        $({
            // SAFETY: the table of a live interface; the types differ in names alone. The runtime's own function is known
            // before the first call may come.
            unsafe {
                let place = (&raw const (*table).$function).cast();
                REAL.$ours.get_or_init(|| *place);
                put(place, $ours);
            }
        })*
    };
}

/// Puts the functions into the tables of all that a device makes, once.
fn interpose_on(d3d12: &D3d12) {
    static PUT: OnceLock<()> = OnceLock::new();
    PUT.get_or_init(|| {
        let device = d3d12.device.raw();
        // SAFETY: takes no pointers.
        let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.unwrap();
        // SAFETY: the allocator is alive and of this device.
        let (allocator, list) = unsafe {
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT).unwrap();
            let list: ID3D12GraphicsCommandList =
                device.CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, &allocator, None).unwrap();
            (allocator, list)
        };
        let resource =
            d3d12.device.create_committed(&buffer(256, tenure_core::Usage::COPY_SRC), UPLOAD).unwrap();
        let _putting = PUTTING.lock().unwrap();
        interpose!(Interface::vtable(device), ID3D12Device_Vtbl, {
            CreateHeap => create_heap,
            CreateCommittedResource => create_committed,
            CreatePlacedResource => create_placed,
            CreateDescriptorHeap => create_descriptor_heap,
            CreateCommandAllocator => create_allocator,
            CreateCommandList => create_list,
            CreateQueryHeap => create_query_heap,
            CreateFence => create_fence,
            MakeResident => make_resident,
            Evict => evict,
        });
        if let Ok(three) = device.cast::<ID3D12Device3>() {
            interpose!(Interface::vtable(&three), ID3D12Device3_Vtbl, {
                EnqueueMakeResident => enqueue_make_resident,
            });
        }
        if let Ok(ten) = device.cast::<ID3D12Device10>() {
            interpose!(Interface::vtable(&ten), ID3D12Device10_Vtbl, {
                CreateCommittedResource3 => create_committed_3,
                CreatePlacedResource2 => create_placed_2,
            });
        }
        let queue = d3d12.device.queue(QueueId(0)).unwrap();
        interpose!(Interface::vtable(queue), ID3D12CommandQueue_Vtbl, { Wait => wait });
        interpose!(Interface::vtable(&list), ID3D12GraphicsCommandList_Vtbl, {
            Close => close,
            Reset => reset_list,
        });
        interpose!(Interface::vtable(&allocator), ID3D12CommandAllocator_Vtbl, { Reset => reset_allocator });
        interpose!(Interface::vtable(resource.raw()), ID3D12Resource_Vtbl, { Map => map });
        interpose!(Interface::vtable(&fence), ID3D12Fence_Vtbl, { SetEventOnCompletion => set_event });
        d3d12.device.destroy_resource(PERMIT, resource);
    });
}

/// The exception is `ID3D12CommandQueue::Signal`: without it the end of earlier submissions is unknown, so the
/// device counts as lost.
#[test]
fn each_call_may_be_refused_once() {
    // All tests share one device: creating one takes a second, and each manager leaves it unchanged.
    let d3d12 = D3d12::new(DeviceConfig::default());
    interpose_on(&d3d12);
    for nth in 0.. {
        let gpu = Gpu::new(d3d12.device.clone(), Config::default()).unwrap();
        let mut is_struck = false;
        let refuse = || REFUSED.set(Some((nth, E_OUTOFMEMORY)));
        let refused = refusal::run(&gpu, refuse, || is_struck = REFUSED.take().is_none());
        if let Some(error) = &refused {
            assert!(is_struck, "call {nth}: {error}, and no call was refused");
        }
        let report = gpu.shutdown();
        assert!(report.is_clean(), "call {nth}, {refused:?}: {report:?}");
        drop(gpu);
        let problems = d3d12.problems();
        assert!(problems.is_empty(), "call {nth}, {refused:?}: {}", problems.join("\n"));
        if !is_struck {
            assert!(nth > 30, "{nth} calls");
            return;
        }
    }
}
