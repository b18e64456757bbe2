//! A sampler, tables and a set of the C interface, read by a shader.

use std::ffi::c_void;
use std::{mem, ptr};

use rspirv::binary::Assemble as _;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, Dim, ExecutionMode, ExecutionModel, FunctionControl,
    ImageFormat, ImageOperands, MemoryModel, StorageClass, Word,
};
use tenure_core::{Format, State, Usage};
use tenure_vulkan::ash::vk::{self, Handle as _};

use super::{
    ALL, BufferDesc, COPY_DST, COPY_SRC, Engine, Location, NO_TEXT, Part, Str, Use, done, last_error,
    tn_buffer_create, tn_device_from_vk, tn_gpu_create, tn_gpu_shutdown, tn_place, tn_read_back,
    tn_readback_wait, tn_recording_begin, tn_recording_native, tn_recording_submit, tn_recording_use,
    tn_release, with_engine,
};

#[repr(C)]
struct Head {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
}

impl Head {
    fn of<T>() -> Self {
        Self { struct_size: size_of::<T>() as u32, flags: 0, next: ptr::null() }
    }
}

#[repr(C)]
struct Texels {
    data: *const u8,
    size: usize,
    row_pitch: u64,
    rows: u32,
    reserved: u32,
}

#[repr(C)]
struct TextureDesc {
    head: Head,
    dimension: u32,
    format: u32,
    extent: [u32; 3],
    mips: u32,
    samples: u32,
    usage: u32,
    rest: [u32; 10],
    view_formats: *const u32,
    view_format_count: usize,
    name: Str,
    tag: Str,
    data: *const Texels,
    data_count: usize,
    read_only: u32,
    reserved: u32,
}

#[repr(C)]
struct TextureViewDesc {
    head: Head,
    rest: [u32; 8],
    name: Str,
}

#[repr(C)]
struct BufferViewDesc {
    head: Head,
    access: u32,
    stride: u32,
    rest: [u32; 2],
    offset: u64,
    size: u64,
    name: Str,
}

#[repr(C)]
struct SamplerDesc {
    head: Head,
    rest: [u32; 12],
    name: Str,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Bind {
    binding: u32,
    element: u32,
    view: *mut c_void,
    sampler: *mut c_void,
    data: *const c_void,
    data_size: usize,
    structure: *mut c_void,
}

#[repr(C)]
struct TableDesc {
    head: Head,
    binds: *const Bind,
    bind_count: usize,
    name: Str,
}

#[repr(C)]
struct SetDesc {
    head: Head,
    layout: *mut c_void,
    binds: *const Bind,
    bind_count: usize,
    name: Str,
}

#[repr(C)]
struct SetLayoutDesc {
    head: Head,
    bindings: *const [u32; 3],
    binding_count: usize,
    name: Str,
}

#[repr(C)]
struct VkTable {
    head: Head,
    layout: u64,
    bindings: [u32; 12],
    constants: u32,
    reserved: u32,
}

unsafe extern "C" {
    fn tn_texture_create(gpu: *mut c_void, desc: *const TextureDesc, out: *mut *mut c_void) -> i32;
    fn tn_texture_view_create(
        gpu: *mut c_void,
        texture: *mut c_void,
        desc: *const TextureViewDesc,
        out: *mut *mut c_void,
    ) -> i32;
    fn tn_buffer_view_create(
        gpu: *mut c_void,
        buffer: *mut c_void,
        desc: *const BufferViewDesc,
        out: *mut *mut c_void,
    ) -> i32;
    fn tn_sampler_create(gpu: *mut c_void, desc: *const SamplerDesc, out: *mut *mut c_void) -> i32;
    fn tn_descriptor_table_create(gpu: *mut c_void, desc: *const TableDesc, out: *mut *mut c_void) -> i32;
    fn tn_set_layout_create(gpu: *mut c_void, desc: *const SetLayoutDesc, out: *mut *mut c_void) -> i32;
    fn tn_descriptor_set_create(gpu: *mut c_void, desc: *const SetDesc, out: *mut *mut c_void) -> i32;
    fn tn_gpu_tables_vk(gpu: *mut c_void, kind: u32, out: *mut VkTable) -> i32;
    fn tn_gpu_renumber_vk(gpu: *mut c_void, kind: u32, set: u32, words: *mut u32, count: usize) -> i32;
    fn tn_recording_set_descriptor_heaps(recording: *mut c_void) -> i32;
    fn tn_recording_dynamic_constants(
        recording: *mut c_void,
        layout: *mut c_void,
        data: *const c_void,
        size: usize,
        out: *mut Location,
    ) -> i32;
}

// The values of the header.
const RAW_WRITABLE: u32 = 2;
const BINDING_DYNAMIC_CONSTANTS: u32 = 2;
const BINDING_BUFFER: u32 = 3;
const BINDING_TEXTURE: usize = 6;
const BINDING_SAMPLER: usize = 8;
const COMPUTE: u32 = State::COMPUTE_SHADER.bits();

/// A manager's objects, as C has them.
struct Objects(*mut c_void);

impl Objects {
    fn make(&self, create: impl FnOnce(*mut c_void, *mut *mut c_void) -> i32) -> *mut c_void {
        let mut made = ptr::null_mut();
        done(create(self.0, &raw mut made));
        made
    }

