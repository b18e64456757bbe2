//! Code of the program that runs inside calls of the manager: destructors of deferred values, wakers, a recorder, listeners, a
//! subscriber of events. It panics now and then, or calls the manager.

mod books;
mod subscriber;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use tenure_core::{BufferDesc, Error, Gpu, Queue, Recording, Usage};
use tenure_sim::Device;
use test_random::Rng;

use crate::setup::Setup;
use crate::wrong::{Checked, LONG, is_mistake, words_of, wrong};
use books::{Books, Recorded};
pub(crate) use subscriber::with_subscriber;

/// Payload of deliberate panics.
const OWN_PANIC: &str = "the program's own panic";

/// Panics without running the panic hook.
pub(crate) fn panic_on_purpose() -> ! {
    resume_unwind(Box::new(OWN_PANIC))
}

/// Accepts the message of a deliberate panic; any other panic is tenure's mistake.
pub(crate) fn check_own_panic(what: &str, message: &str) -> Checked {
    if message == OWN_PANIC { Ok(()) } else { wrong(format!("{what} panics by itself: {message}")) }
}

/// Makes a call that may end with the panic of a destructor or a listener, after everything else is done.
pub(crate) fn survive(call: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done,
        Err(panic) if words_of(&*panic) == OWN_PANIC => Ok(()),
        Err(panic) => resume_unwind(panic),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The action of a callback, besides counting its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    Panic,
    /// It calls the manager in a way that the seed selects.
    Call(u64),
}

/// State shared by all callbacks of a program.
pub(crate) struct Callbacks {
    /// Some callbacks panic or call the manager.
    pub(crate) is_hostile: bool,
    /// For callbacks that call the manager: a handle of their own would keep the manager alive.
    gpu: Mutex<Option<Gpu<Device>>>,
    /// How often each value was dropped.
    dropped: Mutex<Vec<u32>>,
    /// The recorder's view of live allocations.
    books: Mutex<Books>,
    /// The first mistake that a callback found.
    wrong: Mutex<Option<String>>,
}

impl Callbacks {
    /// Creates the callbacks of a new manager, and installs its recorder.
    pub(crate) fn new(gpu: &Gpu<Device>, setup: &Setup) -> Arc<Self> {
        let mut rng = setup.callbacks();
        let callbacks = Arc::new(Self {
            is_hostile: rng.below(3) == 0,
            gpu: Mutex::new(Some(gpu.clone())),
            dropped: Mutex::default(),
            books: Mutex::default(),
            wrong: Mutex::default(),
        });
        if callbacks.is_hostile || rng.below(4) == 0 {
            gpu.set_recorder(Box::new(Recorded::new(&callbacks, rng.below(5))));
        }
        callbacks
    }

    /// Chooses the action of a new callback.
    pub(crate) fn choose(&self, rng: &mut Rng) -> Act {
        match rng.below(6) {
            0 if self.is_hostile => Act::Panic,
            1 | 2 if self.is_hostile => Act::Call(rng.next()),
            _ => Act::Nothing,
        }
    }

    /// A value whose destructor is a callback.
    pub(crate) fn value(self: &Arc<Self>, act: Act) -> Value {
        let mut dropped = locked(&self.dropped);
        dropped.push(0);
        Value { callbacks: self.clone(), number: dropped.len() - 1, act }
    }

    /// A waker that is a callback.
    pub(crate) fn alarm(self: &Arc<Self>, act: Act) -> Arc<Alarm> {
        Arc::new(Alarm { callbacks: self.clone(), act, woken: AtomicU32::new(0) })
    }

    /// Panics, or calls the manager.
    pub(crate) fn act(self: &Arc<Self>, act: Act) {
        match act {
            Act::Nothing => {}
            Act::Panic => panic_on_purpose(),
            Act::Call(seed) => {
                // No lock is held while the manager is called.
                let gpu = locked(&self.gpu).clone();
                let Some(gpu) = gpu else { return };
                let mut rng = Rng::new(seed);
                for _ in 0..=rng.below(3) {
                    match self.call(&gpu, &mut rng) {
                        Err(error) if is_mistake(&error) => self.note(format!("inside a callback: {error}")),
                        _ => {}
                    }
                }
            }
        }
    }

    /// One call of the manager; it may be refused.
    fn call(self: &Arc<Self>, gpu: &Gpu<Device>, rng: &mut Rng) -> Result<(), Error> {
        let desc = BufferDesc::new(1 + rng.below(5000), Usage::COPY_SRC | Usage::SHADER_READ).name("inside");
        let bytes = vec![7; desc.size as usize];
        match rng.below(11) {
            0 => drop((gpu.stats(), gpu.memory(), gpu.report(), gpu.upload_stats(), gpu.pool_reports())),
            1 => drop(gpu.create_buffer(&desc.own_resource())?),
            2 => drop(gpu.create_buffer_with(&desc, &bytes)?),
            3 => drop(gpu.upload(&gpu.create_buffer(&desc)?, 0, &bytes)?),
            4 => drop(gpu.read_back(&gpu.create_buffer_with(&desc, &bytes)?, 0, desc.size)?),
            5 => gpu.reclaim()?,
            6 => gpu.trim(),
            7 => drop(gpu.record(Queue::Graphics, "inside").and_then(Recording::submit)?),
            8 => drop(gpu.record(Queue::Compute, "inside")?),
            9 => drop(
                gpu.defer("inside", self.value(if rng.below(4) == 0 { Act::Panic } else { Act::Nothing })),
            ),
            _ => {
                gpu.flush_uploads()?;
                if !gpu.wait(&gpu.submitted(), LONG)? {
                    self.note("inside a callback: the GPU does not finish".to_owned());
                }
            }
        }
        Ok(())
    }

    fn note(&self, words: String) {
        locked(&self.wrong).get_or_insert(words);
    }

    /// Callbacks no longer call the manager, and no longer keep it.
    pub(crate) fn let_go(&self) {
        let gpu = locked(&self.gpu).take();
        drop(gpu);
    }

    /// True for programs that shut down right after their last step, with releases still pending.
    pub(crate) fn ends_at_once(&self) -> bool {
        self.is_hostile && locked(&self.dropped).len().is_multiple_of(2)
    }

    /// Checks after the shutdown that each deferred value was dropped once, and that the recorder saw every
    /// allocation end.
    pub(crate) fn check(&self) -> Checked {
        if let Some(words) = locked(&self.wrong).take() {
            return wrong(words);
        }
        let dropped = locked(&self.dropped);
        if let Some(number) = dropped.iter().position(|count| *count != 1) {
            return wrong(format!(
                "value {number} of {} was dropped {} times",
                dropped.len(),
                dropped[number]
            ));
        }
        locked(&self.books).check()
    }
}

/// A value of the program that the manager drops.
pub(crate) struct Value {
    callbacks: Arc<Callbacks>,
    number: usize,
    act: Act,
}

impl Drop for Value {
    fn drop(&mut self) {
        locked(&self.callbacks.dropped)[self.number] += 1;
        self.callbacks.act(self.act);
    }
}

/// The waker of a task.
pub(crate) struct Alarm {
    callbacks: Arc<Callbacks>,
    act: Act,
    woken: AtomicU32,
}

impl Alarm {
    /// Whether the task was woken, or is being woken.
    pub(crate) fn was_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire) > 0
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Release);
        self.callbacks.act(self.act);
    }
}
