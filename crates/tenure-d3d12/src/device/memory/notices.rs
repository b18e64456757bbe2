//! Notifications of Windows about memory, and the replies.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tenure_core::device::TrimRequest;
use windows::Win32::Graphics::Direct3D12::{ID3D12Device, ID3D12Device14, ID3D12Device14_Vtbl};
use windows::Win32::Graphics::Dxgi::{DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3};
use windows::core::{GUID, HRESULT, IUnknown, Interface};

use crate::device::inner::Inner;
use crate::device::memory::heap::SEGMENTS;
use crate::device::queue::Event;

/// An event that Windows sets when the budget changes.
struct BudgetEvent {
    adapter: IDXGIAdapter3,
    event: Event,
    cookie: u32,
}

impl BudgetEvent {
    /// `None` if Windows does not notify: then the budget is queried.
    fn new(adapter: &IDXGIAdapter3) -> Option<Self> {
        let event = Event::new().ok()?;
        // SAFETY: the event is open until it was unregistered.
        let cookie =
            unsafe { adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(event.handle()) }.ok()?;
        Some(Self { adapter: adapter.clone(), event, cookie })
    }
}

impl Drop for BudgetEvent {
    fn drop(&mut self) {
        // SAFETY: the cookie is that of the registration, which ends here.
        unsafe { self.adapter.UnregisterVideoMemoryBudgetChangeNotification(self.cookie) };
    }
}

/// A pending trim request.
type Asked = Arc<Mutex<Option<TrimRequest>>>;

/// The listeners, by the number passed to callbacks: a callback may run while its listener is dropped. Wrappers
/// of one device share its number.
static LISTENERS: Mutex<Vec<(usize, Asked)>> = Mutex::new(Vec::new());

/// The devices with a registered callback. Locked while a device registers or unregisters, and not by callbacks.
static CALLING: Mutex<Vec<Calling>> = Mutex::new(Vec::new());

/// `D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM`, `_RESTART_PERIODIC_TRIM` and `_TRIM_TO_BUDGET` of `d3d12.h`, Agility
/// SDK 1.619 (Microsoft's "D3D12 Trim Notifications"); not in the metadata of `windows` 0.62, as all that follows.
const PERIODIC: u32 = 1;
const RESTART: u32 = 2;
const TO_BUDGET: u32 = 4;

/// `D3D12_TRIM_NOTIFICATION`.
#[repr(C)]
struct Notification {
    context: *mut c_void,
    flags: u32,
    bytes: u64,
}

type Callback = unsafe extern "system" fn(*const Notification);

/// `D3D12_REGISTER_TRIM_NOTIFICATION`.
#[repr(C)]
struct Registration {
    callback: Callback,
    context: *mut c_void,
    cookie: u32,
}

/// `ID3D12Device15`.
static DEVICE15: GUID = GUID::from_u128(0x76cf_f76f_1e9b_4450_8cdc_34f1_af78_8e5b);

/// The functions of `ID3D12Device15`, as far as they are used.
#[repr(C)]
struct Device15Functions {
    base: ID3D12Device14_Vtbl,
    register: unsafe extern "system" fn(*mut c_void, *mut Registration) -> HRESULT,
    unregister: unsafe extern "system" fn(*mut c_void, u32) -> HRESULT,
}

/// An `ID3D12Device15`, as the interface that it extends.
struct Device15(ID3D12Device14);

impl Device15 {
    fn of(device: &ID3D12Device) -> Option<Self> {
        let mut found = core::ptr::null_mut();
        // SAFETY: the interface is alive; the pointers are to data that outlives the call.
        unsafe { device.query(&raw const DEVICE15, &raw mut found) }.ok().ok()?;
        // SAFETY: the returned pointer is that interface, which extends this one, with a reference of its own.
        (!found.is_null()).then(|| Self(unsafe { ID3D12Device14::from_raw(found) }))
    }

    /// The function table. Its layout is that of `ID3D12Device15`, the type of the object, which lives as long as `self`.
    fn functions(&self) -> *const Device15Functions {
        let base: *const ID3D12Device14_Vtbl = Interface::vtable(&self.0);
        base.cast()
    }
}

/// A device that calls back when Windows requests memory. The runtime registers a function only once for a
/// device, for any number of wrappers.
struct Calling {
    device: Device15,
    /// The address that identifies the device.
    identity: usize,
    cookie: u32,
    /// Passed to the callbacks.
    number: usize,
    wrappers: usize,
}

/// A wrapper that is notified when Windows requests memory.
struct TrimListener {
    number: usize,
    asked: Asked,
}

