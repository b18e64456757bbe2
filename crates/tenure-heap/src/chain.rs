//! The fallback chain: the order in which memory types and steps are tried until memory is found.

use std::fmt;

use crate::{HeapDeviceError, MemoryTypeId};

/// Whether a step may exceed the budget that the operating system grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Only within the budget.
    WithinBudget,
    /// Regardless of the budget: the driver decides.
    WhateverBudget,
}

/// The condition for using memory that is not [alike](Fallback::is_alike) the preferred type, such as system memory
/// instead of video memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spill {
    /// Before the budget of the preferred memory is exceeded. For resources that the GPU reads efficiently from the
    /// other memory.
    BeforeBudget,
    /// Only after the driver has refused the preferred memory. For render targets and resources that shaders
    /// write.
    #[default]
    AfterRefusal,
    /// Never: the request fails instead.
    Never,
}

/// The permitted steps of a request when memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShortageRules {
    /// The condition for the use of other memory.
    pub spill: Spill,
    /// Whether the request may exceed the budget instead of failing. Without this, [`Spill::AfterRefusal`] never uses
    /// other memory, because the driver is never called beyond the budget.
    pub may_exceed_budget: bool,
    /// Whether it may wait for memory that the GPU still uses.
    pub may_wait: bool,
}

impl Default for ShortageRules {
    /// Permits every step. Other memory is tried only after the driver has refused the preferred memory, not because
    /// of a budget.
    fn default() -> Self {
        Self { spill: Spill::AfterRefusal, may_exceed_budget: true, may_wait: true }
    }
}

/// The step of the chain in which a memory type was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The first step, within the budget.
    WithinBudget,
    /// Within the budget, after unused memory was freed.
    AfterTrim,
    /// Regardless of the budget.
    BeyondBudget,
    /// After a wait for the GPU.
    AfterWait,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WithinBudget => "within the budget",
            Self::AfterTrim => "after unused memory was freed",
            Self::BeyondBudget => "beyond the budget",
            Self::AfterWait => "after a wait for the GPU",
        })
    }
}

/// A refusal by one step in one memory type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<E> {
    /// The memory type.
    pub memory: MemoryTypeId,
    /// The step.
    pub step: Step,
    /// The reason of the refusal.
    pub refusal: E,
}

/// Displays the refusals of a request: the memory types and steps tried, and the last refusal.
///
/// ```
/// use tenure_heap::{Answer, Answers, HeapError, MemoryTypeId, Step};
/// let answer = |memory, step| {
///     let memory = MemoryTypeId(memory);
///     Answer { memory, step, refusal: HeapError::OutOfMemory { requested: 64, memory } }
/// };
/// let answers = [answer(0, Step::WithinBudget), answer(0, Step::BeyondBudget), answer(2, Step::BeyondBudget)];
/// assert_eq!(
///     Answers(&answers).to_string(),
///     "memory type 0 within the budget, beyond the budget; memory type 2 beyond the budget; last refusal: \
///      the driver refused 64 B of memory type 2"
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a, E>(pub &'a [Answer<E>]);

impl<E: fmt::Display> fmt::Display for Answers<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last: Option<&Answer<E>> = None;
        for answer in self.0 {
            match last {
                Some(last) if last.memory == answer.memory => write!(f, ", {}", answer.step)?,
                Some(_) => write!(f, "; memory type {} {}", answer.memory.0, answer.step)?,
                None => write!(f, "memory type {} {}", answer.memory.0, answer.step)?,
            }
            last = Some(answer);
        }
        match last {
            Some(last) => write!(f, "; last refusal: {}", last.refusal),
            None => f.write_str("no memory type"),
        }
    }
}

/// The reason why the fallback chain found no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationFailure<E> {
    /// No memory type was allowed.
    NoMemoryType,
    /// Each step was short of memory.
    OutOfMemory {
        /// The preferred memory type.
        preferred: MemoryTypeId,
        /// The refusal of each step, in order; at least one.
        answers: Vec<Answer<E>>,
    },
    /// The device refused for another reason.
    Refused(E),
}