    /// A view of a texture of one texel.
    fn texture(&self, red: u8) -> *mut c_void {
        let texel = [red, 0, 0, 255];
        let texels = Texels { data: texel.as_ptr(), size: 4, row_pitch: 0, rows: 0, reserved: 0 };
        let position = Format::ALL.iter().position(|format| *format == Format::Rgba8Unorm);
        let desc = TextureDesc {
            head: Head::of::<TextureDesc>(),
            dimension: 0,
            format: position.map_or(0, |position| position as u32 + 1),
            extent: [1, 1, 0],
            mips: 0,
            samples: 0,
            usage: (Usage::SHADER_READ | Usage::COPY_DST).bits(),
            rest: [0; 10],
            view_formats: ptr::null(),
            view_format_count: 0,
            name: NO_TEXT,
            tag: NO_TEXT,
            data: &raw const texels,
            data_count: 1,
            read_only: COMPUTE,
            reserved: 0,
        };
        let view = TextureViewDesc { head: Head::of::<TextureViewDesc>(), rest: [0; 8], name: NO_TEXT };
        // SAFETY: structures of the header, valid for each call.
        let texture = self.make(|gpu, out| unsafe { tn_texture_create(gpu, &raw const desc, out) });
        // SAFETY: likewise.
        let view =
            self.make(|gpu, out| unsafe { tn_texture_view_create(gpu, texture, &raw const view, out) });
        // SAFETY: the view keeps it.
        done(unsafe { tn_release(texture) });
        view
    }

    /// A buffer of four words.
    fn buffer(&self) -> *mut c_void {
        let desc = BufferDesc {
            struct_size: size_of::<BufferDesc>() as u32,
            flags: 0,
            next: ptr::null(),
            size: 16,
            usage: COPY_SRC | COPY_DST | Usage::UNORDERED_ACCESS.bits(),
            memory: 0,
            alignment: 0,
            stride: 0,
            allocation: 0,
            priority: 0,
            reserved: 0,
            name: NO_TEXT,
            tag: NO_TEXT,
            data: ptr::null(),
            data_size: 0,
        };
        // SAFETY: as above.
        self.make(|gpu, out| unsafe { tn_buffer_create(gpu, &raw const desc, out) })
    }

    fn table(&self, bind: Bind) -> *mut c_void {
        let desc =
            TableDesc { head: Head::of::<TableDesc>(), binds: &raw const bind, bind_count: 1, name: NO_TEXT };
        // SAFETY: as above.
        self.make(|gpu, out| unsafe { tn_descriptor_table_create(gpu, &raw const desc, out) })
    }

