//! The memory heaps over the last frames.

use egui::{Align2, Color32, FontId, Mesh, Pos2, Rect, Response, Sense, Shape, Stroke, Ui, pos2, vec2};
use tenure_core::HeapMemory;

use crate::colours::{MARK, PALETTE, free};
use crate::samples::Samples;
use crate::snapshot::Snapshot;
use crate::text::{bytes, counted, describe_picture};

const CHART_HEIGHT: f32 = 110.0;

/// A layer in the chart of a heap, from the bottom up.
struct Layer {
    name: &'static str,
    colour: Color32,
    bytes: fn(&HeapMemory) -> u64,
}

fn layers(ui: &Ui) -> [Layer; 6] {
    let [holes, empty] = free(ui.visuals());
    [
        Layer { name: "allocated from blocks", colour: PALETTE[0], bytes: |heap| heap.used },
        Layer { name: "memory of its own", colour: PALETTE[4], bytes: |heap| heap.ours.committed },
        Layer { name: "transient heaps", colour: PALETTE[1], bytes: |heap| heap.ours.transient },
        Layer { name: "pages", colour: PALETTE[2], bytes: |heap| heap.ours.pages },
        Layer { name: "free within blocks", colour: holes, bytes: free_within_blocks },
        Layer { name: "empty blocks", colour: empty, bytes: |heap| heap.idle },
    ]
}

fn free_within_blocks(heap: &HeapMemory) -> u64 {
    heap.ours.pools.saturating_sub(heap.used).saturating_sub(heap.idle)
}

/// Draws a chart for each memory heap that the manager has something of.
pub(crate) fn show(ui: &mut Ui, samples: &Samples, snapshot: &Snapshot) {
    let heaps = snapshot.report.memory.heaps.len();
    let mut unused = 0;
    for heap in 0..heaps {
        if samples.heap(heap).all(|heap| heap.ours.total() == 0) {
            unused += 1;
        } else {
            show_heap(ui, samples, heap);
        }
    }
    if unused > 0 {
        ui.weak(format!("{} unused by the manager.", counted(unused, "memory heap")));
    }
    ui.separator();
    ui.strong("What lives, by tag");
    for (group, (tag, sum, count)) in snapshot.tags.all.iter().enumerate() {
        ui.horizontal(|ui| {
            swatch(ui, crate::colours::of_group(group));
            ui.label(format!("{tag}: {} in {}", bytes(*sum), counted(*count, "object")));
        });
    }
}

fn show_heap(ui: &mut Ui, samples: &Samples, heap: usize) {
    let Some(now) = samples.last().and_then(|last| last.heaps.get(heap)) else { return };
    ui.horizontal_wrapped(|ui| {
        let place = if now.device_local { "local to the GPU" } else { "of the system" };
        ui.strong(format!("Memory heap {heap}, {} {place}", bytes(now.size)));
        ui.label(format!("{} reserved", bytes(now.ours.total())));
        if let Some(budget) = now.budget {
            ui.label(format!("the process uses {} of a budget of {}", bytes(now.usage), bytes(budget)));
        }
        if let Some(cap) = now.cap {
            ui.label(format!("capped at {}", bytes(cap)));
        }
        if now.evicted > 0 {
            ui.label(format!("{} evicted", bytes(now.evicted)));
        }
    });
    let layers = layers(ui);
    let response = chart(ui, samples, heap, &layers);
    let hovered = hovered_sample(&response, samples);
    if let Some(sample) = hovered.and_then(|index| samples.get(index)) {
        response.on_hover_ui_at_pointer(|ui| {
            ui.strong(format!("frame {}", sample.frame));
            if let Some(found) = sample.heaps.get(heap) {
                legend(ui, &layers, found);
            }
            ui.label(format!("{} dropped and waiting, in all heaps", bytes(sample.pending)));
        });
    }
    ui.horizontal_wrapped(|ui| legend(ui, &layers, now));
    ui.add_space(6.0);
}

/// Each layer that there is, with its bytes.
fn legend(ui: &mut Ui, layers: &[Layer], heap: &HeapMemory) {
    for layer in layers {
        let sum = (layer.bytes)(heap);
        if sum > 0 {
            ui.horizontal(|ui| {
                swatch(ui, layer.colour);
                ui.label(format!("{} {}", layer.name, bytes(sum)));
            });
        }
    }
}

