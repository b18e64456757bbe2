//! Error codes of the graphics APIs, and their names.

use std::fmt;

/// Error code of a failed call of the graphics API. Displayed by its name in the API's documentation, or as a number if tenure
/// does not know the name.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiCode {
    /// The `HRESULT` of a Direct3D 12 or DXGI call.
    HResult(u32),
    /// The `VkResult` of a Vulkan call.
    VkResult(i32),
}

impl ApiCode {
    const fn name(self) -> Option<&'static str> {
        match self {
            Self::HResult(code) => hresult(code),
            Self::VkResult(code) => vk_result(code),
        }
    }
}

impl fmt::Display for ApiCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self) {
            (Some(name), _) => f.write_str(name),
            (None, Self::HResult(code)) => write!(f, "HRESULT 0x{code:08x}"),
            (None, Self::VkResult(code)) => write!(f, "VkResult {code}"),
        }
    }
}

const fn hresult(code: u32) -> Option<&'static str> {
    Some(match code {
        0x8000_4001 => "E_NOTIMPL",
        0x8000_4002 => "E_NOINTERFACE",
        0x8000_4005 => "E_FAIL",
        0x8007_0005 => "E_ACCESSDENIED",
        0x8007_000e => "E_OUTOFMEMORY",
        0x8007_0057 => "E_INVALIDARG",
        0x887a_0001 => "DXGI_ERROR_INVALID_CALL",
        0x887a_0002 => "DXGI_ERROR_NOT_FOUND",
        0x887a_0004 => "DXGI_ERROR_UNSUPPORTED",
        0x887a_0005 => "DXGI_ERROR_DEVICE_REMOVED",
        0x887a_0006 => "DXGI_ERROR_DEVICE_HUNG",
        0x887a_0007 => "DXGI_ERROR_DEVICE_RESET",
        0x887a_000a => "DXGI_ERROR_WAS_STILL_DRAWING",
        0x887a_0020 => "DXGI_ERROR_DRIVER_INTERNAL_ERROR",
        0x887a_0022 => "DXGI_ERROR_NOT_CURRENTLY_AVAILABLE",
        0x887a_002d => "DXGI_ERROR_SDK_COMPONENT_MISSING",
        0x887e_0001 => "D3D12_ERROR_ADAPTER_NOT_FOUND",
        0x887e_0002 => "D3D12_ERROR_DRIVER_VERSION_MISMATCH",
        _ => return None,
    })
}

const fn vk_result(code: i32) -> Option<&'static str> {
    Some(match code {
        1 => "VK_NOT_READY",
        2 => "VK_TIMEOUT",
        5 => "VK_INCOMPLETE",
        -1 => "VK_ERROR_OUT_OF_HOST_MEMORY",
        -2 => "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        -3 => "VK_ERROR_INITIALIZATION_FAILED",
        -4 => "VK_ERROR_DEVICE_LOST",
        -5 => "VK_ERROR_MEMORY_MAP_FAILED",
        -6 => "VK_ERROR_LAYER_NOT_PRESENT",
        -7 => "VK_ERROR_EXTENSION_NOT_PRESENT",
        -8 => "VK_ERROR_FEATURE_NOT_PRESENT",
        -9 => "VK_ERROR_INCOMPATIBLE_DRIVER",
        -10 => "VK_ERROR_TOO_MANY_OBJECTS",
        -11 => "VK_ERROR_FORMAT_NOT_SUPPORTED",
        -12 => "VK_ERROR_FRAGMENTED_POOL",
        -13 => "VK_ERROR_UNKNOWN",
        -1_000_000_000 => "VK_ERROR_SURFACE_LOST_KHR",
        -1_000_000_001 => "VK_ERROR_NATIVE_WINDOW_IN_USE_KHR",
        -1_000_001_004 => "VK_ERROR_OUT_OF_DATE_KHR",
        -1_000_011_001 => "VK_ERROR_VALIDATION_FAILED_EXT",
        -1_000_069_000 => "VK_ERROR_OUT_OF_POOL_MEMORY",
        -1_000_072_003 => "VK_ERROR_INVALID_EXTERNAL_HANDLE",
        -1_000_161_000 => "VK_ERROR_FRAGMENTATION",
        -1_000_174_001 => "VK_ERROR_NOT_PERMITTED",
        -1_000_255_000 => "VK_ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT",
        -1_000_257_000 => "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS",
        _ => return None,
    })
}
