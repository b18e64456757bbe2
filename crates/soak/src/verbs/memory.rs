//! The manager's own services: reclaims, moves, limits, reports.

use std::collections::HashMap;

use tenure_core::{
    AddressOwner, AddressUse, BufferDesc, CompactionBudget, Error, Format, LiveObject, ObjectKind,
    TextureDesc, Usage,
};
use test_random::Rng;

use super::{any, happens, one_of};
use crate::callbacks::survive;
use crate::setup::Trouble;
use crate::world::{Checked, World, wrong};

/// Bytes that no resource of a program exceeds: the first move of a call may be larger than its budget.
const LARGEST: u64 = 10 << 20;

pub(super) fn reclaim(world: &mut World, _: &mut Rng) -> Checked {
    world.say(|| "reclaim".to_owned());
    let reclaimed = survive(|| world.gpu.reclaim());
    world.allow("reclaim", reclaimed)?;
    Ok(())
}

pub(super) fn trim(world: &mut World, _: &mut Rng) -> Checked {
    world.say(|| "trim".to_owned());
    world.gpu.trim();
    Ok(())
}

pub(super) fn compact(world: &mut World, rng: &mut Rng) -> Checked {
    let budget = CompactionBudget {
        bytes: any(rng, [10_000, 1 << 20, 1 << 30]),
        moves: any(rng, [1, 7, 1000]),
        pieces: any(rng, [1, 20, 10_000]),
    };
    world.say(|| format!("compact: {budget:?}"));
    let compacted = world.gpu.compact(budget);
    if let Some(report) = world.allow("compact", compacted)?
        && (report.moves > budget.moves || (report.moves > 1 && report.bytes > budget.bytes + LARGEST))
    {
        return wrong(format!("more than {budget:?} was moved: {report:?}"));
    }
    check_moved(world)
}

/// Checks that `take_moved` lists exactly the resources moved since the last time.
fn check_moved(world: &mut World) -> Checked {
    if !world.is_alone {
        return Ok(());
    }
    let told: Vec<_> = world.gpu.take_moved().into_iter().map(|moved| (moved.id, moved.moves)).collect();
    let buffers =
        world.buffers.iter().map(|it| (it.buffer.movable_id(), it.buffer.moves(), it.buffer.name()));
    let textures =
        world.textures.iter().map(|it| (it.texture.movable_id(), it.texture.moves(), it.texture.name()));
    let mut moves = HashMap::new();
    for (id, count, name) in buffers.chain(textures) {
        let Some(id) = id else { continue };
        let has_moved = world.moves.get(&id).copied().unwrap_or(0) != count;
        let is_told = told.contains(&(id, count));
        if has_moved != is_told {
            return wrong(format!("{name} has moved {count} times: {has_moved}, and told: {is_told}"));
        }
        moves.insert(id, count);
    }
    world.moves = moves;
    Ok(())
}

/// The parts of all statistics add up to the whole.
pub(super) fn sums(world: &mut World, _: &mut Rng) -> Checked {
    if !world.is_alone {
        return Ok(());
    }
    let (stats, memory) = (world.gpu.stats(), world.gpu.memory());
    let of_heaps: u64 = memory.heaps.iter().map(|heap| heap.ours.total()).sum();
    let of_types: u64 = memory.types.iter().map(|found| found.ours.total()).sum();
    if of_heaps != stats.reserved || of_types != stats.reserved {
        return wrong(format!("{} B are reserved, {of_heaps} of heaps, {of_types} of types", stats.reserved));
    }
    let held = world.gpu.report().held;
    let parts: u64 = held.iter().map(|held| held.bytes).sum();
    let pending = world.gpu.stats().pending_bytes;
    if parts != pending {
        return wrong(format!("{pending} B wait for the GPU, but the report explains {parts}"));
    }
    Ok(())
}

