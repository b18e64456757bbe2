//! Tensors of one training step of a language model, as scheduled by compilers; also for the benchmarks.
//!
//! The layers are computed forwards, then backwards, then the optimizer runs. Some tensors of a layer's forward half
//! live until its backward half, so lifetimes nest around the loss, where the load is greatest. The gradients live
//! until the optimizer. All others live for a few operations, and nearly all sizes occur hundreds of times. The
//! numbers of each size and lifetime in a layer follow a published schedule of a model with 2.6 billion weights.

use tenure_plan::Item;
use test_random::Rng;

/// A model that is divided among devices; the plan is for one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    layers: u64,
    width: u64,
    tokens: u64,
    vocabulary: u64,
    devices: u64,
}

/// Models of several sizes.
pub(crate) const MODELS: [Model; 4] = [
    Model { name: "125 M", layers: 12, width: 768, tokens: 8192, vocabulary: 50_304, devices: 1 },
    Model { name: "1.3 B", layers: 24, width: 2048, tokens: 2048, vocabulary: 50_304, devices: 4 },
    Model { name: "2.6 B", layers: 32, width: 2560, tokens: 4096, vocabulary: 40_000, devices: 8 },
    Model { name: "13 B", layers: 40, width: 5120, tokens: 2048, vocabulary: 40_000, devices: 16 },
];

/// The maximum number of operations in the life of a short-lived tensor.
const SHORT: u64 = 6;

/// Lifetimes of tensors.
#[derive(Clone, Copy)]
enum Life {
    Short,
    /// About as long as an attention or feed-forward block.
    Block,
    /// Until the backward half of the same layer.
    Saved,
    /// Until the optimizer.
    Gradient,
    /// Until the end of the step.
    Step,
}

use Life::{Block, Gradient, Saved, Short, Step};

impl Model {
    /// The tensors, with sizes in bytes.
    pub(crate) fn tensors(&self, seed: u64) -> Vec<Item> {
        let Self { layers, width, tokens, vocabulary, devices, .. } = *self;
        let (hidden, row) = (tokens * width * 2, tokens * 4);
        let (square, bias, part) = (width * width * 2 / devices, width * 4, tokens * width * 2 / devices);
        let (scores, logits) = (hidden * 8 / 5, tokens * vocabulary * 2);
        let forward = [
            (Short, row, 12),
            (Short, part, 28),
            (Short, hidden / 2, 2),
            (Short, hidden, 22),
            (Short, scores, 6),
            (Short, 2 * hidden, 20),
            (Block, hidden, 6),
            (Saved, square, 4),
            (Saved, 4 * square, 2),
            (Saved, hidden, 4),
            (Step, hidden / 16, 4),
            (Step, hidden / 10, 2),
        ];
        let loss = [
            (Short, row, 38),
            (Short, logits / devices, 4),
            (Short, 2 * logits / devices, 10),
            (Short, logits, 4),
            (Short, 2 * hidden, 30),
            (Short, hidden, 34),
            (Block, 2 * hidden, 12),
            (Block, hidden, 10),
            (Block, 2 * logits / devices, 4),
        ];
        // Two uses of the embedding, with their gradients first.
        let embedding = 4 * vocabulary * width;
        let backward = [
            (Short, 4, 10),
            (Short, bias / 4, 16),
            (Short, row, 20),
            (Short, square, 16),
            (Short, 4 * square, 8),
            (Short, part, 41),
            (Short, hidden / 2, 10),
            (Short, hidden, 36),
            (Short, scores, 10),
            (Short, 2 * hidden, 91),
            (Block, bias, 11),
            (Block, row, 4),
            (Block, part, 13),
            (Block, hidden, 16),
            (Block, scores, 4),
            (Block, 2 * hidden, 9),
            (Gradient, 4, 10),
            (Gradient, bias, 9),
            (Gradient, 2 * square, 4),
            (Gradient, 8 * square, 2),
        ];
        let optimizer =
            [(Short, bias, 12), (Short, square, 2), (Short, 2 * square, 6), (Short, 8 * square, 4)];
        let mut step = Schedule { rng: Rng::new(seed), now: 0, items: Vec::new(), gradients: Vec::new() };
        let inputs = step.run(&[(Short, embedding / 2, 1), (Saved, embedding / 2, 1)], Vec::new());
        let saved: Vec<_> = (0..layers).map(|_| step.run(&forward, Vec::new())).collect();
        step.run(&loss, Vec::new());
        step.run(&[(Short, logits, 4)], inputs);
        step.run(&[(Gradient, embedding, 2)], Vec::new());
        for saved in saved.into_iter().rev() {
            step.run(&backward, saved);
        }
        let mut gradients = std::mem::take(&mut step.gradients);
        step.run(&[(Short, embedding, 6)], gradients.drain(..2).collect());
        for _ in 0..layers {
            let later = gradients.split_off(gradients.len() / layers as usize);
            step.run(&optimizer, std::mem::replace(&mut gradients, later));
        }
        step.finish()
    }
}

struct Schedule {
    rng: Rng,
    now: u64,
    items: Vec<Item>,
    gradients: Vec<usize>,
}

impl Schedule {
    /// Runs operations with these results in a random order, and ends the lives of `used` meanwhile. Returns the
    /// tensors that the backward half uses.
    fn run(&mut self, results: &[(Life, u64, u64)], mut used: Vec<usize>) -> Vec<usize> {
        let each = |&(life, size, count): &(Life, u64, u64)| (0..count).map(move |_| (life, size));
        let mut order: Vec<_> = results.iter().flat_map(each).collect();
        self.rng.shuffle(&mut order);
        let (count, uses, mut saved) = (order.len(), used.len(), Vec::new());
        for (at, (life, size)) in order.into_iter().enumerate() {
            let lasts = match life {
                Short => 1 + self.rng.scaled(SHORT),
                Block => 24 + self.rng.scaled(32),
                Saved | Gradient | Step => u64::MAX / 2,
            };
            match life {
                Saved => saved.push(self.items.len()),
                Gradient => self.gradients.push(self.items.len()),
                _ => {}
            }
            self.items.push(Item::new(self.now..self.now + 1 + lasts, size));
            self.now += 1;
            while used.len() > uses - uses * (at + 1) / count {
                if let Some(last) = used.pop() {
                    self.items[last].last = self.now + 1;
                }
            }
        }
        saved
    }

    fn finish(mut self) -> Vec<Item> {
        for item in &mut self.items {
            item.last = item.last.min(self.now + 1);
        }
        self.items
    }
}
