//! The parts of a visualizer, and their state between frames.

use egui::{CollapsingHeader, Context, Ui};
use tenure_heap::MemoryBlockId;

use super::ColorScheme;
use super::block::BlockMap;
use super::breakdown::Breakdown;
use super::memory::{BlockView, Memory, MemoryTypeView};

/// A window with the map of a block.
struct BlockWindow {
    id: MemoryBlockId,
    memory_type: usize,
    map: BlockMap,
}

/// The state of a visualizer.
#[derive(Default)]
pub(crate) struct Windows {
    open: Vec<BlockWindow>,
    colors: ColorScheme,
    breakdown: Breakdown,
}

impl Windows {
    pub(crate) fn set_colors(&mut self, colors: ColorScheme) {
        self.colors = colors;
    }

    pub(crate) fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn breakdown(&mut self, ui: &mut Ui, memory: &Memory) {
        self.breakdown.show(ui, memory);
    }

    /// Heaps, memory types and blocks, in collapsible lists.
    pub(crate) fn blocks(&mut self, ui: &mut Ui, memory: &Memory) {
        memory.lines.iter().for_each(|line| _ = ui.label(line));
        ui.collapsing(format!("Memory Heaps ({} heaps)", memory.heaps.len()), |ui| {
            memory.heaps.iter().for_each(|line| _ = ui.label(line));
        });
        ui.collapsing(format!("Memory Types: ({} types)", memory.types.len()), |ui| {
            for (index, found) in memory.types.iter().enumerate() {
                let title = format!("Type: {index} ({} blocks)", found.blocks.len());
                // The id keeps the list open when the number of blocks in the title changes.
                let header = CollapsingHeader::new(title).id_source(index);
                header.show(ui, |ui| self.memory_type(ui, index, found));
            }
        });
    }

    fn memory_type(&mut self, ui: &mut Ui, memory_type: usize, found: &MemoryTypeView) {
        found.lines.iter().for_each(|line| _ = ui.label(line));
        let reserved: u64 = found.blocks.iter().map(|block| block.size).sum();
        let allocated: u64 = found.blocks.iter().map(BlockView::allocated).sum();
        ui.label(format!("total block size: {} KiB", reserved / 1024));
        ui.label(format!("total allocated:  {} KiB", allocated / 1024));
        ui.label(format!("block count: {}", found.blocks.len()));
        for block in &found.blocks {
            ui.push_id(block.id, |ui| {
                ui.collapsing(title(block.id), |ui| self.block(ui, memory_type, block));
            });
        }
    }

    fn block(&mut self, ui: &mut Ui, memory_type: usize, block: &BlockView) {
        ui.label(format!("size: {} KiB", block.size / 1024));
        ui.label(format!("allocated: {} KiB", block.allocated() / 1024));
        if block.is_dedicated {
            ui.label("Dedicated Allocation");
            return;
        }
        ui.label(format!("allocations: {}", block.allocations.len()));
        let is_open = self.open.iter().any(|window| window.id == block.id);
        if ui.button("visualize").clicked() && !is_open {
            self.open.push(BlockWindow { id: block.id, memory_type, map: BlockMap::default() });
        }
    }

    /// A window for each selected block, until it is closed.
    pub(crate) fn maps(&mut self, context: &Context, memory: &Memory) {
        let colors = &self.colors;
        self.open.retain_mut(|window| {
            let mut is_open = true;
            egui::Window::new(format!(
                "Block Visualizer, memory type {}, {}",
                window.memory_type,
                title(window.id)
            ))
            .default_size([960.0, 540.0])
            .open(&mut is_open)
            .show(context, |ui| {
                let of_type = memory.types.get(window.memory_type);
                let mut blocks = of_type.into_iter().flat_map(|found| &found.blocks);
                match blocks.find(|block| block.id == window.id) {
                    Some(block) => window.map.show(ui, block, colors, memory.keeps_traces),
                    None => _ = ui.label("Deallocated memory block"),
                }
            });
            is_open
        });
    }
}

fn title(id: MemoryBlockId) -> String {
    match id {
        MemoryBlockId::Pool(pool, block) => format!("Block {} of pool {pool}", block.index()),
        MemoryBlockId::Dedicated(serial) => format!("Block of allocation {serial}"),
    }
}
