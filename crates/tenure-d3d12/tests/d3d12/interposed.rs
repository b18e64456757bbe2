//! Functions between tenure and the runtime, which note calls about residency and may answer in its
//! place. They are put into the tables of the runtime's interfaces once and stay; calls on objects that
//! no [`Spy`] watches are passed on untouched.

use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use tenure_core::QueueId;
use tenure_d3d12::Device;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_RESIDENCY_FLAGS, D3D12_RESIDENCY_PRIORITY, ID3D12CommandQueue, ID3D12CommandQueue_Vtbl,
    ID3D12Device, ID3D12Device_Vtbl, ID3D12Device1, ID3D12Device1_Vtbl, ID3D12Device3, ID3D12Device3_Vtbl,
    ID3D12Fence,
};
use tenure_d3d12::windows::core::{HRESULT, Interface};

type This = *mut c_void;
type Enqueue = unsafe extern "system" fn(This, D3D12_RESIDENCY_FLAGS, u32, *const This, This, u64) -> HRESULT;
type Evict = unsafe extern "system" fn(This, u32, *const This) -> HRESULT;
type Prioritize =
    unsafe extern "system" fn(This, u32, *const This, *const D3D12_RESIDENCY_PRIORITY) -> HRESULT;
type Wait = unsafe extern "system" fn(This, This, u64) -> HRESULT;
type Execute = unsafe extern "system" fn(This, u32, *const This);

/// A call, with the addresses of the objects it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The flags, the objects and the value of the fence for paging.
    Enqueue(i32, Vec<usize>, u64),
    Evict(Vec<usize>),
    Priority(usize, u32),
    /// A queue waits for that value of the fence for paging.
    WaitsForPaging(u64),
    /// A queue waits for another fence.
    Waits,
    Executes(u32),
}

#[derive(Default)]
struct Watched {
    calls: Vec<Call>,
    /// What is enqueued is answered here, and its fence is not signalled.
    is_held: bool,
    /// What the next call about residency answers in the runtime's place.
    failure: Option<HRESULT>,
    /// The fence for paging, once it was seen.
    fence: Option<ID3D12Fence>,
}

static WATCHED: LazyLock<Mutex<HashMap<usize, Arc<Mutex<Watched>>>>> = LazyLock::new(Mutex::default);

/// The runtime's own functions.
struct Real {
    enqueue: Enqueue,
    evict: Evict,
    prioritize: Prioritize,
    wait: Wait,
    execute: Execute,
}

static REAL: OnceLock<Real> = OnceLock::new();

fn real() -> &'static Real {
    REAL.get().expect("the functions are in place")
}

/// Notes a call and says what it is to answer, if not what the runtime does.
fn note(this: This, call: impl FnOnce(&mut Watched) -> Call) -> Option<HRESULT> {
    let watched = WATCHED.lock().unwrap().get(&this.addr()).cloned()?;
    let mut watched = watched.lock().unwrap();
    let call = call(&mut watched);
    let is_asked = matches!(call, Call::Enqueue(..) | Call::Evict(_));
    let is_held = watched.is_held && matches!(call, Call::Enqueue(..));
    watched.calls.push(call);
    watched.failure.take_if(|_| is_asked).or_else(|| is_held.then_some(HRESULT(0)))
}

/// # Safety
/// There are so many objects.
unsafe fn addresses(count: u32, objects: *const This) -> Vec<usize> {
    // SAFETY: says the caller.
    let objects = unsafe { core::slice::from_raw_parts(objects, count as usize) };
    objects.iter().map(|object| object.addr()).collect()
}

unsafe extern "system" fn enqueue(
    this: This,
    flags: D3D12_RESIDENCY_FLAGS,
    count: u32,
    objects: *const This,
    fence: This,
    value: u64,
) -> HRESULT {
    // SAFETY: as the API has it.
    let answer = note(this, |watched| unsafe {
        watched.fence = ID3D12Fence::from_raw_borrowed(&fence).cloned();
        Call::Enqueue(flags.0, addresses(count, objects), value)
    });
    // SAFETY: as the caller has it.
    answer.unwrap_or_else(|| unsafe { (real().enqueue)(this, flags, count, objects, fence, value) })
}

unsafe extern "system" fn evict(this: This, count: u32, objects: *const This) -> HRESULT {
    // SAFETY: as the API has it.
    let answer = note(this, |_| Call::Evict(unsafe { addresses(count, objects) }));
    // SAFETY: as the caller has it.
    answer.unwrap_or_else(|| unsafe { (real().evict)(this, count, objects) })
}

unsafe extern "system" fn prioritize(
    this: This,
    count: u32,
    objects: *const This,
    priorities: *const D3D12_RESIDENCY_PRIORITY,
) -> HRESULT {
    // SAFETY: there is at least one of both.
    note(this, |_| unsafe { Call::Priority((*objects).addr(), (*priorities).0.cast_unsigned()) });
    // SAFETY: as the caller has it.
    unsafe { (real().prioritize)(this, count, objects, priorities) }
}

