//! The world that the examples draw.
//!
//! A landscape of blocks in 20,000 chunks, each a mesh of its own, that is edited while it is
//! drawn. Everything here works on any [`Device`](tenure::device::Device): a
//! [`Show`] keeps the world in tenure's memory and runs its frames, and only what records the draw
//! calls is an API's own: its [`Painter`].

mod block;
mod camera;
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

use std::error::Error;
use std::process::ExitCode;

pub use block::Block;
pub use camera::Camera;
pub use mesh::{ChunkMesh, VERTEX_STRIDE, Vertex};
pub use messages::Messages;
pub use options::Options;
pub use picture::{Picture, PictureError};
pub use scene::{CONSTANTS_SIZE, Draw, FrameLog, Painter, Pass, SAMPLES, Show, Targets, perform};
pub use shader::{ShaderError, Shaders};
pub use table::memory_table;
pub use terrain::{CHUNKS_X, CHUNKS_Z, Terrain};
pub use tiles::{LOD_BIAS, Tiles};

/// The error that ends an example.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What an example's `main` returns: a failure is printed, in words.
pub fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
