//! Functions of the library as a whole: versions, errors, log, texts.

use std::ffi::c_void;

use crate::call::{call, call_to_release, last_error, last_shortage};
use crate::callback::Subscriber;
use crate::object::OwnedText;
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// The version of the library's binary interface. Compare it with `TN_ABI_VERSION` before any other call.
#[unsafe(no_mangle)]
extern "C" fn tn_abi_version() -> u32 {
    TN_ABI_VERSION
}

/// 1 if the library includes this backend.
#[unsafe(no_mangle)]
extern "C" fn tn_has_backend(backend: tn_Backend) -> tn_Bool {
    (matches!(backend, TN_BACKEND_SIM | TN_BACKEND_VULKAN) || cfg!(windows) && backend == TN_BACKEND_D3D12)
        .into()
}

/// The text of this thread's last error, with numbers and a suggested fix, NUL-terminated. Valid until this thread's next error.
/// Success does not change it.
#[unsafe(no_mangle)]
extern "C" fn tn_last_error() -> tn_Str {
    last_error()
}

/// The numbers of a `TN_ERROR_OUT_OF_MEMORY`, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_OutOfMemory {
    /// `sizeof(tn_OutOfMemory)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The requested size.
    pub size: u64,
    /// The requested alignment.
    pub alignment: u64,
    /// The largest free range of the pool or suballocator.
    pub largest_free: u64,
    /// The budget of the memory heap; `UINT64_MAX`: unknown.
    pub budget: u64,
    /// The usage of the memory heap.
    pub usage: u64,
    /// Bytes of released objects that are not destroyed yet, because the GPU or an open recording may use them.
    pub pending_bytes: u64,
    /// The preferred memory type; `UINT32_MAX` for a suballocator.
    pub memory_type: u32,
    /// Open recordings that delay the destruction of such objects: the number of those that the text names.
    pub open_recordings: u32,
}

descs! {
    tn_OutOfMemory: 0,
}

impl Outcome for tn_OutOfMemory {}

/// The numbers of this thread's last error if it was `TN_ERROR_OUT_OF_MEMORY`; otherwise `TN_NOT_READY`, and nothing is written.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`, which replace the last error.
#[unsafe(no_mangle)]
extern "C" fn tn_last_out_of_memory(out: Out<tn_OutOfMemory>) -> tn_Status {
    let mut status = TN_NOT_READY;
    let called = call_to_release(|| {
        out.check_head()?;
        if let Some(shortage) = last_shortage() {
            let Shortage { size, alignment, largest_free, budget, usage, pending_bytes, .. } = shortage;
            let (struct_size, flags, next) = (out.size(), 0, In::NULL);
            let Shortage { memory_type, open_recordings, .. } = shortage;
            out.set(tn_OutOfMemory {
                struct_size,
                flags,
                next,
                size,
                alignment,
                largest_free,
                budget,
                usage,
                pending_bytes,
                memory_type,
                open_recordings,
            });
            status = TN_OK;
        }
        Ok(())
    });
    if called < 0 { called } else { status }
}

/// The name of a status, such as `TN_ERROR_STATE`, NUL-terminated and static.
#[unsafe(no_mangle)]
extern "C" fn tn_status_name(status: tn_Status) -> tn_Str {
    let name = STATUS_NAMES.iter().find(|(number, _)| *number == status).map(|(_, name)| *name);
    let name = name.unwrap_or("unknown status\0");
    tn_Str { data: crate::pointer::Text::of(name), size: name.len() - 1 }
}

macro_rules! names {
    ($($status:ident)*) => {
        /// Each status with its NUL-terminated name.
        const STATUS_NAMES: &[(tn_Status, &str)] = &[$(($status, concat!(stringify!($status), "\0")),)*];
    };
}

names! {
    TN_OK TN_NOT_READY TN_ERROR_CONFIG TN_ERROR_OUT_OF_MEMORY TN_ERROR_NO_DESCRIPTORS TN_ERROR_DEVICE TN_ERROR_STATE
    TN_ERROR_OUT_OF_RANGE TN_ERROR_WRONG_LENGTH TN_ERROR_NOT_MAPPED TN_ERROR_TIMEOUT TN_ERROR_TOO_MANY_FRAMES
    TN_ERROR_NEVER_SUBMITTED TN_ERROR_DEVICE_IN_USE TN_ERROR_SHUT_DOWN TN_ERROR_FOREIGN TN_ERROR_QUERY TN_ERROR_DISCARDED
    TN_ERROR_TOO_LARGE TN_ERROR_HELD_BY_RECORDING TN_ERROR_OTHER_RECORDING TN_ERROR_NOT_ACQUIRED TN_ERROR_GRAPH
    TN_ERROR_TRANSIENT TN_ERROR_SWAPCHAIN TN_ERROR_ACCELERATION_STRUCTURE TN_ERROR_FIXED_STATE TN_ERROR_CONTRACT
    TN_ERROR_INTERNAL TN_ERROR_TILES TN_ERROR_DEVICE_LOST TN_ERROR_CREATE_DEVICE TN_ERROR_ARGUMENT TN_ERROR_FILE TN_ERROR_POINTER TN_ERROR_STRUCT_SIZE
    TN_ERROR_CHAIN TN_ERROR_ENUM TN_ERROR_HANDLE TN_ERROR_BUSY TN_ERROR_TEXT TN_ERROR_CALLBACK TN_ERROR_PANIC
}

/// Sends the log lines of the process up to a level to a callback, which is called on any thread. Can be set once, and not
/// removed.
///
/// Errors: `TN_ERROR_BUSY` if a log is already set, also by Rust code of a program that links tenure statically;
/// `TN_ERROR_POINTER`, `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_set_log(most: tn_LogLevel, log: Option<tn_LogFn>, user: *mut c_void) -> tn_Status {
    call(|| {
        let subscriber = Subscriber::new(most, log, user)?;
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|_| Failure::new(TN_ERROR_BUSY, "the process already has a log"))
    })
}

/// The text; valid until the release of its handle. Empty for an invalid handle.
#[unsafe(no_mangle)]
extern "C" fn tn_text(text: Handle<OwnedText>) -> tn_Str {
    let mut found = tn_Str::empty();
    call_to_release(|| {
        found = tn_Str::lent(&text.get()?.0);
        Ok(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::STATUS_NAMES;

    #[test]
    fn each_status_has_one_number() {
        let mut numbers: Vec<_> = STATUS_NAMES.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), STATUS_NAMES.len());
    }
}
