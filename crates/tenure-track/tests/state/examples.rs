//! Situations every renderer knows.

use std::sync::Arc;

use tenure_track::device::{QueueId, QueueKind, State, Subresource, Usage};
use tenure_track::device::{QueueProperties, QueueSerial, QueueTransfer, StateModel};
use tenure_track::state::{
    Fixups, MAX_SUBRESOURCES, Recorded, ResourceKind, StateBarrier, StateCell, StateError, Tracker, resolve,
};

pub(super) type Handle = Arc<StateCell>;

pub(super) const ALL: Subresource = Subresource::All;
pub(super) const GRAPHICS: QueueId = QueueId(0);
const COMPUTE: QueueId = QueueId(1);
pub(super) const COPY: QueueId = QueueId(2);

/// A graphics, a compute and a copy queue, of one family or of three.
pub(super) fn queues(families: [u32; 3]) -> [QueueProperties; 3] {
    let kinds = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];
    std::array::from_fn(|index| QueueProperties { kind: kinds[index], family: families[index] })
}

pub(super) fn texture(count: u32, usage: Usage) -> Handle {
    Arc::new(StateCell::new(ResourceKind::Texture, count, usage, State::COMMON))
}

fn buffer(usage: Usage) -> Handle {
    Arc::new(StateCell::new(ResourceKind::Buffer, 1, usage, State::COMMON))
}

fn graphics(model: StateModel) -> Tracker<Handle> {
    Tracker::new(model, QueueKind::Graphics)
}

/// Subresource, before and after of each pending transition.
fn flush(tracker: &mut Tracker<Handle>) -> Vec<(Subresource, State, State)> {
    tracker.flush().map(|barrier| transition(&barrier)).collect()
}

pub(super) fn transition<H>(barrier: &StateBarrier<H>) -> (Subresource, State, State) {
    match barrier {
        StateBarrier::Transition { subresource, before, after, .. } => (*subresource, *before, *after),
        StateBarrier::Unordered { .. } => panic!("an unordered barrier"),
        StateBarrier::Initialize { .. } => panic!("a target without contents"),
        StateBarrier::Aliasing { .. } => panic!("an aliasing barrier"),
    }
}

/// A recording with a single use.
pub(super) fn used(model: StateModel, kind: QueueKind, resource: &Handle, state: State) -> Recorded<Handle> {
    let mut tracker = Tracker::new(model, kind);
    tracker.require(resource, ALL, state).unwrap();
    assert_eq!(tracker.flush().len(), 0, "the first use is only noted");
    tracker.close().unwrap()
}

pub(super) fn submit(
    recorded: &Recorded<Handle>,
    queue: QueueId,
    serial: u64,
    queues: &[QueueProperties],
) -> Fixups<Handle> {
    let mut fixups = Fixups::new();
    resolve(recorded, QueueSerial { queue, serial }, queues, &mut fixups).unwrap();
    fixups
}

#[test]
fn rendering_and_sampling_takes_one_barrier() {
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let target = texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ);
        let mut tracker = graphics(model);
        tracker.require(&target, ALL, State::RENDER_TARGET).unwrap();
        assert_eq!(flush(&mut tracker), []);
        tracker.require(&target, ALL, State::PIXEL_SHADER).unwrap();
        assert_eq!(flush(&mut tracker), [(ALL, State::RENDER_TARGET, State::PIXEL_SHADER)]);
        tracker.require(&target, ALL, State::PIXEL_SHADER).unwrap();
        assert_eq!(flush(&mut tracker), []);
    }
}

#[test]
fn mips_are_generated_one_by_one() {
    let (write, read) = (State::UNORDERED_ACCESS, State::NON_PIXEL_SHADER);
    let chain = texture(4, Usage::UNORDERED_ACCESS | Usage::SHADER_READ);
    let mut tracker = graphics(StateModel::Promotion);
    tracker.require(&chain, ALL, write).unwrap();
    assert_eq!(flush(&mut tracker), []);
    for mip in 1..4 {
        tracker.require(&chain, Subresource::One(mip - 1), read).unwrap();
        tracker.require_overlapping(&chain, Subresource::One(mip), write).unwrap();
        assert_eq!(flush(&mut tracker), [(Subresource::One(mip - 1), write, read)]);
    }
    // Only the last mip is not readable yet; then all are alike again.
    tracker.require(&chain, ALL, read).unwrap();
    assert_eq!(flush(&mut tracker), [(Subresource::One(3), write, read)]);
    tracker.require(&chain, ALL, write).unwrap();
    assert_eq!(flush(&mut tracker), [(ALL, read, write)]);
}

