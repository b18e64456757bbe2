//! From the command line to where a recording is replayed.

use crate::api::vulkan::Vulkan;
use crate::api::{Chosen, d3d12};
use crate::args::{DeviceKind, ReplayArgs};
use crate::error::CliError;
use crate::replay::{Real, Simulated, Target};

/// Where the arguments say. What is for another kind of device is refused, not ignored.
pub(crate) fn target(args: &ReplayArgs) -> Result<Box<dyn Target>, CliError> {
    let refuse = |is_given: bool, argument: &str, rule: &str| {
        if is_given { Err(CliError::Usage(format!("{argument} {rule}"))) } else { Ok(()) }
    };
    let (pick, validation) = (args.adapter.clone(), args.validation.unwrap_or_default());
    if args.device == DeviceKind::Sim {
        let rule = "is for real devices: it needs --device vulkan or --device d3d12";
        refuse(pick.is_some(), "--adapter", rule)?;
        refuse(args.validation.is_some(), "--validation", rule)?;
    } else {
        refuse(args.profile.is_some(), "--profile", "is for the simulated device: it needs --device sim")?;
    }
    match args.device {
        DeviceKind::Sim => Ok(Box::new(Simulated { profile: args.profile.unwrap_or_default() })),
        DeviceKind::Vulkan => Ok(Box::new(Real(Chosen::<Vulkan>::new(pick, validation)))),
        #[cfg(windows)]
        DeviceKind::D3d12 => Ok(Box::new(Real(Chosen::<d3d12::D3d12>::new(pick, validation)))),
        #[cfg(not(windows))]
        DeviceKind::D3d12 => Err(d3d12::missing().into()),
    }
}