unsafe extern "system" fn wait(this: This, fence: This, value: u64) -> HRESULT {
    note(this, |watched| {
        let is_paging = watched.fence.as_ref().is_some_and(|paging| paging.as_raw() == fence);
        if is_paging { Call::WaitsForPaging(value) } else { Call::Waits }
    });
    // SAFETY: as the caller has it.
    unsafe { (real().wait)(this, fence, value) }
}

unsafe extern "system" fn execute(this: This, count: u32, lists: *const This) {
    note(this, |_| Call::Executes(count));
    // SAFETY: as the caller has it.
    unsafe { (real().execute)(this, count, lists) }
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn VirtualProtect(address: *mut c_void, size: usize, protection: u32, old: *mut u32) -> i32;
}

const PAGE_READWRITE: u32 = 4;

/// Puts `ours` in the place of a function of a table, and returns what was there.
///
/// # Safety
/// `place` is in a table of functions of that type.
unsafe fn put<F: Copy>(place: *const F, ours: F) -> F {
    let (place, mut old) = (place.cast_mut(), 0);
    // SAFETY: the table is memory of the runtime's; an aligned pointer is written at once.
    unsafe {
        assert_ne!(VirtualProtect(place.cast(), size_of::<F>(), PAGE_READWRITE, &raw mut old), 0);
        place.replace(ours)
    }
}

/// Interposes on the tables of a device and its queues, once.
fn interpose(device: &ID3D12Device, queue: &ID3D12CommandQueue) {
    static PUT: OnceLock<()> = OnceLock::new();
    PUT.get_or_init(|| {
        let one: ID3D12Device1 = device.cast().unwrap();
        let three: ID3D12Device3 = device.cast().unwrap();
        let base: *const ID3D12Device_Vtbl = Interface::vtable(device);
        let one: *const ID3D12Device1_Vtbl = Interface::vtable(&one);
        let three: *const ID3D12Device3_Vtbl = Interface::vtable(&three);
        let queue: *const ID3D12CommandQueue_Vtbl = Interface::vtable(queue);
        // SAFETY: tables of live interfaces, with the functions that their names say. The originals are
        // known before the first call may come.
        unsafe {
            REAL.get_or_init(|| Real {
                enqueue: (*three).EnqueueMakeResident,
                evict: (*base).Evict,
                prioritize: (*one).SetResidencyPriority,
                wait: (*queue).Wait,
                execute: (*queue).ExecuteCommandLists,
            });
            put(&raw const (*three).EnqueueMakeResident, enqueue as Enqueue);
            put(&raw const (*base).Evict, evict as Evict);
            put(&raw const (*one).SetResidencyPriority, prioritize as Prioritize);
            put(&raw const (*queue).Wait, wait as Wait);
            put(&raw const (*queue).ExecuteCommandLists, execute as Execute);
        }
    });
}

/// Watches a device and its queues.
pub(crate) struct Spy {
    watched: Arc<Mutex<Watched>>,
    objects: Vec<usize>,
}

impl Spy {
    pub(crate) fn on(device: &Device) -> Self {
        let raw = device.raw();
        let queues: Vec<_> = (0..).map_while(|id| device.queue(QueueId(id))).collect();
        interpose(raw, queues[0]);
        let (one, three): (ID3D12Device1, ID3D12Device3) = (raw.cast().unwrap(), raw.cast().unwrap());
        let mut objects = vec![raw.as_raw().addr(), one.as_raw().addr(), three.as_raw().addr()];
        objects.extend(queues.iter().map(|queue| queue.as_raw().addr()));
        let watched = Arc::<Mutex<Watched>>::default();
        let mut all = WATCHED.lock().unwrap();
        all.extend(objects.iter().map(|object| (*object, watched.clone())));
        drop(all);
        Self { watched, objects }
    }

    /// The calls since this was last asked.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.watched.lock().unwrap().calls)
    }

    /// What is made resident from now on never comes by itself.
    pub(crate) fn hold(&self) {
        self.watched.lock().unwrap().is_held = true;
    }

    /// The fence for paging reaches a value.
    pub(crate) fn reach(&self, value: u64) {
        let fence = self.watched.lock().unwrap().fence.clone().unwrap();
        // SAFETY: the fence is alive.
        unsafe { fence.Signal(value) }.unwrap();
    }

    /// The next `EnqueueMakeResident` or `Evict` fails.
    pub(crate) fn fail(&self, failure: HRESULT) {
        self.watched.lock().unwrap().failure = Some(failure);
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        let mut all = WATCHED.lock().unwrap();
        self.objects.iter().for_each(|object| drop(all.remove(object)));
    }
}
