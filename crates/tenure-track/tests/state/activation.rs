//! Bytes that change hands, by examples every frame has.

use std::sync::Arc;

use tenure_track::device::{Api, QueueId, QueueKind, State, Subresource, Usage};
use tenure_track::device::{QueueProperties, QueueSerial, StateModel};
use tenure_track::state::{
    Fixups, Recorded, ResourceKind, StateBarrier, StateCell, StateError, Tracker, resolve,
};

type Handle = Arc<StateCell>;

const ALL: Subresource = Subresource::All;
const GRAPHICS: QueueId = QueueId(0);
const COMPUTE: QueueId = QueueId(1);
const COPY: QueueId = QueueId(2);
const MODELS: [StateModel; 2] = [StateModel::Promotion, StateModel::Explicit];
const TARGET: Usage = Usage::RENDER_TARGET.union(Usage::SHADER_READ).union(Usage::UNORDERED_ACCESS);

fn queues() -> [QueueProperties; 3] {
    let kinds = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];
    std::array::from_fn(|index| QueueProperties { kind: kinds[index], family: 0 })
}

fn cell(kind: ResourceKind, count: u32, usage: Usage) -> Handle {
    Arc::new(StateCell::new(kind, count, usage, State::COMMON))
}

fn target() -> Handle {
    cell(ResourceKind::Texture, 1, TARGET)
}

fn tracker(model: StateModel, queue: QueueId) -> Tracker<Handle> {
    Tracker::new(model, queues()[queue.index()].kind).on(queue)
}

/// A barrier in short.
#[derive(Debug, PartialEq, Eq)]
enum Short {
    /// Whether one former owner is named, and the scopes.
    Aliasing(bool, State, State),
    Transition(Subresource, State, State),
    Initialize(Subresource, [State; 3]),
    Unordered,
}

fn short<H>(barrier: &StateBarrier<H>) -> Short {
    match *barrier {
        StateBarrier::Aliasing { ref before, from, to, .. } => Short::Aliasing(before.is_some(), from, to),
        StateBarrier::Transition { subresource, before, after, .. } => {
            Short::Transition(subresource, before, after)
        }
        StateBarrier::Initialize { subresource, before, discarded_in, after, .. } => {
            Short::Initialize(subresource, [before, discarded_in, after])
        }
        StateBarrier::Unordered { .. } => Short::Unordered,
    }
}

fn flush(tracker: &mut Tracker<Handle>) -> Vec<Short> {
    tracker.flush().map(|barrier| short(&barrier)).collect()
}

fn used(tracker: &mut Tracker<Handle>, resource: &Handle, state: State) -> Vec<Short> {
    tracker.require(resource, ALL, state).unwrap();
    flush(tracker)
}

fn submit(recorded: &Recorded<Handle>, queue: QueueId, serial: u64) -> Fixups<Handle> {
    let mut fixups = Fixups::new();
    resolve(recorded, QueueSerial { queue, serial }, &queues(), &mut fixups).unwrap();
    fixups
}

#[test]
fn a_target_follows_another_within_a_recording() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut tracker = tracker(model, GRAPHICS);
        assert_eq!(used(&mut tracker, &bloom, State::RENDER_TARGET), []);
        assert_eq!(used(&mut tracker, &bloom, State::PIXEL_SHADER).len(), 1);
        tracker.activate(&shadow, std::slice::from_ref(&bloom), State::COMMON);
        let barriers = used(&mut tracker, &shadow, State::RENDER_TARGET);
        let aliasing = Short::Aliasing(true, State::PIXEL_SHADER, State::RENDER_TARGET);
        let transition = Short::Transition(ALL, State::COMMON, State::RENDER_TARGET);
        assert_eq!(barriers, [aliasing, transition]);
        let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 1);
        assert_eq!(fixups.here.len(), 1, "bloom's first transition alone");
        assert_eq!(fixups.here[0].resource().id(), bloom.id());
    }
}