#[test]
fn mips_that_move_alike_share_a_barrier() {
    let (write, read) = (State::COPY_DST, State::PIXEL_SHADER);
    let image = texture(3, Usage::COPY_DST | Usage::SHADER_READ);
    let mut tracker = graphics(StateModel::Explicit);
    for mip in 0..3 {
        tracker.require(&image, Subresource::One(mip), write).unwrap();
        assert_eq!(flush(&mut tracker), []);
    }
    for mip in 0..3 {
        tracker.require(&image, Subresource::One(mip), read).unwrap();
    }
    assert_eq!(flush(&mut tracker), [(ALL, write, read)]);
    let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues([0; 3]));
    let here: Vec<_> = fixups.here.iter().map(transition).collect();
    assert_eq!(here, [(ALL, State::COMMON, write)]);
    assert!(image.is_uniform());
    assert_eq!(image.submitted(2), Some(read));
}

#[test]
fn reads_merge() {
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let image = texture(1, Usage::COPY_DST | Usage::SHADER_READ);
        let mut tracker = graphics(model);
        tracker.require(&image, ALL, State::COPY_DST).unwrap();
        assert_eq!(flush(&mut tracker), []);
        tracker.require(&image, ALL, State::PIXEL_SHADER).unwrap();
        tracker.require(&image, ALL, State::NON_PIXEL_SHADER).unwrap();
        assert_eq!(flush(&mut tracker), [(ALL, State::COPY_DST, State::SHADER_READ)]);

        // Noted as first uses, too.
        let mut tracker = graphics(model);
        for state in [State::PIXEL_SHADER, State::NON_PIXEL_SHADER] {
            tracker.require(&image, ALL, state).unwrap();
            assert_eq!(flush(&mut tracker), []);
        }
        let recorded = tracker.close().unwrap();
        let uses: Vec<State> = recorded.uses().map(|used| used.first).collect();
        assert_eq!(uses, [State::SHADER_READ]);
    }
}

#[test]
fn reads_of_different_layouts_do_not_merge() {
    let image = texture(1, Usage::COPY_SRC | Usage::SHADER_READ);
    let mut tracker = graphics(StateModel::Explicit);
    tracker.require(&image, ALL, State::PIXEL_SHADER).unwrap();
    assert_eq!(flush(&mut tracker), []);
    tracker.require(&image, ALL, State::COPY_SRC).unwrap();
    assert_eq!(flush(&mut tracker), [(ALL, State::PIXEL_SHADER, State::COPY_SRC)]);
}

#[test]
fn transitions_there_and_back_cancel_out() {
    let target = texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ | Usage::COPY_SRC);
    let mut tracker = graphics(StateModel::Promotion);
    tracker.require(&target, ALL, State::RENDER_TARGET).unwrap();
    assert_eq!(flush(&mut tracker), []);
    tracker.require(&target, ALL, State::PIXEL_SHADER).unwrap();
    tracker.require(&target, ALL, State::RENDER_TARGET).unwrap();
    assert_eq!(flush(&mut tracker), []);
    tracker.require(&target, ALL, State::PIXEL_SHADER).unwrap();
    tracker.require(&target, ALL, State::RENDER_TARGET).unwrap();
    tracker.require(&target, ALL, State::COPY_SRC).unwrap();
    assert_eq!(flush(&mut tracker), [(ALL, State::RENDER_TARGET, State::COPY_SRC)]);
}

#[test]
fn dispatches_are_ordered_unless_they_need_not_be() {
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let data = buffer(Usage::UNORDERED_ACCESS);
        let mut tracker = graphics(model);
        let mut flushed = |ordered: bool| {
            let state = State::UNORDERED_ACCESS;
            match ordered {
                true => tracker.require(&data, ALL, state).unwrap(),
                false => tracker.require_overlapping(&data, ALL, state).unwrap(),
            }
            tracker
                .flush()
                .map(|barrier| matches!(barrier, StateBarrier::Unordered { .. }))
                .collect::<Vec<_>>()
        };
        assert!(flushed(true).is_empty());
        assert_eq!(flushed(true), [true]);
        assert!(flushed(false).is_empty());
        assert_eq!(flushed(true), [true]);
    }
}

