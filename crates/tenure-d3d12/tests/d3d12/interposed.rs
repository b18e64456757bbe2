//! Functions between tenure and the runtime, which note calls about residency and may answer in its
//! place. They are put into the tables of the runtime's interfaces once and stay; calls on objects that
//! no [`Spy`] watches are passed on untouched.

use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use tenure_core::QueueId;
use tenure_d3d12::Device;
use tenure_d3d12::windows::Win32::Foundation::HANDLE;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_RESIDENCY_FLAGS, D3D12_RESIDENCY_PRIORITY, ID3D12CommandQueue, ID3D12CommandQueue_Vtbl,
    ID3D12Device, ID3D12Device_Vtbl, ID3D12Device1, ID3D12Device1_Vtbl, ID3D12Device3, ID3D12Device3_Vtbl,
    ID3D12Device14_Vtbl, ID3D12Fence,
};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::{
    DXGI_MEMORY_SEGMENT_GROUP, DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3, IDXGIAdapter3_Vtbl,
};
use tenure_d3d12::windows::Win32::System::Threading::SetEvent;
use tenure_d3d12::windows::core::{GUID, HRESULT, IUnknown_Vtbl, Interface};

type This = *mut c_void;
type Enqueue = unsafe extern "system" fn(This, D3D12_RESIDENCY_FLAGS, u32, *const This, This, u64) -> HRESULT;
type Evict = unsafe extern "system" fn(This, u32, *const This) -> HRESULT;
type Prioritize =
    unsafe extern "system" fn(This, u32, *const This, *const D3D12_RESIDENCY_PRIORITY) -> HRESULT;
type Wait = unsafe extern "system" fn(This, This, u64) -> HRESULT;
type Execute = unsafe extern "system" fn(This, u32, *const This);
type Query = unsafe extern "system" fn(This, *const GUID, *mut *mut c_void) -> HRESULT;
type Memory = unsafe extern "system" fn(
    This,
    u32,
    DXGI_MEMORY_SEGMENT_GROUP,
    *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
) -> HRESULT;
type Reserve = unsafe extern "system" fn(This, u32, DXGI_MEMORY_SEGMENT_GROUP, u64) -> HRESULT;
type Listen = unsafe extern "system" fn(This, HANDLE, *mut u32) -> HRESULT;
type Unlisten = unsafe extern "system" fn(This, u32);

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
    /// The segment and the bytes.
    Reserves(i32, u64),
    Listens,
    /// The cookie.
    Unlistens(u32),
    ListensForTrims,
    UnlistensForTrims(u32),
}

/// The results of registrations, by the adapter and by the device.
pub(crate) const BUDGET_COOKIE: u32 = 7;
pub(crate) const TRIM_COOKIE: u32 = 9;

#[derive(Default)]
struct Watched {
    calls: Vec<Call>,
    /// Enqueued calls return here, and their fence is not signalled.
    is_held: bool,
    /// The result of the next residency call, in place of the runtime's.
    failure: Option<HRESULT>,
    /// The fence for paging, once it was seen.
    fence: Option<ID3D12Fence>,
    /// The budget and the reservable bytes of each segment; empty for the adapter's own values.
    granted: Vec<(u64, u64)>,
    /// How often that was asked for.
    questions: u64,
    /// The address of the event for changes of the budget.
    event: usize,
    /// The device that reports trims.
    trims: Option<Box<Trims>>,
}

static WATCHED: LazyLock<Mutex<HashMap<usize, Arc<Mutex<Watched>>>>> = LazyLock::new(Mutex::default);

/// The runtime's own functions.
struct Real {
    enqueue: Enqueue,
    evict: Evict,
    prioritize: Prioritize,
    wait: Wait,
    execute: Execute,
    query: Query,
}

static REAL: OnceLock<Real> = OnceLock::new();

fn real() -> &'static Real {
    REAL.get().expect("the functions are in place")
}

/// Notes a call and returns its result; `None` for the runtime's result.
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
/// There are `count` objects.
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

/// Held while functions are written to tables: other tests may write to the same entries.
pub(crate) static PUTTING: Mutex<()> = Mutex::new(());

/// Replaces a function of a table by `ours`, and returns the old one.
///
/// # Safety
/// `place` is in a table of functions of that type.
pub(crate) unsafe fn put<F: Copy>(place: *const F, ours: F) -> F {
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
        let _putting = PUTTING.lock().unwrap();
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
                query: (*base.cast::<IUnknown_Vtbl>()).QueryInterface,
            });
            put(&raw const (*base.cast::<IUnknown_Vtbl>()).QueryInterface, query as Query);
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
        let mut spy = Self { watched: Arc::default(), objects: Vec::new() };
        spy.watch(device);
        spy
    }

    /// Watches a device, too.
    pub(crate) fn watch(&mut self, device: &Device) {
        let raw = device.raw();
        let queues: Vec<_> = (0..).map_while(|id| device.queue(QueueId(id))).collect();
        interpose(raw, queues[0]);
        let (one, three): (ID3D12Device1, ID3D12Device3) = (raw.cast().unwrap(), raw.cast().unwrap());
        let mut objects = vec![raw.as_raw().addr(), one.as_raw().addr(), three.as_raw().addr()];
        objects.extend(queues.iter().map(|queue| queue.as_raw().addr()));
        let mut all = WATCHED.lock().unwrap();
        all.extend(objects.iter().map(|object| (*object, self.watched.clone())));
        self.objects.extend(objects);
    }

    /// The calls since the last query.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.watched.lock().unwrap().calls)
    }

    /// Holds residency requests: they no longer complete automatically.
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

