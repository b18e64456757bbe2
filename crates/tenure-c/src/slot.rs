//! Handles: numbers that name slots.
//!
//! A handle is a pointer for the compiler of C alone. Its bits are the kind of the object, the index of a slot, and the slot's
//! generation at that time. So a handle is checked without following a pointer: one that was released, that belongs to another
//! kind, or that was never a handle, is found by comparisons. Slots are never freed, and a slot's generation rises with each
//! creation and each release.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::pointer::Out;
use crate::status::{Failure, TN_ERROR_BUSY, TN_ERROR_HANDLE};

const KIND_BITS: u32 = 6;
const INDEX_BITS: u32 = 26;
/// Slots of the first slab; each further slab has twice the slots of the one before.
const FIRST_SLAB: u32 = 64;
const SLABS: usize = (INDEX_BITS - FIRST_SLAB.ilog2()) as usize;
const MOST_SLOTS: u32 = (FIRST_SLAB << SLABS) - FIRST_SLAB;

/// An object with handles of its own type.
pub(crate) trait Object: Sized + Send + 'static {
    /// From 1 to 63, different for each type.
    const KIND: u32;
    /// The name of the handle's type in C.
    const TYPE: &'static str;
    /// The slots of all objects of this type.
    fn slots() -> &'static Slots<Self>;
}

/// A handle, as C passes it.
#[repr(transparent)]
pub(crate) struct Handle<T> {
    bits: *mut T,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T: Object> Handle<T> {
    pub(crate) fn is_null(self) -> bool {
        self.bits.is_null()
    }
    pub(crate) const NULL: Self = Self { bits: std::ptr::null_mut() };

    /// The object, which other threads may use at the same time.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE`, also for null.
    #[inline]
    pub(crate) fn get(&self) -> Result<&T, Failure>
    where
        T: Sync,
    {
        let bits = self.bits.addr() as u64;
        match T::slots().live(bits).and_then(Slot::value) {
            Some(value) => Ok(value),
            None => Err(not_a_handle::<T>(bits)),
        }
    }

    /// The object for one thread alone, until the guard is dropped.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE`; `TN_ERROR_BUSY` where another call has it.
    #[inline]
    pub(crate) fn alone(&self) -> Result<Alone<'_, T>, Failure> {
        let bits = self.bits.addr() as u64;
        let slot = T::slots().live(bits).ok_or_else(|| not_a_handle::<T>(bits))?;
        if slot.is_busy.swap(true, Ordering::Acquire) {
            return Err(busy::<T>());
        }
        let alone = Alone { slot, _handle: PhantomData };
        // The other call may have been the release.
        if slot.generation.load(Ordering::Acquire) != generation(bits) {
            return Err(not_a_handle::<T>(bits));
        }
        Ok(alone)
    }

    /// Ends the handle. The object stays until the result is dropped.
    ///
    /// # Errors
    /// As [`alone`](Self::alone). Then the handle stays as it was.
    pub(crate) fn end(self) -> Result<Ended, Failure> {
        let bits = self.bits.addr() as u64;
        let alone = self.alone()?;
        // No other call has the slot, and its generation is this handle's: this is the one release.
        alone.slot.generation.store(generation(bits).wrapping_add(1), Ordering::Release);
        Ok(Ended { index: index(bits), free: free::<T> })
    }

    /// Ends the handle of a lent object, unless the program has released it. Waits for a call of another thread that uses it alone.
    pub(crate) fn end_loan(self) {
        while self.end().is_err_and(|failure| failure.status() == TN_ERROR_BUSY) {
            std::thread::yield_now();
        }
    }

    /// Ends the handle, and returns the object.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    pub(crate) fn take(self) -> Result<T, Failure> {
        let ended = self.end()?;
        T::slots().slot(ended.index).and_then(take).ok_or_else(|| not_a_handle::<T>(self.bits.addr() as u64))
    }
}

/// An object of any type without a handle; its slot becomes free when this is dropped.
pub(crate) struct Ended {
    index: u32,
    /// Of the object's type, which is known where its handle ends.
    free: fn(u32),
}

impl Drop for Ended {
    fn drop(&mut self) {
        (self.free)(self.index);
    }
}

/// Makes the slot of an [`Ended`] free, and drops the object if it is still there.
fn free<T: Object>(index: u32) {
    let Some(slot) = T::slots().slot(index) else { return };
    let value = take(slot);
    T::slots().put_back(index, slot);
    drop(value);
}

