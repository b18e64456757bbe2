//! Frames acquired pass by pass take no more memory than the same frame as a graph.

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Queue, State, Subresource, TextureDesc, TransientConfig};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use super::{MIB, PROFILES, clear, finish, gpu_with, target};
use test_random::Rng;

/// A target, and the passes that use it: from the first to the last.
type Life = (TextureDesc, usize, usize);

/// A random frame: targets of full, half and quarter size, each used by some passes in a row.
fn lives(chance: &mut Rng, passes: usize) -> Vec<Life> {
    let mut lives = Vec::new();
    for pass in 0..passes {
        for _ in 0..=chance.below(3) {
            let side = 1024 >> chance.below(3);
            let last = (pass + chance.below(4) as usize).min(passes - 1);
            lives.push((target(side, format!("{}", lives.len())), pass, last));
        }
    }
    lives
}

fn device(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::None))
}

fn config() -> Config {
    // Plans of both kinds stay the same over time.
    Config::from(TransientConfig::default().improvement(0))
}

/// Bytes that a graph of these targets reserves.
fn as_graph(profile: Profile, lives: &[Life], passes: usize) -> u64 {
    let device = device(profile);
    let gpu = gpu_with(&device, config());
    let mut graph = Graph::new();
    let ids: Vec<_> = lives.iter().map(|(desc, ..)| graph.texture(desc.clone())).collect();
    for number in 0..passes {
        let used = lives.iter().zip(&ids).filter(|((_, first, last), _)| (*first..=*last).contains(&number));
        let pass = graph.pass(Queue::Graphics, "pass");
        let _ = used.fold(pass, |pass, (_, id)| pass.uses(*id, State::RENDER_TARGET)).id();
    }
    let frame = gpu.begin_frame().unwrap();
    frame.execute(&graph, |_, _, _| Ok::<_, Error>(())).unwrap();
    frame.end().unwrap();
    let reserved = gpu.stats().transient.reserved;
    finish(&device, gpu);
    reserved
}

/// A recording for the frame, or one for each pass, submitted before the next one begins or all at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Recordings {
    One,
    OneAfterTheOther,
}

/// Bytes that frames of these targets reserve, by frame, and the API objects created until then.
fn pass_by_pass(
    profile: Profile,
    lives: &[Life],
    passes: usize,
    frames: usize,
    how: Recordings,
) -> Vec<(u64, u64)> {
    let device = device(profile);
    let gpu = gpu_with(&device, config());
    let mut seen = Vec::new();
    for _ in 0..frames {
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "frame").unwrap();
        let mut alive = Vec::new();
        for pass in 0..passes {
            for (desc, _, last) in lives.iter().filter(|(_, first, _)| *first == pass) {
                alive.push((list.transient_texture(desc).unwrap(), *last));
            }
            for (texture, _) in &alive {
                list.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
            }
            list.barriers();
            if how == Recordings::OneAfterTheOther {
                frame
                    .submit(std::mem::replace(&mut list, frame.record(Queue::Graphics, "next").unwrap()))
                    .unwrap();
            }
            alive.retain(|(_, last)| *last > pass);
        }
        frame.submit(list).unwrap();
        frame.end().unwrap();
        let stats = gpu.stats().transient;
        seen.push((stats.reserved, stats.created + stats.heaps_created));
    }
    finish(&device, gpu);
    seen
}

#[test]
fn passes_reserve_as_a_graph_from_the_third_equal_frame_on() {
    for &profile in PROFILES {
        let mut chance = Rng::new(11);
        for case in 0..6 {
            let passes = 6 + chance.below(10) as usize;
            let lives = lives(&mut chance, passes);
            let graph = as_graph(profile, &lives, passes);
            for how in [Recordings::One, Recordings::OneAfterTheOther] {
                let seen = pass_by_pass(profile, &lives, passes, 8, how);
                let case = format!("{profile:?}, {case}, {how:?}: {seen:?} for {graph}");
                for (reserved, _) in &seen[2..] {
                    assert!(*reserved <= graph + graph / 20 + MIB / 16, "{case}");
                }
                assert_eq!(seen[3].1, seen[7].1, "{case}: nothing is created");
            }
        }
    }
}

/// Passes in recordings that are open at the same time share less: bytes dropped by one of them are reused only
/// by itself. The plan allows for this.
#[test]
fn recordings_that_are_open_at_once_are_planned_apart() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu_with(&device, config());
        let mut seen = Vec::new();
        for _ in 0..40 {
            let frame = gpu.begin_frame().unwrap();
            let mut lists = Vec::new();
            for _ in 0..4 {
                let mut list = frame.record(Queue::Graphics, "one of four").unwrap();
                for name in ["first", "second"] {
                    let texture = list.transient_texture(&target(1024, name)).unwrap();
                    clear(&mut list, &texture, 1);
                }
                lists.push(list);
            }
            for list in lists {
                frame.submit(list).unwrap();
            }
            frame.end().unwrap();
            let stats = gpu.stats().transient;
            seen.push((stats.reserved / MIB, stats.created + stats.heaps_created));
        }
        assert!(seen[2..].iter().all(|(reserved, _)| (16..=17).contains(reserved)), "{profile:?}: {seen:?}");
        assert_eq!(seen[4].1, seen[39].1, "{profile:?}: {seen:?}");
        finish(&device, gpu);
    }
}

/// An occasional frame with other passes creates and frees no heaps.
#[test]
fn frames_of_two_shapes_settle() {
    for &profile in PROFILES {
        for period in [2, 3, 4, 7] {
            let device = device(profile);
            let gpu = gpu_with(&device, config());
            let mut created = Vec::new();
            for number in 0..300 {
                let frame = gpu.begin_frame().unwrap();
                let list = frame.record(Queue::Graphics, "frame").unwrap();
                let sides: &[u32] = if number % period == 0 { &[1024, 256, 512] } else { &[256, 1024] };
                let mut kept = Vec::new();
                for side in sides {
                    kept.push(list.transient_texture(&target(*side, "target")).unwrap());
                }
                drop(kept);
                drop(list.transient_texture(&target(1024, "behind")).unwrap());
                frame.submit(list).unwrap();
                frame.end().unwrap();
                created.push(gpu.stats().transient.heaps_created);
            }
            assert_eq!(created[299], created[60], "{profile:?}, {period}: {created:?}");
            finish(&device, gpu);
        }
    }
}
