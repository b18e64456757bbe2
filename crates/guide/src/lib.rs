//! The examples of the README and of the guide, compiled and run.
//!
//! They are documentation tests of this crate, which is not published: the published crates include no file from
//! outside their folders.

#![cfg(doctest)]

macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {$(
        #[doc = include_str!($file)]
        struct $name;
    )*};
}

chapters! {
    Readme: "../../../README.md",
    QuickStart: "../../../docs/guide/quick-start.md",
    Memory: "../../../docs/guide/memory.md",
    OutOfMemory: "../../../docs/guide/out-of-memory.md",
    Uploading: "../../../docs/guide/uploading.md",
    Barriers: "../../../docs/guide/barriers.md",
    ConstantsPerDraw: "../../../docs/guide/constants-per-draw.md",
    Descriptors: "../../../docs/guide/descriptors.md",
    Reserved: "../../../docs/guide/reserved.md",
    Lifetimes: "../../../docs/guide/lifetimes.md",
    DeviceLoss: "../../../docs/guide/device-loss.md",
    RenderGraphs: "../../../docs/guide/render-graphs.md",
    GpuTime: "../../../docs/guide/gpu-time.md",
    RayTracing: "../../../docs/guide/ray-tracing.md",
    Threads: "../../../docs/guide/threads.md",
    Window: "../../../docs/guide/window.md",
    Sharing: "../../../docs/guide/sharing.md",
    Observing: "../../../docs/guide/observing.md",
    MyProgram: "../../../docs/guide/my-program.md",
    Migrating: "../../../docs/guide/migrating.md",
    SeeingMemory: "../../../docs/guide/seeing-memory.md",
    Doctor: "../../../docs/guide/doctor.md",
    Ci: "../../../docs/guide/ci.md",
    C: "../../../docs/guide/c.md",
    Questions: "../../../docs/guide/questions.md",
}