#[test]
fn d3d12_uploads_a_vertex_buffer_without_barriers() {
    let queues = queues([0; 3]);
    let rock = buffer(Usage::VERTEX | Usage::COPY_DST);
    let upload = used(StateModel::Promotion, QueueKind::Copy, &rock, State::COPY_DST);
    let draw = used(StateModel::Promotion, QueueKind::Graphics, &rock, State::VERTEX_OR_CONSTANT);
    assert!(submit(&upload, COPY, 1, &queues).is_empty());
    let fixups = submit(&draw, GRAPHICS, 1, &queues);
    assert!(fixups.here.is_empty() && fixups.elsewhere.is_empty());
    assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COPY, serial: 1 }]);
    assert!(submit(&draw, GRAPHICS, 2, &queues).here.is_empty());
    assert!(submit(&upload, COPY, 2, &queues).here.is_empty());
}

#[test]
fn vulkan_shares_buffers_between_families() {
    let queues = queues([0, 1, 2]);
    let rock = buffer(Usage::VERTEX | Usage::COPY_DST);
    let upload = used(StateModel::Explicit, QueueKind::Copy, &rock, State::COPY_DST);
    let draw = used(StateModel::Explicit, QueueKind::Graphics, &rock, State::VERTEX_OR_CONSTANT);
    assert!(submit(&upload, COPY, 1, &queues).is_empty());
    let fixups = submit(&draw, GRAPHICS, 1, &queues);
    assert!(fixups.here.is_empty() && fixups.elsewhere.is_empty(), "the wait makes the bytes visible");
    assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COPY, serial: 1 }]);
}

#[test]
fn vulkan_hands_an_upload_from_family_to_family() {
    let queues = queues([0, 1, 2]);
    let rock = texture(1, Usage::SHADER_READ | Usage::COPY_DST);
    let upload = used(StateModel::Explicit, QueueKind::Copy, &rock, State::COPY_DST);
    let draw = used(StateModel::Explicit, QueueKind::Graphics, &rock, State::PIXEL_SHADER);
    assert!(!submit(&upload, COPY, 1, &queues).is_empty());
    let fixups = submit(&draw, GRAPHICS, 1, &queues);
    let barrier = StateBarrier::Transition {
        resource: rock.clone(),
        subresource: ALL,
        before: State::COPY_DST,
        after: State::PIXEL_SHADER,
        transfer: Some(QueueTransfer { from: COPY, to: GRAPHICS }),
    };
    let same = |other: &StateBarrier<Handle>| transition(other) == transition(&barrier);
    assert!(fixups.here.len() == 1 && same(&fixups.here[0]));
    let release = &fixups.elsewhere[0];
    assert!(fixups.elsewhere.len() == 1 && release.queue == COPY && release.waits.is_empty());
    assert!(release.barriers.len() == 1 && same(&release.barriers[0]));
    assert_eq!(rock.owner(0), Some(GRAPHICS));
}

#[test]
fn a_compute_queue_leaves_a_render_target_to_the_graphics_queue() {
    let queues = queues([0; 3]);
    let target = texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let render = used(StateModel::Promotion, QueueKind::Graphics, &target, State::RENDER_TARGET);
    let filter = used(StateModel::Promotion, QueueKind::Compute, &target, State::NON_PIXEL_SHADER);
    assert_eq!(submit(&render, GRAPHICS, 1, &queues).here.len(), 1);
    let fixups = submit(&filter, COMPUTE, 1, &queues);
    assert!(fixups.here.is_empty());
    assert_eq!(fixups.elsewhere[0].queue, GRAPHICS);
    let moved = transition(&fixups.elsewhere[0].barriers[0]);
    assert_eq!(moved, (ALL, State::RENDER_TARGET, State::NON_PIXEL_SHADER));
}

