//! The end of a program: checks all contents, and that nothing is left.

use std::time::Duration;

use tenure_core::{
    BufferDesc, CompactionBudget, Error, Format, Gpu, Queue, Recording, SyncPoint, TextureDesc,
    UploadRingDesc, Usage,
};
use tenure_sim::{Device, Fault, FaultKind};

use super::World;
use crate::callbacks::{Callbacks, survive};
use crate::setup::Trouble;
use crate::wrong::{Checked, LONG, wrong};

/// Frames after which nothing is kept for later.
const FRAMES: usize = 40;

/// The bytes differ; where, and how.
pub(crate) fn compare(what: &str, found: &[u8], expected: &[u8]) -> Checked {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(one, other)| one != other);
    let Some(at) = at else {
        return wrong(format!("{what}: {} B instead of {}", found.len(), expected.len()));
    };
    wrong(format!("{what}: byte {at} of {} is {} instead of {}", found.len(), found[at], expected[at]))
}

impl World {
    /// Ends the program on a device of its own.
    pub(crate) fn end(mut self) -> Checked {
        self.settle()?;
        if self.is_lost {
            return self.end_lost();
        }
        if self.has_leaked {
            // Leaked recordings are never submitted.
            self.reads.clear();
            self.tasks.clear();
        }
        self.check_all()?;
        let (gpu, callbacks) = (self.gpu.clone(), self.callbacks.clone());
        let (has_leaked, leaked) = (self.has_leaked, self.leaked);
        self.drop_all();
        if has_leaked {
            check_hazards(gpu.device())?;
            let ended = shut_down(&gpu, leaked);
            callbacks.let_go();
            return ended;
        }
        // Values may also be dropped by the shutdown.
        if callbacks.ends_at_once() {
            check_hazards(gpu.device())?;
            gpu.shutdown();
            callbacks.let_go();
        } else {
            // Objects that callbacks create during the last frames would not be idle.
            callbacks.let_go();
            check_idle(&gpu)?;
        }
        end_clean(gpu)?;
        callbacks.check()
    }

    /// Removes injected failures, and ends open recordings and frames.
    pub(crate) fn settle(&mut self) -> Checked {
        self.device().faults().clear();
        self.open.clear();
        if let Some(frame) = self.frame.take() {
            let ended = survive(|| frame.end());
            self.allow("end a frame", ended)?;
        }
        self.lift_limits()?;
        // The device may be lost without a call since.
        let desc = BufferDesc::new(16, Usage::VERTEX).own_resource();
        let asked = self.gpu.completed().and_then(|_| self.gpu.create_buffer(&desc)).map(drop);
        self.must("ask something of the device", asked)?;
        if !self.is_lost {
            self.trouble = Trouble::None;
        }
        Ok(())
    }

    /// Memory is as large as in the beginning.
    pub(crate) fn lift_limits(&mut self) -> Checked {
        let heaps = self.gpu.memory().heaps;
        for (index, heap) in heaps.iter().enumerate() {
            let lifted = self.gpu.set_memory_cap(index, None);
            self.allow("lift a cap", lifted)?;
            if self.trouble == Trouble::Shortage {
                let set = self.device().set_budget(index, heap.size);
                self.allow(
                    "lift a budget",
                    set.map_err(|source| Error::Device { name: "budget".into(), source }),
                )?;
            }
        }
        Ok(())
    }

    /// Checks that all readbacks and all live contents match the last writes.
    pub(crate) fn check_all(&mut self) -> Checked {
        self.check_reads(LONG)?;
        self.check_tasks()?;
        for upload in std::mem::take(&mut self.uploads) {
            let waited = self.gpu.wait_upload(&upload, LONG);
            if self.must("wait for an upload", waited)? == Some(false) {
                return wrong("an upload does not become complete");
            }
        }
        self.check_buffers()?;
        self.check_textures()?;
        self.check_tiles()
    }

