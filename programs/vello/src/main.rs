//! Paths, strokes, gradients, clips, blurred rectangles and text that move, drawn by vello.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use picture::{Arguments, Picture, Result};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};
use stage::{Canvas, Random, Stage};
use vello::kurbo::{Affine, BezPath, Circle, Point, Rect, Stroke, Vec2};
use vello::peniko::{Blob, Color, Fill, FontData, Gradient};
use vello::{AaConfig, AaSupport, Glyph, RenderParams, Renderer, RendererOptions, Scene};
use wgpu::{TextureFormat, TextureUsages};

/// The number of shapes of each kind.
const SHAPES: u32 = 150;

fn main() -> ExitCode {
    picture::main(draw)
}

fn draw(arguments: &Arguments) -> Result<Picture> {
    let mut stage = Stage::new()?;
    let canvas = Canvas::new(&stage, TextureFormat::Rgba8Unorm, TextureUsages::STORAGE_BINDING);
    let options = RendererOptions {
        antialiasing_support: AaSupport::area_only(),
        num_init_threads: NonZeroUsize::new(1),
        ..RendererOptions::default()
    };
    let mut renderer = Renderer::new(&stage.device, options)?;
    let params = RenderParams {
        base_color: Color::from_rgb8(24, 26, 34),
        width: Canvas::WIDTH,
        height: Canvas::HEIGHT,
        antialiasing_method: AaConfig::Area,
    };
    let font = FontData::new(Blob::new(Arc::new(epaint_default_fonts::UBUNTU_LIGHT)), 0);
    for frame in 0..arguments.frames {
        let scene = scene(frame, &font)?;
        renderer.render_to_texture(&stage.device, &stage.queue, &scene, &canvas.view, &params)?;
        stage.submit([])?;
    }
    canvas.read(&stage)
}

/// More of it every frame, so that vello's buffers grow.
fn scene(frame: u32, font: &FontData) -> Result<Scene> {
    let time = f64::from(frame) / 60.0;
    let mut scene = Scene::new();
    let mut random = Random::new(5);
    let clip = Circle::new(middle(), 230.0 + 80.0 * time.sin());
    scene.push_clip_layer(Fill::NonZero, Affine::IDENTITY, &clip);
    for _ in 0..SHAPES {
        let turn = Affine::rotate_about(time * number(&mut random, -1.0, 1.0), middle());
        let end = place(&mut random);
        let gradient =
            Gradient::new_linear(middle(), end).with_stops([color(&mut random), color(&mut random)]);
        scene.fill(Fill::EvenOdd, turn, &gradient, None, &star(&mut random));
    }
    scene.pop_layer();
    for number in 0..SHAPES + frame * 4 {
        let stroke = Stroke::new(1.0 + f64::from(number % 7)).with_dashes(time * 9.0, [12.0, 5.0]);
        scene.stroke(&stroke, Affine::IDENTITY, color(&mut random), None, &curve(&mut random));
    }
    let shadow = Rect::new(40.0, 40.0, 700.0, 130.0);
    scene.draw_blurred_rounded_rect(Affine::IDENTITY, shadow, Color::BLACK, 12.0, 8.0);
    write(&mut scene, font, &format!("vello, frame {frame}"))?;
    Ok(scene)
}

fn write(scene: &mut Scene, font: &FontData, text: &str) -> Result<()> {
    const SIZE: f32 = 64.0;
    let found = FontRef::from_index(font.data.as_ref(), font.index)?;
    let (letters, metrics) = (found.charmap(), found.glyph_metrics(Size::new(SIZE), LocationRef::default()));
    let mut x = 60.0;
    let glyphs = text.chars().map(|letter| {
        let glyph = letters.map(letter).unwrap_or_default();
        let at = x;
        x += metrics.advance_width(glyph).unwrap_or(SIZE / 2.0);
        Glyph { id: glyph.to_u32(), x: at, y: 105.0 }
    });
    scene.draw_glyphs(font).font_size(SIZE).brush(Color::WHITE).draw(Fill::NonZero, glyphs);
    Ok(())
}

fn middle() -> Point {
    Point::new(f64::from(Canvas::WIDTH) / 2.0, f64::from(Canvas::HEIGHT) / 2.0)
}

fn number(random: &mut Random, least: f32, most: f32) -> f64 {
    f64::from(random.between(least, most))
}

fn place(random: &mut Random) -> Point {
    Point::new(number(random, 0.0, Canvas::WIDTH as f32), number(random, 0.0, Canvas::HEIGHT as f32))
}

fn color(random: &mut Random) -> Color {
    Color::new([random.unit(), random.unit(), random.unit(), random.between(0.3, 1.0)])
}

fn star(random: &mut Random) -> BezPath {
    let (center, radius) = (place(random), number(random, 10.0, 80.0));
    let mut path = BezPath::new();
    path.move_to(center + Vec2::new(radius, 0.0));
    for point in 1..7 {
        // Every third of seven: the edges cross.
        path.line_to(center + Vec2::from_angle(f64::from(point * 3) * std::f64::consts::TAU / 7.0) * radius);
    }
    path.close_path();
    path
}

fn curve(random: &mut Random) -> BezPath {
    let mut path = BezPath::new();
    path.move_to(place(random));
    for _ in 0..3 {
        path.curve_to(place(random), place(random), place(random));
    }
    path
}
