//! What is tried, in which order, until memory is found.

use crate::{HeapDeviceError, MemoryTypeId};

/// How often all memory types have been tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// The first time: nothing exceeds the budget that the operating system grants.
    WithinBudget,
    /// The second and last time, after unused memory was given back: the driver has the last word.
    WhateverBudget,
}

/// Why the fallback chain found no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationFailure<E> {
    /// No memory type was allowed.
    NoMemoryType,
    /// Each step was short of memory, twice.
    OutOfMemory {
        /// The memory type preferred.
        preferred: MemoryTypeId,
        /// The last refusal.
        refusal: E,
    },
    /// The device refused for another reason.
    Refused(E),
}

/// The steps of the fallback chain for one request, in one memory type each. A step that fails leaves nothing
/// behind.
pub trait Fallback {
    /// What is looked for.
    type Found;
    /// Why a step failed.
    type Error: HeapDeviceError;

    /// Takes a range of a block that is there. `None` when no block has room.
    ///
    /// # Errors
    /// The device's.
    fn existing_block(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Option<Self::Found>, Self::Error>;

    /// Takes a range of a new block.
    ///
    /// # Errors
    /// The device's.
    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<Self::Found, Self::Error>;

    /// Takes memory for the request alone, since no block served it, because of `refusal`.
    ///
    /// # Errors
    /// The device's; `refusal` where there is no such step.
    fn dedicated(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
        refusal: Self::Error,
    ) -> Result<Self::Found, Self::Error>;

    /// All memory types have refused for the first time: gives back what is not used.
    fn make_room(&mut self);

    /// A memory type was short of memory. For the log.
    fn note_refusal(&mut self, _memory: MemoryTypeId, _refusal: &Self::Error) {}
}

/// Tries the steps of a request in each memory type, gives unused memory back, and tries once more.
///
/// # Errors
/// [`AllocationFailure`]; a failure other than a shortage, such as a lost device, ends the chain at once.
///
/// ```
/// use tenure_heap::{AllocationFailure, Fallback, HeapDeviceError, HeapError, MemoryTypeId, Round};
/// use tenure_heap::try_each_memory_type;
///
/// /// A device on which only the second memory type has memory, and only for itself.
/// struct Request(Vec<String>);
///
/// impl Fallback for Request {
///     type Found = MemoryTypeId;
///     type Error = HeapError;
///
///     fn existing_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<Option<MemoryTypeId>, HeapError> {
///         self.0.push(format!("{}: block", memory.0));
///         Ok(None)
///     }
///     fn new_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<MemoryTypeId, HeapError> {
///         self.0.push(format!("{}: new block", memory.0));
///         Err(HeapError::out_of_memory(100, memory))
///     }
///     fn dedicated(&mut self, memory: MemoryTypeId, _: Round, refusal: HeapError) -> Result<MemoryTypeId, HeapError> {
///         self.0.push(format!("{}: dedicated", memory.0));
///         if memory.0 == 1 { Ok(memory) } else { Err(refusal) }
///     }
///     fn make_room(&mut self) {
///         self.0.push("make room".into());
///     }
/// }
///
/// let mut request = Request(Vec::new());
/// let types = [MemoryTypeId(0), MemoryTypeId(1)];
/// assert_eq!(try_each_memory_type(&mut request, types), Ok(MemoryTypeId(1)));
/// let tried = ["0: block", "0: new block", "0: dedicated", "1: block", "1: new block", "1: dedicated"];
/// assert_eq!(request.0, tried);
/// assert_eq!(try_each_memory_type(&mut request, []), Err(AllocationFailure::NoMemoryType));
/// ```
pub fn try_each_memory_type<F: Fallback>(
    request: &mut F,
    memory_types: impl IntoIterator<Item = MemoryTypeId, IntoIter: Clone>,
) -> Result<F::Found, AllocationFailure<F::Error>> {
    let memory_types = memory_types.into_iter();
    let preferred = memory_types.clone().next().ok_or(AllocationFailure::NoMemoryType)?;
    let mut refusal = None;
    for round in [Round::WithinBudget, Round::WhateverBudget] {
        for memory in memory_types.clone() {
            match try_memory_type(request, memory, round) {
                Ok(found) => return Ok(found),
                Err(error) if error.is_shortage() => {
                    request.note_refusal(memory, &error);
                    refusal = Some(error);
                }
                Err(error) => return Err(AllocationFailure::Refused(error)),
            }
        }
        if round == Round::WithinBudget {
            request.make_room();
        }
    }
    let refusal = refusal.unwrap_or_else(|| F::Error::out_of_memory(0, preferred));
    Err(AllocationFailure::OutOfMemory { preferred, refusal })
}

fn try_memory_type<F: Fallback>(
    request: &mut F,
    memory: MemoryTypeId,
    round: Round,
) -> Result<F::Found, F::Error> {
    if let Some(found) = request.existing_block(memory, round)? {
        return Ok(found);
    }
    match request.new_block(memory, round) {
        // Memory for the request alone is smaller than a block, and needs no suballocator.
        Err(error) if error.is_shortage() || error.is_unsupported() => {
            request.dedicated(memory, round, error)
        }
        result => result,
    }
}