/// The steps of the fallback chain for one request, each in one memory type. A step that fails must have no side effects.
pub trait Fallback {
    /// The result of a successful step.
    type Found;
    /// The error of a failed step.
    type Error: HeapDeviceError;

    /// Allocates a range of an existing block. `None` if all blocks are full.
    ///
    /// # Errors
    /// The errors of the device.
    fn existing_block(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Option<Self::Found>, Self::Error>;

    /// Allocates a range of a new block.
    ///
    /// # Errors
    /// The errors of the device.
    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<Self::Found, Self::Error>;

    /// Allocates dedicated memory for the request, after the blocks failed with `refusal`.
    ///
    /// # Errors
    /// The errors of the device; `refusal` if there is no such step.
    fn dedicated(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
        refusal: Self::Error,
    ) -> Result<Self::Found, Self::Error>;

    /// Whether the GPU accesses both memory types in the same way: see
    /// [`HeapProperties::is_alike`](crate::HeapProperties::is_alike).
    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool;

    /// Frees unused memory, because the preferred memory is scarce.
    fn make_room(&mut self);

    /// Waits a bounded time for memory that the GPU still uses, and frees it, because the preferred memory was refused.
    /// False if there was nothing to wait for.
    fn wait_for_room(&mut self) -> bool {
        false
    }

    /// Notes a refusal by a memory type, for logging.
    fn note_refusal(&mut self, _memory: MemoryTypeId, _refusal: &Self::Error) {}

    /// Notes that memory was found in a type that is not [alike](Self::is_alike), for logging.
    fn note_spill(&mut self, _preferred: MemoryTypeId, _found: MemoryTypeId) {}
}

/// Tries the steps of a request until one finds memory:
///
/// 1. the preferred memory type and the types [alike](Fallback::is_alike), within the budget;
/// 2. the same after freeing unused memory;
/// 3. the other types within the budget, with [`Spill::BeforeBudget`];
/// 4. the types of step 1 beyond the budget;
/// 5. the same after waiting for the GPU;
/// 6. the other types, within the budget and beyond it, except with [`Spill::Never`].
///
/// Each memory type is tried with an existing block, then a new block, then dedicated memory.
///
/// # Errors
/// [`AllocationFailure`]; a failure other than a shortage, such as a lost device, ends the chain immediately.
///
/// ```
/// use tenure_heap::{AllocationFailure, Fallback, HeapDeviceError, HeapError, MemoryTypeId, Round};
/// use tenure_heap::{ShortageRules, Spill, try_each_memory_type};
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
///         Err(HeapError::OutOfMemory { requested: 100, memory })
///     }
///     fn dedicated(&mut self, memory: MemoryTypeId, _: Round, refusal: HeapError) -> Result<MemoryTypeId, HeapError> {
///         self.0.push(format!("{}: dedicated", memory.0));
///         if memory.0 == 1 { Ok(memory) } else { Err(refusal) }
///     }
///     fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
///         one == other
///     }
///     fn make_room(&mut self) {
///         self.0.push("make room".into());
///     }
/// }
///
/// let rules = ShortageRules { spill: Spill::BeforeBudget, ..ShortageRules::default() };
/// let mut request = Request(Vec::new());
/// let types = [MemoryTypeId(0), MemoryTypeId(1)];
/// assert_eq!(try_each_memory_type(&mut request, rules, types), Ok(MemoryTypeId(1)));
/// let tried = [
///     "0: block", "0: new block", "0: dedicated", "make room", "0: block", "0: new block", "0: dedicated",
///     "1: block", "1: new block", "1: dedicated",
/// ];
/// assert_eq!(request.0, tried);
/// assert_eq!(try_each_memory_type(&mut request, rules, []), Err(AllocationFailure::NoMemoryType));
/// ```
pub fn try_each_memory_type<F: Fallback>(
    request: &mut F,
    rules: ShortageRules,
    memory_types: impl IntoIterator<Item = MemoryTypeId, IntoIter: Clone>,
) -> Result<F::Found, AllocationFailure<F::Error>> {
    let memory_types = memory_types.into_iter();
    let preferred = memory_types.clone().next().ok_or(AllocationFailure::NoMemoryType)?;
    let mut chain = Chain { request, memory_types, preferred, answers: Vec::new() };
    match chain.run(rules) {
        Some(found) => found.map_err(AllocationFailure::Refused),
        None => Err(AllocationFailure::OutOfMemory { preferred, answers: chain.answers }),
    }
}

/// The outcome of some steps: memory, or an error that ends the chain; `None` after shortages only.
type Outcome<F> = Option<Result<<F as Fallback>::Found, <F as Fallback>::Error>>;

/// Memory types, by their relation to the preferred one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// The types alike the preferred one.
    Preferred,
    Other,
}

