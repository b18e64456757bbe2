//! Buffers and images of the program that a manager adopts.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{mem, ptr};

use tenure_vulkan::ash::vk;

use crate::{
    BufferDesc, COPY_DST, COPY_SRC, NO_TEXT, Part, Str, TextureDesc, done, last_error, tn_device_from_vk,
    tn_gpu_create, tn_gpu_shutdown, tn_read_back, tn_readback_wait, tn_recording_begin, tn_recording_submit,
    tn_release, with_engine,
};

#[derive(Clone, Copy)]
#[repr(C)]
struct Adoption {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    object: u64,
    vk_usage: u32,
    vk_flags: u32,
    vk_format: u32,
    state: u32,
    memory: u64,
    memory_size: u64,
    memory_offset: u64,
    mapped: *mut c_void,
    memory_type: u32,
    reserved: u32,
    destroy: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    destroy_user: *mut c_void,
    destroy_object: *mut c_void,
}

unsafe extern "C" {
    fn tn_buffer_adopt_vk(
        gpu: *mut c_void,
        desc: *const BufferDesc,
        adoption: *const Adoption,
        out: *mut *mut c_void,
    ) -> i32;
    fn tn_texture_adopt_vk(
        gpu: *mut c_void,
        desc: *const TextureDesc,
        adoption: *const Adoption,
        out: *mut *mut c_void,
    ) -> i32;
    fn tn_buffer_write(buffer: *mut c_void, offset: u64, data: *const c_void, size: usize) -> i32;
    fn tn_gpu_reclaim(gpu: *mut c_void) -> i32;
}

static DESTROYED: AtomicU32 = AtomicU32::new(0);

extern "C" fn destroy(_: *mut c_void, object: *mut c_void) {
    assert_eq!(object.addr(), 7);
    DESTROYED.fetch_add(1, Ordering::Relaxed);
}

const SIZE: u64 = 256;

fn buffer_desc(memory: u32) -> BufferDesc {
    BufferDesc {
        struct_size: size_of::<BufferDesc>() as u32,
        flags: 0,
        next: ptr::null(),
        size: SIZE,
        usage: COPY_SRC | COPY_DST,
        memory,
        alignment: 0,
        stride: 0,
        allocation: 0,
        priority: 0,
        reserved: 0,
        name: Str { data: c"mine".as_ptr(), size: usize::MAX },
        tag: NO_TEXT,
        data: ptr::null(),
        data_size: 0,
    }
}

/// An adoption of an object without memory that the CPU accesses.
fn adoption(object: impl vk::Handle, vk_usage: u32) -> Adoption {
    Adoption {
        struct_size: size_of::<Adoption>() as u32,
        object: object.as_raw(),
        vk_usage,
        destroy: Some(destroy),
        destroy_object: ptr::without_provenance_mut(7),
        // SAFETY: null pointers and zeros are valid in all fields.
        ..unsafe { mem::zeroed() }
    }
}

