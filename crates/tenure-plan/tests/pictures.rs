//! Pictures of any plans are valid, complete and within their bounds.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use proptest::prelude::*;
use roxmltree::{Document, Node};
use tenure_plan::svg::Picture;
use tenure_plan::{Item, PlanConfig, plan};

fn svg(picture: &Picture<'_>) -> String {
    let mut svg = Vec::new();
    picture.write(&mut svg).unwrap();
    String::from_utf8(svg).unwrap()
}

fn number(node: &Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

fn elements<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(name))
}

/// The texts that are drawn.
fn shown(document: &Document<'_>) -> Vec<String> {
    elements(document, "text").filter_map(|node| node.text().map(str::to_owned)).collect()
}

#[test]
fn a_picture_has_its_names_and_legend() {
    let items = [Item::new(0..2, 96 << 20), Item::new(1..3, 32 << 20), Item::new(2..3, 16 << 20).in_class(4)];
    let planned = plan(&items, &PlanConfig::new()).unwrap();
    let picture = Picture::new(&items, &planned.offsets)
        .title("A frame")
        .names(["depth", "bloom", "scratch"])
        .kinds(["target", "storage", "target"])
        .pass(0, "shadows", "graphics")
        .pass(2, "blur", "compute")
        .class(4, "buffers alone")
        .lower_bound(0, 100 << 20)
        .lower_bound(4, 16 << 20);
    let svg = svg(&picture);
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let of = |id| document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
    assert_eq!(of("title").text(), Some("A frame"));
    assert!(of("desc").text().unwrap().starts_with("3 resources in 144 MiB; the lower bound is 116 MiB."));
    let texts = shown(&document);
    for text in [
        "A frame",
        "depth",
        "shadows",
        "blur",
        "graphics",
        "compute",
        "class 0",
        "buffers alone",
        "address (MiB)",
        "60",
        "peak",
        "128 MiB",
        "lower bound",
        "100 MiB",
        "peak = lower bound",
        "16 MiB",
        "kinds",
        "target",
        "storage",
    ] {
        assert!(texts.iter().any(|shown| shown == text), "{text} in {texts:?}");
    }
    let tooltips: Vec<_> = elements(&document, "title").filter_map(|node| node.text()).collect();
    let wanted = "depth: target, 96 MiB (100663296 bytes) at 0, passes 0 (shadows) to 1";
    assert!(tooltips.contains(&wanted), "{tooltips:?}");
}

#[test]
fn more_kinds_than_colours_differ_by_hatching() {
    let items: Vec<Item> = (0..20).map(|at| Item::new(at..at + 1, 1 << 20)).collect();
    let kinds: Vec<String> = (0..20).map(|kind| format!("kind {kind}")).collect();
    let offsets = vec![0; 20];
    let svg = svg(&Picture::new(&items, &offsets).kinds(kinds.iter().map(String::as_str)));
    let document = Document::parse(&svg).unwrap();
    let hatched = elements(&document, "rect").filter(|node| node.attribute("fill") == Some("url(#hatching)"));
    assert_eq!(hatched.count(), 2 * 12, "the items and the legend's entries of 12 kinds");
    assert!(shown(&document).iter().any(|text| text == "kind 19"));
}

#[test]
fn a_bound_just_below_the_peak_is_legible() {
    let items = [Item::new(0..1, 1000 << 20)];
    let svg = svg(&Picture::new(&items, &[0]).lower_bound(0, 999 << 20));
    let document = Document::parse(&svg).unwrap();
    let mut heights: Vec<f64> = elements(&document, "text")
        .filter(|node| node.has_attribute("x") && number(node, "x") > 820.0)
        .map(|node| number(&node, "y"))
        .collect();
    heights.sort_by(f64::total_cmp);
    assert_eq!(heights.len(), 4);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 11.0), "{heights:?}");
}

#[test]
fn pictures_of_no_and_of_huge_items_are_valid() {
    assert!(Document::parse(&svg(&Picture::new(&[], &[]))).is_ok());
    let wide = [Item::new(0..u64::MAX, u64::MAX)];
    assert!(Document::parse(&svg(&Picture::new(&wide, &[u64::MAX]).lower_bound(0, 7))).is_ok());
    let classes: Vec<Item> = (0..10_000).map(|class| Item::new(0..1, 1).in_class(class)).collect();
    let many = svg(&Picture::new(&classes, &vec![0; classes.len()]));
    assert!(number(&Document::parse(&many).unwrap().root_element(), "height") < 3000.0);
}

proptest! {
    #[test]
    fn shapes_stay_inside_and_names_are_escaped(
        items in prop::collection::vec((0_u64..200, 1_u64..50, 0_u64..1 << 30, 0_u32..4, ".{0,12}", ".{0,6}"), 0..40),
        passes in prop::collection::vec((0_u64..250, ".{0,12}", ".{0,6}"), 0..40),
    ) {
        let list: Vec<Item> =
            items.iter().map(|item| Item::new(item.0..item.0 + item.1, item.2).in_class(item.3)).collect();
        let offsets = plan(&list, &PlanConfig::new()).unwrap().offsets;
        let mut picture = Picture::new(&list, &offsets)
            .names(items.iter().map(|item| item.4.as_str()))
            .kinds(items.iter().map(|item| item.5.as_str()));
        for (time, name, queue) in &passes {
            picture = picture.pass(*time, name, queue);
        }
        let svg = svg(&picture);
        let document = Document::parse(&svg).unwrap();
        let (width, height) = (number(&document.root_element(), "width"), number(&document.root_element(), "height"));
        for rect in elements(&document, "rect").filter(|rect| rect.has_attribute("x")) {
            let (x, y) = (number(&rect, "x"), number(&rect, "y"));
            prop_assert!(x >= 0.0 && y >= 0.0 && x + number(&rect, "width") <= width + 0.1, "{:?}", rect);
            prop_assert!(y + number(&rect, "height") <= height + 0.1, "{:?}", rect);
        }
        let known = ["svg", "title", "desc", "rect", "text", "path", "g", "defs", "pattern"];
        for node in document.descendants().filter(Node::is_element) {
            prop_assert!(known.contains(&node.tag_name().name()), "{:?}", node);
            prop_assert!(node.attributes().all(|it| !it.name().starts_with("on")), "{:?}", node);
        }
    }
}
