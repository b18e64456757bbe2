//! Memory budgets and pressure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Gpu;
use crate::callback::run_caught;
use crate::context::Panicked;
use crate::device::{Allowed, Device, DeviceError, HeapBudget};
use crate::memory::Levels;
use crate::stats::{MemoryReport, PressureChange};
use crate::{Error, Name};

/// A callback for changes of the level.
type Listener<D> = dyn Fn(&Gpu<D>, &PressureChange) + Send + Sync;

/// The levels of pressure at the end of the last frame, and the listener for changes.
pub(super) struct PressureWatch<D: Device> {
    levels: Mutex<Levels>,
    /// The revision of the budgets from which the levels follow.
    revision: AtomicU64,
    listener: Mutex<Option<Arc<Listener<D>>>>,
}

impl<D: Device> PressureWatch<D> {
    pub(super) fn new() -> Self {
        let revision = AtomicU64::new(u64::MAX);
        Self { levels: Mutex::default(), revision, listener: Mutex::new(None) }
    }

    /// Removes the listener.
    pub(super) fn close(&self) {
        let listener = self.listener.lock().take();
        // Dropped without the lock: its captures are the program's, and may be handles of the manager.
        run_caught("a listener's destructor", || drop(listener));
    }
}

impl<D: Device> Gpu<D> {
    /// The memory of each heap: the budget, the usage by purpose, and the headroom.
    ///
    /// Memory that the manager takes or frees counts at once, so that a program that loads while the
    /// [headroom](crate::HeapMemory::headroom) is larger than the next load never exceeds the budget by its own loads. The
    /// headroom is the value of this moment: where several threads load, let one of them ask.
    ///
    /// The operating system is asked once a frame at most, and each time before the first frame has ended; a program without
    /// frames begins a new one with each [`reclaim`](Self::reclaim). No lock that creations or drops need is held meanwhile.
    /// O(heaps, pools and blocks).
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// // A card that grants 64 MiB of its memory.
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// device.set_budget(0, 64 << 20)?;
    /// let gpu = Gpu::new(device, Config::default())?;
    ///
    /// let headroom = || gpu.memory().device_local().and_then(|heap| heap.headroom).unwrap_or(u64::MAX);
    /// let mut loaded = Vec::new();
    /// while headroom() >= 5 << 20 {
    ///     loaded.push(gpu.create_buffer(&BufferDesc::new(5 << 20, Usage::SHADER_READ))?);
    /// }
    /// let memory = gpu.memory();
    /// assert!(memory.heaps[0].usage <= 64 << 20 && loaded.len() >= 11);
    /// assert_eq!(memory.heaps[0].ours.total(), gpu.stats().reserved);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline(never)]
    pub fn memory(&self) -> MemoryReport {
        let context = &self.shared.context;
        let budgets = context.pools.objects.budgets.current(context.device());
        let levels = self.shared.pressure.levels.lock().clone();
        MemoryReport::collect(context, &budgets, &levels)
    }

