//! The environment's settings for the devices under test.
//!
//! | variable | value |
//! | --- | --- |
//! | `TENURE_D3D12_BARRIERS` | `legacy`: resource states everywhere; `enhanced`: a device without enhanced barriers is a failure |
//! | `TENURE_D3D12_ADAPTER` | `warp`: the software adapter; else part of an adapter's name |
//! | `TENURE_D3D12_SDK` | number of the Agility SDK whose files lie in the folder `D3D12` beside the test (needs Windows' developer mode) |

use std::env;
use std::sync::LazyLock;

use tenure_core::DeviceError;
use tenure_core::device::{Device as _, StateModel};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    CLSID_D3D12SDKConfiguration, D3D12GetInterface, ID3D12SDKConfiguration,
};
use tenure_d3d12::{Adapter, Device, DeviceConfig, adapters};
use windows_core::s;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Barriers {
    AsOffered,
    Legacy,
    Enhanced,
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn barriers(asked: Option<&str>) -> Barriers {
    match asked {
        None => Barriers::AsOffered,
        Some("legacy") => Barriers::Legacy,
        Some("enhanced") => Barriers::Enhanced,
        Some(other) => panic!("TENURE_D3D12_BARRIERS is `legacy` or `enhanced`, not `{other}`"),
    }
}

/// Loads the Agility SDK, once and before any device is made. Without, the system's own runtime serves.
static RUNTIME: LazyLock<()> = LazyLock::new(|| {
    let Some(version) = variable("TENURE_D3D12_SDK") else { return };
    let version = version.parse().expect("TENURE_D3D12_SDK is a number");
    let mut configuration: Option<ID3D12SDKConfiguration> = None;
    // SAFETY: all pointers are to data that outlives the calls, and no device has been made yet.
    unsafe {
        D3D12GetInterface(&CLSID_D3D12SDKConfiguration, &raw mut configuration)
            .and_then(|()| configuration.unwrap().SetSDKVersion(version, s!(".\\D3D12\\")))
    }
    .expect("the Agility SDK of that number in the folder D3D12, with Windows' developer mode on");
});

/// The adapter that the environment wants.
pub(crate) fn adapter() -> Adapter {
    let wanted = variable("TENURE_D3D12_ADAPTER");
    let is_wanted = |adapter: &Adapter| match wanted.as_deref() {
        Some("warp") => adapter.info().software,
        Some(name) => adapter.info().name.contains(name),
        None => true,
    };
    adapters().unwrap().into_iter().find(is_wanted).expect("an adapter")
}

/// A device with the requested options, as far as the environment allows. To be called where devices are
/// [made](crate::device_thread).
pub(crate) fn create(options: DeviceConfig) -> Result<Device, DeviceError> {
    LazyLock::force(&RUNTIME);
    let barriers = barriers(variable("TENURE_D3D12_BARRIERS").as_deref());
    let adapter = variable("TENURE_D3D12_ADAPTER");
    let enhanced = options.enhanced_barriers && barriers != Barriers::Legacy;
    let software = options.software || adapter.as_deref() == Some("warp");
    let options = options.enhanced_barriers(enhanced).software(software);
    let device = match adapter.filter(|_| !options.software) {
        None => Device::create(&options)?,
        Some(name) => {
            let found = adapters()?.into_iter().find(|adapter| adapter.info().name.contains(&name));
            Device::create_on(&found.unwrap_or_else(|| panic!("no adapter is called {name}")), &options)?
        }
    };
    let is_enhanced = device.properties().state_model == StateModel::Explicit;
    assert!(
        barriers != Barriers::Enhanced || is_enhanced == options.enhanced_barriers,
        "TENURE_D3D12_BARRIERS asks for enhanced barriers, which the device does not have"
    );
    Ok(device)
}

#[test]
fn the_environment_is_understood() {
    assert_eq!(barriers(None), Barriers::AsOffered);
    assert_eq!(barriers(Some("legacy")), Barriers::Legacy);
    assert_eq!(barriers(Some("enhanced")), Barriers::Enhanced);
    assert!(std::panic::catch_unwind(|| barriers(Some("vulkan"))).is_err(), "a typing error runs nothing");
}
