//! Replaying a script with an allocator, call by call.

use std::hint::black_box;
use std::time::Instant;

use crate::Result;
use crate::script::{Call, Request, Reserved, Script};
use crate::timing::nanoseconds;

/// An allocator that can replay a script.
pub(crate) trait Player: Sized {
    /// The data needed to free an allocation.
    type Handle;

    /// An allocator, configured as its manual says.
    fn new() -> Result<Self>;

    /// Allocates.
    fn allocate(&mut self, request: &Request) -> Result<Self::Handle>;

    /// Frees.
    fn free(&mut self, handle: Self::Handle) -> Result;

    /// The block of an allocation, and its offset there.
    fn place(&self, handle: &Self::Handle) -> (u64, u64);

    /// The peak of the bytes of all blocks.
    fn peak_reserved(&self) -> u64;

    /// Memory allocations of the driver so far.
    fn driver_allocations(&self) -> u64;
}

/// Nanoseconds of each call, round by round, and the memory.
#[derive(Default)]
pub(super) struct Times {
    pub(super) allocations: Vec<Vec<u32>>,
    pub(super) frees: Vec<Vec<u32>>,
    pub(super) memory: Reserved,
}

/// The handles of a script's slots.
pub(crate) type Handles<P> = Vec<Option<<P as Player>::Handle>>;

/// An empty table of handles, one place for each resource.
pub(crate) fn handles<P: Player>(script: &Script) -> Handles<P> {
    (0..script.slots).map(|_| None).collect()
}

/// Replays a script once with a new allocator and measures each call, less the time of reading the clock.
pub(super) fn play<P: Player>(script: &Script, clock: u32, times: &mut Times) -> Result {
    let mut player = P::new()?;
    let mut handles = handles::<P>(script);
    let (mut allocations, mut frees) = (Vec::new(), Vec::new());
    for call in &script.calls {
        match call {
            Call::Allocate { slot, request } => {
                let start = Instant::now();
                let made = player.allocate(black_box(request));
                black_box(&made);
                allocations.push(nanoseconds(start).saturating_sub(clock));
                handles[*slot] = Some(made?);
            }
            Call::Free { slot } => {
                let Some(handle) = handles[*slot].take() else { continue };
                let start = Instant::now();
                let freed = player.free(handle);
                frees.push(nanoseconds(start).saturating_sub(clock));
                freed?;
            }
            Call::EndFrame => {}
        }
    }
    times.allocations.push(allocations);
    times.frees.push(frees);
    times.memory = Reserved { peak: player.peak_reserved(), driver_allocations: player.driver_allocations() };
    // Some allocators require to be empty when dropped.
    handles.into_iter().flatten().try_for_each(|handle| player.free(handle))
}
