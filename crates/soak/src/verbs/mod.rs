//! The operations of steps.

mod buffers;
mod copies;
mod descriptors;
mod frames;
mod graphs;
mod lifetimes;
mod memory;
mod others;
mod read_only;
mod recordings;
mod textures;
mod tiles;
mod transfers;
mod troubles;

use test_random::Rng;

use crate::setup::Trouble;
use crate::world::{Checked, World};

/// An operation of a step.
struct Verb {
    /// Its weight in the random choice.
    weight: u64,
    /// The kind of trouble that it is limited to, if any.
    only: &'static [Trouble],
    run: fn(&mut World, &mut Rng) -> Checked,
}

const fn verb(weight: u64, run: fn(&mut World, &mut Rng) -> Checked) -> Verb {
    Verb { weight, only: &[], run }
}

const fn only(only: &'static [Trouble], weight: u64, run: fn(&mut World, &mut Rng) -> Checked) -> Verb {
    Verb { weight, only, run }
}

/// All of them. New ones are added at the end, so that seeds go on meaning the same.
const VERBS: &[Verb] = &[
    verb(12, buffers::create),
    verb(6, buffers::create_mapped),
    verb(8, buffers::drop_one),
    verb(1, buffers::drop_many),
    verb(4, buffers::write_mapped),
    verb(4, buffers::read_mapped),
    verb(3, buffers::pin),
    verb(1, buffers::adopt),
    verb(8, textures::create),
    verb(5, textures::drop_one),
    verb(1, textures::adopt),
    verb(8, transfers::upload),
    verb(5, transfers::upload_texture),
    verb(2, transfers::flush),
    verb(2, transfers::wait_upload),
    verb(6, transfers::read_back),
    verb(4, transfers::read_back_texture),
    verb(4, transfers::look_at_reads),
    verb(1, transfers::drop_read),
    verb(10, recordings::open),
    verb(12, recordings::submit),
    verb(2, recordings::discard),
    verb(3, recordings::wait_for_point),
    verb(4, recordings::use_buffers),
    verb(4, recordings::use_textures),
    verb(4, recordings::constants),
    verb(4, recordings::ring),
    verb(3, recordings::transient),
    verb(3, recordings::queries),
    verb(2, recordings::gpu_time),
    verb(10, copies::buffers),
    verb(5, copies::fill),
    verb(5, copies::textures),
    verb(4, copies::clear),
    verb(4, copies::to_texture),
    verb(4, copies::to_buffer),
    verb(4, copies::read_back),
    verb(3, copies::read_back_texture),
    verb(5, descriptors::view),
    verb(3, descriptors::drop_view),
    verb(3, descriptors::table),
    verb(3, descriptors::set),
    verb(2, descriptors::drop_table_or_set),
    verb(5, descriptors::read),
    verb(3, descriptors::read_dynamic),
    verb(2, descriptors::sampler),
    verb(6, frames::begin),
    verb(8, frames::end),
    verb(6, frames::whole),
    verb(1, frames::drop_open),
    verb(2, frames::swapchain),
    verb(1, frames::drop_swapchain),
    verb(3, graphs::random),
    verb(1, graphs::deferred),
    verb(1, graphs::panics),
    verb(2, memory::reclaim),
    verb(2, memory::trim),
    verb(4, memory::compact),
    verb(2, memory::sums),
    verb(2, memory::report),
    verb(1, memory::costs),
    only(&[Trouble::Shortage], 6, memory::cap),
    only(&[Trouble::Shortage], 6, memory::budget),
    verb(2, memory::listen),
    verb(2, others::pages),
    verb(4, others::in_page),
    verb(2, others::ring),
    verb(2, others::defer),
    verb(2, others::external),
    verb(2, others::structures),
    verb(1, others::drop_kept),
    verb(2, tiles::create),
    verb(4, tiles::map),
    verb(4, tiles::unmap),
    verb(4, tiles::fill),
    verb(2, tiles::drop_one),
    only(&[Trouble::Faults, Trouble::Loss], 14, troubles::fault),
    only(&[Trouble::Loss], 3, troubles::lose),
    only(&[Trouble::Leaks], 6, troubles::leak_recording),
    only(&[Trouble::Leaks], 2, troubles::leak_frame),
    verb(4, troubles::misuse),
    verb(4, lifetimes::orphan),
    verb(4, lifetimes::at_rest),
    verb(4, lifetimes::unwanted_reads),
    verb(4, lifetimes::moved_views),
    verb(2, textures::in_page),
    verb(2, textures::to_cpu),
    verb(2, textures::declare),
    verb(1, recordings::reserve),
    verb(2, recordings::fences),
    verb(2, recordings::untyped),
    verb(2, recordings::results),
    verb(2, graphs::textures),
    verb(3, descriptors::samplers),
    verb(2, others::compact_structures),
    verb(2, tiles::copy),
    verb(3, buffers::within_limits),
    verb(2, recordings::attachments),
    verb(6, transfers::await_one),
    verb(4, read_only::create),
    verb(4, read_only::upload),
    verb(8, read_only::read),
    verb(2, read_only::drop_one),
    verb(4, textures::generate_mips),
    verb(4, recordings::use_range),
    verb(3, descriptors::dynamic_constants),
    verb(2, frames::wishes),
    verb(8, recordings::submit_all),
];

/// The weights under some trouble.
pub(crate) fn weights(trouble: Trouble) -> Vec<u64> {
    let weight = |verb: &Verb| {
        let is_here = verb.only.is_empty() || verb.only.contains(&trouble);
        if is_here { verb.weight } else { 0 }
    };
    VERBS.iter().map(weight).collect()
}

/// One of the operations possible under some trouble, selected by a number.
pub(crate) fn possible(trouble: Trouble, number: u8) -> u16 {
    let possible = (0..).zip(weights(trouble)).filter(|(_, weight)| *weight > 0).map(|(verb, _)| verb);
    let possible: Vec<u16> = possible.collect();
    possible.get(usize::from(number) % possible.len().max(1)).copied().unwrap_or(0)
}

/// The verb whose share contains `at`.
pub(crate) fn pick(weights: &[u64], mut at: u64) -> u16 {
    for (index, weight) in weights.iter().enumerate() {
        if at < *weight {
            return index as u16;
        }
        at -= weight;
    }
    0
}

/// Does one.
pub(crate) fn make(world: &mut World, verb: u16, rng: &mut Rng) -> Checked {
    VERBS.get(usize::from(verb)).map_or(Ok(()), |verb| (verb.run)(world, rng))
}

/// One of them; `None` of nothing.
fn one_of<T>(rng: &mut Rng, from: &[T]) -> Option<usize> {
    (!from.is_empty()).then(|| rng.below(from.len() as u64) as usize)
}

/// One of these values.
fn any<T: Copy, const N: usize>(rng: &mut Rng, from: [T; N]) -> T {
    from[rng.below(N as u64) as usize]
}

/// True with this probability in percent.
fn happens(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// A random part of `size` bytes, not empty: its first byte and its length.
fn span(rng: &mut Rng, size: u64) -> (u64, u64) {
    if happens(rng, 30) {
        return (0, size);
    }
    let start = rng.below(size);
    (start, 1 + rng.below(size - start))
}
