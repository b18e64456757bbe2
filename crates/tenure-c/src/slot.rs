//! Handles: numbers that name slots.
//!
//! A handle is a pointer for the compiler of C alone. Its bits are the kind of the object, the index of a slot, and the slot's
//! generation at that time. So a handle is checked without following a pointer: one that was released, that belongs to another
//! kind, or that was never a handle, is found by comparisons. Slots are never freed, and a slot's generation rises with each
//! release. It begins at a random number, because a process may have several copies of the library, and a slot that has reached
//! the last one is not used again.

use std::cell::UnsafeCell;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::pointer::Out;
use crate::status::{Failure, TN_ERROR_BUSY, TN_ERROR_HANDLE};

const KIND_BITS: u32 = 6;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;
/// In place of the kind while a call has the object alone.
const ALONE: u64 = 63;
const INDEX_BITS: u32 = 26;
/// Slots of the first slab; each further slab has twice the slots of the one before.
const FIRST_SLAB: u32 = 64;
/// As many as a place has bits.
const SLABS: usize = 32;
const MOST_SLOTS: u32 = (1 << INDEX_BITS) - FIRST_SLAB;
/// Of slots that are not used again. No handle has it.
const LAST_GENERATION: u32 = u32::MAX;

/// The names of the handles' types in C, by their kinds.
pub(crate) const TYPES: [&str; 34] = [
    "",
    "tn_Device",
    "tn_Gpu",
    "tn_Buffer",
    "tn_Texture",
    "tn_View",
    "tn_Frame",
    "tn_Recording",
    "tn_Readback",
    "tn_Deferred",
    "tn_Upload",
    "tn_Text",
    "tn_Sampler",
    "tn_SetLayout",
    "tn_DescriptorTable",
    "tn_DescriptorSet",
    "",
    "",
    "",
    "",
    "tn_Graph",
    "tn_Swapchain",
    "tn_Query",
    "tn_UploadRing",
    "tn_AccelerationStructure",
    "tn_Reserved",
    "tn_Pages",
    "",
    "",
    "",
    "tn_Suballocator",
    "tn_HeapPools",
    "tn_ReleaseQueue",
    "tn_Recorder",
];

/// An object with handles of its own type.
pub(crate) trait Object: Sized + Send + 'static {
    /// From 1 to 62, different for each type.
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
    pub(crate) const NULL: Self = Self { bits: ptr::null_mut() };

    /// The object, which other threads may use at the same time.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE`, also for null.
    #[inline]
    pub(crate) fn get(&self) -> Result<&T, Failure>
    where
        T: Sync,
    {
        let bits = self.number();
        let slot = T::slots().of(bits)?;
        let state = slot.state.load(Ordering::Acquire);
        if state != bits {
            return Err(refused(bits, Some((slot, state))));
        }
        // SAFETY: the object stays until the end of this call: the contract of the header is that no other thread releases a
        // handle while a call uses it, and that of `end` and `take` covers this thread.
        Ok(unsafe { slot.value() })
    }

    /// The object for one thread alone, until the guard is dropped.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE`; `TN_ERROR_BUSY` where another call has it.
    #[inline]
    pub(crate) fn alone(&self) -> Result<Alone<'_, T>, Failure> {
        let bits = self.number();
        let slot = self.exchange(bits & !KIND_MASK | ALONE)?;
        Ok(Alone { slot, bits, _handle: PhantomData })
    }

    /// Ends the handle. The object stays until the result is dropped.
    ///
    /// # Safety
    /// No reference from [`get`](Self::get) is used after the result is dropped, in this call or one around it.
    ///
    /// # Errors
    /// As [`alone`](Self::alone). Then the handle stays as it was.
    #[inline]
    pub(crate) unsafe fn end(self) -> Result<Ended, Failure> {
        Ok(Ended(self.exchange(next_state(self.number()))?))
    }

    fn number(self) -> u64 {
        self.bits.addr() as u64
    }

    /// The slot, whose state is another one from now on. No other call has the object alone, or has ended the handle.
    #[inline]
    fn exchange(self, state: u64) -> Result<&'static Slot<T>, Failure> {
        let bits = self.number();
        let slot = T::slots().of(bits)?;
        match slot.state.compare_exchange(bits, state, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(slot),
            Err(state) => Err(refused(bits, Some((slot, state)))),
        }
    }

    /// Ends the handle of a lent object, unless the program has released it. Waits for a call of another thread that uses it alone.
    ///
    /// # Safety
    /// No reference from [`get`](Self::get) is used after this, in this call or one around it.
    pub(crate) unsafe fn end_loan(self) {
        let bits = self.number();
        let Some(slot) = T::slots().find(bits) else { return };
        let exchange =
            || slot.state.compare_exchange(bits, next_state(bits), Ordering::AcqRel, Ordering::Relaxed);
        while let Err(state) = exchange() {
            if state != bits & !KIND_MASK | ALONE {
                return;
            }
            std::thread::yield_now();
        }
        drop(Ended(slot));
    }

    /// Ends the handle, and returns the object.
    ///
    /// # Safety
    /// No reference from [`get`](Self::get) is used after this, in this call or one around it.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    pub(crate) unsafe fn take(self) -> Result<T, Failure> {
        let reserved = Reserved(self.exchange(next_state(self.number()))?);
        // SAFETY: the slot has no handle any more, and is not free before the end of this function, which moves the object.
        Ok(unsafe { (*reserved.0.value.get()).assume_init_read() })
    }
}

