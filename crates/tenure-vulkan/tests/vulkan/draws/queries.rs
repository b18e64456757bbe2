//! Queries whose results draws make: samples, and the work of the pipeline's stages.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::device::{QueryKind, prelude::*};
use tenure_core::{
    AnySamples, Config, Format, Gpu, Queue, SampleCount, State, Subresource, TextureDesc, TextureViewDesc,
    Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, RawView as _};

use super::easel::{Easel, SIDE, attachment};
use super::shader::Paint;
use crate::harness::{Vulkan, validated};

const LONG: Duration = Duration::from_secs(10);
const TARGET: vk::ImageLayout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;

/// The numbers of drawn columns of pixels, at most [`SIDE`].
const COLUMNS: [u32; 4] = [SIDE, 3, 1, 0];

#[test]
fn queries_count_draws() {
    let vulkan = Vulkan::new(validated());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let graphics = Queue::Graphics.id(gpu.device().properties());
    let has = |kind| gpu.device().properties().has_queries(kind, graphics);
    let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let texture = gpu.create_texture(&desc).unwrap();
    let target = gpu.create_texture_view(&texture, &TextureViewDesc::render_target()).unwrap();
    let mut easel = Easel::new(&gpu);
    let written = [vk::AttachmentReference { attachment: 0, layout: TARGET }];
    let subpass = [vk::SubpassDescription::default().color_attachments(&written)];
    let pass = easel.pass(&[attachment(vk::AttachmentLoadOp::CLEAR, TARGET)], &subpass, &[]);
    let framebuffer = easel.framebuffer(pass, &[target.image_view()]);
    let paint = easel.pipeline((pass, 0), None, Paint::Colour([1.0; 4]));

    let mut recording = gpu.record(Queue::Graphics, "boxes").unwrap();
    recording.use_resource(&texture, Subresource::All, State::RENDER_TARGET).unwrap();
    let (mut counted, mut seen) = (Vec::new(), Vec::new());
    let statistics =
        has(QueryKind::PipelineStatistics).then(|| recording.begin_pipeline_statistics().unwrap());
    let buffer = recording.raw().command_buffer();
    easel.begin(buffer, pass, framebuffer);
    for columns in COLUMNS {
        if has(QueryKind::Occlusion) {
            let samples = recording.begin_occlusion().unwrap();
            easel.draw(buffer, paint, None, columns);
            counted.push((columns, recording.end_query(samples).unwrap()));
        }
        let any = recording.begin_binary_occlusion().unwrap();
        easel.draw(buffer, paint, None, columns);
        seen.push((columns, recording.end_query(any).unwrap()));
    }
    easel.end(buffer);
    let statistics = statistics.map(|query| recording.end_query(query).unwrap());
    recording.submit().unwrap();

    for (columns, ticket) in &counted {
        assert_eq!(ticket.wait(LONG), Ok(SampleCount(u64::from(columns * SIDE))), "{columns} columns");
    }
    for (columns, ticket) in &seen {
        assert_eq!(ticket.wait(LONG), Ok(AnySamples(*columns > 0)), "{columns} columns");
    }
    let draws = (counted.len() + seen.len()) as u64;
    if let Some(found) = statistics.map(|ticket| ticket.wait(LONG).unwrap()) {
        assert_eq!((found.vertices, found.primitives), (3 * draws, draws), "{found:?}");
        assert!(found.vertex_invocations >= draws && found.pixel_invocations > 0, "{found:?}");
        assert_eq!((found.compute_invocations, found.hull_invocations), (0, 0), "{found:?}");
    }
    drop((counted, seen, texture, target, easel));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