/// The report lists each live object once, under its name.
pub(super) fn report(world: &mut World, rng: &mut Rng) -> Checked {
    let report = world.gpu.report();
    let listed = |name: &str, kind: ObjectKind| -> Vec<u64> {
        let is_it =
            |object: &&LiveObject| object.name == name && object.kind == kind && object.dropped.is_none();
        report.objects.iter().filter(is_it).map(|object| object.bytes).collect()
    };
    for known in &world.buffers {
        let name = known.buffer.name().as_str();
        let (found, size) = (listed(name, ObjectKind::Buffer), known.buffer.size());
        if found != [size] {
            return wrong(format!("{name} of {size} B is in the report with {found:?} B"));
        }
        if known.pinned.is_some_and(|moves| moves != known.buffer.moves()) {
            return wrong(format!("{name} was pinned, and has moved"));
        }
    }
    let known = world.buffers.get(rng.below(world.buffers.len().max(1) as u64) as usize);
    let name = known.map_or("", |known| known.buffer.name().as_str());
    let is_named = |object: &&LiveObject| object.name == name && object.kind == ObjectKind::Buffer;
    let object = known.and_then(|_| report.objects.iter().find(is_named));
    if let Some((object, first)) = object.and_then(|object| Some((object, object.address?))) {
        // Another thread may have moved it meanwhile.
        let is_it = |owner: &AddressOwner| {
            let is_there = !matches!(owner.state, AddressUse::Released { .. });
            is_there && owner.name == name && owner.addresses == (first..first + object.bytes)
        };
        for address in [first, first + object.bytes.saturating_sub(1)] {
            let found = world.gpu.whose(address);
            if !found.owners.iter().any(is_it) {
                return wrong(format!("{name} at {first:#x} is not found by its address: {found}"));
            }
        }
    }
    for shown in &world.shown {
        let number = shown.range.range.part.object;
        let name = format!("b{number}");
        let is_kept = |object: &LiveObject| object.name == name && object.dropped.is_some();
        if world.buffer(number).is_none() && !report.objects.iter().any(is_kept) {
            return wrong(format!(
                "{name} was dropped, and the report does not have it, although there is a view of it"
            ));
        }
    }
    for known in &world.textures {
        let name = known.texture.name().as_str();
        if listed(name, ObjectKind::Texture).len() != 1 {
            return wrong(format!(
                "{name} is {} times in the report",
                listed(name, ObjectKind::Texture).len()
            ));
        }
    }
    Ok(())
}

pub(super) fn costs(world: &mut World, rng: &mut Rng) -> Checked {
    let desc = BufferDesc::new(rng.size(24), Usage::SHADER_READ);
    // Reclaimed resources and other threads may make room meanwhile.
    let reclaimed = survive(|| world.gpu.reclaim());
    world.allow("reclaim", reclaimed)?;
    let (cost, before) = (world.gpu.buffer_cost(&desc), world.gpu.stats().reserved);
    if let Some(cost) = world.allow("the cost of a buffer", cost)?
        && let made = world.gpu.create_buffer(&desc)
        && let Some(_buffer) = world.allow("create a requested resource", made)?
        && let more = world.gpu.stats().reserved.saturating_sub(before)
        && world.is_counted()
        && world.trouble == Trouble::None
        // Idle blocks may be given back before.
        && more > cost.new_bytes
    {
        return wrong(format!("{more} B are taken for a buffer of {} B, more than {cost:?}", desc.size));
    }
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let cost = world.gpu.texture_cost(&desc);
    world.allow("the cost of a texture", cost)?;
    Ok(())
}

pub(super) fn cap(world: &mut World, rng: &mut Rng) -> Checked {
    let heaps = world.gpu.memory().heaps;
    let Some(heap) = one_of(rng, &heaps) else { return Ok(()) };
    let cap = if happens(rng, 40) { None } else { Some(any(rng, [1, 4, 16, 64]) << 20) };
    world.say(|| format!("cap heap {heap}: {cap:?}"));
    let set = world.gpu.set_memory_cap(heap, cap);
    world.allow("a cap", set)?;
    Ok(())
}

pub(super) fn budget(world: &mut World, rng: &mut Rng) -> Checked {
    let heaps = world.gpu.memory().heaps;
    let Some(heap) = one_of(rng, &heaps) else { return Ok(()) };
    let budget = if happens(rng, 30) { heaps[heap].size } else { any(rng, [1, 4, 16, 64]) << 20 };
    world.say(|| format!("budget of heap {heap}: {budget}"));
    let set = world.device().set_budget(heap, budget);
    world.allow("a budget", set.map_err(|source| Error::Device { name: "budget".into(), source }))?;
    Ok(())
}

/// A listener that asks the manager things, and may panic.
pub(super) fn listen(world: &mut World, rng: &mut Rng) -> Checked {
    let act = world.callbacks.choose(rng);
    world.say(|| format!("listen for pressure: {act:?}"));
    let callbacks = world.callbacks.clone();
    world.gpu.on_pressure(move |gpu, _| {
        let _inside = gpu.memory();
        callbacks.act(act);
    });
    Ok(())
}
