//! Programs that keep a recording open: memory that it does not use is still reused.

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Queue, QueueKind, Recording, State, TransientTexture};
use tenure_sim::{Device, DeviceConfig, Lag};

use super::{PROFILES, clear, finish, gpu_with, has_queue, sample, target};

const ROUNDS: u8 = 100;

/// A graph beside a recording that stays open: of one queue, and of two.
#[test]
fn a_graph_beside_an_open_recording_keeps_its_heap() {
    for &profile in PROFILES {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
        let gpu = gpu_with(&device, Config::default());
        let open = gpu.record(Queue::Graphics, "open").unwrap();
        let mut graph = Graph::new();
        let texture = graph.texture(target(64, "target"));
        let _ = graph.pass(Queue::Graphics, "write").uses(texture, State::RENDER_TARGET).id();
        let reader = if has_queue(&device, QueueKind::Compute) { Queue::Compute } else { Queue::Graphics };
        let _ = graph.pass(reader, "read").uses(texture, State::NON_PIXEL_SHADER).id();
        for round in 0..ROUNDS {
            let frame = gpu.begin_frame().unwrap();
            let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
                if pass.index() == 0 {
                    clear(list, resources.texture(texture)?, round);
                }
                Ok(())
            });
            run.unwrap();
            frame.end().unwrap();
        }
        let stats = gpu.stats().transient;
        assert_eq!((stats.heaps, stats.created), (1, 1), "{profile:?}: {stats:?}");
        drop(open);
        finish(&device, gpu);
    }
}

/// Pass by pass beside a recording that stays open, dropped before the submission and after it, and kept over to the
/// next round.
#[test]
fn resources_beside_an_open_recording_take_their_bytes_again() {
    type Kept = Option<TransientTexture<Device>>;
    type Round = fn(Recording<Device>, TransientTexture<Device>) -> Kept;
    let rounds: [Round; 3] = [
        |list, texture| {
            drop(texture);
            list.submit().unwrap();
            None
        },
        |list, texture| {
            list.submit().unwrap();
            drop(texture);
            None
        },
        |list, texture| {
            list.submit().unwrap();
            Some(texture)
        },
    ];
    for &profile in PROFILES {
        for (number, round) in rounds.into_iter().enumerate() {
            for has_frames in [false, true] {
                let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
                let gpu = gpu_with(&device, Config::default());
                let open = gpu.record(Queue::Graphics, "open").unwrap();
                let mut kept = None;
                for byte in 0..ROUNDS {
                    let mut list = gpu.record(Queue::Graphics, "list").unwrap();
                    let texture = list.transient_texture(&target(64, "target")).unwrap();
                    clear(&mut list, &texture, byte);
                    sample(&mut list, &texture, byte);
                    kept = round(list, texture);
                    if has_frames {
                        gpu.begin_frame().unwrap().end().unwrap();
                    }
                }
                let stats = gpu.stats().transient;
                let case = format!("{profile:?}, {number}, {has_frames}");
                assert!(stats.heaps <= 2 && stats.created <= 2, "{case}: {stats:?}");
                drop((kept, open));
                finish(&device, gpu);
            }
        }
    }
}

/// A recording that was open all the time uses a resource that another one acquired: the bytes are not reused
/// until it is submitted.
#[test]
fn resources_of_other_recordings_keep_their_bytes() {
    for &profile in PROFILES {
        let device = super::device(profile);
        let gpu = gpu_with(&device, Config::default());
        for byte in 0..8 {
            let mut open = gpu.record(Queue::Graphics, "open").unwrap();
            let mut list = gpu.record(Queue::Graphics, "list").unwrap();
            let texture = list.transient_texture(&target(64, "target")).unwrap();
            clear(&mut list, &texture, byte);
            list.submit().unwrap();
            sample(&mut open, &texture, byte);
            drop(texture);
            let mut other = gpu.record(Queue::Graphics, "other").unwrap();
            let second = other.transient_texture(&target(64, "second")).unwrap();
            clear(&mut other, &second, byte + 100);
            drop(second);
            other.submit().unwrap();
            open.submit().unwrap();
        }
        finish(&device, gpu);
    }
}

/// A resource of a graph is for the recordings of its passes.
#[test]
fn a_recording_beside_a_graph_cannot_use_its_resources() {
    let device = super::device(tenure_sim::Profile::DISCRETE);
    let gpu = gpu_with(&device, Config::default());
    let mut open = gpu.record(Queue::Graphics, "open").unwrap();
    let mut graph = Graph::new();
    let texture = graph.texture(target(64, "target"));
    let _ = graph.pass(Queue::Graphics, "first").uses(texture, State::RENDER_TARGET).id();
    let _ = graph.pass(Queue::Compute, "second").uses(texture, State::NON_PIXEL_SHADER).id();
    let frame = gpu.begin_frame().unwrap();
    let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
        let texture = resources.texture(texture)?;
        if pass.index() == 0 {
            clear(list, texture, 1);
        }
        let refused = open.use_resource(texture, tenure_core::Subresource::All, State::PIXEL_SHADER);
        assert!(matches!(refused, Err(Error::NotAcquired { .. })), "{pass:?}: {refused:?}");
        Ok(())
    });
    run.unwrap();
    frame.end().unwrap();
    drop(open);
    finish(&device, gpu);
}