/// Direct3D 12's legacy barriers do not set up a target's compression.
#[test]
fn targets_are_discarded_after_taking_over_and_before_use() {
    let new = |count| {
        Arc::new(StateCell::new(ResourceKind::Texture, count, TARGET, State::COMMON).with_initialization())
    };
    let (bloom, shadow) = (new(2), new(1));
    let mut tracker = tracker(StateModel::Promotion, GRAPHICS);
    tracker.activate(&shadow, &[], State::COMMON);
    let aliasing = Short::Aliasing(false, State::COMMON, State::PIXEL_SHADER);
    let through = [State::COMMON, State::RENDER_TARGET, State::PIXEL_SHADER];
    assert_eq!(used(&mut tracker, &shadow, State::PIXEL_SHADER), [aliasing, Short::Initialize(ALL, through)]);
    tracker.require(&bloom, Subresource::One(1), State::RENDER_TARGET).unwrap();
    assert_eq!(flush(&mut tracker), []);
    let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 1);
    let here: Vec<Short> = fixups.here.iter().map(short).collect();
    let through = [State::COMMON, State::RENDER_TARGET, State::RENDER_TARGET];
    assert_eq!(here, [Short::Initialize(Subresource::One(1), through)]);
    // The other mip is new: a compute queue discards it in the state that it knows.
    let mut tracker = super::activation::tracker(StateModel::Promotion, COMPUTE);
    tracker.require(&bloom, Subresource::One(0), State::UNORDERED_ACCESS).unwrap();
    assert_eq!(flush(&mut tracker), []);
    let fixups = submit(&tracker.close().unwrap(), COMPUTE, 1);
    let here: Vec<Short> = fixups.here.iter().map(short).collect();
    let through = [State::COMMON, State::UNORDERED_ACCESS, State::UNORDERED_ACCESS];
    assert_eq!(here, [Short::Initialize(Subresource::One(0), through)]);
    // A resource with contents keeps them.
    let mut tracker = super::activation::tracker(StateModel::Promotion, GRAPHICS);
    used(&mut tracker, &bloom, State::RENDER_TARGET);
    let fixups = submit(&tracker.close().unwrap(), GRAPHICS, 2);
    let here: Vec<Short> = fixups.here.iter().map(short).collect();
    assert_eq!(here, [Short::Transition(Subresource::One(0), State::UNORDERED_ACCESS, State::RENDER_TARGET)]);
}

/// A resource that takes over bytes is inactive before the recording.
#[test]
fn activated_resources_have_no_barrier_before_the_recording() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        for serial in 1..4 {
            let mut tracker = tracker(model, GRAPHICS);
            for (taker, previous_owner) in [(&bloom, &shadow), (&shadow, &bloom)] {
                tracker.activate(taker, std::slice::from_ref(previous_owner), State::COMMON);
                used(&mut tracker, taker, State::RENDER_TARGET);
                used(&mut tracker, taker, State::PIXEL_SHADER);
            }
            assert!(submit(&tracker.close().unwrap(), GRAPHICS, serial).is_empty());
        }
    }
}

/// On Direct3D 12 the state outlives the contents.
#[test]
fn promotion_continues_from_the_submitted_state() {
    let (bloom, shadow) = (target(), target());
    let mut first = tracker(StateModel::Promotion, GRAPHICS);
    used(&mut first, &bloom, State::RENDER_TARGET);
    submit(&first.close().unwrap(), GRAPHICS, 1);
    let mut second = tracker(StateModel::Promotion, GRAPHICS);
    second.activate(&bloom, &[shadow], State::COMMON);
    let barriers = used(&mut second, &bloom, State::UNORDERED_ACCESS);
    assert_eq!(barriers[1], Short::Transition(ALL, State::RENDER_TARGET, State::UNORDERED_ACCESS));
    assert!(submit(&second.close().unwrap(), GRAPHICS, 2).is_empty());
    assert_eq!(bloom.submitted(0), Some(State::UNORDERED_ACCESS));
}