    /// A layout of one binding.
    fn layout(&self, kind: u32) -> *mut c_void {
        let binding = [0, kind, 1];
        let desc = SetLayoutDesc {
            head: Head::of::<SetLayoutDesc>(),
            bindings: &raw const binding,
            binding_count: 1,
            name: NO_TEXT,
        };
        // SAFETY: as above.
        self.make(|gpu, out| unsafe { tn_set_layout_create(gpu, &raw const desc, out) })
    }
}

fn of_view(view: *mut c_void) -> Bind {
    let (sampler, data) = (ptr::null_mut(), ptr::null());
    Bind { binding: 0, element: 0, view, sampler, data, data_size: 0, structure: ptr::null_mut() }
}

fn place(handle: *mut c_void) -> Location {
    let mut place = Location { object: 0, offset: 0, size: 0, gpu_address: 0, mapped: ptr::null_mut() };
    // SAFETY: a handle, and room for a place.
    done(unsafe { tn_place(handle, &raw mut place) });
    place
}

fn of_tables(gpu: *mut c_void, kind: u32) -> VkTable {
    let mut found =
        VkTable { head: Head::of::<VkTable>(), layout: 0, bindings: [0; 12], constants: 0, reserved: 0 };
    // SAFETY: a manager, and room for the structure.
    done(unsafe { tn_gpu_tables_vk(gpu, kind, &raw mut found) });
    found
}

#[test]
fn a_shader_samples_a_texture_by_its_index() {
    with_engine(|engine, info| {
        let (mut device, mut gpu) = (ptr::null_mut(), ptr::null_mut());
        let queues = [engine.queue(0)];
        let desc = engine.desc(info, &queues);
        // SAFETY: the structures are those of the header, and pointers are valid for each call.
        unsafe {
            done(tn_device_from_vk(&raw const desc, &raw mut device));
            done(tn_gpu_create(device, ptr::null(), &raw mut gpu));
        }
        let objects = Objects(gpu);
        assert_eq!(sampled(engine, &objects), [200, 0, 0, 255]);
        // SAFETY: as above.
        unsafe {
            done(tn_gpu_shutdown(gpu, ptr::null_mut(), ptr::null_mut()));
            done(tn_release(gpu));
            done(tn_release(device));
        }
    });
}

/// The texel of the second of two textures, as a shader reads it.
fn sampled(engine: &Engine, objects: &Objects) -> [u32; 4] {
    // Before any table.
    let [of_views, of_samplers] = [0, 1].map(|kind| of_tables(objects.0, kind));
    let (grass, sand) = (objects.texture(100), objects.texture(200));
    let tables = [objects.table(of_view(grass)), objects.table(of_view(sand))];
    let desc = SamplerDesc { head: Head::of::<SamplerDesc>(), rest: [0; 12], name: NO_TEXT };
    // SAFETY: structures of the header.
    let smooth = objects.make(|gpu, out| unsafe { tn_sampler_create(gpu, &raw const desc, out) });
    assert_ne!(place(smooth).object, 0);
    let samplers = objects.table(Bind { sampler: smooth, ..of_view(ptr::null_mut()) });
    let buffer = objects.buffer();
    let view_desc = BufferViewDesc {
        head: Head::of::<BufferViewDesc>(),
        access: RAW_WRITABLE,
        stride: 0,
        rest: [0; 2],
        offset: 0,
        size: 0,
        name: NO_TEXT,
    };
    let made = |gpu, out| {
        // SAFETY: as above.
        unsafe { tn_buffer_view_create(gpu, buffer, &raw const view_desc, out) }
    };
    let view = objects.make(made);
    let layout = objects.layout(BINDING_BUFFER);
    let (head, binds) = (Head::of::<SetDesc>(), [of_view(view)]);
    let desc = SetDesc { head, layout, binds: binds.as_ptr(), bind_count: 1, name: NO_TEXT };
    // SAFETY: as above.
    let result = objects.make(|gpu, out| unsafe { tn_descriptor_set_create(gpu, &raw const desc, out) });

    assert_eq!(of_samplers.bindings[BINDING_SAMPLER], 0);
    assert_eq!(of_views.bindings[BINDING_SAMPLER], u32::MAX);
    let mut words = shader();
    // SAFETY: the words are alive during the call.
    done(unsafe { tn_gpu_renumber_vk(objects.0, 0, 0, words.as_mut_ptr(), words.len()) });
    // SAFETY: as above; with fewer words it is no shader.
    assert_eq!(unsafe { tn_gpu_renumber_vk(objects.0, 0, 0, words.as_mut_ptr(), 4) }, -4);
    assert!(last_error().contains("SPIR-V"), "{}", last_error());
    assert_ne!(of_views.bindings[BINDING_TEXTURE], u32::MAX);

    let layouts =
        [of_views.layout, of_samplers.layout, place(layout).object].map(vk::DescriptorSetLayout::from_raw);
    let pipeline = Pipeline::new(engine, &layouts, &words);
    let sets = [place(tables[0]).object, place(samplers).object, place(result).object];
    let sets = sets.map(vk::DescriptorSet::from_raw);
    let (mut recording, mut readback) = (ptr::null_mut(), ptr::null_mut());
    let mut read = [0_u32; 4];
    // SAFETY: structures of the header; objects of Vulkan that live until the work is complete.
    unsafe {
        done(tn_recording_begin(objects.0, 0, NO_TEXT, &raw mut recording));
        done(tn_recording_set_descriptor_heaps(recording));
        // The textures are read-only: no recording names them.
        let used = Use { resource: result, state: COMPUTE, subresource: ALL };
        done(tn_recording_use(recording, &raw const used, 1));
        let mut list = 0;
        done(tn_recording_native(recording, &raw mut list));
        let list = vk::CommandBuffer::from_raw(list);
        let indices = [place(tables[1]).offset as u32, place(samplers).offset as u32];
        pipeline.dispatch(list, &sets, indices);
        constants(objects, recording);
        let part = Part { resource: buffer, offset: 0, size: 16, region: [0; 10] };
        done(tn_read_back(recording, &raw const part, &raw mut readback));
        // The GPU still needs them.
        let [first, second] = tables;
        for handle in [grass, sand, first, second, smooth, samplers, buffer, view, layout, result] {
            done(tn_release(handle));
        }
        done(tn_recording_submit(recording, ptr::null_mut()));
        done(tn_readback_wait(readback, u64::MAX, read.as_mut_ptr().cast(), mem::size_of_val(&read)));
        done(tn_release(readback));
    }
    pipeline.destroy();
    read
}

/// Two values of a recording have one set and different offsets.
fn constants(objects: &Objects, recording: *mut c_void) {
    let layout = objects.layout(BINDING_DYNAMIC_CONSTANTS);
    let places = [1_u32, 2].map(|value| {
        let mut place = Location { object: 0, offset: 0, size: 0, gpu_address: 0, mapped: ptr::null_mut() };
        let data = (&raw const value).cast();
        // SAFETY: an open recording, data and room for a place.
        done(unsafe { tn_recording_dynamic_constants(recording, layout, data, 4, &raw mut place) });
        place
    });
    assert_ne!(places[0].object, 0);
    assert_eq!(places[0].object, places[1].object);
    assert!(places[0].offset < places[1].offset && places[1].size == 4);
    // SAFETY: its last use.
    done(unsafe { tn_release(layout) });
}

/// A compute pipeline of the program.
struct Pipeline<'a> {
    engine: &'a Engine,
    module: vk::ShaderModule,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl<'a> Pipeline<'a> {
    fn new(engine: &'a Engine, layouts: &[vk::DescriptorSetLayout], words: &[u32]) -> Self {
        let range = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(8)];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(layouts).push_constant_ranges(&range);
        // SAFETY: valid structures; the shader is valid SPIR-V.
        unsafe {
            let layout = engine.device.create_pipeline_layout(&info, None).expect("a layout");
            let code = vk::ShaderModuleCreateInfo::default().code(words);
            let module = engine.device.create_shader_module(&code, None).expect("a module");
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let made = engine.device.create_compute_pipelines(vk::PipelineCache::null(), &info, None);
            Self { engine, module, layout, pipeline: made.expect("a pipeline")[0] }
        }
    }

