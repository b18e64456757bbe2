//! The plan as a picture.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use deferred_frame::DeferredFrame;
use tenure::plan::Item;
use tenure::plan::svg::Picture;
use tenure::transient::graph::Compiled;
use tenure::{Queue, Usage, transient::TransientDesc};
use voxel_world::Result;

use crate::pool::lives;

/// Draws the passes from left to right and the memory upwards, one heap above the other.
pub(crate) fn draw(path: &Path, frame: &DeferredFrame, compiled: &Compiled) -> Result<()> {
    let (mut items, mut names, mut offsets, mut kinds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((id, desc), [first, last]) in frame.resources().iter().zip(lives(frame)) {
        let (Some(need), Some(place)) = (compiled.need(*id), compiled.placement(*id)) else { continue };
        let life = first as u64..last as u64 + 1;
        items.push(Item::new(life, need.size).in_class(u32::try_from(place.heap)?));
        names.push(desc.name().as_str());
        offsets.push(place.offset);
        kinds.push(kind(desc));
    }
    let heaps: BTreeSet<u32> = items.iter().map(|item| item.class).collect();
    let heap_names: Vec<_> = heaps.iter().map(|heap| (*heap, format!("heap {heap}"))).collect();
    let mut picture =
        Picture::new(&items, &offsets).title("A deferred frame on three queues").names(names).kinds(kinds);
    if let [heap] = heaps.into_iter().collect::<Vec<_>>()[..] {
        picture = picture.lower_bound(heap, compiled.lower_bound());
    }
    for (heap, name) in &heap_names {
        picture = picture.class(*heap, name);
    }
    for (time, pass) in (0..).zip(frame.passes()) {
        picture = picture.pass(time, pass.name, queue(pass.queue));
    }
    picture.write(BufWriter::new(File::create(path)?))?;
    println!("The plan is drawn in {}.", path.display());
    Ok(())
}

/// The purpose of a resource.
fn kind(desc: &TransientDesc) -> &'static str {
    let TransientDesc::Texture(desc) = desc else { return "buffer" };
    let usage = desc.info.usage;
    if usage.contains(Usage::DEPTH_STENCIL) {
        "depth target"
    } else if usage.contains(Usage::RENDER_TARGET) {
        "color target"
    } else {
        "storage texture"
    }
}

fn queue(queue: Queue) -> &'static str {
    match queue {
        Queue::Compute => "compute",
        Queue::Copy => "copy",
        _ => "graphics",
    }
}
