//! A command list that could not be closed can only be destroyed: no other recording gets it.

use tenure_core::{BufferDesc, Config, Error, Gpu, InPlaceConfig, Queue, State, Subresource, Usage};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{device, gpu, mesh, submit};

/// A recording with a command that breaks a rule: its list cannot be closed.
fn wrong(gpu: &tenure_core::Gpu<Device>) -> tenure_core::Recording<Device> {
    let rock = mesh(gpu, "rock", 1000);
    let mut recording = gpu.record(Queue::Graphics, "wrong").unwrap();
    recording.use_resource(&rock, Subresource::All, State::COPY_DST).unwrap();
    recording.barriers();
    recording.raw().fill_buffer(rock.raw(), u64::MAX, 1, 0);
    recording
}

#[test]
fn lists_that_cannot_be_closed_are_replaced() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device);
        for round in 0..4_u64 {
            let wrong = wrong(&gpu);
            if round % 2 == 0 {
                assert!(matches!(wrong.submit(), Err(Error::Device { .. })), "{}", profile.name());
            } else {
                drop(wrong);
            }
            for _ in 0..2 {
                submit(&gpu);
                gpu.reclaim().unwrap();
            }
            assert_eq!(
                gpu.stats().lists_created,
                round + 2,
                "one for each that broke, and one for all others"
            );
        }
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

/// The driver fails at any one of the calls that close lists: of recordings, of barriers in front of them, of
/// uploads. Later recordings are not affected.
#[test]
fn a_close_that_the_driver_refuses_harms_only_its_own_recording() {
    for profile in Profile::ALL {
        for nth in 1.. {
            let device = device(*profile, Lag::None);
            let staged = InPlaceConfig::default().initial_data(false).uploads(false);
            let gpu = Gpu::new(device.clone(), Config::from(staged)).unwrap();
            device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory).of(CallKind::CloseList));
            let desc = BufferDesc::new(256, Usage::VERTEX | Usage::COPY_SRC).own_resource();
            let work = || -> Result<(), Error> {
                let rock = gpu.create_buffer_with(&desc.clone().name("rock"), &[7; 256])?;
                let copy = gpu.create_buffer(&desc.clone().name("copy"))?;
                gpu.flush_uploads()?;
                let mut recording = gpu.record(Queue::Graphics, "copy")?;
                recording.copy_buffer(&rock, 0, &copy, 0, 256)?;
                recording.submit()?;
                drop(gpu.record(Queue::Graphics, "discarded")?);
                Ok(())
            };
            let refused = work().is_err();
            let has_struck = device.calls().failed(CallKind::CloseList) > 0;
            device.faults().clear();
            work().unwrap_or_else(|error| panic!("{}, close {nth}: {error}", profile.name()));
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap();
            assert!(!refused || has_struck);
            if !has_struck {
                assert!(nth > 3, "an upload, a recording and one that is discarded are closed");
                break;
            }
        }
    }
}
