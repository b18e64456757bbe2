//! The plan as a picture.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use deferred_frame::DeferredFrame;
use tenure::plan::{Item, svg};
use tenure::transient::graph::Compiled;
use voxel_world::Result;

use crate::pool::lives;

/// Draws the passes across and the memory upwards, one heap above the other.
pub(crate) fn draw(path: &Path, frame: &DeferredFrame, compiled: &Compiled) -> Result<()> {
    let (mut items, mut names, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for ((id, desc), [first, last]) in frame.resources().iter().zip(lives(frame)) {
        let (Some(need), Some(place)) = (compiled.need(*id), compiled.placement(*id)) else { continue };
        let life = first as u64..last as u64 + 1;
        items.push(Item::new(life, need.size).in_class(u32::try_from(place.heap)?));
        names.push(desc.name().as_str());
        offsets.push(place.offset);
    }
    svg::write(BufWriter::new(File::create(path)?), &items, &names, &offsets)?;
    println!("The plan is drawn in {}.", path.display());
    Ok(())
}