    /// # Safety
    /// The list is open, and the sets have the layouts of the pipeline.
    unsafe fn dispatch(&self, list: vk::CommandBuffer, sets: &[vk::DescriptorSet], indices: [u32; 2]) {
        let (device, compute) = (&self.engine.device, vk::PipelineBindPoint::COMPUTE);
        let bytes: Vec<u8> = indices.iter().flat_map(|index| index.to_ne_bytes()).collect();
        // SAFETY: as the caller says.
        unsafe {
            device.cmd_bind_pipeline(list, compute, self.pipeline);
            device.cmd_bind_descriptor_sets(list, compute, self.layout, 0, sets, &[]);
            device.cmd_push_constants(list, self.layout, vk::ShaderStageFlags::COMPUTE, 0, &bytes);
            device.cmd_dispatch(list, 1, 1, 1);
        }
    }

    fn destroy(self) {
        // SAFETY: the work that used them is complete.
        unsafe {
            self.engine.device.destroy_pipeline(self.pipeline, None);
            self.engine.device.destroy_shader_module(self.module, None);
            self.engine.device.destroy_pipeline_layout(self.layout, None);
        }
    }
}

/// Samples the texture of the first pushed index with the sampler of the second, and writes 255 times its values.
fn shader() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.extension("SPV_EXT_descriptor_indexing");
    b.capability(Capability::Shader);
    b.capability(Capability::RuntimeDescriptorArray);
    b.capability(Capability::SampledImageArrayDynamicIndexing);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (uint, float) = (b.type_int(32, 0), b.type_float(32, None));
    let uint4 = b.type_vector(uint, 4);
    let (float2, float4) = (b.type_vector(float, 2), b.type_vector(float, 4));
    let (block, pushed) = (b.type_struct([uint4]), b.type_struct([uint; 2]));
    for (structure, member, offset) in [(block, 0, 0), (pushed, 0, 0), (pushed, 1, 4)] {
        b.member_decorate(structure, member, Decoration::Offset, [Operand::LiteralBit32(offset)]);
    }
    b.decorate(block, Decoration::Block, []);
    b.decorate(pushed, Decoration::Block, []);
    let image = b.type_image(float, Dim::Dim2D, 0, 0, 0, 1, ImageFormat::Unknown, None);
    let sampler = b.type_sampler();
    let arrays = [image, sampler].map(|kind| b.type_runtime_array(kind));
    let images = variable(&mut b, StorageClass::UniformConstant, arrays[0], Some(0));
    let samplers = variable(&mut b, StorageClass::UniformConstant, arrays[1], Some(1));
    let result = variable(&mut b, StorageClass::StorageBuffer, block, Some(2));
    let pushed = variable(&mut b, StorageClass::PushConstant, pushed, None);
    let members = [0, 1].map(|member| b.constant_bit32(uint, member));
    let [zero, half, all] = [0.0_f32, 0.5, 255.0].map(|value| b.constant_bit32(float, value.to_bits()));
    let (middle, halves) = (b.constant_composite(float2, [half; 2]), b.constant_composite(float4, [half; 4]));

    let void = b.type_void();
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).expect("a function");
    b.begin_block(None).expect("a block");
    let index = members.map(|member| load(&mut b, StorageClass::PushConstant, uint, pushed, member));
    let found = load(&mut b, StorageClass::UniformConstant, image, images, index[0]);
    let with = load(&mut b, StorageClass::UniformConstant, sampler, samplers, index[1]);
    let combined = b.type_sampled_image(image);
    let combined = b.sampled_image(combined, None, found, with).expect("inside of a block");
    let lod = [Operand::IdRef(zero)];
    let color = b.image_sample_explicit_lod(float4, None, combined, middle, ImageOperands::LOD, lod);
    let scaled = b.vector_times_scalar(float4, None, color.expect("a colour"), all).expect("a value");
    let rounded = b.f_add(float4, None, scaled, halves).expect("a value");
    let words = b.convert_f_to_u(uint4, None, rounded).expect("a value");
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, uint4);
    let pointer = b.access_chain(pointer, None, result, [members[0]]).expect("a pointer");
    b.store(pointer, words, None, []).expect("inside of a block");
    b.ret().expect("inside of a block");
    b.end_function().expect("inside of a function");
    b.entry_point(ExecutionModel::GLCompute, main, "main", []);
    b.execution_mode(main, ExecutionMode::LocalSize, [1, 1, 1]);
    b.module().assemble()
}

fn variable(b: &mut Builder, class: StorageClass, kind: Word, set: Option<u32>) -> Word {
    let pointer = b.type_pointer(None, class, kind);
    let made = b.variable(pointer, None, class, None);
    if let Some(set) = set {
        b.decorate(made, Decoration::DescriptorSet, [Operand::LiteralBit32(set)]);
        b.decorate(made, Decoration::Binding, [Operand::LiteralBit32(0)]);
    }
    made
}

/// One element of an array or structure.
fn load(b: &mut Builder, class: StorageClass, kind: Word, array: Word, index: Word) -> Word {
    let pointer = b.type_pointer(None, class, kind);
    let pointer = b.access_chain(pointer, None, array, [index]).expect("inside of a block");
    b.load(kind, None, pointer, None, []).expect("inside of a block")
}
