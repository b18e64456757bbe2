//! Tasks that await readbacks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tenure_core::{Error, Readback};
use tenure_sim::Device;

use super::{Checked, LONG, World, compare, wrong};
use crate::callbacks::Alarm;

/// A task, its number in the model, and its waker.
pub(crate) struct Task {
    pub(crate) number: u64,
    pub(crate) readback: Pin<Box<Readback<Device>>>,
    pub(crate) alarm: Arc<Alarm>,
}

impl World {
    /// Polls a task; it is kept while it is pending.
    pub(crate) fn poll(&mut self, mut task: Task) -> Checked {
        let waker = task.alarm.clone().into();
        let polled = task.readback.as_mut().poll(&mut Context::from_waker(&waker));
        let Poll::Ready(found) = polled else {
            self.tasks.push(task);
            return Ok(());
        };
        let what = format!("await {}", task.readback.name());
        match (found, self.contents.take_found(task.number)) {
            (Ok(found), Some(Some(expected))) => compare(&what, &found, &expected),
            (Ok(_), Some(None)) => Ok(()),
            (Ok(_), None) => wrong(format!("{what}: bytes, although it was never submitted")),
            (Err(Error::Discarded { .. }), None) => Ok(()),
            (Err(error), _) => self.allow::<()>("await", Err(error)).map(|_| ()),
        }
    }

    /// Checks that each task was woken and has its bytes, after the GPU has finished or is lost.
    pub(crate) fn check_tasks(&mut self) -> Checked {
        let waited = self.gpu.wait(&self.gpu.submitted(), LONG);
        if !self.is_lost {
            self.must("wait for the GPU", waited)?;
        }
        let pending = self.tasks.len();
        for task in std::mem::take(&mut self.tasks) {
            // Another thread may have found out, and be about to wake it.
            let deadline = Instant::now() + if self.is_alone { Duration::ZERO } else { LONG };
            while !task.alarm.was_woken() && Instant::now() < deadline {
                std::thread::yield_now();
            }
            if !task.alarm.was_woken() {
                return wrong(format!("the task that awaits {} is not woken", task.readback.name()));
            }
            self.poll(task)?;
        }
        match self.tasks.len() {
            0 => Ok(()),
            left => wrong(format!("{left} of {pending} tasks are pending, though all is complete")),
        }
    }
}
