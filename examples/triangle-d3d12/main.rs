//! Two triangles in a window, on Direct3D 12: `triangles.rs` has everything except the pipeline.

#[cfg(windows)]
mod pipeline;
#[cfg(windows)]
mod triangles;

#[cfg(windows)]
fn main() -> triangles::Result<()> {
    triangles::run()
}

#[cfg(not(windows))]
fn main() {
    eprintln!("Direct3D 12 needs Windows; lab/README.md says how Linux runs it.");
    std::process::exit(1);
}