/// An `ID3D12Device15` with only the functions for trim callbacks.
#[repr(C)]
struct Trims {
    table: Box<[usize]>,
    /// The object: a pointer to its table.
    object: [usize; 2],
    registered: Option<(usize, usize)>,
}

/// `D3D12_REGISTER_TRIM_NOTIFICATION`.
#[repr(C)]
struct Registration {
    callback: usize,
    context: usize,
    cookie: u32,
}

/// `D3D12_TRIM_NOTIFICATION`.
#[repr(C)]
struct Notification {
    context: usize,
    flags: u32,
    bytes: u64,
}

const DEVICE15: GUID = GUID::from_u128(0x76cf_f76f_1e9b_4450_8cdc_34f1_af78_8e5b);

impl Trims {
    fn new() -> Box<Self> {
        const BASE: usize = size_of::<ID3D12Device14_Vtbl>() / size_of::<usize>();
        let mut table = vec![unknown as *const () as usize; BASE + 2].into_boxed_slice();
        table[1] = count as *const () as usize;
        table[2] = count as *const () as usize;
        table[BASE] = listen_for_trims as *const () as usize;
        table[BASE + 1] = unlisten_for_trims as *const () as usize;
        let mut trims = Box::new(Self { table, object: [0; 2], registered: None });
        trims.object[0] = trims.table.as_ptr().addr();
        trims
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(&self.object).expose_provenance();
        core::ptr::from_ref(&self.object).addr()
    }
}

unsafe extern "system" fn unknown() {
    std::process::abort();
}

/// It lives as long as the test.
unsafe extern "system" fn count(_: This) -> u32 {
    1
}

unsafe extern "system" fn listen_for_trims(this: This, data: *mut Registration) -> HRESULT {
    let watched = WATCHED.lock().unwrap().get(&this.addr()).cloned().unwrap();
    let mut watched = watched.lock().unwrap();
    watched.calls.push(Call::ListensForTrims);
    // SAFETY: as the API has it.
    let data = unsafe { &mut *data };
    data.cookie = TRIM_COOKIE;
    watched.trims.as_mut().unwrap().registered = Some((data.callback, data.context));
    HRESULT(0)
}

unsafe extern "system" fn unlisten_for_trims(this: This, cookie: u32) -> HRESULT {
    note(this, |watched| {
        watched.trims.as_mut().unwrap().registered = None;
        Call::UnlistensForTrims(cookie)
    });
    HRESULT(0)
}

unsafe extern "system" fn query(this: This, id: *const GUID, out: *mut *mut c_void) -> HRESULT {
    let watched = WATCHED.lock().unwrap().get(&this.addr()).cloned();
    // SAFETY: as the API has it.
    if unsafe { *id } == DEVICE15
        && let Some(watched) = watched
        && let Some(trims) = &watched.lock().unwrap().trims
    {
        // SAFETY: as the API has it; the object is exposed.
        unsafe { *out = core::ptr::with_exposed_provenance_mut(trims.address()) };
        return HRESULT(0);
    }
    // SAFETY: as the caller has it.
    unsafe { (real().query)(this, id, out) }
}

/// The adapter's own functions.
struct RealAdapter {
    memory: Memory,
    reserve: Reserve,
    listen: Listen,
    unlisten: Unlisten,
}

static REAL_ADAPTER: OnceLock<RealAdapter> = OnceLock::new();

fn real_adapter() -> &'static RealAdapter {
    REAL_ADAPTER.get().expect("the functions are in place")
}

unsafe extern "system" fn memory(
    this: This,
    node: u32,
    segment: DXGI_MEMORY_SEGMENT_GROUP,
    out: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
) -> HRESULT {
    let watched = WATCHED.lock().unwrap().get(&this.addr()).cloned();
    if let Some(watched) = watched {
        let watched = &mut *watched.lock().unwrap();
        watched.questions += 1;
        if let Some((budget, available)) = watched.granted.get(segment.0 as usize) {
            // The usage is tenure's own count.
            let info = DXGI_QUERY_VIDEO_MEMORY_INFO {
                Budget: *budget,
                CurrentUsage: 0,
                AvailableForReservation: *available,
                CurrentReservation: 0,
            };
            // SAFETY: as the API has it.
            unsafe { *out = info };
            return HRESULT(0);
        }
    }
    // SAFETY: as the caller has it.
    unsafe { (real_adapter().memory)(this, node, segment, out) }
}

