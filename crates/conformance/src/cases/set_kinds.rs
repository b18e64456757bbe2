//! Bindings that sets alone have: combined samplers and input attachments.

use tenure_core::device::CallRule;
use tenure_core::{
    Bind, BindingKind, DescriptorSetDesc, DescriptorTableDesc, DeviceError, Error, Format, Queue, SetBinding,
    SetDescriptor, SetLayoutDesc, TextureDesc, TextureViewDesc, Usage,
};

use crate::bench::Bench;
use crate::shader_input::{Kind, ShaderInput};
use crate::shader_reads::{dynamic, lasting};
use crate::{Harness, Look, Through};
use test_random::Rng;

const BINDING: u32 = 3;

/// Checks that tables do not take it, lasting ones and those of a recording.
fn refused_in_tables<H: Harness>(bench: &Bench<'_, H>, bind: Bind<'_, H::Device>) {
    let is_refused = |error: &Error| {
        let Error::Device { source: DeviceError::InvalidCall { rule, .. }, .. } = error else { return false };
        *rule == CallRule::InSetsAlone
    };
    if !bench.has_heaps() {
        return;
    }
    let table = bench.gpu.create_descriptor_table(&DescriptorTableDesc::new(&[bind]).name("table"));
    assert!(is_refused(&table.unwrap_err()), "a table took {bind:?}");
    let mut recording = bench.gpu.record(Queue::Graphics, "table").unwrap();
    let error = recording.split().1.descriptors(&[bind]).unwrap_err();
    assert!(is_refused(&error), "a table of a recording took {bind:?}: {error}");
}

/// Entries for both inputs, in one binding.
fn combined<D: tenure_core::device::Device>(inputs: &[ShaderInput<D>]) -> Vec<SetDescriptor<'_, D>> {
    inputs
        .iter()
        .zip(0..)
        .map(|(input, element)| SetDescriptor::new(BINDING, input.combined()).element(element))
        .collect()
}

/// Shaders sample textures through descriptors that are a texture and a sampler, which tables do not hold.
pub fn combined_samplers_sample_their_texture<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(125);
    let inputs = [Kind::Smooth, Kind::Sharp, Kind::Smooth].map(|kind| bench.input(kind, &mut rng));
    refused_in_tables(&bench, inputs[0].combined());
    if bench.has_sets() {
        let count = u32::try_from(inputs.len()).unwrap();
        let binding = SetBinding { binding: BINDING, kind: BindingKind::CombinedSampler, count };
        let layout = bench.gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("pictures")).unwrap();
        let (first, second) = (bench.output(inputs.len()), bench.output(inputs.len()));
        let binds = combined(&inputs);
        let set = DescriptorSetDesc::new(&layout, &binds).name("pictures");
        let set = bench.gpu.create_descriptor_set(&set).unwrap();
        let wrong = [SetDescriptor::new(BINDING, inputs[0].bind())];
        let wrong = bench.gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &wrong));
        assert!(wrong.is_err(), "a combined sampler without a sampler");
        bench.submit(Queue::Graphics, |recording| {
            let (commands, scratch) = recording.split();
            inputs.iter().for_each(|input| input.prepare(commands));
            let recorded = scratch.set(&layout, &binds).unwrap();
            for (out, (block, set)) in [(&first, lasting(&set)), (&second, dynamic(&recorded))] {
                bench.open(commands, out);
                for element in 0..count {
                    let layout = layout.raw();
                    let through = Through::Set { layout, block, set, binding: BINDING, element };
                    bench.probe(commands, through, Look::CombinedSampler, (out, element.into()));
                }
            }
        });
        bench.check_results(&inputs, &first, "through a combined sampler");
        bench.check_results(&inputs, &second, "through a combined sampler of the recording");
        drop(binds);
        // The set keeps its views and samplers.
        let expected: Vec<_> = inputs.into_iter().map(ShaderInput::into_expected).collect();
        bench.finish();
        let third = bench.output(expected.len());
        bench.submit(Queue::Graphics, |recording| {
            let (commands, _) = recording.split();
            bench.open(commands, &third);
            for element in 0..count {
                let (layout, (block, set)) = (layout.raw(), lasting(&set));
                let through = Through::Set { layout, block, set, binding: BINDING, element };
                bench.probe(commands, through, Look::CombinedSampler, (&third, element.into()));
            }
        });
        for (expected, seen) in expected.iter().zip(bench.results(&third)) {
            expected.check(seen, "through a set whose handles were dropped");
        }
    } else {
        drop(inputs);
    }
    bench.end();
}

/// Sets hold input attachments, of textures that were created for it, and tables do not.
pub fn input_attachments_are_in_sets<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let usage = Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT;
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(2).name("albedo");
    let texture = bench.gpu.create_texture(&desc);
    if !bench.has_sets() {
        let Err(Error::Device { source: DeviceError::Unsupported { feature }, .. }) = texture else {
            panic!("without sets there are no input attachments");
        };
        assert_eq!(feature, "input attachments");
        return bench.end();
    }
    let texture = texture.unwrap();
    let view = TextureViewDesc::input_attachment();
    let input = bench.gpu.create_texture_view(&texture, &view).unwrap();
    let second = bench.gpu.create_texture_view(&texture, &view.clone().mips(1, 1)).unwrap();
    assert!(bench.gpu.create_texture_view(&texture, &view.clone().mips(0, 2)).is_err(), "of one mip");
    let target = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target");
    let target = bench.gpu.create_texture(&target).unwrap();
    let error = bench.gpu.create_texture_view(&target, &view).unwrap_err();
    let Error::Device { source: DeviceError::MissingUsage { needs, .. }, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(needs, Usage::INPUT_ATTACHMENT);
    refused_in_tables(&bench, (&input).into());
    let binding = SetBinding::new(BINDING, BindingKind::InputAttachment).count(2);
    let layout = bench.gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("inputs")).unwrap();
    let binds = [SetDescriptor::new(BINDING, &input), SetDescriptor::new(BINDING, &second).element(1)];
    let set = DescriptorSetDesc::new(&layout, &binds).name("inputs");
    let set = bench.gpu.create_descriptor_set(&set).unwrap();
    bench.submit(Queue::Graphics, |recording| {
        recording.split().1.set(&layout, &binds).unwrap();
    });
    drop((texture, input, second, target, set, layout));
    bench.end();
}
