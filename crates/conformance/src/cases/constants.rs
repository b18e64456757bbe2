//! Constants of recordings.

use tenure_core::device::{CommandList as _, Features};
use tenure_core::{
    Buffer, BufferDesc, Config, MemoryUse, Queue, Recording, StagingConfig, State, Subresource, Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::permit;
use test_random::Rng;

/// Pushes constants, and records copies of them to the offsets `at` of `readback`.
fn push<H: Harness>(
    bench: &Bench<'_, H>,
    recording: &mut Recording<H::Device>,
    constants: &[(u64, Vec<u8>)],
    readback: &Buffer<H::Device>,
) {
    let align = bench.properties().constant_alignment;
    let has_addresses = bench.properties().features.contains(Features::DEVICE_ADDRESS);
    let (commands, scratch) = recording.split();
    commands.use_resource(readback, Subresource::All, State::COPY_DST).unwrap();
    commands.barriers();
    for (at, bytes) in constants {
        let constant = scratch.constant_bytes(bytes).unwrap();
        assert_eq!(constant.size(), bytes.len() as u64);
        assert!(constant.offset().is_multiple_of(align), "{} for {align}", constant.offset());
        assert_eq!(constant.gpu_address().is_some(), has_addresses);
        let (from, to) = (constant.offset(), readback.offset() + at);
        commands.raw_mut(permit()).copy_buffer(constant.raw(), from, readback.raw(), to, constant.size());
    }
}

/// Constants of all sizes, and their offsets in the readback buffer.
fn random(rng: &mut Rng, count: usize) -> (Vec<(u64, Vec<u8>)>, u64) {
    let mut end = 0;
    let constants = (0..count).map(|_| {
        let size = rng.size(11);
        end += size;
        (end - size, rng.bytes(size))
    });
    (constants.collect(), end)
}

/// The GPU reads exactly the constants that were pushed, over many pages and recordings in flight.
pub fn constants_reach_the_gpu<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, Config::from(StagingConfig::default().constant_page(8 << 10)));
    let mut rng = Rng::new(110);
    let mut submitted = Vec::new();
    harness.hold();
    for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
        for _ in 0..4 {
            let (constants, size) = random(&mut rng, 40);
            // A resource of its own, so that queues whose completion is held back do not wait for each other.
            let desc = BufferDesc::new(size, Usage::COPY_DST).memory(MemoryUse::Readback);
            let readback = bench.gpu.create_buffer(&desc.own_resource().name("readback")).unwrap();
            bench.submit(queue, |recording| push(&bench, recording, &constants, &readback));
            // This recording is discarded, and the next one may reuse its pages.
            let mut discarded = bench.gpu.record(queue, "discarded").unwrap();
            push(&bench, &mut discarded, &constants, &readback);
            submitted.push((readback, constants));
        }
    }
    bench.finish();
    for (readback, constants) in &submitted {
        let expected: Vec<u8> = constants.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        assert_bytes(&contents(readback), &expected, "constants");
    }
    drop(submitted);
    bench.end();
}
