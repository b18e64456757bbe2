//! Render graphs.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use deferred_frame::{FrameError, Renderer, Sharing};
use tenure_core::transient::graph::{PassId, ResourceId};
use tenure_core::{
    BufferDesc, Error, Format, Graph, Queue, State, Subresource, TextureDesc, TextureViewDesc, Usage,
};
use test_random::Rng;

use super::{any, frames, happens};
use crate::callbacks::{check_own_panic, panic_on_purpose, survive};
use crate::setup::Trouble;
use crate::world::{Checked, World, words_of, wrong};

/// Uses of a pass: the resource and whether it writes.
struct Pass {
    queue: Queue,
    uses: Vec<(usize, bool)>,
}

/// A graph of buffers; each pass fills the buffers that it writes and compares those that it reads.
struct Declared {
    sizes: Vec<u64>,
    passes: Vec<Pass>,
}

fn declare(rng: &mut Rng) -> Declared {
    let sizes: Vec<u64> = (0..2 + rng.below(6)).map(|_| any(rng, [4096, 70_000, 300_000])).collect();
    let mut is_written = vec![false; sizes.len()];
    let passes = (0..1 + rng.below(8)).map(|_| {
        let mut uses: Vec<(usize, bool)> = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let resource = rng.below(sizes.len() as u64) as usize;
            let writes = !is_written[resource] || happens(rng, 30);
            if uses.iter().all(|(used, _)| *used != resource) {
                uses.push((resource, writes));
                is_written[resource] = true;
            }
        }
        Pass { queue: any(rng, [Queue::Graphics, Queue::Compute, Queue::Copy]), uses }
    });
    let passes = passes.collect();
    Declared { sizes, passes }
}

/// The commands of a pass of a graph.
enum Mishap {
    Panics,
    Fails,
}

/// Executes a random graph; one pass has a mishap, if it is executed: unused passes are culled. Returns true if
/// the mishap occurred.
fn execute(
    world: &World,
    declared: &Declared,
    mishap: Option<(usize, Mishap)>,
    reached: &Cell<bool>,
) -> Result<(), Error> {
    let mut graph = Graph::new();
    let usage = Usage::COPY_SRC | Usage::SHADER_READ;
    let buffers: Vec<_> = declared
        .sizes
        .iter()
        .enumerate()
        .map(|(index, size)| graph.buffer(BufferDesc::new(*size, usage).name(format!("g{index}"))))
        .collect();
    let mut ids = HashMap::new();
    for (index, pass) in declared.passes.iter().enumerate() {
        let mut builder = graph.pass(pass.queue, format!("pass {index}"));
        for (resource, writes) in &pass.uses {
            let state = if *writes { State::COPY_DST } else { State::COPY_SRC };
            builder = builder.uses(buffers[*resource], state);
        }
        ids.insert(builder.id(), index);
    }
    let mut bytes: HashMap<usize, u8> = HashMap::new();
    let frame = world.gpu.begin_frame()?;
    frame.execute(&graph, |id, recording, resources| {
        let index = ids[&id];
        if let Some((_, mishap)) = mishap.as_ref().filter(|(at, _)| *at == index) {
            reached.set(true);
            match mishap {
                Mishap::Panics => panic_on_purpose(),
                Mishap::Fails => return Err(Error::ShutDown),
            }
        }
        for (resource, writes) in &declared.passes[index].uses {
            let buffer = resources.buffer(buffers[*resource])?;
            if *writes {
                let byte = (index * 16 + resource) as u8;
                recording.raw().fill_buffer(buffer.raw(), buffer.offset(), buffer.size(), byte);
                bytes.insert(*resource, byte);
            } else if let Some(byte) = bytes.get(resource) {
                let middle = buffer.offset() + buffer.size() / 2;
                // A comparison is no use: it brings nothing into a state.
                recording.raw().use_buffer(buffer.raw(), buffer.offset(), buffer.size(), State::COPY_SRC);
                recording.raw().expect_bytes(buffer.raw(), middle, &[*byte; 32]);
            }
        }
        Ok::<(), Error>(())
    })?;
    survive(|| frame.end())
}

pub(super) fn random(world: &mut World, rng: &mut Rng) -> Checked {
    frames::end(world, rng)?;
    let declared = declare(rng);
    let fails_at = happens(rng, 10).then(|| rng.below(declared.passes.len() as u64) as usize);
    world.say(|| format!("a graph of {} passes", declared.passes.len()));
    for _ in 0..1 + rng.below(3) {
        let reached = Cell::new(false);
        match execute(world, &declared, fails_at.map(|at| (at, Mishap::Fails)), &reached) {
            Err(Error::ShutDown) if reached.get() => {}
            _ if reached.get() => return wrong("the error of a pass is lost"),
            executed => {
                world.allow("a graph", executed)?;
            }
        }
    }
    Ok(())
}

