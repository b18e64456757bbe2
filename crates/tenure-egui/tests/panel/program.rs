//! A program with a panel, and its pictures.

use std::cell::RefCell;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use egui::TexturesDelta;
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, TestRenderer};
use egui_software_backend::{BufferMutRef, ColorFieldOrder, EguiSoftwareRender};
use tenure_core::{Config, Gpu};
use tenure_egui::MemoryPanel;
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

pub(crate) type Manager = Gpu<Device>;

/// The contents of the drawing.
pub(crate) struct State {
    pub(crate) gpu: Manager,
    pub(crate) panel: MemoryPanel,
    textures: Textures,
}

/// The textures of glyphs that `egui` has asked for so far.
#[derive(Clone, Default)]
struct Textures(Rc<RefCell<TexturesDelta>>);

impl TestRenderer for Textures {
    fn handle_delta(&mut self, delta: &TexturesDelta) {
        self.0.borrow_mut().append(delta.clone());
    }
}

/// The drawn picture.
pub(crate) struct Picture {
    pub(crate) width: usize,
    /// Row by row.
    pub(crate) pixels: Vec<[u8; 4]>,
}

pub(crate) type Program = Harness<'static, State>;

/// A manager whose GPU is some submissions behind.
pub(crate) fn manager() -> Manager {
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(3));
    Gpu::new(Device::with_config(options), Config::default()).unwrap()
}

/// A panel that fills a window of this size.
pub(crate) fn program(gpu: &Manager, size: [f32; 2], theme: egui::Theme) -> Program {
    let textures = Textures::default();
    let state = State { gpu: gpu.clone(), panel: MemoryPanel::new(), textures: textures.clone() };
    let mut program = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .renderer(textures)
        .build_ui_state(|ui, state: &mut State| state.panel.ui(ui, &state.gpu), state);
    program.run_steps(3);
    program
}

/// Lets time pass, so that the panel updates.
pub(crate) fn look(program: &mut Program) {
    // Each step is a quarter of a second.
    program.run_steps(5);
}

/// Clicks the element with this text.
pub(crate) fn click(program: &mut Program, text: &str) {
    program.get_by_label(text).click();
    program.run_steps(4);
}

/// Whether some text on the panel contains this.
pub(crate) fn says(program: &Program, text: &str) -> bool {
    program.query_all_by_label_contains(text).next().is_some()
}

/// Draws the panel, and saves the picture on request.
pub(crate) fn picture(program: &Program, name: &str) -> Picture {
    let (output, context) = (program.output(), &program.ctx);
    let scale = output.pixels_per_point;
    let jobs = context.tessellate(output.shapes.clone(), scale);
    let size = context.content_rect().size() * scale;
    let (width, height) = (size.x as usize, size.y as usize);
    let mut pixels = vec![[0; 4]; width * height];
    let textures = program.state().textures.0.borrow();
    EguiSoftwareRender::new(ColorFieldOrder::Rgba).render(
        &mut BufferMutRef::new(&mut pixels, width, height),
        &jobs,
        &textures,
        scale,
    );
    if let Some(folder) = std::env::var_os("TENURE_PANEL_PICTURES") {
        std::fs::create_dir_all(&folder).unwrap();
        let file = File::create(PathBuf::from(folder).join(name)).unwrap();
        let mut encoder = png::Encoder::new(file, width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header().unwrap().write_image_data(pixels.as_flattened()).unwrap();
    }
    Picture { width, pixels }
}