/// A manager reads an adopted buffer and calls `destroy` when the GPU has finished with it. A refused adoption calls nothing.
#[test]
fn buffers_and_images_of_the_program_are_adopted() {
    with_engine(|engine, info| {
        let queues = [engine.queue(0)];
        let desc = engine.desc(info, &queues);
        let [mut device, mut gpu, mut adopted, mut texture, mut recording, mut readback] =
            [ptr::null_mut(); 6];
        // SAFETY: the structures are those of the header, and pointers are valid for each call. The objects of the program outlive the
        // manager.
        unsafe {
            done(tn_device_from_vk(&raw const desc, &raw mut device));
            done(tn_gpu_create(device, ptr::null(), &raw mut gpu));

            let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
            let buffer = vk::BufferCreateInfo::default().size(SIZE).usage(usage);
            let buffer = engine.device.create_buffer(&buffer, None).expect("a buffer");
            let needs = engine.device.get_buffer_memory_requirements(buffer);
            let properties = engine.instance.get_physical_device_memory_properties(engine.physical_device);
            let host = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let memory_type = properties
                .memory_types_as_slice()
                .iter()
                .position(|memory| memory.property_flags.contains(host))
                .expect("memory for the CPU") as u32;
            // The buffer does not begin with the allocation.
            let offset = needs.alignment.max(64);
            let size = offset + needs.size;
            let info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(memory_type);
            let memory = engine.device.allocate_memory(&info, None).expect("memory");
            engine.device.bind_buffer_memory(buffer, memory, offset).expect("bound");
            let mapped = engine
                .device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .expect("mapped");
            let with_memory = Adoption {
                memory: vk::Handle::as_raw(memory),
                memory_size: size,
                memory_offset: offset,
                mapped,
                memory_type,
                ..adoption(buffer, usage.as_raw())
            };

            let upload = buffer_desc(1);
            let mut refused = |adoption: &Adoption, desc: &BufferDesc, status: i32, part: &str| {
                assert_eq!(
                    tn_buffer_adopt_vk(gpu, desc, adoption, &raw mut adopted),
                    status,
                    "{part}: {}",
                    last_error()
                );
                assert!(last_error().contains(part), "{}", last_error());
                assert!(adopted.is_null());
            };
            refused(&Adoption { object: 0, ..with_memory }, &upload, -100, "object is null");
            refused(&Adoption { memory: 0, ..with_memory }, &upload, -100, "memory is null");
            refused(&adoption(buffer, usage.as_raw()), &upload, -4, "mine");
            refused(&Adoption { memory_offset: size, ..with_memory }, &upload, -4, "inside its memory");
            refused(&Adoption { memory_type: 1000, ..with_memory }, &upload, -4, "mine");
            refused(&Adoption { state: 1 << 31, ..with_memory }, &upload, -103, "state");
            refused(
                &Adoption { state: tenure_core::State::RENDER_TARGET.bits(), ..with_memory },
                &upload,
                -5,
                "mine",
            );
            refused(
                &Adoption { memory_type: 1, ..adoption(buffer, usage.as_raw()) },
                &upload,
                -100,
                "memory is null",
            );
            refused(&Adoption { vk_flags: 1, ..with_memory }, &upload, -81, "vk_flags");
            refused(&Adoption { vk_usage: 0, ..with_memory }, &upload, -4, "mine");
            refused(&with_memory, &BufferDesc { stride: 4, ..buffer_desc(1) }, -81, "must be 0");
            assert_eq!(DESTROYED.load(Ordering::Relaxed), 0, "the object is still the program's");

            done(tn_buffer_adopt_vk(gpu, &raw const upload, &raw const with_memory, &raw mut adopted));
            let bytes = [5_u8; SIZE as usize];
            done(tn_buffer_write(adopted, 0, bytes.as_ptr().cast(), bytes.len()));
            // SAFETY: it is mapped, and not written at this time.
            let own = std::slice::from_raw_parts(mapped.cast::<u8>().add(offset as usize), bytes.len());
            assert_eq!(own, bytes);
            done(tn_recording_begin(gpu, 0, NO_TEXT, &raw mut recording));
            let part = Part { resource: adopted, offset: 0, size: SIZE, region: [0; 10] };
            done(tn_read_back(recording, &raw const part, &raw mut readback));
            done(tn_release(adopted));
            done(tn_gpu_reclaim(gpu));
            assert_eq!(DESTROYED.load(Ordering::Relaxed), 0, "the recording uses it");
            done(tn_recording_submit(recording, ptr::null_mut()));
            let mut read = [0_u8; SIZE as usize];
            done(tn_readback_wait(readback, u64::MAX, read.as_mut_ptr(), read.len()));
            assert_eq!(read, bytes);
            done(tn_gpu_reclaim(gpu));
            assert_eq!(DESTROYED.load(Ordering::Relaxed), 1);
            engine.device.destroy_buffer(buffer, None);
            engine.device.free_memory(memory, None);

            let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_SRC;
            let info = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(vk::Format::R8G8B8A8_UNORM)
                .extent(vk::Extent3D { width: 16, height: 16, depth: 1 })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .usage(usage);
            let image = engine.device.create_image(&info, None).expect("an image");
            let needs = engine.device.get_image_memory_requirements(image);
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(needs.memory_type_bits.trailing_zeros());
            let memory = engine.device.allocate_memory(&info, None).expect("memory");
            engine.device.bind_image_memory(image, memory, 0).expect("bound");
            let desc = TextureDesc {
                struct_size: size_of::<TextureDesc>() as u32,
                format: 9,
                width: 16,
                height: 16,
                usage: (tenure_core::Usage::SHADER_READ | tenure_core::Usage::COPY_SRC).bits(),
                name: Str { data: c"grass".as_ptr(), size: usize::MAX },
                ..mem::zeroed()
            };
            let of_image = adoption(image, usage.as_raw());
            let unknown = Adoption { struct_size: 8, ..of_image };
            assert_eq!(tn_texture_adopt_vk(gpu, &raw const desc, &raw const unknown, &raw mut texture), -101);
            let in_memory = Adoption { memory: 1, ..of_image };
            assert_eq!(
                tn_texture_adopt_vk(gpu, &raw const desc, &raw const in_memory, &raw mut texture),
                -81
            );
            done(tn_texture_adopt_vk(gpu, &raw const desc, &raw const of_image, &raw mut texture));
            done(tn_release(texture));
            done(tn_gpu_reclaim(gpu));
            assert_eq!(DESTROYED.load(Ordering::Relaxed), 2);
            engine.device.destroy_image(image, None);
            engine.device.free_memory(memory, None);

            done(tn_release(readback));
            done(tn_gpu_shutdown(gpu, ptr::null_mut(), ptr::null_mut()));
            done(tn_release(gpu));
            done(tn_release(device));
        }
    });
}
