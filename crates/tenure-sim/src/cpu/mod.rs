//! CPU accesses through mappings, and in-place CPU writes of texels.

mod bytes;
mod texels;