unsafe extern "system" fn reserve(
    this: This,
    node: u32,
    segment: DXGI_MEMORY_SEGMENT_GROUP,
    bytes: u64,
) -> HRESULT {
    if WATCHED.lock().unwrap().contains_key(&this.addr()) {
        note(this, |_| Call::Reserves(segment.0, bytes));
        return HRESULT(0);
    }
    // SAFETY: as the caller has it.
    unsafe { (real_adapter().reserve)(this, node, segment, bytes) }
}

unsafe extern "system" fn listen(this: This, event: HANDLE, cookie: *mut u32) -> HRESULT {
    if WATCHED.lock().unwrap().contains_key(&this.addr()) {
        note(this, |watched| {
            watched.event = event.0.expose_provenance();
            Call::Listens
        });
        // SAFETY: as the API has it.
        unsafe { *cookie = BUDGET_COOKIE };
        return HRESULT(0);
    }
    // SAFETY: as the caller has it.
    unsafe { (real_adapter().listen)(this, event, cookie) }
}

unsafe extern "system" fn unlisten(this: This, cookie: u32) {
    if WATCHED.lock().unwrap().contains_key(&this.addr()) {
        note(this, |watched| {
            watched.event = 0;
            Call::Unlistens(cookie)
        });
        return;
    }
    // SAFETY: as the caller has it.
    unsafe { (real_adapter().unlisten)(this, cookie) }
}

fn interpose_adapter(adapter: &IDXGIAdapter3) {
    static PUT: OnceLock<()> = OnceLock::new();
    PUT.get_or_init(|| {
        let _putting = PUTTING.lock().unwrap();
        let table: *const IDXGIAdapter3_Vtbl = Interface::vtable(adapter);
        // SAFETY: the table of a live interface, with the functions that their names say.
        unsafe {
            REAL_ADAPTER.get_or_init(|| RealAdapter {
                memory: (*table).QueryVideoMemoryInfo,
                reserve: (*table).SetVideoMemoryReservation,
                listen: (*table).RegisterVideoMemoryBudgetChangeNotificationEvent,
                unlisten: (*table).UnregisterVideoMemoryBudgetChangeNotification,
            });
            put(&raw const (*table).QueryVideoMemoryInfo, memory as Memory);
            put(&raw const (*table).SetVideoMemoryReservation, reserve as Reserve);
            put(&raw const (*table).RegisterVideoMemoryBudgetChangeNotificationEvent, listen as Listen);
            put(&raw const (*table).UnregisterVideoMemoryBudgetChangeNotification, unlisten as Unlisten);
        }
    });
}

impl Spy {
    /// Watches an adapter, before there is a device on it.
    pub(crate) fn on_adapter(adapter: &IDXGIAdapter3) -> Self {
        interpose_adapter(adapter);
        // For the rest of the process, so that no adapter of another test gets the address.
        std::mem::forget(adapter.clone());
        let (watched, address) = (Arc::<Mutex<Watched>>::default(), adapter.as_raw().addr());
        WATCHED.lock().unwrap().insert(address, watched.clone());
        Self { watched, objects: vec![address] }
    }

    /// Sets the budget and the reservable bytes of each segment.
    pub(crate) fn grant(&self, segments: &[(u64, u64)]) {
        self.watched.lock().unwrap().granted = segments.to_vec();
    }

    /// The number of these queries since the last call.
    pub(crate) fn questions(&self) -> u64 {
        std::mem::take(&mut self.watched.lock().unwrap().questions)
    }

    /// Reports a change of the budget by the adapter.
    pub(crate) fn say_changed(&self) {
        let event = HANDLE(core::ptr::with_exposed_provenance_mut(self.watched.lock().unwrap().event));
        // SAFETY: the event is open as long as it is registered.
        unsafe { SetEvent(event) }.unwrap();
    }

    /// Makes the device report trims.
    pub(crate) fn offer_trims(&mut self) {
        let trims = Trims::new();
        let address = trims.address();
        self.watched.lock().unwrap().trims = Some(trims);
        WATCHED.lock().unwrap().insert(address, self.watched.clone());
        self.objects.push(address);
    }

    /// Calls the listener, on another thread as Windows does; false without a listener.
    pub(crate) fn trim(&self, flags: u32, bytes: u64) -> bool {
        let watched = self.watched.lock().unwrap();
        let Some((callback, context)) = watched.trims.as_ref().unwrap().registered else { return false };
        drop(watched);
        let call = move || {
            let callback: *const c_void = core::ptr::with_exposed_provenance(callback);
            let notification = Notification { context, flags, bytes };
            // SAFETY: the function that was registered has this type.
            unsafe {
                let callback: unsafe extern "system" fn(*const Notification) = core::mem::transmute(callback);
                callback(&raw const notification);
            }
        };
        std::thread::spawn(call).join().unwrap();
        true
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        let mut all = WATCHED.lock().unwrap();
        self.objects.iter().for_each(|object| drop(all.remove(object)));
    }
}
