//! Small programs on wgpu alone, similar to its examples; each is a scene.

mod particles;
mod pipeline;
mod shadows;
mod sprites;

use std::process::ExitCode;

use picture::{Arguments, Picture, Result};
use stage::Stage;

fn main() -> ExitCode {
    picture::main(draw)
}

fn draw(arguments: &Arguments) -> Result<Picture> {
    let stage = Stage::new()?;
    match arguments.scene.as_str() {
        "shadows" => shadows::draw(stage, arguments.frames),
        "sprites" => sprites::draw(stage, arguments.frames),
        "particles" => particles::draw(stage, arguments.frames),
        other => Err(format!("no scene is called {other}").into()),
    }
}