/// An object of any type without a handle, dropped with this. No other one has the same slot.
pub(crate) struct Ended(&'static dyn AnySlot);

impl Drop for Ended {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the slot had a handle until this was made, and is not used by anything else.
        unsafe { self.0.free() };
    }
}

/// A slot with an object of any type.
trait AnySlot {
    /// Drops the object, and makes the slot free.
    ///
    /// # Safety
    /// The slot has an object and no handle, and the caller alone uses it.
    unsafe fn free(&'static self);
}

impl<T: Object> AnySlot for Slot<T> {
    unsafe fn free(&'static self) {
        // Also where the object's destructor panics.
        let reserved = Reserved(self);
        // SAFETY: by the contract of this function. The slot is not free before its end.
        unsafe { (*reserved.0.value.get()).assume_init_drop() };
    }
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
    pub(crate) const NULL: Self = Self { bits: ptr::null_mut() };

    pub(crate) fn is_null(self) -> bool {
        self.bits.is_null()
    }

    /// The kind in its bits, whether or not it is a handle.
    pub(crate) fn kind(self) -> u32 {
        kind(self.bits.addr() as u64) as u32
    }

    /// Whether its bits have the kind of a type.
    pub(crate) fn is_of<T: Object>(self) -> bool {
        kind(self.bits.addr() as u64) == u64::from(T::KIND)
    }

    pub(crate) fn of<T>(self) -> Handle<T> {
        Handle { bits: self.bits.cast() }
    }

