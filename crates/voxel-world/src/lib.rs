//! The world that the examples draw.
//!
//! The world is a landscape of blocks in 20,000 chunks. Each chunk has a mesh in a buffer of its own, and the
//! landscape is edited while it is drawn. A [`Show`] creates the resources with tenure and runs the frames, on
//! any [`Device`](tenure::device::Device). An example implements [`Painter`], which records the draw calls with
//! its API.

mod block;
mod camera;
mod flight;
mod grid;
mod mesh;
mod messages;
mod options;
mod picture;
mod scene;
mod shader;
mod table;
mod terrain;
mod tiles;
mod unrest;
mod window;

use std::error::Error;
use std::process::ExitCode;

pub use block::Block;
pub use camera::Camera;
pub use flight::{Direction, Flight};
pub use mesh::{ChunkMesh, VERTEX_STRIDE, Vertex};
pub use messages::Messages;
pub use options::Options;
pub use picture::{Picture, PictureError};
pub use scene::{CONSTANTS_SIZE, Draw, FrameLog, Painter, Pass, SAMPLES, Show, Targets, perform};
pub use shader::{ShaderError, Shaders};
pub use table::memory_table;
pub use terrain::{CHUNKS_X, CHUNKS_Z, Terrain};
pub use tiles::{LOD_BIAS, Tiles};
pub use window::{OpenSwapchain, perform_in_window};

/// The result of a step of an example; an error ends the example.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The exit code of an example's `main`. Prints the error, if there is one.
pub fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
