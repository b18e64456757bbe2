//! What others leave for whom a pool or a table belongs to.

use super::pool::Receipt;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Letters from elsewhere, until the pool is next used.
///
/// Whoever frees a range of a pool that another thread is working with leaves it here: writing into the
/// pool itself would take its cache lines away from that thread, again and again. The same goes for the
/// records of what lives.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Mailbox<T = Receipt> {
    /// Set and cleared under the lock.
    has_mail: AtomicBool,
    letters: Mutex<Vec<T>>,
}

impl<T> Mailbox<T> {
    pub(crate) fn new() -> Self {
        Self { has_mail: AtomicBool::new(false), letters: Mutex::new(Vec::new()) }
    }

    /// Whether there is anything, without the lock.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::Acquire)
    }

    /// Opens it, to leave letters.
    #[inline]
    pub(crate) fn open(&self) -> OpenMailbox<'_, T> {
        OpenMailbox { has_mail: &self.has_mail, letters: self.letters.lock() }
    }

    /// Moves as many letters as there are, `most` at most, into `taken`.
    pub(crate) fn take(&self, most: usize, taken: &mut Vec<T>) {
        let mut letters = self.letters.lock();
        let left = letters.len().saturating_sub(most);
        taken.extend(letters.drain(left..));
        self.has_mail.store(left > 0, Ordering::Release);
    }
}

/// A mailbox that nobody else can open for as long.
pub(crate) struct OpenMailbox<'a, T = Receipt> {
    has_mail: &'a AtomicBool,
    letters: MutexGuard<'a, Vec<T>>,
}

impl<T> OpenMailbox<'_, T> {
    /// Leaves a letter.
    #[inline]
    pub(crate) fn post(&mut self, letter: T) {
        self.letters.push(letter);
        self.has_mail.store(true, Ordering::Release);
    }

    /// Letters that lie there.
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::Mailbox;

    /// Whatever the order in which two leave letters and the owner looks and reads: each letter is read
    /// once, and the owner never overlooks what lies there.
    #[test]
    fn each_letter_is_read_once() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::<u32>::new());
            let poster = |letter| {
                let mailbox = mailbox.clone();
                thread::spawn(move || mailbox.open().post(letter))
            };
            let (first, second) = (poster(1), poster(2));
            let mut read = Vec::new();
            for _ in 0..2 {
                if mailbox.has_mail() {
                    mailbox.take(1, &mut read);
                }
            }
            first.join().unwrap();
            second.join().unwrap();
            while mailbox.has_mail() {
                mailbox.take(1, &mut read);
            }
            read.sort_unstable();
            assert_eq!(read, [1, 2]);
        });
    }
}