    /// The error for a handle of no kind that the call takes.
    pub(crate) fn refused(self, wanted: &str) -> Failure {
        let text = match self.is_null() {
            true => format!("null, where a handle of {wanted} is needed"),
            false => match type_of(self.bits.addr() as u64) {
                Some(name) => format!("{:p} is no handle of {wanted}: it has the type {name}", self.bits),
                None => format!("{:p} is no handle of {wanted}", self.bits),
            },
        };
        Failure::new(TN_ERROR_HANDLE, text)
    }
}

fn generation(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// The number by which a slot is found: the lower half of its state, that is its index plus [`FIRST_SLAB`], and the kind, which has
/// no meaning here. The highest bit says the slab.
fn place(bits: u64) -> u32 {
    bits as u32
}

fn place_of(index: u32) -> u32 {
    (index + FIRST_SLAB) << KIND_BITS
}

fn kind(bits: u64) -> u64 {
    bits & KIND_MASK
}

/// The state of a slot after the end of its handle, with the generation of the next one.
fn next_state(bits: u64) -> u64 {
    (bits & !KIND_MASK).wrapping_add(1 << 32)
}

/// The error for a handle that is invalid, or used alone: its slot, if there is one, had this state. Another call may have
/// changed it since.
#[cold]
fn refused<T: Object>(bits: u64, found: Option<(&Slot<T>, u64)>) -> Failure {
    let text = match found {
        _ if bits == 0 => format!("null, where a {} is needed", T::TYPE),
        _ if kind(bits) != u64::from(T::KIND) => match type_of(bits) {
            Some(name) => format!("{bits:#x} is not a {}: it has the type {name}", T::TYPE),
            None => format!("{bits:#x} is not a {}", T::TYPE),
        },
        Some((_, state)) if generation(bits) == generation(state) && kind(state) == ALONE => {
            let text = format!("another call uses this {} now: it is for one thread at a time", T::TYPE);
            return Failure::new(TN_ERROR_BUSY, text);
        }
        Some((slot, state)) if (slot.first_generation..generation(state)).contains(&generation(bits)) => {
            format!("{bits:#x}: this {} was released, and used after that", T::TYPE)
        }
        _ => format!("{bits:#x} is not a {} of this copy of the library", T::TYPE),
    };
    Failure::new(TN_ERROR_HANDLE, text)
}

/// The type in the bits of a handle.
fn type_of(bits: u64) -> Option<&'static str> {
    TYPES.get(kind(bits) as usize).copied().filter(|name| !name.is_empty())
}

/// Slots in slabs that stay for the rest of the process.
pub(crate) struct Slots<T> {
    /// The first slot of each, by the highest bit of its slots' [places](place); null before it is needed.
    slabs: [AtomicPtr<Slot<T>>; SLABS],
    /// Slots that were handed out at least once.
    used: Mutex<u32>,
    /// A count of changes, so that a stale value is noticed; in the upper half the [place](place) of the first free slot, or 0.
    free: AtomicU64,
    /// One more free slot, or null: so a program that creates and releases in turns does not change the list.
    newest: AtomicPtr<Slot<T>>,
}

pub(crate) struct Slot<T> {
    /// The bits of the handle while it can be used; else they have [`ALONE`] or 0 as kind, which no valid handle has.
    state: AtomicU64,
    /// The [place](place) of the next free slot, or 0, in a free slot.
    next: AtomicU32,
    first_generation: u32,
    /// Initialised from [`Reserved::fill`] until the end of its [`Ended`].
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot's value is written by the thread that reserved the slot, that has it alone or has
// ended its handle, and by no other at that time. Two threads refer to it at once only if it is `Sync`: see `Handle::get`.
// Everything else is atomic.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    fn new(index: u32, first_generation: u32) -> Self {
        Self {
            state: AtomicU64::new(u64::from(first_generation) << 32 | u64::from(place_of(index))),
            next: AtomicU32::new(0),
            first_generation,
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The object.
    ///
    /// # Safety
    /// The slot has an object, which stays, and nothing changes it while the result is used.
    unsafe fn value(&self) -> &T {
        // SAFETY: by the contract of this function.
        unsafe { (*self.value.get()).assume_init_ref() }
    }
}

impl<T: Object> Slots<T> {
    pub(crate) const fn new() -> Self {
        let slabs = [const { AtomicPtr::new(ptr::null_mut()) }; SLABS];
        let newest = AtomicPtr::new(ptr::null_mut());
        Self { slabs, used: Mutex::new(0), free: AtomicU64::new(0), newest }
    }

    /// The slot at a [place](place), if it was made.
    #[inline]
    fn slot(&self, place: u32) -> Option<&Slot<T>> {
        let highest = NonZeroU32::new(place)?.ilog2();
        let first = self.slabs[highest as usize].load(Ordering::Acquire);
        // SAFETY: the slab is not null, has as many slots as the highest bit says, and stays.
        (!first.is_null()).then(|| unsafe { &*first.add(((place ^ 1 << highest) >> KIND_BITS) as usize) })
    }

    /// The slot of a handle of this kind.
    #[inline]
    fn find(&self, bits: u64) -> Option<&Slot<T>> {
        if kind(bits) == u64::from(T::KIND) { self.slot(place(bits)) } else { None }
    }

