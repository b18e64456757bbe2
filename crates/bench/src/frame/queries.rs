//! Pairs of timestamps.

use std::hint::black_box;

use tenure_core::device::{CommandList as _, Device as _, Permit};
use tenure_core::{Error, Queue, QueueId};
use tenure_sim::Profile;

use super::{Line, gpu, line, try_time};
use crate::null::Device;

const PAIRS: usize = 500;

/// Pairs of timestamps in a recording, from its opening to its submission: with tickets for their results, and as
/// scopes whose times go to the statistics. The lower bound is the device's calls: the same recording, and two
/// timestamps a pair.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let bare = Device::new(Profile::D3D12_TIER2);
    let mut list = bare.create_list(Permit::checked(), QueueId(0))?;
    let (mut tickets, mut scopes) = (Vec::new(), Vec::new());
    let mut serial = 0;
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let ticket_time = try_time(|| {
            let mut recording = frame.record(Queue::Graphics, "pairs")?;
            for _ in 0..PAIRS {
                drop(black_box((recording.write_timestamp()?, recording.write_timestamp()?)));
            }
            recording.submit().map(drop)
        })?;
        let scope_time = try_time(|| {
            let mut recording = frame.record(Queue::Graphics, "scopes")?;
            for _ in 0..PAIRS {
                let scope = recording.begin_gpu_time(black_box("scope"))?;
                recording.end_gpu_time(scope)?;
            }
            recording.submit().map(drop)
        })?;
        let calls = try_time(|| {
            list.begin()?;
            for query in 0..PAIRS as u32 {
                list.write_timestamp(&(), black_box(query));
                list.write_timestamp(&(), black_box(query));
            }
            list.close()?;
            serial += 1;
            bare.submit(Permit::checked(), QueueId(0), black_box(&[&list]), &[], serial)
        })?;
        frame.end()?;
        tickets.push((ticket_time, calls));
        scopes.push((scope_time, calls));
    }
    Ok(vec![
        line("timestamp pair, two tickets", "the device's calls", PAIRS, tickets),
        line("timestamp pair of a GPU time scope", "the device's calls", PAIRS, scopes),
    ])
}