#[test]
fn a_copy_queue_finds_textures_of_other_queues_in_common() {
    let queues = queues([0; 3]);
    let target = texture(1, Usage::RENDER_TARGET | Usage::COPY_SRC);
    let render = used(StateModel::Promotion, QueueKind::Graphics, &target, State::RENDER_TARGET);
    let read_back = used(StateModel::Promotion, QueueKind::Copy, &target, State::COPY_SRC);
    submit(&render, GRAPHICS, 1, &queues);
    let fixups = submit(&read_back, COPY, 1, &queues);
    assert!(fixups.here.is_empty());
    assert_eq!(transition(&fixups.elsewhere[0].barriers[0]), (ALL, State::RENDER_TARGET, State::COMMON));
    // And it decays again.
    let back = submit(&render, GRAPHICS, 2, &queues);
    assert_eq!(transition(&back.here[0]), (ALL, State::COMMON, State::RENDER_TARGET));
}

#[test]
fn queues_read_side_by_side() {
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let queues = queues([0; 3]);
        let image = texture(1, Usage::COPY_DST | Usage::SHADER_READ);
        let write = used(model, QueueKind::Graphics, &image, State::COPY_DST);
        // With legacy states a compute queue reads nothing that pixel shaders may read.
        let shaders =
            if model == StateModel::Explicit { State::SHADER_READ } else { State::NON_PIXEL_SHADER };
        let sample = used(model, QueueKind::Graphics, &image, shaders);
        let filter = used(model, QueueKind::Compute, &image, State::NON_PIXEL_SHADER);
        submit(&write, GRAPHICS, 1, &queues);
        submit(&sample, GRAPHICS, 2, &queues);
        assert!(submit(&filter, COMPUTE, 1, &queues).here.is_empty());
        assert!(submit(&sample, GRAPHICS, 3, &queues).is_empty(), "a reader waits for no reader");
        let writer = submit(&write, GRAPHICS, 4, &queues);
        assert_eq!(writer.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COMPUTE, serial: 1 }]);
    }
}

/// With legacy states there are no pixel shaders on a compute queue, not even beside other readers.
#[test]
fn pixel_shader_states_are_left_to_the_graphics_queue() {
    let queues = queues([0; 3]);
    for read in [State::PIXEL_SHADER, State::SHADER_READ] {
        let image = texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ);
        let mut tracker = graphics(StateModel::Promotion);
        tracker.require(&image, ALL, State::RENDER_TARGET).unwrap();
        assert_eq!(tracker.flush().len(), 0);
        tracker.require(&image, ALL, read).unwrap();
        assert_eq!(tracker.flush().len(), 1);
        submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues);
        let filter = used(StateModel::Promotion, QueueKind::Compute, &image, State::NON_PIXEL_SHADER);
        let fixups = submit(&filter, COMPUTE, 1, &queues);
        assert!(fixups.here.is_empty());
        assert_eq!(fixups.elsewhere[0].queue, GRAPHICS);
        let moved = transition(&fixups.elsewhere[0].barriers[0]);
        assert_eq!(moved, (ALL, read, State::NON_PIXEL_SHADER));
        // Pixel shaders get it back on their own queue.
        let sample = used(StateModel::Promotion, QueueKind::Graphics, &image, State::PIXEL_SHADER);
        let back = submit(&sample, GRAPHICS, 2, &queues);
        assert_eq!(transition(&back.here[0]), (ALL, State::NON_PIXEL_SHADER, State::SHADER_READ));
    }
}

#[test]
fn a_submission_is_cut_where_another_queue_has_to_step_in() {
    let queues = queues([0; 3]);
    let image = texture(2, Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS);
    let write = State::UNORDERED_ACCESS;
    let parts = [0, 1].map(|index| {
        let mut tracker = Tracker::new(StateModel::Promotion, QueueKind::Compute);
        tracker.require(&image, Subresource::One(index), write).unwrap();
        assert_eq!(tracker.flush().len(), 0);
        tracker.close().unwrap()
    });
    let mut tracker = graphics(StateModel::Promotion);
    tracker.require(&image, Subresource::One(1), State::RENDER_TARGET).unwrap();
    assert_eq!(tracker.flush().len(), 0);
    submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues);
    submit(&parts[0], COMPUTE, 1, &queues);
    let submission = QueueSerial { queue: COMPUTE, serial: 1 };
    let mut fixups = Fixups::new();
    let cut = resolve(&parts[1], submission, &queues, &mut fixups);
    assert_eq!(cut, Err(StateError::SplitSubmission { submission }));
    assert_eq!(image.submitted(1), Some(State::RENDER_TARGET));
    assert_eq!(submit(&parts[1], COMPUTE, 2, &queues).elsewhere.len(), 1);
}

