//! Data for drawing an allocator's content.

use super::Allocator;
use crate::visualizer::{Memory, allocator_visualizer};

allocator_visualizer!();

impl Allocator {
    /// The data that the visualizer draws.
    fn visualized(&self) -> Memory {
        let granularity = self.engine.device().granularity();
        self.engine.visualized(vec![format!("buffer image granularity: {granularity}")])
    }
}