/// The object of an [`Ended`].
fn take<T>(slot: &Slot<T>) -> Option<T> {
    // SAFETY: an `Ended` has the slot: it has no handle any more, and is not free yet. Nobody else has it.
    unsafe { (*slot.value.get()).take() }
}

/// A handle of any type.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct AnyHandle {
    bits: *mut std::ffi::c_void,
}

// SAFETY: a number; the object is reached through its slot.
unsafe impl Send for AnyHandle {}

impl<T> From<Handle<T>> for AnyHandle {
    fn from(handle: Handle<T>) -> Self {
        Self { bits: handle.bits.cast() }
    }
}

impl AnyHandle {
    pub(crate) const NULL: Self = Self { bits: std::ptr::null_mut() };

    pub(crate) fn is_null(self) -> bool {
        self.bits.is_null()
    }

    /// The kind in its bits, whether or not it is a handle.
    pub(crate) fn kind(self) -> u32 {
        self.bits.addr() as u32 & ((1 << KIND_BITS) - 1)
    }

    pub(crate) fn of<T>(self) -> Handle<T> {
        Handle { bits: self.bits.cast() }
    }

    /// The error for a handle of no kind that the call takes.
    pub(crate) fn refused(self, wanted: &str) -> Failure {
        let text = match self.is_null() {
            true => format!("null, where a handle of {wanted} is needed"),
            false => format!("{:p} is no handle of {wanted}", self.bits),
        };
        Failure::new(TN_ERROR_HANDLE, text)
    }
}

fn generation(bits: u64) -> u32 {
    (bits >> 32) as u32
}

fn index(bits: u64) -> u32 {
    bits as u32 >> KIND_BITS
}

#[cold]
fn busy<T: Object>() -> Failure {
    Failure::new(
        TN_ERROR_BUSY,
        format!("another call uses this {} now: it is for one thread at a time", T::TYPE),
    )
}

/// The error for an invalid handle.
#[cold]
fn not_a_handle<T: Object>(bits: u64) -> Failure {
    let kind = bits as u32 & ((1 << KIND_BITS) - 1);
    let was_one = || T::slots().slot(index(bits)).map(|slot| slot.generation.load(Ordering::Acquire));
    let text = match () {
        () if bits == 0 => format!("null, where a {} is needed", T::TYPE),
        () if kind != T::KIND => format!("{bits:#x} is not a {}: it has another type", T::TYPE),
        () => match was_one() {
            Some(now) if generation(bits) < now => {
                format!("{bits:#x}: this {} was released, and used after that", T::TYPE)
            }
            _ => format!("{bits:#x} is not a {}", T::TYPE),
        },
    };
    Failure::new(TN_ERROR_HANDLE, text)
}

/// Slots in slabs that stay for the rest of the process.
pub(crate) struct Slots<T> {
    slabs: [OnceLock<Box<[Slot<T>]>>; SLABS],
    /// Slots that were handed out at least once.
    used: Mutex<u32>,
    /// The first free slot's index plus 1, and a count of changes, so that a stale value is noticed.
    free: AtomicU64,
}

