//! The windows of egui's demo, its test of colours, and text that grows.

use std::process::ExitCode;

use egui::{Color32, FontId, Pos2, RawInput, Rect, RichText, Vec2};
use egui_demo_lib::{ColorTest, DemoWindows};
use egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};
use picture::{Arguments, Picture, Result};
use stage::{Canvas, Stage};
use wgpu::{TextureFormat, TextureUsages};

const FORMAT: TextureFormat = TextureFormat::Rgba8Unorm;

fn main() -> ExitCode {
    picture::main(draw)
}

fn draw(arguments: &Arguments) -> Result<Picture> {
    let mut stage = Stage::new()?;
    let canvas = Canvas::new(&stage, FORMAT, TextureUsages::RENDER_ATTACHMENT);
    let mut renderer = Renderer::new(&stage.device, FORMAT, RendererOptions::default());
    let context = egui::Context::default();
    let mut program = Program::default();
    for frame in 0..arguments.frames {
        let output = context.run_ui(input(frame), |ui| program.show(ui, frame));
        paint(&mut stage, &canvas, &mut renderer, &context, output)?;
    }
    canvas.read(&stage)
}

/// The input that a window would provide: nothing but the time.
fn input(frame: u32) -> RawInput {
    let size = Vec2::new(Canvas::WIDTH as f32, Canvas::HEIGHT as f32);
    RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
        time: Some(f64::from(frame) / 60.0),
        ..RawInput::default()
    }
}

#[derive(Default)]
struct Program {
    demo: DemoWindows,
    colors: ColorTest,
}

impl Program {
    fn show(&mut self, ui: &mut egui::Ui, frame: u32) {
        self.demo.ui(ui);
        egui::Window::new("Colors").default_pos([20.0, 320.0]).vscroll(true).show(ui.ctx(), |ui| {
            self.colors.ui(ui);
        });
        // Every size is more glyphs: the texture of the fonts grows.
        egui::Window::new("Text").default_pos([420.0, 380.0]).show(ui.ctx(), |ui| {
            let size = 8.0 + (frame / 4) as f32;
            ui.label(RichText::new(format!("frame {frame}")).font(FontId::proportional(size)));
            ui.colored_label(Color32::LIGHT_BLUE, egui_demo_lib::LOREM_IPSUM);
        });
    }
}

fn paint(
    stage: &mut Stage,
    canvas: &Canvas,
    renderer: &mut Renderer,
    context: &egui::Context,
    mut output: egui::FullOutput,
) -> Result<()> {
    let jobs = context.tessellate(output.shapes, output.pixels_per_point);
    let screen = ScreenDescriptor {
        size_in_pixels: [Canvas::WIDTH, Canvas::HEIGHT],
        pixels_per_point: output.pixels_per_point,
    };
    for (id, deltas) in &output.textures_delta.set {
        for delta in deltas {
            renderer.update_texture(&stage.device, &stage.queue, *id, delta);
        }
    }
    let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut commands = renderer.update_buffers(&stage.device, &stage.queue, &mut encoder, &jobs, &screen);
    let load = wgpu::LoadOp::Clear(wgpu::Color::BLACK);
    let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &canvas.view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
        })],
        ..Default::default()
    });
    renderer.render(&mut pass.forget_lifetime(), &jobs, &screen);
    commands.push(encoder.finish());
    stage.submit(commands)?;
    for id in &output.textures_delta.free {
        renderer.free_texture(id);
    }
    output.textures_delta.clear();
    Ok(())
}