/// Also not those that come before the one for which there is no queue.
#[test]
fn a_recording_that_cannot_be_resolved_changes_no_resource() {
    let queues = &queues([0; 3])[1..2];
    let usage = Usage::UNORDERED_ACCESS | Usage::COPY_DST;
    let (data, image) = (buffer(usage), texture(1, usage | Usage::RENDER_TARGET));
    let mut tracker = Tracker::new(StateModel::Promotion, QueueKind::Compute);
    for resource in [&data, &image] {
        tracker.require(resource, ALL, State::UNORDERED_ACCESS).unwrap();
    }
    assert_eq!(tracker.flush().len(), 0);
    let recorded = tracker.close().unwrap();
    let drawn = used(StateModel::Promotion, QueueKind::Graphics, &image, State::RENDER_TARGET);
    let graphics = [QueueProperties { kind: QueueKind::Graphics, family: 0 }];
    submit(&drawn, GRAPHICS, 1, &graphics);
    let at = QueueSerial { queue: QueueId(0), serial: 2 };
    let mut fixups = Fixups::new();
    let refused = resolve(&recorded, at, queues, &mut fixups);
    assert_eq!(refused, Err(StateError::NoCapableQueue { state: State::RENDER_TARGET }));
    assert!(fixups.is_empty());
    assert_eq!((data.submitted(0), data.owner(0)), (Some(State::COMMON), None));
    assert_eq!(data.used().iter().count(), 0);
    assert_eq!(image.submitted(0), Some(State::RENDER_TARGET));
}

#[test]
fn wrong_requests_are_refused_and_change_nothing() {
    let image = texture(2, Usage::SHADER_READ | Usage::COPY_DST);
    let mut tracker = Tracker::new(StateModel::Promotion, QueueKind::Compute);
    let mut refuse = |subresource, state| tracker.require(&image, subresource, state).unwrap_err();
    assert_eq!(
        refuse(Subresource::One(2), State::NON_PIXEL_SHADER),
        StateError::OutOfRange { subresource: 2, count: 2 }
    );
    let mixed = State::COPY_DST | State::NON_PIXEL_SHADER;
    assert_eq!(refuse(ALL, mixed), StateError::InvalidCombination { state: mixed });
    assert!(matches!(refuse(ALL, State::RENDER_TARGET), StateError::NotAllowedForUsage { .. }));
    assert!(matches!(refuse(ALL, State::PIXEL_SHADER), StateError::NotAllowedOnQueue { .. }));
    assert!(tracker.close().unwrap().is_empty());
}

#[test]
fn the_state_of_an_acceleration_structure_is_fixed_on_d3d12() {
    let state = State::ACCELERATION_STRUCTURE;
    let usage = Usage::ACCELERATION_STRUCTURE | Usage::UNORDERED_ACCESS;
    let plain = buffer(usage);
    let built = Arc::new(StateCell::new(ResourceKind::Buffer, 1, usage, state));
    let mut tracker = graphics(StateModel::Promotion);
    assert!(matches!(tracker.require(&plain, ALL, state), Err(StateError::Fixed { .. })));
    let other = tracker.require(&built, ALL, State::UNORDERED_ACCESS);
    assert!(matches!(other, Err(StateError::Fixed { .. })));
    // A build, then a trace that depends on it.
    tracker.require(&built, ALL, state).unwrap();
    assert_eq!(tracker.flush().len(), 0);
    tracker.require(&built, ALL, state).unwrap();
    assert!(matches!(tracker.flush().next(), Some(StateBarrier::Unordered { .. })));
}

#[test]
fn recordings_are_checked_at_their_end_and_submission() {
    let queues = queues([0; 3]);
    let target = texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let mut tracker = graphics(StateModel::Promotion);
    tracker.require(&target, ALL, State::RENDER_TARGET).unwrap();
    assert_eq!(tracker.flush().len(), 0);
    tracker.require(&target, ALL, State::PIXEL_SHADER).unwrap();
    assert_eq!(tracker.close().unwrap_err(), StateError::Unflushed { pending: 1 });
    assert_eq!(tracker.flush().len(), 1);
    let recorded = tracker.close().unwrap();

    let mut fixups = Fixups::new();
    let mut refused =
        |queue| resolve(&recorded, QueueSerial { queue, serial: 1 }, &queues, &mut fixups).unwrap_err();
    assert_eq!(refused(QueueId(3)), StateError::UnknownQueue { queue: QueueId(3), count: 3 });
    assert_eq!(
        refused(COPY),
        StateError::WrongQueue { recorded: QueueKind::Graphics, actual: QueueKind::Copy }
    );
    assert_eq!(target.submitted(0), Some(State::COMMON));
}