pub(crate) struct Slot<T> {
    /// Odd while an object is in it.
    generation: AtomicU32,
    /// The next free slot's index plus 1.
    next: AtomicU32,
    is_busy: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a slot's value is written by the thread that took the slot out of the list of free slots, or that has `is_busy`, and by
// no other at that time. Two threads refer to it at once only if it is `Sync`: see `Handle::get`. Everything else is atomic.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    const fn new() -> Self {
        let (generation, next) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { generation, next, is_busy: AtomicBool::new(false), value: UnsafeCell::new(None) }
    }

    fn value(&self) -> Option<&T> {
        // SAFETY: a handle of the slot's generation is alive. The contract of the header is that no other thread releases a
        // handle while a call uses it; what a callback inside of the call releases stays until the end of the call.
        unsafe { (*self.value.get()).as_ref() }
    }
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { slabs: [const { OnceLock::new() }; SLABS], used: Mutex::new(0), free: AtomicU64::new(0) }
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let position = index + FIRST_SLAB;
        let slab = position.ilog2() - FIRST_SLAB.ilog2();
        let start = FIRST_SLAB << slab;
        self.slabs.get(slab as usize)?.get()?.get((position - start) as usize)
    }

    /// A free slot, taken out of the list.
    fn pop(&self) -> Option<(u32, &Slot<T>)> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = (head as u32).checked_sub(1)?;
            let slot = self.slot(index)?;
            let changes = (head >> 32).wrapping_add(1);
            let next = u64::from(slot.next.load(Ordering::Relaxed)) | changes << 32;
            match self.free.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((index, slot)),
                Err(now) => head = now,
            }
        }
    }

    fn put_back(&self, index: u32, slot: &Slot<T>) {
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            slot.next.store(head as u32, Ordering::Relaxed);
            let changes = (head >> 32).wrapping_add(1);
            let first = u64::from(index + 1) | changes << 32;
            match self.free.compare_exchange_weak(head, first, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    #[cold]
    fn grow(&self) -> Option<(u32, &Slot<T>)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *used;
        if index >= MOST_SLOTS {
            return None;
        }
        let slab = (index + FIRST_SLAB).ilog2() - FIRST_SLAB.ilog2();
        let slots = FIRST_SLAB << slab;
        self.slabs.get(slab as usize)?.get_or_init(|| (0..slots).map(|_| Slot::new()).collect());
        *used += 1;
        drop(used);
        Some((index, self.slot(index)?))
    }
}

impl<T: Object> Slots<T> {
    /// The slot of a living handle.
    #[inline]
    fn live(&self, bits: u64) -> Option<&Slot<T>> {
        let is_kind = bits as u32 & ((1 << KIND_BITS) - 1) == T::KIND;
        let slot = if is_kind { self.slot(index(bits))? } else { return None };
        let generation = generation(bits);
        // Free slots have even generations, and no handle has one.
        (slot.generation.load(Ordering::Acquire) == generation && generation % 2 == 1).then_some(slot)
    }

    /// A slot for an object that is about to be created.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE` where all slots are in use.
    #[inline]
    pub(crate) fn reserve(&'static self) -> Result<Reserved<T>, Failure> {
        match self.pop().or_else(|| self.grow()) {
            Some((index, slot)) => Ok(Reserved { slots: self, slot, index, is_filled: false }),
            None => {
                let text = format!("all {MOST_SLOTS} handles of the type {} are in use", T::TYPE);
                Err(Failure::new(TN_ERROR_HANDLE, text))
            }
        }
    }
}

/// A slot without an object; it becomes free again unless it is filled.
pub(crate) struct Reserved<T: Object> {
    slots: &'static Slots<T>,
    slot: &'static Slot<T>,
    index: u32,
    is_filled: bool,
}

impl<T: Object> Reserved<T> {
    /// The handle of the object.
    #[inline]
    pub(crate) fn fill(mut self, value: T) -> Handle<T> {
        self.is_filled = true;
        // SAFETY: the slot was free, and this call has taken it out of the list: nobody else has it.
        unsafe { *self.slot.value.get() = Some(value) };
        let generation = self.slot.generation.load(Ordering::Relaxed).wrapping_add(1);
        self.slot.generation.store(generation, Ordering::Release);
        let bits = u64::from(generation) << 32 | u64::from(self.index << KIND_BITS | T::KIND);
        Handle { bits: std::ptr::without_provenance_mut(bits as usize) }
    }
}

impl<T: Object> Drop for Reserved<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_filled {
            self.slots.put_back(self.index, self.slot);
        }
    }
}

impl<T: Object> Out<Handle<T>> {
    /// Writes null, so that a failed call leaves no handle, and fails where there is no room.
    pub(crate) fn clear(self) -> Result<(), Failure> {
        self.check("room for a handle")?;
        self.set(Handle { bits: std::ptr::null_mut() });
        Ok(())
    }

    /// As [`clear`](Self::clear); null is allowed.
    pub(crate) fn clear_if_any(self) -> Result<(), Failure> {
        if self.is_null() { Ok(()) } else { self.clear() }
    }
}

/// Creates an object, and writes its handle to room that was cleared.
#[inline]
pub(crate) fn create<T: Object>(
    out: Out<Handle<T>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let reserved = T::slots().reserve()?;
    out.set(reserved.fill(make()?));
    Ok(())
}

/// An object that one call has alone.
pub(crate) struct Alone<'a, T: 'static> {
    slot: &'static Slot<T>,
    _handle: PhantomData<&'a mut T>,
}

