//! Conversion of `HRESULT`s to errors.

use tenure_core::device::{ApiCode, DeviceError, MemoryTypeId};
use windows::Win32::Foundation::{E_NOTIMPL, E_OUTOFMEMORY};
use windows::Win32::Graphics::Dxgi::{
    DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
    DXGI_ERROR_DRIVER_INTERNAL_ERROR, DXGI_ERROR_INVALID_CALL, DXGI_ERROR_UNSUPPORTED,
};
use windows::core::{Error, HRESULT};

/// The request of a call, for its error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// Memory of a type.
    Memory { bytes: u64, memory: MemoryTypeId },
    /// No device memory; the name of the call.
    Object(&'static str),
}

/// An `HRESULT` for an error.
pub(crate) const fn code(result: HRESULT) -> ApiCode {
    ApiCode::HResult(result.0.cast_unsigned())
}

/// A failure of a call that should not fail, before a device exists that could be lost.
pub(crate) fn unreachable_api(call: &'static str, error: &Error) -> DeviceError {
    match error.code() {
        E_OUTOFMEMORY => DeviceError::OutOfHostMemory { what: call },
        DXGI_ERROR_UNSUPPORTED | E_NOTIMPL => DeviceError::Unsupported { feature: call },
        result => DeviceError::ApiFailed { call, code: code(result) },
    }
}

/// True for the results of a removed device.
pub(crate) const fn is_removal(result: HRESULT) -> bool {
    matches!(
        result,
        DXGI_ERROR_DEVICE_REMOVED
            | DXGI_ERROR_DEVICE_HUNG
            | DXGI_ERROR_DEVICE_RESET
            | DXGI_ERROR_DRIVER_INTERNAL_ERROR
    )
}

/// The reason of the removal, as text.
pub(crate) fn removal_reason(result: HRESULT) -> String {
    let words = match result {
        DXGI_ERROR_DEVICE_HUNG => "the GPU hung on commands that never ended or were malformed (DEVICE_HUNG)",
        DXGI_ERROR_DEVICE_REMOVED => {
            "the GPU was removed, switched off, or its driver was upgraded (DEVICE_REMOVED)"
        }
        DXGI_ERROR_DEVICE_RESET => "the GPU was reset after malformed commands (DEVICE_RESET)",
        DXGI_ERROR_DRIVER_INTERNAL_ERROR => "the driver failed inside (DRIVER_INTERNAL_ERROR)",
        DXGI_ERROR_INVALID_CALL => "the program gave the GPU invalid parameters (INVALID_CALL)",
        E_OUTOFMEMORY => "memory ran out while the GPU needed it (E_OUTOFMEMORY)",
        _ => return format!("the device was removed ({})", code(result)),
    };
    words.to_owned()
}

/// A failed call on a device that is not removed.
pub(crate) fn refusal(result: HRESULT, asked: Asked) -> DeviceError {
    match (result, asked) {
        (E_OUTOFMEMORY, Asked::Memory { bytes, memory }) => {
            DeviceError::OutOfMemory { requested: bytes, memory }
        }
        (E_OUTOFMEMORY, Asked::Object(what)) => DeviceError::OutOfHostMemory { what },
        (DXGI_ERROR_UNSUPPORTED | E_NOTIMPL, Asked::Object(feature)) => DeviceError::Unsupported { feature },
        (DXGI_ERROR_UNSUPPORTED | E_NOTIMPL, Asked::Memory { .. }) => {
            DeviceError::Unsupported { feature: "this resource or heap" }
        }
        (_, Asked::Memory { .. }) => {
            DeviceError::ApiFailed { call: "creating a heap or a resource", code: code(result) }
        }
        (_, Asked::Object(call)) => DeviceError::ApiFailed { call, code: code(result) },
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{DeviceError, MemoryTypeId};
    use windows::Win32::Foundation::{E_INVALIDARG, E_OUTOFMEMORY};
    use windows::Win32::Graphics::Dxgi::{
        DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
        DXGI_ERROR_DRIVER_INTERNAL_ERROR, DXGI_ERROR_NOT_FOUND, DXGI_ERROR_UNSUPPORTED,
    };

    use super::{Asked, is_removal, refusal, removal_reason};

    #[test]
    fn removals_are_distinguished_from_refusals() {
        for gone in [
            DXGI_ERROR_DEVICE_HUNG,
            DXGI_ERROR_DEVICE_REMOVED,
            DXGI_ERROR_DEVICE_RESET,
            DXGI_ERROR_DRIVER_INTERNAL_ERROR,
        ] {
            assert!(is_removal(gone));
            assert!(!removal_reason(gone).contains("0x"), "in words");
        }
        assert!(!is_removal(E_OUTOFMEMORY) && !is_removal(E_INVALIDARG));
        assert_eq!(removal_reason(DXGI_ERROR_NOT_FOUND), "the device was removed (DXGI_ERROR_NOT_FOUND)");
        let unknown = removal_reason(windows::core::HRESULT(0x887a_7777_u32.cast_signed()));
        assert_eq!(unknown, "the device was removed (HRESULT 0x887a7777)");
    }

    #[test]
    fn shortages_are_shortages() {
        let memory = Asked::Memory { bytes: 7, memory: MemoryTypeId(2) };
        let short = refusal(E_OUTOFMEMORY, memory);
        assert_eq!(short, DeviceError::OutOfMemory { requested: 7, memory: MemoryTypeId(2) });
        assert!(refusal(E_OUTOFMEMORY, Asked::Object("CreateFence")).is_shortage());
        let unsupported = refusal(DXGI_ERROR_UNSUPPORTED, Asked::Object("barriers"));
        assert_eq!(unsupported, DeviceError::Unsupported { feature: "barriers" });
        assert!(matches!(refusal(E_INVALIDARG, memory), DeviceError::ApiFailed { .. }));
    }
}
