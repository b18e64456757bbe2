//! A recording from its opening to its submission.

use std::hint::black_box;

use tenure_core::device::{CommandList as _, Device as _, Permit};
use tenure_core::{Error, Queue, QueueId};
use tenure_sim::Profile;

use super::{Line, gpu, line, try_time};

const CYCLES: u64 = 1000;

/// A recording that is opened and submitted. The lower bound is the same calls on the device, with one list.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let bare = crate::null::Device::new(Profile::D3D12_TIER2);
    let queue = QueueId(0);
    let mut list = bare.create_list(Permit::checked(), queue)?;
    let mut times = Vec::new();
    let mut serial = 0;
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let cycle = try_time(|| {
            (0..CYCLES).try_for_each(|_| {
                let recording = frame.record(Queue::Graphics, "cycle")?;
                black_box(frame.submit(recording)?);
                Ok::<(), Error>(())
            })
        })?;
        let calls = try_time(|| {
            (0..CYCLES).try_for_each(|_| {
                list.begin()?;
                list.close()?;
                serial += 1;
                bare.submit(Permit::checked(), queue, black_box(&[&list]), &[], serial)
            })
        })?;
        frame.end()?;
        times.push((cycle, calls));
    }
    Ok(vec![line("context cycle: record, submit", "the device's calls", CYCLES as usize, times)])
}