    /// As [`find`](Self::find).
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE`.
    #[inline]
    fn of(&self, bits: u64) -> Result<&Slot<T>, Failure> {
        self.find(bits).ok_or_else(|| refused::<T>(bits, None))
    }

    /// A free slot, which nobody else can take any more.
    #[inline]
    fn pop(&self) -> Option<&Slot<T>> {
        let newest = self.newest.load(Ordering::Relaxed);
        let take =
            || self.newest.compare_exchange(newest, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed);
        if newest.is_null() || take().is_err() {
            return self.pop_from_list();
        }
        // SAFETY: one of these slots, which stay.
        Some(unsafe { &*newest })
    }

    #[inline]
    fn pop_from_list(&self) -> Option<&Slot<T>> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let slot = self.slot((head >> 32) as u32)?;
            let next = changed(head, slot.next.load(Ordering::Relaxed));
            match self.free.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(now) => head = now,
            }
        }
    }

    #[inline]
    fn put_back(&self, slot: &Slot<T>) {
        let state = slot.state.load(Ordering::Relaxed);
        if generation(state) == LAST_GENERATION {
            return;
        }
        let (none, newest) = (ptr::null_mut(), ptr::from_ref(slot).cast_mut());
        let put = || self.newest.compare_exchange(none, newest, Ordering::Release, Ordering::Relaxed);
        if !self.newest.load(Ordering::Relaxed).is_null() || put().is_err() {
            self.put_into_list(slot, place(state));
        }
    }

    #[inline]
    fn put_into_list(&self, slot: &Slot<T>, place: u32) {
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            slot.next.store((head >> 32) as u32, Ordering::Relaxed);
            let first = changed(head, place);
            match self.free.compare_exchange_weak(head, first, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    #[cold]
    fn grow(&self) -> Option<&Slot<T>> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *used;
        if index >= MOST_SLOTS {
            return None;
        }
        if (index + FIRST_SLAB).is_power_of_two() {
            // The process may have further copies of the library, whose slots have other numbers. Half of all generations are
            // left at least.
            let generation = RandomState::new().hash_one(index) as u32 >> 1;
            let slots: Box<[_]> =
                (index..index + index + FIRST_SLAB).map(|index| Slot::new(index, generation)).collect();
            let slab = place_of(index).ilog2();
            let first = Box::leak(slots).as_mut_ptr();
            self.slabs.get(slab as usize)?.store(first, Ordering::Release);
        }
        *used += 1;
        drop(used);
        self.slot(place_of(index))
    }

    /// A slot for an object that is about to be created.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE` where all slots are in use.
    #[inline]
    pub(crate) fn reserve(&'static self) -> Result<Reserved<T>, Failure> {
        let slot = self.pop().or_else(|| self.grow());
        slot.map(Reserved).ok_or_else(|| {
            let text = format!("all {MOST_SLOTS} handles of the type {} are in use", T::TYPE);
            Failure::new(TN_ERROR_HANDLE, text)
        })
    }
}

/// The list of free slots that begins at another place.
fn changed(list: u64, first: u32) -> u64 {
    u64::from(first) << 32 | u64::from((list as u32).wrapping_add(1))
}

/// A slot without a handle, which becomes free when this is dropped.
pub(crate) struct Reserved<T: Object>(&'static Slot<T>);

impl<T: Object> Reserved<T> {
    /// The handle of the object.
    #[inline]
    pub(crate) fn fill(self, value: T) -> Handle<T> {
        const { assert!(T::KIND > 0 && (T::KIND as u64) < ALONE) };
        let slot = ManuallyDrop::new(self).0;
        // SAFETY: the slot was free, and it is reserved: nobody else has it.
        unsafe { slot.value.get().cast::<T>().write(value) };
        let bits = slot.state.load(Ordering::Relaxed) | u64::from(T::KIND);
        slot.state.store(bits, Ordering::Release);
        Handle { bits: ptr::without_provenance_mut(bits as usize) }
    }

    /// The handle of an object that is made from a result. Not by `?`, which would move the result once more.
    #[inline]
    pub(crate) fn fill_with<M, E: Into<Failure>>(
        self,
        made: Result<M, E>,
        object: impl FnOnce(M) -> T,
    ) -> Result<Handle<T>, Failure> {
        match made {
            Ok(made) => Ok(self.fill(object(made))),
            Err(error) => Err(error.into()),
        }
    }
}

impl<T: Object> Drop for Reserved<T> {
    #[inline]
    fn drop(&mut self) {
        T::slots().put_back(self.0);
    }
}

impl<T: Object> Out<Handle<T>> {
    /// Writes null, so that a failed call leaves no handle, and fails where there is no room.
    pub(crate) fn clear(self) -> Result<(), Failure> {
        self.check("room for a handle")?;
        self.set(Handle { bits: ptr::null_mut() });
        Ok(())
    }

    /// As [`clear`](Self::clear); null is allowed.
    pub(crate) fn clear_if_any(self) -> Result<(), Failure> {
        if self.is_null() { Ok(()) } else { self.clear() }
    }
}

/// Creates an object, and writes its handle to room that was cleared.
pub(crate) fn create<T: Object>(
    out: Out<Handle<T>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    create_in(out, |slot| Ok(slot.fill(make()?)))
}

/// As [`create`], for an object that is not moved before it is in its slot.
#[inline]
pub(crate) fn create_in<T: Object>(
    out: Out<Handle<T>>,
    fill: impl FnOnce(Reserved<T>) -> Result<Handle<T>, Failure>,
) -> Result<(), Failure> {
    out.set(fill(T::slots().reserve()?)?);
    Ok(())
}

/// An object that one call has alone.
pub(crate) struct Alone<'a, T: 'static> {
    slot: &'static Slot<T>,
    bits: u64,
    _handle: PhantomData<&'a mut T>,
}

impl<T: Object> Alone<'_, T> {
    /// Ends the handle, and returns the object.
    pub(crate) fn take(self) -> T {
        let alone = ManuallyDrop::new(self);
        let reserved = Reserved(alone.slot);
        reserved.0.state.store(next_state(alone.bits), Ordering::Release);
        // SAFETY: this call has the object alone, and the slot is not free before the end of this function.
        unsafe { (*reserved.0.value.get()).assume_init_read() }
    }
}

impl<T> Deref for Alone<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: as in `deref_mut`.
        unsafe { self.slot.value() }
    }
}