/// A pass panics: the panic arrives, and nothing of the frame is lost.
pub(super) fn panics(world: &mut World, rng: &mut Rng) -> Checked {
    frames::end(world, rng)?;
    let declared = declare(rng);
    let at = rng.below(declared.passes.len() as u64) as usize;
    world.say(|| format!("a graph whose pass {at} panics"));
    let reached = Cell::new(false);
    match catch_unwind(AssertUnwindSafe(|| execute(world, &declared, Some((at, Mishap::Panics)), &reached))) {
        Err(panic) => check_own_panic("a graph", &words_of(&*panic)),
        Ok(_) if reached.get() => wrong("the panic of a pass is lost"),
        Ok(executed) => world.allow("a graph that panics", executed).map(|_| ()),
    }
}

/// Frames of a deferred renderer, which checks every byte itself.
pub(super) fn deferred(world: &mut World, rng: &mut Rng) -> Checked {
    frames::end(world, rng)?;
    // It does not expect calls to fail, nor frames of others.
    if world.trouble != Trouble::None || !world.is_alone {
        return Ok(());
    }
    let sharing = any(rng, [Sharing::Planned, Sharing::Online]);
    world.say(|| format!("a deferred renderer, {sharing:?}"));
    let gpu = world.gpu.clone();
    let render = || -> Result<(), FrameError> {
        let mut renderer = Renderer::new(&gpu, [32, 32], sharing)?;
        for _ in 0..2 {
            renderer.render()?;
        }
        renderer.settle()
    };
    // The panics of values that this program has deferred end its frames.
    match catch_unwind(AssertUnwindSafe(render)) {
        Ok(rendered) => rendered.or_else(|error| wrong(format!("the deferred renderer: {error}"))),
        Err(panic) => check_own_panic("the deferred renderer", &words_of(&*panic)),
    }
}

/// A graph of textures, each cleared by one pass and read by the next, planned before it is executed.
pub(super) fn textures(world: &mut World, rng: &mut Rng) -> Checked {
    frames::end(world, rng)?;
    let count = 2 + rng.below(5) as usize;
    let side = any(rng, [16, 64, 200]);
    world.say(|| format!("a graph of {count} textures of {side} texels"));
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let mut graph = Graph::new();
    let all: Vec<_> = (0..count)
        .map(|index| {
            graph.texture(TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).name(format!("g{index}")))
        })
        .collect();
    let mut passes = HashMap::new();
    for (index, texture) in all.iter().enumerate() {
        let mut pass = graph.pass(Queue::Graphics, format!("pass {index}"));
        if index > 0 {
            pass = pass.uses(all[index - 1], State::PIXEL_SHADER);
        }
        passes.insert(pass.uses(*texture, State::RENDER_TARGET).id(), index);
    }
    for round in 0..1 + rng.below(3) as u8 {
        let executed = execute_textures(world, &graph, &all, &passes, round);
        world.allow("a graph", executed)?;
    }
    let planned = world.gpu.plan_graph(&graph);
    if let Some(planned) = world.allow("plan a graph", planned)?
        && planned.peak() < planned.lower_bound()
    {
        return wrong(format!(
            "a plan of {} B is below its bound of {}",
            planned.peak(),
            planned.lower_bound()
        ));
    }
    Ok(())
}

fn execute_textures(
    world: &World,
    graph: &Graph,
    all: &[ResourceId],
    passes: &HashMap<PassId, usize>,
    round: u8,
) -> Result<(), Error> {
    let frame = world.gpu.begin_frame()?;
    frame.execute(graph, |id, recording, resources| {
        let index = passes[&id];
        let byte = |index: usize| (index as u8).wrapping_mul(3).wrapping_add(round);
        if index > 0 {
            let texture = resources.texture(all[index - 1])?;
            let view = resources.texture_view(all[index - 1], &TextureViewDesc::sampled())?;
            let (commands, scratch) = recording.split();
            let _descriptor = scratch.view(view)?;
            commands.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
        }
        let texture = resources.texture(all[index])?;
        recording.raw().clear_texture(texture.raw(), Subresource::All, &[byte(index)]);
        Ok::<(), Error>(())
    })?;
    survive(|| frame.end())
}