    /// Compares the readbacks that are there within some time.
    pub(crate) fn check_reads(&mut self, timeout: Duration) -> Checked {
        for read in std::mem::take(&mut self.reads) {
            match read.readback.wait(timeout) {
                Ok(found) => {
                    let what = format!("readback of {}", read.readback.name());
                    match self.contents.take_found(read.number) {
                        Some(Some(expected)) => compare(&what, &found, &expected)?,
                        Some(None) => {}
                        None => return wrong(format!("{what}: bytes, although it was never submitted")),
                    }
                }
                Err(Error::Timeout { .. }) if timeout < LONG => self.reads.push(read),
                Err(error @ Error::Discarded { .. }) => {
                    if self.contents.take_found(read.number).is_some() {
                        return wrong(format!("submitted, and yet: {error}"));
                    }
                }
                Err(error) => {
                    self.allow::<()>("wait for a readback", Err(error))?;
                }
            }
        }
        Ok(())
    }

    fn check_buffers(&mut self) -> Checked {
        for index in 0..self.buffers.len() {
            let known = &self.buffers[index];
            let Some(expected) = self.contents.known(known.all()).map(<[u8]>::to_vec) else { continue };
            if !known.is_read() {
                continue;
            }
            let what = known.buffer.name().to_string();
            let found = self.gpu.read_back(&known.buffer, 0, known.buffer.size());
            let found = found.and_then(|readback| readback.wait(LONG));
            if let Some(found) = self.must(&what, found)? {
                compare(&what, &found, &expected)?;
            }
        }
        Ok(())
    }

    fn check_textures(&mut self) -> Checked {
        for index in 0..self.textures.len() {
            for part in 0..self.textures[index].parts() {
                let known = &self.textures[index];
                let Some(expected) = self.contents.known(known.all(part)).map(<[u8]>::to_vec) else {
                    continue;
                };
                let what = format!("{} part {part}", known.texture.name());
                let found = self.gpu.read_back_texture(&known.texture, known.grid(part).region);
                let found = found.and_then(|readback| readback.wait(LONG));
                if let Some(found) = self.must(&what, found)? {
                    compare(&what, &found, &expected)?;
                }
            }
        }
        Ok(())
    }

    /// Ends the program after a loss: calls are refused, and all objects are released.
    fn end_lost(mut self) -> Checked {
        let (gpu, callbacks) = (self.gpu.clone(), self.callbacks.clone());
        self.reads.clear();
        check_refused(&gpu, "a loss")?;
        self.check_tasks()?;
        self.drop_all();
        end_after_loss(gpu, &callbacks)
    }

    /// Ends one of several programs that share a manager, after a loss: waits end, and all of its objects go.
    pub(crate) fn leave_lost(mut self) -> Checked {
        self.open.clear();
        if let Some(frame) = self.frame.take() {
            let ended = survive(|| frame.end());
            self.allow("end a frame", ended)?;
        }
        // The threads may have made all their calls before the loss, or the call that fails is one without an answer.
        for _ in 0..100 {
            if !self.is_lost {
                self.lose(1);
                let desc = BufferDesc::new(16, Usage::VERTEX).own_resource();
                let asked = self.gpu.create_buffer(&desc).map(drop);
                self.allow("use the device", asked)?;
            }
        }
        if !self.is_lost {
            return wrong("the device is not lost");
        }
        for read in std::mem::take(&mut self.reads) {
            // Bytes that were copied before the loss may be returned.
            if let Err(error @ Error::Timeout { .. }) = read.readback.wait(LONG) {
                return wrong(format!("wait for a readback after the loss: {error}"));
            }
        }
        for upload in std::mem::take(&mut self.uploads) {
            if self.gpu.wait_upload(&upload, LONG) == Ok(false) {
                return wrong("an upload is awaited after the loss");
            }
        }
        self.check_tasks()?;
        self.drop_all();
        Ok(())
    }

    /// Loses the device at one of its next calls.
    pub(crate) fn lose(&mut self, nth: u64) {
        self.say(|| format!("the device is lost at call {nth}"));
        self.device().faults().inject(Fault::nth(nth, FaultKind::Removed("soak".into())));
    }

    /// Drops everything except the manager.
    pub(crate) fn drop_all(self) {
        let Self { gpu, .. } = self;
        drop(gpu);
    }
}