impl<T: Object> Deref for Alone<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `is_busy` is this guard's, and the value stays until the release, which needs it.
        unsafe { (*self.slot.value.get()).as_ref().unwrap_unchecked() }
    }
}

impl<T: Object> DerefMut for Alone<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { (*self.slot.value.get()).as_mut().unwrap_unchecked() }
    }
}

impl<T> Drop for Alone<'_, T> {
    fn drop(&mut self) {
        self.slot.is_busy.store(false, Ordering::Release);
    }
}

impl<T: Object> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:p}", T::TYPE, self.bits)
    }
}

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle has 64 bits: tenure-c needs a target with pointers of that size");

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use std::collections::BTreeSet;
    use std::sync::{Arc, PoisonError};
    use std::thread;

    use super::{Handle, Object, Slots};
    use crate::status::TN_ERROR_BUSY;

    struct Thing(Arc<()>);

    impl Object for Thing {
        const KIND: u32 = 60;
        const TYPE: &'static str = "Thing";

        fn slots() -> &'static Slots<Self> {
            static SLOTS: Slots<Thing> = Slots::new();
            &SLOTS
        }
    }

    fn thing(alive: &Arc<()>) -> Handle<Thing> {
        Thing::slots().reserve().unwrap().fill(Thing(alive.clone()))
    }

    #[test]
    fn handles_are_found_until_they_are_taken() {
        let alive = Arc::new(());
        // More than a slab, so that slabs are added.
        let handles: Vec<_> = (0..500).map(|_| thing(&alive)).collect();
        assert_eq!(handles.iter().map(|handle| handle.bits.addr()).collect::<BTreeSet<_>>().len(), 500);
        assert!(handles.iter().all(|handle| handle.get().is_ok()));
        assert_eq!(Arc::strong_count(&alive), 501);
        for handle in &handles {
            drop(handle.take().unwrap());
            assert!(handle.get().is_err() && handle.alone().is_err() && handle.take().is_err());
        }
        assert_eq!(Arc::strong_count(&alive), 1);
        let again = thing(&alive);
        assert!(
            handles.iter().all(|handle| handle.bits.addr() != again.bits.addr() && handle.get().is_err())
        );
        drop(again.take().unwrap());
    }

    #[test]
    fn an_object_is_not_taken_while_a_call_has_it_alone() {
        let handle = thing(&Arc::new(()));
        let alone = handle.alone().unwrap();
        assert_eq!(Arc::strong_count(&alone.0), 1);
        assert!(handle.alone().is_err_and(|failure| failure.status() == TN_ERROR_BUSY));
        assert!(handle.take().is_err_and(|failure| failure.status() == TN_ERROR_BUSY));
        drop(alone);
        drop(handle.take().unwrap());
    }

    #[test]
    fn an_object_stays_until_its_end_is_dropped() {
        let alive = Arc::new(());
        let handle = thing(&alive);
        let used = handle.get().unwrap();
        let ended = handle.end().unwrap();
        assert!(handle.get().is_err() && handle.alone().is_err() && handle.end().is_err());
        assert_eq!(Arc::strong_count(&used.0), 2);
        drop(ended);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    /// Of a type of its own, so that no other test takes the free slot.
    struct Lonely;

    impl Object for Lonely {
        const KIND: u32 = 61;
        const TYPE: &'static str = "Lonely";

        fn slots() -> &'static Slots<Self> {
            static SLOTS: Slots<Lonely> = Slots::new();
            &SLOTS
        }
    }

    #[test]
    fn an_object_that_was_not_created_leaves_its_slot_free() {
        for _ in 0..1000 {
            drop(Lonely::slots().reserve().unwrap());
        }
        let handle = Lonely::slots().reserve().unwrap().fill(Lonely);
        assert_eq!(super::index(handle.bits.addr() as u64), 0);
        assert!(handle.take().is_ok());
        assert_eq!(*Lonely::slots().used.lock().unwrap_or_else(PoisonError::into_inner), 1);
    }

    #[test]
    fn threads_create_and_take_at_once() {
        let alive = Arc::new(());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
                        let handles = [thing(&alive), thing(&alive)];
                        assert!(handles.iter().all(|handle| handle.get().is_ok()));
                        for handle in handles {
                            drop(handle.take().unwrap());
                        }
                    }
                });
            }
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