impl TrimListener {
    /// `None` if the runtime does not support this.
    fn new(device: &ID3D12Device) -> Option<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let identity = device.cast::<IUnknown>().ok()?.as_raw().addr();
        let device = Device15::of(device)?;
        let asked = Asked::default();
        let mut calling = CALLING.lock();
        if let Some(known) = calling.iter_mut().find(|known| known.identity == identity) {
            known.wrappers = known.wrappers.saturating_add(1);
            LISTENERS.lock().push((known.number, asked.clone()));
            return Some(Self { number: known.number, asked });
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        LISTENERS.lock().push((number, asked.clone()));
        let context = core::ptr::without_provenance_mut(number);
        let mut registration = Registration { callback: on_trim, context, cookie: 0 };
        // SAFETY: the table is the object's. The structure is a local that outlives the call, and the function is
        // static.
        let answer = unsafe { ((*device.functions()).register)(device.0.as_raw(), &raw mut registration) };
        if answer.is_err() {
            LISTENERS.lock().retain(|(other, _)| *other != number);
            return None;
        }
        calling.push(Calling { device, identity, cookie: registration.cookie, number, wrappers: 1 });
        Some(Self { number, asked })
    }
}

impl Drop for TrimListener {
    fn drop(&mut self) {
        LISTENERS.lock().retain(|(_, asked)| !Arc::ptr_eq(asked, &self.asked));
        let mut calling = CALLING.lock();
        let Some(at) = calling.iter().position(|known| known.number == self.number) else { return };
        let Some(known) = calling.get_mut(at) else { return };
        known.wrappers = known.wrappers.saturating_sub(1);
        if known.wrappers == 0 {
            let last = calling.swap_remove(at);
            // SAFETY: the table is the object's; the cookie is that of the registration, which ends here.
            let _ended =
                unsafe { ((*last.device.functions()).unregister)(last.device.0.as_raw(), last.cookie) };
        }
    }
}

/// Called on any thread of the system's. Notes the request for the end of the frame.
unsafe extern "system" fn on_trim(notification: *const Notification) {
    // SAFETY: the runtime passes a structure that is valid during the call.
    let Some(Notification { context, flags, bytes }) = (unsafe { notification.as_ref() }) else { return };
    let is_set = |flag| flags & flag != 0;
    let trim = TrimRequest {
        bytes: if is_set(TO_BUDGET) { *bytes } else { 0 },
        unused: is_set(PERIODIC),
        restarts: is_set(RESTART),
    };
    for (_, asked) in LISTENERS.lock().iter().filter(|(number, _)| *number == context.addr()) {
        let asked = &mut *asked.lock();
        *asked = Some(asked.map_or(trim, |before| before.and(trim)));
    }
}

/// Windows' notifications about memory, if supported.
pub(crate) struct Notices {
    budget: Option<BudgetEvent>,
    trim: Option<TrimListener>,
    adapter: Option<IDXGIAdapter3>,
    /// Something was reserved, by segment.
    reserved: [AtomicBool; 2],
}

impl Notices {
    pub(crate) fn new(device: &ID3D12Device, adapter: Option<&IDXGIAdapter3>) -> Self {
        Self {
            budget: adapter.and_then(BudgetEvent::new),
            trim: TrimListener::new(device),
            adapter: adapter.cloned(),
            reserved: Default::default(),
        }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        let Some(adapter) = &self.adapter else { return };
        for (is_reserved, segment) in self.reserved.iter_mut().zip(SEGMENTS) {
            if *is_reserved.get_mut() {
                // SAFETY: the interface is alive. A failure has no consequences.
                let _given_up = unsafe { adapter.SetVideoMemoryReservation(0, segment, 0) };
            }
        }
    }
}

impl Inner {
    pub(crate) fn budget_changed(&self) -> bool {
        self.notices.budget.as_ref().is_some_and(|budget| budget.event.wait(Duration::ZERO))
    }

    pub(crate) fn take_trim_request(&self) -> Option<TrimRequest> {
        self.notices.trim.as_ref()?.asked.lock().take()
    }

    /// Reserves at most the amount that Windows offers. It is a hint: failures have no effect.
    pub(crate) fn reserve(&self, bytes: &[u64]) {
        let (Some(adapter), Ok(())) = (&self.adapter, self.alive()) else { return };
        for ((bytes, segment), is_reserved) in bytes.iter().zip(SEGMENTS).zip(&self.notices.reserved) {
            let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
            // SAFETY: the interface is alive; the pointer is to a local that outlives the call.
            if unsafe { adapter.QueryVideoMemoryInfo(0, segment, &raw mut info) }.is_err() {
                continue;
            }
            let bytes = (*bytes).min(info.AvailableForReservation);
            // SAFETY: the interface is alive.
            if unsafe { adapter.SetVideoMemoryReservation(0, segment, bytes) }.is_ok() {
                is_reserved.store(bytes > 0, Ordering::Relaxed);
            }
        }
    }
}
