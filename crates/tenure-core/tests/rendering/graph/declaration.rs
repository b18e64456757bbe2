//! A graph is a value.

use tenure_core::transient::graph::{Graph, TransientDesc};
use tenure_core::{ClearValue, Format, Queue, State, TextureDesc, Usage};

use super::model::{buffer, texture};

fn target(clear: [f32; 4]) -> TextureDesc {
    TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).clear(ClearValue::Color(clear))
}

fn declare(graph: &mut Graph) {
    let (a, b) = (graph.texture(texture()), graph.buffer(buffer(1)));
    let first = graph.pass(Queue::Graphics, "first").uses(a, State::UNORDERED_ACCESS).id();
    graph.pass(Queue::Compute, "second").uses(b, State::UNORDERED_ACCESS).after(first);
}

#[test]
fn a_graph_declared_again_is_equal() {
    let mut graph = Graph::new();
    declare(&mut graph);
    let before = graph.clone();
    graph.clear();
    assert_eq!((graph.passes(), graph.resources()), (0, 0));
    assert_eq!(graph, Graph::new());
    declare(&mut graph);
    assert_eq!(graph, before);
}

#[test]
fn every_declaration_changes_the_graph() {
    let mut graph = Graph::new();
    declare(&mut graph);
    let edits: [fn(&mut Graph); 5] = [
        |graph| _ = graph.texture(texture()),
        |graph| _ = graph.pass(Queue::Graphics, "third"),
        |graph| _ = graph.pass(Queue::Compute, "third"),
        |graph| _ = graph.pass(Queue::Graphics, "other"),
        |graph| {
            let pass = graph.pass(Queue::Graphics, "third").id();
            graph.pass(Queue::Graphics, "fourth").after(pass);
        },
    ];
    let mut seen = vec![graph.clone()];
    for edit in edits {
        let mut edited = graph.clone();
        edit(&mut edited);
        assert!(!seen.contains(&edited));
        seen.push(edited);
    }
}

#[test]
fn descriptions_are_equal_bit_by_bit() {
    let desc = |clear| TransientDesc::Texture(target(clear));
    assert_eq!(desc([f32::NAN; 4]), desc([f32::NAN; 4]), "equal to itself whatever the numbers");
    assert_ne!(desc([0.0; 4]), desc([-0.0, 0.0, 0.0, 0.0]), "the APIs see the difference");
    let plain = TransientDesc::Texture(texture());
    for other in [
        texture().name("other"),
        texture().mips(2),
        texture().layers(2),
        texture().view_formats([Format::Rgba8Srgb]),
    ] {
        assert_ne!(plain, TransientDesc::Texture(other));
    }
    assert_ne!(TransientDesc::Buffer(buffer(1)), TransientDesc::Buffer(buffer(1).stride(12)));
}
