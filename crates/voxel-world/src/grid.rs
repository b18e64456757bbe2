//! A value for each column of blocks.

use std::thread;

/// Values by x and z. A position outside the grid has the value of the nearest cell.
#[derive(Clone)]
pub(crate) struct Grid<T> {
    width: usize,
    depth: usize,
    cells: Vec<T>,
}

impl<T: Copy + Default + Send> Grid<T> {
    pub(crate) fn new(width: usize, depth: usize) -> Self {
        Self { width, depth, cells: vec![T::default(); width * depth] }
    }

    /// Computes every value, with a thread for each processor core.
    pub(crate) fn from_fn(width: usize, depth: usize, value: impl Fn(i32, i32) -> T + Sync) -> Self {
        let mut grid = Self::new(width, depth);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let rows = depth.div_ceil(threads);
        thread::scope(|scope| {
            for (band, cells) in grid.cells.chunks_mut(rows * width).enumerate() {
                let value = &value;
                scope.spawn(move || {
                    for (index, cell) in cells.iter_mut().enumerate() {
                        *cell = value((index % width) as i32, (band * rows + index / width) as i32);
                    }
                });
            }
        });
        grid
    }

    fn index(&self, x: i32, z: i32) -> usize {
        let x = x.clamp(0, self.width as i32 - 1) as usize;
        let z = z.clamp(0, self.depth as i32 - 1) as usize;
        z * self.width + x
    }

    pub(crate) fn get(&self, x: i32, z: i32) -> T {
        self.cells[self.index(x, z)]
    }

    pub(crate) fn set(&mut self, x: i32, z: i32, value: T) {
        let index = self.index(x, z);
        self.cells[index] = value;
    }

    pub(crate) fn width(&self) -> i32 {
        self.width as i32
    }

    pub(crate) fn depth(&self) -> i32 {
        self.depth as i32
    }
}