#[test]
fn trackers_beyond_the_slots_find_their_resources_too() {
    let images: Vec<Handle> =
        (0..100).map(|_| texture(1, Usage::RENDER_TARGET | Usage::SHADER_READ)).collect();
    let mut trackers: Vec<_> = (0..20).map(|_| graphics(StateModel::Promotion)).collect();
    std::thread::scope(|scope| {
        for tracker in &mut trackers {
            scope.spawn(|| {
                for _ in 0..10 {
                    for state in [State::RENDER_TARGET, State::PIXEL_SHADER] {
                        for image in &images {
                            tracker.require(image, ALL, state).unwrap();
                        }
                        let barriers = tracker.flush().len();
                        assert_eq!(barriers, if state.is_write() { 0 } else { images.len() });
                    }
                    let recorded = tracker.close().unwrap();
                    assert_eq!(recorded.uses().count(), images.len());
                    tracker.recycle(recorded);
                }
            });
        }
    });
}

#[test]
fn absurd_sizes_are_bounded() {
    let image = texture(u32::MAX, Usage::SHADER_READ | Usage::COPY_DST);
    assert_eq!(image.subresources(), MAX_SUBRESOURCES);
    let mut tracker = graphics(StateModel::Promotion);
    let last = Subresource::One(MAX_SUBRESOURCES - 1);
    tracker.require(&image, last, State::COPY_DST).unwrap();
    assert_eq!(tracker.flush().len(), 0);
    let beyond = tracker.require(&image, Subresource::One(MAX_SUBRESOURCES), State::COPY_DST);
    assert!(matches!(beyond, Err(StateError::OutOfRange { .. })));
    assert!(submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues([0; 3])).here.is_empty());
    assert!(!image.is_uniform());
}

/// A resource from a peer is in the state in which the peer released it, whatever state is known here: no
/// barrier in front, no queue that hands it over, and a wait for all that used it before.
#[test]
fn acquired_resources_are_in_the_state_of_the_peer() {
    let queues = queues([0, 1, 2]);
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let shared = texture(2, Usage::SHADER_READ | Usage::COPY_DST | Usage::COPY_SRC);
        // Used here before, by another family.
        submit(&used(model, QueueKind::Copy, &shared, State::COPY_DST), COPY, 1, &queues);
        let mut tracker = graphics(model);
        tracker.acquire(&shared, State::COPY_DST).unwrap();
        assert_eq!(flush(&mut tracker), []);
        tracker.require(&shared, ALL, State::PIXEL_SHADER).unwrap();
        assert_eq!(flush(&mut tracker), [(ALL, State::COPY_DST, State::PIXEL_SHADER)]);
        let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues);
        assert!(fixups.here.is_empty() && fixups.elsewhere.is_empty(), "{model:?}");
        assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COPY, serial: 1 }]);
        assert_eq!(shared.submitted(1), Some(State::PIXEL_SHADER));
        assert_eq!(shared.owner(0), Some(GRAPHICS));
        // Acquired and nothing else: it stays as it came.
        let mut tracker = graphics(model);
        tracker.acquire(&shared, State::COPY_SRC).unwrap();
        assert_eq!(flush(&mut tracker), []);
        submit(&tracker.close().unwrap(), GRAPHICS, 2, &queues);
        assert_eq!(shared.submitted(0), Some(State::COPY_SRC));
    }
}

#[test]
fn a_resource_is_acquired_before_it_is_used() {
    let shared = texture(1, Usage::SHADER_READ | Usage::COPY_SRC);
    let mut tracker = graphics(StateModel::Explicit);
    tracker.require(&shared, ALL, State::COPY_SRC).unwrap();
    assert_eq!(tracker.acquire(&shared, State::COPY_SRC), Err(StateError::UsedBeforeAcquired));
    let other = texture(1, Usage::SHADER_READ);
    let refused = tracker.acquire(&other, State::COPY_SRC);
    assert!(matches!(refused, Err(StateError::NotAllowedForUsage { .. })), "{refused:?}");
    tracker.acquire(&other, State::PIXEL_SHADER).unwrap();
    assert_eq!(tracker.acquire(&other, State::PIXEL_SHADER), Err(StateError::UsedBeforeAcquired));
    tracker.flush();
    assert_eq!(tracker.close().unwrap().uses().count(), 2);
}

