//! Direct3D 12 where there is none.

use crate::replay::NoDevice;

/// Why there is none, and where there is.
pub(crate) fn missing() -> NoDevice {
    NoDevice {
        api: "d3d12",
        reason: "this program was not built for Windows".to_owned(),
        remedy: "build it with --target x86_64-pc-windows-msvc or -gnu; Wine runs it, too",
    }
}
