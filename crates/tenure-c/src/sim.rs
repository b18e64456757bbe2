//! The simulated device.

use tenure_core::device::Device as _;
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::call::{call, call_create, call_status};
use crate::convert::{state, subresource};
use crate::object::{Buffer, DeviceObject, On, OwnedText, Recording, Texture, on};
use crate::pointer::{In, Out};
use crate::slot::{Handle, Object as _, create};
use crate::types::*;

/// Creates a simulated device, for tests: a GPU in software that detects use after free, missing barriers and races between queues.
/// `desc` may be null.
///
/// Errors: `TN_ERROR_CREATE_DEVICE` for an unknown profile, with the names of all profiles.
#[unsafe(no_mangle)]
extern "C" fn tn_device_create_sim(desc: In<tn_SimDesc>, out: Out<Handle<DeviceObject>>) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc_or_none()?;
        let (seed, lag, flags) = desc.map_or((0, 0, 0), |desc| (desc.seed, desc.lag, desc.flags));
        let name = desc.as_ref().map_or(Ok(""), |desc| desc.profile.text())?;
        let lag = match lag {
            0 => Lag::None,
            TN_ALL => Lag::Manual,
            lag => Lag::Submissions(u64::from(lag)),
        };
        let config = DeviceConfig::new(profile(name)?)
            .seed(seed)
            .lag(lag)
            .page_faults(flags & TN_SIM_PAGE_FAULTS != 0)
            .markers(flags & TN_SIM_MARKERS != 0);
        Ok(On::Sim(Device::with_config(config)))
    })
}

fn profile(name: &str) -> Result<Profile, Failure> {
    if name.is_empty() {
        return Ok(Profile::DISCRETE);
    }
    Profile::ALL.iter().find(|profile| profile.name() == name).copied().ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.iter().map(Profile::name).collect();
        let text = format!("{name} is no profile of the simulated device: {}", names.join(", "));
        Failure::new(TN_ERROR_CREATE_DEVICE, text)
    })
}

fn simulated(device: &DeviceObject) -> Result<&Device, Failure> {
    if let On::Sim(device) = device {
        return Ok(device);
    }
    let name = on!(device, device => &device.properties().name);
    Err(Failure::new(TN_ERROR_FOREIGN, format!("{name}: is not a simulated device")))
}

/// Completes all submissions of a simulated device. `TN_NOT_READY` if some wait for submissions that were never made.
///
/// Errors: `TN_ERROR_FOREIGN` for a device of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_sim_run(device: Handle<DeviceObject>) -> tn_Status {
    call_status(|| Ok(if simulated(device.get()?)?.run_until_idle() { TN_OK } else { TN_NOT_READY }))
}

/// The hazards that a simulated device has found, and the objects that were not destroyed, one per line. `TN_OK`: none, and `*out`
/// is null; `TN_NOT_READY`: see `*out`. Call it after releasing everything else.
///
/// Errors: `TN_ERROR_FOREIGN` for a device of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_sim_findings(device: Handle<DeviceObject>, out: Out<Handle<OwnedText>>) -> tn_Status {
    let cleared = out.clear();
    call_status(|| {
        cleared?;
        match simulated(device.get()?)?.check_clean() {
            Ok(()) => Ok(TN_OK),
            Err(findings) => {
                create(out, || Ok(OwnedText(findings.to_string())))?;
                Ok(TN_NOT_READY)
            }
        }
    })
}

/// Records, on the simulated device, a draw or dispatch that accesses buffers and textures in these states: the device reports
/// accesses that `tn_recording_use` has not declared, and races. Does not support reserved resources and acceleration structures. A
/// read state reads the entire resource, a write state writes it; no byte changes. The simulated device has no draws of its own.
///
/// Errors: `TN_ERROR_FOREIGN` for a recording of another backend or a resource of another manager; `TN_ERROR_ENUM`;
/// `TN_ERROR_HANDLE` for other handles. On error, earlier accesses remain recorded. A subresource that does not exist, and a state
/// that the queue does not support, are errors of `tn_recording_submit`.
#[unsafe(no_mangle)]
extern "C" fn tn_sim_access(recording: Handle<Recording>, uses: In<tn_Use>, count: usize) -> tn_Status {
    call(|| {
        let mut recording = recording.alone()?;
        let On::Sim(list) = &mut *recording else {
            let text = "the device of the recording is not a simulated device";
            return Err(Failure::new(TN_ERROR_FOREIGN, text));
        };
        uses.array(count, "uses")?.iter().try_for_each(|one| access(list, one))
    })
}

fn access(list: &mut tenure_core::Recording<Device>, one: &tn_Use) -> Result<(), Failure> {
    let state = state(one.state)?;
    match one.resource.kind() {
        Buffer::KIND => {
            let buffer = one.resource.of::<Buffer>();
            let On::Sim(buffer) = buffer.get()? else { return Err(Failure::foreign()) };
            let (commands, scratch) = list.split();
            let bytes = scratch.buffer(buffer)?;
            commands.raw().use_buffer(bytes.raw(), bytes.offset(), bytes.size(), state);
        }
        Texture::KIND => {
            let texture = one.resource.of::<Texture>();
            let On::Sim(texture) = texture.get()? else { return Err(Failure::foreign()) };
            let (commands, scratch) = list.split();
            commands.raw().use_texture(scratch.texture(texture)?, subresource(one.subresource), state);
        }
        _ => return Err(one.resource.refused("a buffer or texture")),
    }
    Ok(())
}

/// Simulates the loss of a device, as after a driver reset: later calls return `TN_ERROR_DEVICE_LOST` with the reason.
///
/// Errors: `TN_ERROR_FOREIGN` for a device of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_sim_lose(device: Handle<DeviceObject>, reason: tn_Str) -> tn_Status {
    call(|| {
        let reason = reason.text()?;
        simulated(device.get()?)?.faults().remove(reason);
        Ok(())
    })
}