impl<T> DerefMut for Alone<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the state of the slot has made sure that no other call has the object, and that its handle does not end.
        unsafe { (*self.slot.value.get()).assume_init_mut() }
    }
}

impl<T> Drop for Alone<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.state.store(self.bits, Ordering::Release);
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
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::{Arc, Barrier, PoisonError};
    use std::thread;

    use super::{
        ALONE, AnyHandle, Ended, FIRST_SLAB, Handle, KIND_BITS, KIND_MASK, LAST_GENERATION, Object, Ordering,
        Slots, generation, next_state, place, place_of, ptr,
    };
    use crate::status::{Failure, TN_ERROR_BUSY};

    struct Thing(Arc<()>);

    /// Types of their own for tests that need the slots for themselves.
    macro_rules! objects {
        ($($Type:ident: $kind:literal;)*) => {$(
            impl Object for $Type {
                const KIND: u32 = $kind;
                const TYPE: &'static str = stringify!($Type);

                fn slots() -> &'static Slots<Self> {
                    static SLOTS: Slots<$Type> = Slots::new();
                    &SLOTS
                }
            }
        )*};
    }

    objects! {
        Thing: 62;
        Unwilling: 61;
        Lonely: 60;
        Lasting: 59;
        Releasing: 58;
        Lent: 57;
    }

    fn used<T: Object>() -> u32 {
        *T::slots().used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn thing(alive: &Arc<()>) -> Handle<Thing> {
        Thing::slots().reserve().unwrap().fill(Thing(alive.clone()))
    }

    fn end<T: Object>(handle: Handle<T>) -> Result<Ended, Failure> {
        // SAFETY: no test uses a reference to the object after the result is dropped.
        unsafe { handle.end() }
    }

    fn take<T: Object>(handle: Handle<T>) -> Result<T, Failure> {
        // SAFETY: no test uses a reference to the object after this.
        unsafe { handle.take() }
    }

    #[test]
    fn handles_are_found_until_they_are_taken() {
        let alive = Arc::new(());
        // More than a slab, so that slabs are added.
        let count = if cfg!(miri) { 70 } else { 500 };
        let handles: Vec<_> = (0..count).map(|_| thing(&alive)).collect();
        assert_eq!(handles.iter().map(|handle| handle.bits.addr()).collect::<BTreeSet<_>>().len(), count);
        assert!(handles.iter().all(|handle| handle.get().is_ok()));
        assert_eq!(Arc::strong_count(&alive), count + 1);
        for &handle in &handles {
            drop(take(handle).unwrap());
            assert!(handle.get().is_err() && handle.alone().is_err() && take(handle).is_err());
        }
        assert_eq!(Arc::strong_count(&alive), 1);
        let again = thing(&alive);
        assert!(
            handles.iter().all(|handle| handle.bits.addr() != again.bits.addr() && handle.get().is_err())
        );
        drop(take(again).unwrap());
    }

    #[test]
    fn an_object_is_not_taken_while_a_call_has_it_alone() {
        let handle = thing(&Arc::new(()));
        let alone = handle.alone().unwrap();
        assert_eq!(Arc::strong_count(&alone.0), 1);
        assert!(handle.alone().is_err_and(|failure| failure.status() == TN_ERROR_BUSY));
        assert!(take(handle).is_err_and(|failure| failure.status() == TN_ERROR_BUSY));
        drop(alone);
        drop(take(handle).unwrap());
    }

    #[test]
    fn a_thread_that_finds_an_object_in_use_is_told_so() {
        let handle = thing(&Arc::new(()));
        let bits = handle.number();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 20 } else { 200_000 } {
                        let failure = forged(bits).alone().err();
                        assert!(failure.is_none_or(|failure| failure.status() == TN_ERROR_BUSY));
                    }
                });
            }
        });
        drop(take(handle).unwrap());
    }

    #[test]
    fn an_object_stays_until_its_end_is_dropped() {
        let alive = Arc::new(());
        let handle = thing(&alive);
        let used = handle.get().unwrap();
        let ended = end(handle).unwrap();
        assert!(handle.get().is_err() && handle.alone().is_err() && end(handle).is_err());
        assert_eq!(Arc::strong_count(&used.0), 2);
        drop(ended);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    fn forged(bits: u64) -> Handle<Thing> {
        Handle { bits: ptr::without_provenance_mut(bits as usize) }
    }

    #[test]
    fn states_of_slots_are_no_handles() {
        let is_refused = |bits| {
            let handle = forged(bits);
            handle.get().is_err() && handle.alone().is_err() && end(handle).is_err()
        };
        let handle = thing(&Arc::new(()));
        let bits = handle.number();
        let alone = handle.alone().unwrap();
        assert!([bits & !KIND_MASK, bits & !KIND_MASK | ALONE].into_iter().all(is_refused));
        drop(alone);
        assert!(handle.get().is_ok());
        drop(take(handle).unwrap());
        assert!([next_state(bits), bits].into_iter().all(is_refused));
        // Of slots that do not exist.
        let thing = u64::from(Thing::KIND);
        assert!([u64::from(u32::MAX) & !KIND_MASK | thing, 1 << 30 | thing].into_iter().all(is_refused));
    }

    struct Unwilling;

    impl Drop for Unwilling {
        fn drop(&mut self) {
            resume_unwind(Box::new(()));
        }
    }

    #[test]
    fn a_panic_of_a_destructor_leaves_the_slot_free() {
        for _ in 0..2 {
            let handle = Unwilling::slots().reserve().unwrap().fill(Unwilling);
            let ended = end(handle).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| drop(ended))).is_err());
            assert!(end(handle).is_err());
        }
        assert_eq!(used::<Unwilling>(), 1);
    }

    struct Lonely;

    #[test]
    fn an_object_that_was_not_created_leaves_its_slot_free() {
        for _ in 0..1000 {
            drop(Lonely::slots().reserve().unwrap());
        }
        let handle = Lonely::slots().reserve().unwrap().fill(Lonely);
        assert_eq!(place(handle.number()) >> KIND_BITS, FIRST_SLAB);
        assert!(take(handle).is_ok());
        assert_eq!(used::<Lonely>(), 1);
    }

    #[test]
    fn copies_of_the_library_refuse_the_handles_of_each_other() {
        static COPIES: [Slots<Thing>; 8] = [const { Slots::new() }; 8];
        let first = |slots: &Slots<Thing>| generation(slots.grow().unwrap().state.load(Ordering::Relaxed));
        let copies: BTreeSet<_> = COPIES.iter().map(first).collect();
        assert_eq!(copies.len(), 8);
        assert!(copies.iter().all(|first| *first < LAST_GENERATION / 2 + 1));
    }

    struct Lasting;

    #[test]
    fn a_slot_with_the_last_generation_is_not_used_again() {
        let handles = [2, 1].map(|left| {
            let reserved = Lasting::slots().reserve().unwrap();
            let state = u64::from(LAST_GENERATION - left) << 32 | u64::from(place_of(0));
            if left == 2 {
                reserved.0.state.store(state, Ordering::Relaxed);
            }
            assert_eq!(reserved.0.state.load(Ordering::Relaxed), state);
            let handle = reserved.fill(Lasting);
            drop(end(handle).unwrap());
            handle
        });
        let other = Lasting::slots().reserve().unwrap().fill(Lasting);
        assert_eq!((place(other.number()), used::<Lasting>()), (place_of(1) | Lasting::KIND, 2));
        for handle in handles {
            assert!(handle.get().is_err() && handle.alone().is_err() && end(handle).is_err());
        }
        drop(end(other).unwrap());
    }

    /// Its destructor releases itself and another object, and creates a third one.
    struct Releasing(AnyHandle, AnyHandle);

    impl Drop for Releasing {
        fn drop(&mut self) {
            if self.1.is_null() {
                return;
            }
            assert!(end(self.0.of::<Self>()).is_err() && self.0.of::<Self>().alone().is_err());
            drop(end(self.1.of::<Self>()).unwrap());
            let third = Self::slots().reserve().unwrap().fill(Self(AnyHandle::NULL, AnyHandle::NULL));
            assert_eq!(place(third.number()), place(self.1.of::<Self>().number()));
            drop(end(third).unwrap());
        }
    }

    #[test]
    fn destructors_release_and_create_objects_of_the_same_type() {
        let [one, other] = [(); 2].map(|()| {
            Releasing::slots().reserve().unwrap().fill(Releasing(AnyHandle::NULL, AnyHandle::NULL))
        });
        let mut object = one.alone().unwrap();
        (object.0, object.1) = (one.into(), other.into());
        drop(object);
        drop(end(one).unwrap());
        assert!(one.alone().is_err() && other.alone().is_err());
        assert_eq!(used::<Releasing>(), 2);
    }

    struct Lent;

    #[test]
    fn the_end_of_a_loan_waits_for_calls_and_accepts_a_release() {
        let lend = || Lent::slots().reserve().unwrap().fill(Lent);
        // SAFETY: no reference to the object is used after this.
        let end_loan = |handle: Handle<Lent>| unsafe { handle.end_loan() };
        let handle = lend();
        let (bits, barrier) = (handle.number(), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let handle = Handle::<Lent> { bits: ptr::without_provenance_mut(bits as usize) };
                let alone = handle.alone().unwrap();
                barrier.wait();
                thread::yield_now();
                drop(alone);
            });
            barrier.wait();
            end_loan(handle);
            assert!(handle.get().is_err());
        });
        let handle = lend();
        drop(end(handle).unwrap());
        end_loan(handle);
        end_loan(Handle::NULL);
        assert_eq!(used::<Lent>(), 1);
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
                            drop(take(handle).unwrap());
                        }
                    }
                });
            }
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