#[test]
fn a_queue_that_cannot_name_the_state_takes_another_object() {
    let (bloom, shadow) = (target(), target());
    let may = |kind| bloom.may_activate_on(kind, StateModel::Promotion);
    let all = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];
    assert_eq!(all.map(may), [true; 3], "still in COMMON");
    let mut tracker = tracker(StateModel::Promotion, GRAPHICS);
    used(&mut tracker, &bloom, State::RENDER_TARGET);
    used(&mut tracker, &shadow, State::PIXEL_SHADER);
    submit(&tracker.close().unwrap(), GRAPHICS, 1);
    assert_eq!(all.map(may), [true, false, false]);
    assert!(bloom.may_activate_on(QueueKind::Compute, StateModel::Explicit));
    // Promoted states have decayed.
    assert!(all.iter().all(|kind| shadow.may_activate_on(*kind, StateModel::Promotion)));
}

/// The promise is broken: a recording in between leaves another state.
#[test]
fn a_state_that_changed_in_between_is_put_right_in_front() {
    let (bloom, shadow) = (target(), target());
    let mut late = tracker(StateModel::Promotion, GRAPHICS);
    late.activate(&bloom, &[shadow], State::COMMON);
    used(&mut late, &bloom, State::RENDER_TARGET);
    let mut early = tracker(StateModel::Promotion, GRAPHICS);
    used(&mut early, &bloom, State::UNORDERED_ACCESS);
    submit(&early.close().unwrap(), GRAPHICS, 1);
    let fixups = submit(&late.close().unwrap(), GRAPHICS, 2);
    let back = Short::Transition(ALL, State::UNORDERED_ACCESS, State::COMMON);
    assert_eq!(fixups.here.iter().map(short).collect::<Vec<_>>(), [back]);
}

#[test]
fn mips_used_one_by_one_leave_the_barrier_open_to_all_uses() {
    let (write, read) = (State::UNORDERED_ACCESS, State::NON_PIXEL_SHADER);
    let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ;
    let (chain, previous_owner) = (cell(ResourceKind::Texture, 3, usage), target());
    let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
    used(&mut tracker, &previous_owner, State::RENDER_TARGET);
    tracker.activate(&chain, &[previous_owner], State::COMMON);
    tracker.require(&chain, Subresource::One(0), write).unwrap();
    let first = Short::Transition(Subresource::One(0), State::COMMON, write);
    let aliasing = Short::Aliasing(true, State::RENDER_TARGET, State::allowed_for(usage));
    assert_eq!(flush(&mut tracker), [aliasing, first]);
    tracker.require(&chain, Subresource::One(0), read).unwrap();
    tracker.require(&chain, Subresource::One(1), write).unwrap();
    let next = Short::Transition(Subresource::One(1), State::COMMON, write);
    assert_eq!(flush(&mut tracker), [Short::Transition(Subresource::One(0), write, read), next]);
    assert!(submit(&tracker.close().unwrap(), GRAPHICS, 1).here.iter().all(|barrier| {
        !matches!(barrier, StateBarrier::Transition { resource, .. } if resource.id() == chain.id())
    }));
    // The third mip is still undefined, and its next use needs only a layout.
    assert_eq!((chain.submitted(1), chain.submitted(2)), (Some(write), Some(State::COMMON)));
}

#[test]
fn buffers_on_vulkan_need_the_aliasing_barrier_alone() {
    let usage = Usage::UNORDERED_ACCESS | Usage::COPY_DST | Usage::SHADER_READ | Usage::INDEX;
    let (hits, rays) = (cell(ResourceKind::Buffer, 1, usage), cell(ResourceKind::Buffer, 1, usage));
    let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
    used(&mut tracker, &hits, State::UNORDERED_ACCESS);
    tracker.activate(&rays, &[hits], State::COMMON);
    let aliasing = Short::Aliasing(true, State::UNORDERED_ACCESS, State::COPY_DST);
    assert_eq!(used(&mut tracker, &rays, State::COPY_DST), [aliasing]);
    let read = Short::Transition(ALL, State::COPY_DST, State::INDEX);
    assert_eq!(used(&mut tracker, &rays, State::INDEX), [read]);
}