/// A request in progress.
struct Chain<'r, F: Fallback, I> {
    request: &'r mut F,
    memory_types: I,
    preferred: MemoryTypeId,
    answers: Vec<Answer<F::Error>>,
}

impl<F: Fallback, I: Iterator<Item = MemoryTypeId> + Clone> Chain<'_, F, I> {
    fn run(&mut self, rules: ShortageRules) -> Outcome<F> {
        let ShortageRules { spill, may_exceed_budget, may_wait } = rules;
        let steps = [
            (true, Group::Preferred, Step::WithinBudget),
            (true, Group::Preferred, Step::AfterTrim),
            (spill == Spill::BeforeBudget, Group::Other, Step::AfterTrim),
            (may_exceed_budget, Group::Preferred, Step::BeyondBudget),
            (may_wait, Group::Preferred, Step::AfterWait),
            (may_exceed_budget && spill == Spill::AfterRefusal, Group::Other, Step::AfterTrim),
            (may_exceed_budget && spill != Spill::Never, Group::Other, Step::BeyondBudget),
        ];
        let mut allowed = steps.into_iter().filter(|(is_allowed, ..)| *is_allowed);
        allowed.find_map(|(_, group, step)| {
            match (group, step) {
                (Group::Preferred, Step::AfterTrim) => self.request.make_room(),
                (_, Step::AfterWait) if !self.request.wait_for_room() => return None,
                _ => {}
            }
            let is_last = matches!(step, Step::BeyondBudget | Step::AfterWait) && may_exceed_budget;
            self.step(group, step, if is_last { Round::WhateverBudget } else { Round::WithinBudget })
        })
    }

    /// Tries the memory types of a group.
    fn step(&mut self, group: Group, step: Step, round: Round) -> Outcome<F> {
        for memory in self.memory_types.clone() {
            let is_alike = memory == self.preferred || self.request.is_alike(self.preferred, memory);
            if is_alike != (group == Group::Preferred) {
                continue;
            }
            match self.try_memory_type(memory, round) {
                Ok(found) => {
                    if group == Group::Other {
                        self.request.note_spill(self.preferred, memory);
                    }
                    return Some(Ok(found));
                }
                Err(refusal) if refusal.is_shortage() => {
                    self.request.note_refusal(memory, &refusal);
                    self.answers.push(Answer { memory, step, refusal });
                }
                refused => return Some(refused),
            }
        }
        None
    }

    fn try_memory_type(&mut self, memory: MemoryTypeId, round: Round) -> Result<F::Found, F::Error> {
        if let Some(found) = self.request.existing_block(memory, round)? {
            return Ok(found);
        }
        match self.request.new_block(memory, round) {
            // Dedicated memory is smaller than a block, and needs no suballocator.
            Err(error) if error.is_shortage() || error.is_unsupported() => {
                self.request.dedicated(memory, round, error)
            }
            result => result,
        }
    }
}
