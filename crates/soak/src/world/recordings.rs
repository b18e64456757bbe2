//! Open recordings, and their effects.

use tenure_core::{Recording, SyncPoint};
use tenure_sim::Device;

use super::{Checked, World};
use crate::contents::Effect;

/// A recording with its effects when it executes.
pub(crate) struct OpenRecording {
    pub(crate) recording: Recording<Device>,
    effects: Vec<Effect>,
    /// Objects that it uses without an effect.
    used: Vec<u64>,
    /// The frame submits it, if one is open.
    is_of_frame: bool,
}

impl OpenRecording {
    pub(crate) const fn new(recording: Recording<Device>, is_of_frame: bool) -> Self {
        Self { recording, effects: Vec::new(), used: Vec::new(), is_of_frame }
    }

    pub(crate) fn uses(&self, number: u64) -> bool {
        self.used.contains(&number)
            || self.effects.iter().any(|effect| effect.objects().any(|of| of == number))
    }

    pub(crate) fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn note_use(&mut self, number: u64) {
        self.used.push(number);
    }
}

impl World {
    /// Submits a recording, and lets the model run it. True when it was.
    pub(crate) fn submit(&mut self, open: OpenRecording) -> Checked<bool> {
        let OpenRecording { recording, effects, used, is_of_frame } = open;
        let submitted = match &self.frame {
            Some(frame) if is_of_frame => frame.submit(recording),
            _ => recording.submit(),
        };
        let Some(point) = self.allow("submit", submitted)? else { return Ok(false) };
        self.note_used(&effects, &used, &point);
        self.contents.apply(effects);
        Ok(true)
    }

    /// Submits recordings in the open frame, and lets the model run those that were submitted.
    pub(crate) fn submit_all(&mut self, all: Vec<OpenRecording>) -> Checked {
        let Some(frame) = &self.frame else { return Ok(()) };
        let (recordings, notes): (Vec<_>, Vec<_>) =
            all.into_iter().map(|open| (open.recording, (open.effects, open.used))).unzip();
        let (points, refused) = match frame.submit_all(recordings) {
            Ok(points) => (points, None),
            Err(refused) => (refused.points, Some(refused.error)),
        };
        for ((effects, used), point) in notes.into_iter().zip(&points) {
            if *point != SyncPoint::NONE {
                self.note_used(&effects, &used, point);
                self.contents.apply(effects);
            }
        }
        self.allow("submit", refused.map_or(Ok(()), Err))?;
        Ok(())
    }

    fn note_used(&mut self, effects: &[Effect], used: &[u64], point: &SyncPoint) {
        for known in &mut self.buffers {
            let is_in = |effect: &Effect| effect.objects().any(|of| of == known.number);
            if used.contains(&known.number) || effects.iter().any(is_in) {
                known.last.merge(point);
            }
        }
    }
}