#[test]
fn reads_since_the_last_barrier_are_all_waited_for() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut tracker = tracker(model, GRAPHICS);
        used(&mut tracker, &bloom, State::RENDER_TARGET);
        used(&mut tracker, &bloom, State::SHADER_READ);
        assert_eq!(used(&mut tracker, &bloom, State::PIXEL_SHADER), []);
        tracker.activate(&shadow, &[bloom], State::COMMON);
        let barriers = used(&mut tracker, &shadow, State::UNORDERED_ACCESS);
        assert_eq!(barriers[0], Short::Aliasing(true, State::SHADER_READ, State::UNORDERED_ACCESS));
    }
}

/// On Vulkan submissions to one queue overlap.
#[test]
fn earlier_submissions_are_waited_for_on_vulkan_alone() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut first = tracker(model, GRAPHICS);
        used(&mut first, &bloom, State::RENDER_TARGET);
        submit(&first.close().unwrap(), GRAPHICS, 1);
        let mut second = tracker(model, GRAPHICS);
        second.activate(&shadow, &[bloom], State::COMMON);
        let barriers = used(&mut second, &shadow, State::RENDER_TARGET);
        let from = if model == StateModel::Explicit { State::RENDER_TARGET } else { State::COMMON };
        assert_eq!(barriers[0], Short::Aliasing(true, from, State::RENDER_TARGET));
        assert!(submit(&second.close().unwrap(), GRAPHICS, 2).waits.is_empty());
    }
}

#[test]
fn waits_for_another_queue_replace_barriers() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut first = tracker(model, COMPUTE);
        used(&mut first, &bloom, State::UNORDERED_ACCESS);
        submit(&first.close().unwrap(), COMPUTE, 1);
        let mut second = tracker(model, GRAPHICS);
        second.activate(&shadow, &[bloom], State::COMMON);
        let barriers = used(&mut second, &shadow, State::RENDER_TARGET);
        assert_eq!(barriers[0], Short::Aliasing(true, State::COMMON, State::RENDER_TARGET));
        let fixups = submit(&second.close().unwrap(), GRAPHICS, 1);
        let compute = QueueSerial { queue: COMPUTE, serial: 1 };
        assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [compute]);
    }
}

/// A target that was sampled last was flushed by the transition to that. Only Vulkan's barrier names its writes again,
/// which the aliasing barrier before them led to.
#[test]
fn writes_of_previous_owners_are_flushed_once_on_direct3d12() {
    for api in [Api::Direct3D12, Api::Vulkan] {
        let layouts = |cell: Handle| Arc::new(Arc::into_inner(cell).unwrap().with_layouts_of(api));
        let [bloom, shadow, moss] = [(); 3].map(|()| layouts(target()));
        let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
        used(&mut tracker, &bloom, State::RENDER_TARGET);
        let (mut previous_owner, mut from) = (bloom, State::RENDER_TARGET);
        for resource in [shadow, moss] {
            tracker.activate(&resource, &[previous_owner], State::COMMON);
            let barriers = used(&mut tracker, &resource, State::RENDER_TARGET);
            assert_eq!(barriers[0], Short::Aliasing(true, from, State::RENDER_TARGET), "{api:?}");
            used(&mut tracker, &resource, State::PIXEL_SHADER);
            let led = if api == Api::Vulkan { State::RENDER_TARGET } else { State::COMMON };
            (previous_owner, from) = (resource, State::PIXEL_SHADER | led);
        }
    }
}