/// Checks that the manager has no live objects and no memory in use.
pub(crate) fn check_idle(gpu: &Gpu<Device>) -> Checked {
    let frames = |count: usize| {
        let empty = || survive(|| gpu.begin_frame().and_then(tenure_core::Frame::end));
        (0..count).try_for_each(|_| empty()).or_else(|error| wrong(format!("an empty frame: {error}")))
    };
    // Trimmed objects are released like dropped ones: their blocks can be freed the next time.
    for _ in 0..2 {
        frames(FRAMES)?;
        gpu.trim();
    }
    frames(1)?;
    let report = gpu.report();
    let left: Vec<String> =
        report.objects.iter().map(|object| format!("{} ({})", object.name, object.kind)).collect();
    if !left.is_empty() {
        return wrong(format!("objects are left in the report: {left:?}"));
    }
    let stats = gpu.stats();
    if stats.pending_bytes != 0 {
        return wrong(format!("{} B wait for the GPU, which is idle", stats.pending_bytes));
    }
    let kept: Vec<_> =
        gpu.memory().heaps.iter().map(|heap| heap.ours).filter(|ours| ours.total() != 0).collect();
    if !kept.is_empty() {
        return wrong(format!("memory is kept for nothing: {kept:?}"));
    }
    Ok(())
}

/// Ends a manager after a loss, once all other handles are gone: calls are refused, and no API object is left.
pub(crate) fn end_after_loss(gpu: Gpu<Device>, callbacks: &Callbacks) -> Checked {
    let device = gpu.device().clone();
    gpu.shutdown();
    callbacks.let_go();
    check_refused(&gpu, "a loss and a shutdown")?;
    drop(gpu);
    let leaks = device.leaks();
    if !leaks.is_empty() {
        return wrong(format!("left after the loss: {leaks:?}"));
    }
    callbacks.check()
}

/// Ends a manager without live objects, and its device, and checks that neither complains.
pub(crate) fn end_clean(gpu: Gpu<Device>) -> Checked {
    let device = gpu.device().clone();
    check_hazards(&device)?;
    let report = gpu.shutdown();
    if !report.is_clean() {
        return wrong(format!("the shutdown is not clean: {report:?}"));
    }
    check_refused(&gpu, "a shutdown")?;
    drop(gpu);
    device.check_clean().or_else(|findings| wrong(findings.to_string()))
}

/// Checks that every call that needs the device is refused at once after the end.
fn check_refused(gpu: &Gpu<Device>, after: &str) -> Checked {
    let desc = BufferDesc::new(16, Usage::VERTEX).own_resource();
    let texture = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ);
    let succeeded = [
        ("create_buffer", gpu.create_buffer(&desc).is_ok()),
        ("create_buffer_with", gpu.create_buffer_with(&desc, &[1; 16]).is_ok()),
        ("create_texture", gpu.create_texture(&texture).is_ok()),
        ("begin_frame", gpu.begin_frame().is_ok()),
        ("record", gpu.record(Queue::Graphics, "late").and_then(Recording::submit).is_ok()),
        (
            "submit_external",
            gpu.submit_external(Queue::Copy, &SyncPoint::NONE, |_| Ok::<_, Error>(())).is_ok(),
        ),
        ("create_upload_ring", gpu.create_upload_ring(&UploadRingDesc::new(4096)).is_ok()),
        (
            "compact",
            gpu.compact(CompactionBudget { bytes: 1, moves: 1, pieces: 1 }).is_ok_and(|it| it.moves > 0),
        ),
    ];
    match succeeded.iter().find(|(_, has_succeeded)| *has_succeeded) {
        None => Ok(()),
        Some((call, _)) => wrong(format!("{call} succeeds after {after}")),
    }
}

fn check_hazards(device: &Device) -> Checked {
    if !device.run_until_idle() {
        return wrong("the GPU waits for ever");
    }
    match device.take_hazards().first() {
        None => Ok(()),
        Some(hazard) => wrong(format!("hazard: {hazard}")),
    }
}

/// Recordings that were leaked on purpose are reported; `leaked` is their minimum number.
fn shut_down(gpu: &Gpu<Device>, leaked: usize) -> Checked {
    let report = gpu.shutdown();
    match report.open_recordings.len() >= leaked {
        true => Ok(()),
        false => wrong(format!("{leaked} recordings were leaked: {report:?}")),
    }
}