/// A peer may write an acquired resource: the submission also waits for uses that only read it.
#[test]
fn releases_to_a_peer_come_after_all_uses() {
    let queues = queues([0; 3]);
    for model in [StateModel::Promotion, StateModel::Explicit] {
        for is_named in [true, false] {
            let shared = buffer(Usage::SHADER_READ | Usage::COPY_SRC);
            submit(&used(model, QueueKind::Copy, &shared, State::COPY_SRC), COPY, 1, &queues);
            let mut tracker = graphics(model);
            if is_named {
                tracker.require(&shared, ALL, State::COPY_SRC).unwrap();
            }
            assert_eq!(flush(&mut tracker), []);
            tracker.release(&shared);
            assert_eq!(flush(&mut tracker), []);
            let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 1, &queues);
            assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COPY, serial: 1 }]);
        }
    }
}

/// What only compute shaders read and write is ordered for them alone, by transitions into the same state where
/// barriers name stages.
#[test]
fn accesses_of_one_stage_are_ordered_for_that_stage() {
    let (write, read) = (State::COMPUTE_UNORDERED_ACCESS, State::COMPUTE_SHADER);
    for model in [StateModel::Explicit, StateModel::Promotion] {
        let data = buffer(Usage::UNORDERED_ACCESS | Usage::SHADER_READ);
        let mut tracker = Tracker::new(model, QueueKind::Graphics);
        let mut barrier = |state| {
            tracker.require(&data, ALL, state).unwrap();
            let barriers: Vec<_> = tracker.flush().collect();
            barriers.first().map(|barrier| match barrier {
                StateBarrier::Transition { before, after, .. } => Some((*before, *after)),
                _ => None,
            })
        };
        let is_explicit = model == StateModel::Explicit;
        assert_eq!(barrier(write), None);
        assert_eq!(barrier(write), Some(is_explicit.then_some((write, write))));
        assert_eq!(barrier(read), Some(Some((write, read))));
        assert_eq!(barrier(read), None);
        // Vertex shaders have not waited for the write.
        assert_eq!(barrier(State::VERTEX_SHADER), Some(Some((read, read | State::VERTEX_SHADER))));
        assert_eq!(barrier(read), None, "a part of the union");
        assert_eq!(
            barrier(State::UNORDERED_ACCESS),
            Some(Some((read | State::VERTEX_SHADER, State::UNORDERED_ACCESS)))
        );
        assert_eq!(barrier(write), Some(Some((State::UNORDERED_ACCESS, write))));
    }
    for queue in [QueueKind::Compute, QueueKind::Graphics] {
        let data = buffer(Usage::UNORDERED_ACCESS);
        let mut tracker = Tracker::new(StateModel::Explicit, queue);
        let is_taken = tracker.require(&data, ALL, State::MESH_UNORDERED_ACCESS).is_ok();
        assert_eq!(is_taken, queue == QueueKind::Graphics);
        let two = tracker.require(&data, ALL, write | State::UNORDERED_ACCESS);
        assert!(matches!(two, Err(StateError::InvalidCombination { .. })));
    }
}

/// Each submission has its own pages of the buffer.
#[test]
fn queues_do_not_wait_for_each_other_at_divided_buffers() {
    let queues = queues([0, 1, 2]);
    for model in [StateModel::Promotion, StateModel::Explicit] {
        let mut cell = StateCell::new(ResourceKind::Buffer, 1, Usage::COPY_DST, State::COMMON);
        cell.set_disjoint_uses();
        let pages = Arc::new(cell);
        for (serial, (queue, kind)) in
            (1..).zip([(0, QueueKind::Graphics), (1, QueueKind::Compute)].repeat(2))
        {
            let fixups = submit(&used(model, kind, &pages, State::COPY_DST), QueueId(queue), serial, &queues);
            assert!(fixups.is_empty(), "{model:?}: {fixups:?}");
        }
    }
}