#[test]
fn unknown_previous_owners_are_waited_for_in_the_given_state() {
    let [bloom, shadow, moss] = [(); 3].map(|()| target());
    let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
    used(&mut tracker, &bloom, State::RENDER_TARGET);
    tracker.activate(&shadow, std::slice::from_ref(&bloom), State::COPY_SRC);
    let from = State::RENDER_TARGET | State::COPY_SRC;
    let barriers = used(&mut tracker, &shadow, State::UNORDERED_ACCESS);
    assert_eq!(barriers[0], Short::Aliasing(false, from, State::UNORDERED_ACCESS));
    tracker.activate(&moss, &[bloom, shadow], State::COMMON);
    let from = State::RENDER_TARGET | State::UNORDERED_ACCESS;
    assert_eq!(
        used(&mut tracker, &moss, State::PIXEL_SHADER)[0],
        Short::Aliasing(false, from, State::PIXEL_SHADER)
    );
    tracker.activate(&moss, &[], State::all());
    let all = Short::Aliasing(false, State::all(), State::PIXEL_SHADER);
    assert_eq!(used(&mut tracker, &moss, State::PIXEL_SHADER)[0], all);
}

#[test]
fn back_and_forth_in_one_recording() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut tracker = tracker(model, GRAPHICS);
        used(&mut tracker, &bloom, State::RENDER_TARGET);
        tracker.activate(&shadow, std::slice::from_ref(&bloom), State::COMMON);
        used(&mut tracker, &shadow, State::UNORDERED_ACCESS);
        tracker.activate(&bloom, std::slice::from_ref(&shadow), State::COMMON);
        let barriers = used(&mut tracker, &bloom, State::RENDER_TARGET);
        assert_eq!(barriers[0], Short::Aliasing(true, State::UNORDERED_ACCESS, State::RENDER_TARGET));
        // Undefined on Vulkan; as it was left on Direct3D 12.
        assert_eq!(barriers.len(), if model == StateModel::Explicit { 2 } else { 1 });
        tracker.activate(&shadow, &[bloom], State::COMMON);
        // Nothing unordered is left open: the barrier ordered it.
        assert!(!used(&mut tracker, &shadow, State::UNORDERED_ACCESS).contains(&Short::Unordered));
    }
}

/// Two acquisitions before the first use, and one that is given away unused.
#[test]
fn activations_before_a_use_share_one_barrier() {
    let [bloom, shadow, moss] = [(); 3].map(|()| target());
    let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
    used(&mut tracker, &bloom, State::RENDER_TARGET);
    used(&mut tracker, &shadow, State::UNORDERED_ACCESS);
    tracker.activate(&moss, std::slice::from_ref(&bloom), State::COMMON);
    tracker.activate(&moss, std::slice::from_ref(&shadow), State::COMMON);
    let from = State::RENDER_TARGET | State::UNORDERED_ACCESS;
    let barriers = used(&mut tracker, &moss, State::PIXEL_SHADER);
    assert_eq!(barriers[0], Short::Aliasing(false, from, State::PIXEL_SHADER));
    assert_eq!(barriers.len(), 2);
    tracker.activate(&bloom, std::slice::from_ref(&moss), State::COMMON);
    tracker.activate(&shadow, std::slice::from_ref(&bloom), State::COMMON);
    let all = State::allowed_for(TARGET);
    let barriers = used(&mut tracker, &shadow, State::RENDER_TARGET);
    assert_eq!(barriers[0], Short::Aliasing(true, State::PIXEL_SHADER, all));
    assert_eq!(barriers[1], Short::Aliasing(true, State::PIXEL_SHADER, State::RENDER_TARGET));
}

#[test]
fn an_activation_is_flushed_before_the_recording_ends() {
    let (bloom, shadow) = (target(), target());
    let mut tracker = tracker(StateModel::Explicit, GRAPHICS);
    tracker.activate(&bloom, std::slice::from_ref(&shadow), State::COMMON);
    assert_eq!(tracker.close().unwrap_err(), StateError::Unflushed { pending: 1 });
    let wrong = tracker.require(&bloom, ALL, State::COPY_DST);
    assert!(matches!(wrong, Err(StateError::NotAllowedForUsage { .. })));
    let anything = Short::Aliasing(true, State::COMMON, State::allowed_for(TARGET));
    assert_eq!(flush(&mut tracker), [anything]);
    let recorded = tracker.close().unwrap();
    assert!(!recorded.is_empty());
    assert!(submit(&recorded, GRAPHICS, 1).is_empty());
    // An abandoned recording leaves no trace of it.
    tracker.activate(&bloom, &[shadow], State::COMMON);
    tracker.reset();
    assert_eq!(flush(&mut tracker), []);
    assert!(tracker.close().unwrap().is_empty());
}

