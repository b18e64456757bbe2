//! Submissions, and the fences and semaphores by which the program sees their end.

use std::collections::HashMap;

use ash::vk;

/// The most unseen signals that are kept of a semaphore.
const MOST_SIGNALS: usize = 1024;

/// The submissions of a device. Each has a number; a queue completes its own in their order.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    last: u64,
    queues: HashMap<vk::Queue, Queue>,
    /// The queue and number of the submission that signals each fence.
    fences: HashMap<vk::Fence, (u32, u64)>,
    /// The value, queue and number of each signal.
    semaphores: HashMap<vk::Semaphore, Vec<(u64, u32, u64)>>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The number of the queue, in the order of first use.
    number: u32,
    submitted: u64,
    seen: u64,
}

impl Submissions {
    fn entry(&mut self, queue: vk::Queue) -> &mut Queue {
        let number = u32::try_from(self.queues.len()).unwrap_or(u32::MAX);
        self.queues.entry(queue).or_insert(Queue { number, submitted: 0, seen: 0 })
    }

    /// The number of a queue.
    pub(crate) fn queue(&mut self, queue: vk::Queue) -> u32 {
        self.entry(queue).number
    }

    /// The queue and the number of a new submission.
    pub(crate) fn submitted(
        &mut self,
        queue: vk::Queue,
        fence: vk::Fence,
        signals: &[(vk::Semaphore, u64)],
    ) -> (u32, u64) {
        self.last += 1;
        let submission = self.last;
        let entry = self.entry(queue);
        entry.submitted = submission;
        let number = entry.number;
        if fence != vk::Fence::null() {
            self.fences.insert(fence, (number, submission));
        }
        // Binary semaphores have the value 0.
        for &(semaphore, value) in signals.iter().filter(|(_, value)| *value > 0) {
            let of_semaphore = self.semaphores.entry(semaphore).or_default();
            of_semaphore.push((value, number, submission));
            if of_semaphore.len() > MOST_SIGNALS {
                of_semaphore.remove(0);
            }
        }
        (number, submission)
    }

    /// Notes that a submission is complete; `None` if that was known.
    fn complete(&mut self, number: u32, submission: u64) -> Option<(u32, u64)> {
        let queue = self.queues.values_mut().find(|queue| queue.number == number)?;
        let is_new = submission > queue.seen;
        queue.seen = queue.seen.max(submission);
        is_new.then_some((number, submission))
    }

    /// The program saw a fence signalled.
    pub(crate) fn saw_fence(&mut self, fence: vk::Fence) -> Option<(u32, u64)> {
        let (queue, submission) = self.fences.remove(&fence)?;
        self.complete(queue, submission)
    }

    /// The program saw a semaphore at a value.
    pub(crate) fn saw_semaphore(&mut self, semaphore: vk::Semaphore, value: u64) -> Vec<(u32, u64)> {
        let Some(signals) = self.semaphores.get_mut(&semaphore) else { return Vec::new() };
        let done: Vec<_> = signals.iter().filter(|signal| signal.0 <= value).copied().collect();
        signals.retain(|signal| signal.0 > value);
        done.into_iter().filter_map(|(_, queue, submission)| self.complete(queue, submission)).collect()
    }

    /// The last submission of one queue, or of each.
    pub(crate) fn last_of(&self, queue: Option<vk::Queue>) -> Vec<(u32, u64)> {
        let queues = self.queues.iter().filter(|(handle, _)| queue.is_none_or(|queue| queue == **handle));
        let mut last: Vec<_> = queues.map(|(_, it)| (it.number, it.submitted)).collect();
        last.sort_unstable();
        last
    }

    /// The program waited for these submissions.
    pub(crate) fn saw(&mut self, submitted: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
        submitted.into_iter().filter_map(|(queue, submission)| self.complete(queue, submission)).collect()
    }
}

#[cfg(test)]
mod tests {
    use ash::vk;
    use ash::vk::Handle as _;

    use super::{MOST_SIGNALS, Submissions};

    const NO_FENCE: vk::Fence = vk::Fence::null();

    fn queue(number: u64) -> vk::Queue {
        vk::Queue::from_raw(number)
    }

    fn wait(submissions: &mut Submissions, queue: Option<vk::Queue>) -> Vec<(u32, u64)> {
        let submitted = submissions.last_of(queue);
        submissions.saw(submitted)
    }

    #[test]
    fn a_fence_shows_its_submission_once() {
        let (mut submissions, fence) = (Submissions::default(), vk::Fence::from_raw(7));
        assert_eq!(submissions.submitted(queue(1), fence, &[]), (0, 1));
        assert_eq!(submissions.saw_fence(fence), Some((0, 1)));
        assert_eq!(submissions.saw_fence(fence), None);
        assert_eq!(submissions.submitted(queue(1), fence, &[]), (0, 2));
        assert_eq!(submissions.submitted(queue(1), NO_FENCE, &[]), (0, 3));
        assert_eq!(wait(&mut submissions, Some(queue(1))), [(0, 3)]);
        assert_eq!(submissions.saw_fence(fence), None, "seen with the later one");
    }

    #[test]
    fn a_timeline_shows_all_up_to_its_value() {
        let (mut submissions, timeline) = (Submissions::default(), vk::Semaphore::from_raw(9));
        for value in 1..=3 {
            submissions.submitted(queue(value % 2), NO_FENCE, &[(timeline, value)]);
        }
        assert_eq!(submissions.saw_semaphore(timeline, 2), [(0, 1), (1, 2)]);
        assert_eq!(submissions.saw_semaphore(timeline, 2), []);
        assert_eq!(submissions.saw_semaphore(timeline, u64::MAX), [(0, 3)]);
        assert_eq!(submissions.saw_semaphore(vk::Semaphore::from_raw(8), 1), []);
    }

    #[test]
    fn idle_queues_have_nothing_unseen() {
        let mut submissions = Submissions::default();
        submissions.submitted(queue(5), NO_FENCE, &[]);
        submissions.submitted(queue(6), NO_FENCE, &[]);
        assert_eq!(wait(&mut submissions, Some(queue(6))), [(1, 2)]);
        assert_eq!(wait(&mut submissions, None), [(0, 1)]);
        assert_eq!(wait(&mut submissions, None), []);
    }

    #[test]
    fn a_submission_during_a_wait_is_not_seen_by_it() {
        let mut submissions = Submissions::default();
        submissions.submitted(queue(5), NO_FENCE, &[]);
        let before = submissions.last_of(None);
        submissions.submitted(queue(5), NO_FENCE, &[]);
        assert_eq!(submissions.saw(before), [(0, 1)]);
        assert_eq!(wait(&mut submissions, None), [(0, 2)]);
    }

    #[test]
    fn signals_that_nobody_waits_for_take_little_memory() {
        let (mut submissions, timeline) = (Submissions::default(), vk::Semaphore::from_raw(9));
        for value in 1..=2 * MOST_SIGNALS as u64 {
            submissions.submitted(queue(1), NO_FENCE, &[(timeline, value), (vk::Semaphore::null(), 0)]);
        }
        assert_eq!(submissions.semaphores[&timeline].len(), MOST_SIGNALS);
        assert_eq!(submissions.semaphores.len(), 1);
        assert_eq!(submissions.saw_semaphore(timeline, u64::MAX).last(), Some(&(0, 2048)));
    }
}