    /// Caps the bytes that the manager takes of a memory heap, by its index in [`MemoryReport::heaps`], independent of the
    /// budget of the operating system; `None` removes the cap. For programs that leave memory to others, or that let players
    /// choose.
    ///
    /// Memory taken before is kept. The [level](crate::Pressure) of the heap is measured against the cap where that is nearer
    /// than the budget. Requests above the cap proceed as if the driver had refused them: they go to other memory where they
    /// may, else they fail, also when many threads take memory at the same moment. Evicted resources come back for a submission
    /// that uses them, cap or not. Any thread; O(1).
    ///
    /// # Errors
    /// [`Error::Device`] where the device has no such heap.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// gpu.set_memory_cap(0, Some(16 << 20))?;
    /// let _level = gpu.create_buffer(&BufferDesc::new(10 << 20, Usage::SHADER_READ))?;
    /// assert!(gpu.memory().heaps[0].headroom.is_some_and(|bytes| bytes <= 6 << 20));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn set_memory_cap(&self, heap: usize, bytes: Option<u64>) -> Result<(), Error> {
        let context = &self.shared.context;
        if context.pools.objects.limits.set_cap(heap, bytes) {
            context.pools.objects.budgets.note_revision();
            return Ok(());
        }
        let last = context.device().properties().memory_heaps.len().saturating_sub(1);
        let source = DeviceError::invalid_desc("memory heap", heap as u64, Allowed::AtMost(last as u64));
        Err(Error::device(&Name::from("memory cap"), source))
    }

    /// Sets the listener for changes of the [level](crate::Pressure) of a memory heap, in place of the previous listener. The
    /// levels are configured by [`Config::pressure`](crate::Config::pressure).
    ///
    /// The listener is called at the end of a frame, on the thread that ends it, after all other steps of the end of a frame
    /// and with no lock held: it may create, drop, [`trim`](Self::trim) and ask for [`memory`](Self::memory). In a program
    /// without frames [`reclaim`](Self::reclaim) calls it. It gets the manager, and must not keep a clone of it: the manager would
    /// then end by [`shutdown`](Self::shutdown) alone, after which the listener is not called.
    ///
    /// While there is a listener, the operating system is asked every
    /// [`PressureConfig::interval`](crate::PressureConfig::interval) frames.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use tenure::{BufferDesc, Config, Gpu, Usage, config::PressureConfig, memory::Pressure, sim};
    ///
    /// let config = Config::from(PressureConfig::default().interval(1));
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), config)?;
    /// let (to_streaming, changes) = mpsc::channel();
    /// gpu.on_pressure(move |_gpu, change| {
    ///     // The streaming system may be gone.
    ///     let _ = to_streaming.send(*change);
    /// });
    /// let level = gpu.create_buffer(&BufferDesc::new(40 << 20, Usage::SHADER_READ).name("level"))?;
    ///
    /// gpu.device().set_budget(0, 41 << 20)?; // another program takes most of the card
    /// gpu.begin_frame()?.end()?;
    /// assert_eq!(changes.try_recv()?.now, Pressure::Critical);
    ///
    /// drop(level);
    /// gpu.begin_frame()?.end()?;
    /// assert_eq!(changes.try_recv()?.now, Pressure::Normal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_pressure(&self, listener: impl Fn(&Self, &PressureChange) + Send + Sync + 'static) {
        let before = self.shared.pressure.listener.lock().replace(Arc::new(listener));
        drop(before);
    }

    /// Updates the levels at the end of a frame, or of a reclaim that counts as one. Returns a panic of the listener.
    pub(super) fn watch_pressure(&self) -> Panicked {
        let (context, watch) = (&self.shared.context, &self.shared.pressure);
        let listener = watch.listener.lock().clone();
        let interval = u64::from(context.config.pressure.interval);
        let (device, budgets) = (context.device(), &context.pools.objects.budgets);
        let is_asked = listener.is_some() && context.clock.loss().is_none() && budgets.age() >= interval;
        // Before the values are read: a later change is noticed by the next call.
        let revision = budgets.revision();
        if watch.revision.swap(revision, Ordering::Relaxed) == revision && !is_asked {
            return match listener {
                None => Panicked::none(),
                Some(listener) => Panicked::none().or(catch_unwind(AssertUnwindSafe(|| drop(listener)))),
            };
        }
        let mut known = if is_asked { budgets.current(device) } else { budgets.known() };
        for (heap, budget) in known.iter_mut().enumerate() {
            *budget = budgets.nearer(heap, *budget, context.pools.objects.limits.cap(heap));
        }
        let changes = watch.levels.lock().update(&known, &context.config.pressure);
        let mut panicked = Panicked::none();
        for (heap, before, now) in changes {
            let (found, budget) = (device.properties().memory_heaps.get(heap), known.get(heap));
            let (Some(found), Some(HeapBudget { budget, usage })) = (found, budget.copied()) else {
                continue;
            };
            event!(debug, heap, %before, %now, budget, usage, "memory pressure changed");
            let Some(listener) = &listener else { continue };
            let device_local = found.device_local;
            let change = PressureChange { heap, device_local, before, now, budget, usage };
            // Without any lock: the listener may call any function.
            let called = catch_unwind(AssertUnwindSafe(|| listener(self, &change)));
            panicked = panicked.or(called);
        }
        // The last reference, if the program has replaced the listener meanwhile.
        panicked.or(catch_unwind(AssertUnwindSafe(|| drop(listener))))
    }
}
