//! Uses that write all of a subresource, whose old contents are not needed.

use tenure_track::device::{QueueKind, QueueSerial, State, StateModel, Subresource, Usage};
use tenure_track::state::{Fixups, Tracker};

use super::examples::{ALL, COPY, GRAPHICS, Handle, queues, submit, texture, transition, used};

/// A copy to a whole texture of another queue family discards the old contents: no transfer, only a wait.
#[test]
fn an_overwritten_texture_needs_no_transfer() {
    let queues = queues([0, 1, 2]);
    let target = texture(2, Usage::RENDER_TARGET | Usage::COPY_SRC | Usage::COPY_DST);
    let drawn = used(StateModel::Explicit, QueueKind::Graphics, &target, State::RENDER_TARGET);
    let overwritten = |part, read_before| {
        let mut tracker = Tracker::new(StateModel::Explicit, QueueKind::Copy);
        if read_before {
            tracker.require(&target, part, State::COPY_SRC).unwrap();
            tracker.flush();
        }
        tracker.require(&target, part, State::COPY_DST).unwrap();
        tracker.note_overwrite(&target, part);
        tracker.flush();
        tracker.close().unwrap()
    };
    let found = |fixups: &Fixups<Handle>| -> Vec<_> { fixups.here.iter().map(transition).collect() };
    submit(&drawn, GRAPHICS, 1, &queues);
    let fixups = submit(&overwritten(ALL, false), COPY, 1, &queues);
    assert!(fixups.elsewhere.is_empty());
    assert_eq!(found(&fixups), [(ALL, State::COMMON, State::COPY_DST)]);
    let waits: Vec<_> = fixups.waits.iter().collect();
    assert_eq!(waits, [QueueSerial { queue: GRAPHICS, serial: 1 }]);
    // The next one on the same queue must come after it, and names its state.
    let fixups = submit(&overwritten(ALL, false), COPY, 2, &queues);
    assert_eq!(found(&fixups), [(ALL, State::COPY_DST, State::COPY_DST)]);
    // One subresource; the other is handed over when it is used.
    submit(&drawn, GRAPHICS, 2, &queues);
    let one = Subresource::One(1);
    let fixups = submit(&overwritten(one, false), COPY, 3, &queues);
    assert!(fixups.elsewhere.is_empty());
    assert_eq!(found(&fixups), [(one, State::COMMON, State::COPY_DST)]);
    // Contents that are read first are handed over.
    let fixups = submit(&overwritten(Subresource::One(0), true), COPY, 4, &queues);
    let released = fixups.elsewhere.first().expect("a release");
    assert_eq!((released.queue, released.barriers.len()), (GRAPHICS, 1));
}