/// A square of a colour.
pub(crate) fn swatch(ui: &mut Ui, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, colour);
}

/// The sample under the pointer.
fn hovered_sample(response: &Response, samples: &Samples) -> Option<usize> {
    let at = response.hover_pos()?;
    let last = samples.len().checked_sub(1)?;
    let share = (at.x - response.rect.left()) / response.rect.width().max(1.0);
    Some((share * last as f32).round().clamp(0.0, last as f32) as usize)
}

/// Layers above each other, with the budget and the cap as lines where they are near enough.
fn chart(ui: &mut Ui, samples: &Samples, heap: usize, layers: &[Layer]) -> Response {
    let size = vec2(ui.available_width(), CHART_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let frames = samples.len() as u64;
    describe_picture(&response, || format!("memory heap {heap} over {}", counted(frames, "frame")));
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, 0.0, ui.visuals().extreme_bg_color);
    let top = samples.heap(heap).map(|heap| heap.ours.total()).max().unwrap_or(0);
    let limits = samples.last().and_then(|last| last.heaps.get(heap)).map(|heap| [heap.budget, heap.cap]);
    let limits = limits.unwrap_or_default().into_iter().flatten();
    // A limit that is far away would leave no room for what there is.
    let near: Vec<u64> = limits.filter(|limit| limit / 2 <= top).collect();
    let scale = near.iter().copied().fold(top, u64::max).max(1) as f32 * 1.05;
    let y = |bytes: u64| rect.bottom() - bytes as f32 / scale * rect.height();
    for shape in stacked(rect, samples, heap, layers, y) {
        painter.add(shape);
    }
    for limit in near {
        painter.hline(rect.x_range(), y(limit), Stroke::new(1.5, MARK));
    }
    let color = ui.visuals().strong_text_color();
    let label = format!("{} at the top", bytes(top));
    painter.text(
        rect.left_top() + vec2(4.0, 2.0),
        Align2::LEFT_TOP,
        label,
        FontId::proportional(11.0),
        color,
    );
    if let Some(at) = hovered_sample(&response, samples) {
        let x = x_of(rect, at, samples.len());
        painter.vline(x, rect.y_range(), Stroke::new(1.0, ui.visuals().text_color()));
    }
    response
}

fn x_of(rect: Rect, index: usize, count: usize) -> f32 {
    rect.left() + rect.width() * index as f32 / count.saturating_sub(1).max(1) as f32
}

/// A mesh for each layer.
fn stacked(
    rect: Rect,
    samples: &Samples,
    heap: usize,
    layers: &[Layer],
    y: impl Fn(u64) -> f32,
) -> Vec<Shape> {
    let mut below: Vec<u64> = vec![0; samples.len()];
    let mut shapes = Vec::new();
    for layer in layers {
        let mut outline: Vec<[Pos2; 2]> = Vec::new();
        for (index, (found, below)) in samples.heap(heap).zip(&mut below).enumerate() {
            let above = below.saturating_add((layer.bytes)(found));
            let x = x_of(rect, index, samples.len());
            outline.push([pos2(x, y(*below)), pos2(x, y(above))]);
            *below = above;
        }
        // The first frame alone is as wide as the chart.
        if let [only] = outline[..] {
            outline.push(only.map(|at| pos2(rect.right(), at.y)));
        }
        shapes.push(Shape::mesh(ribbon(&outline, layer.colour)));
    }
    shapes
}

/// The area between the lower and the upper line.
fn ribbon(outline: &[[Pos2; 2]], colour: Color32) -> Mesh {
    let mut mesh = Mesh::default();
    for (index, [below, above]) in (0_u32..).zip(outline) {
        mesh.colored_vertex(*below, colour);
        mesh.colored_vertex(*above, colour);
        if let Some(before) = index.checked_sub(1).map(|before| 2 * before) {
            mesh.add_triangle(before, before + 1, before + 2);
            mesh.add_triangle(before + 1, before + 2, before + 3);
        }
    }
    mesh
}
