//! Recordings and their commands.

mod commands;
mod external;
mod mips;
mod peer;
mod queries;
mod recording;
mod resident;
mod structures;
mod submission;
mod table_uses;
mod transient;

pub use commands::Commands;
pub(crate) use external::submit_external;
pub use recording::Recording;
pub use resident::Needed;
pub(crate) use submission::submit_all;
pub use transient::{Transient, TransientBuffer, TransientTexture};