#[test]
fn resources_taking_over_undefined_bytes_are_not_handed_over() {
    let families =
        [0, 1, 2].map(|family| QueueProperties { kind: queues()[family].kind, family: family as u32 });
    let desc = Usage::UNORDERED_ACCESS | Usage::COPY_DST;
    let (bloom, shadow) = (cell(ResourceKind::Texture, 1, desc), cell(ResourceKind::Texture, 1, desc));
    let mut first = tracker(StateModel::Explicit, COMPUTE);
    used(&mut first, &bloom, State::UNORDERED_ACCESS);
    let mut fixups = Fixups::new();
    let submission = QueueSerial { queue: COMPUTE, serial: 1 };
    resolve(&first.close().unwrap(), submission, &families, &mut fixups).unwrap();
    let mut second = tracker(StateModel::Explicit, COPY);
    second.activate(&bloom, &[shadow], State::COMMON);
    let moved = Short::Transition(ALL, State::COMMON, State::COPY_DST);
    assert_eq!(used(&mut second, &bloom, State::COPY_DST)[1], moved);
    let submission = QueueSerial { queue: COPY, serial: 1 };
    resolve(&second.close().unwrap(), submission, &families, &mut fixups).unwrap();
    assert!(fixups.here.is_empty() && fixups.elsewhere.is_empty());
    assert_eq!(fixups.waits.iter().collect::<Vec<_>>(), [QueueSerial { queue: COMPUTE, serial: 1 }]);
    assert_eq!(bloom.owner(0), Some(COPY));
}

#[test]
fn a_refused_submission_leaves_everything_as_it_was() {
    for model in MODELS {
        let (bloom, shadow) = (target(), target());
        let mut first = tracker(model, GRAPHICS);
        used(&mut first, &bloom, State::UNORDERED_ACCESS);
        submit(&first.close().unwrap(), GRAPHICS, 1);
        let mut second = tracker(model, GRAPHICS);
        second.activate(&bloom, &[shadow], State::COMMON);
        used(&mut second, &bloom, State::RENDER_TARGET);
        let recorded = second.close().unwrap();
        let mut fixups = submit(&recorded, GRAPHICS, 2);
        assert_eq!(bloom.submitted(0), Some(State::RENDER_TARGET));
        fixups.undo(&recorded, &[]);
        assert_eq!(bloom.submitted(0), Some(State::UNORDERED_ACCESS));
    }
}

/// Vulkan's validation considers commands before shadow only up to shadow's own aliasing barrier.
#[test]
fn an_aliasing_barrier_leads_on_from_the_one_before() {
    for model in MODELS {
        let [bloom, shadow, moss] = [(); 3].map(|()| target());
        let mut first = tracker(model, GRAPHICS);
        used(&mut first, &bloom, State::PIXEL_SHADER);
        first.activate(&shadow, &[bloom], State::COMMON);
        used(&mut first, &shadow, State::RENDER_TARGET);
        used(&mut first, &shadow, State::NON_PIXEL_SHADER);
        let is_explicit = model == StateModel::Explicit;
        let from = State::NON_PIXEL_SHADER | if is_explicit { State::RENDER_TARGET } else { State::COMMON };
        let again = Short::Aliasing(true, from, State::UNORDERED_ACCESS);
        submit(&first.close().unwrap(), GRAPHICS, 1);
        let mut second = tracker(model, GRAPHICS);
        if !is_explicit {
            used(&mut second, &shadow, State::NON_PIXEL_SHADER);
        }
        second.activate(&moss, &[shadow], State::COMMON);
        assert_eq!(used(&mut second, &moss, State::UNORDERED_ACCESS)[0], again);
    }
}
