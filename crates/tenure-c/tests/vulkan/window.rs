//! A graph that ends in a window.

use std::ffi::c_void;
use std::{mem, ptr};

use tenure_core::{State, Usage};
use tenure_vulkan::ash::{self, vk};

use super::{
    ALL, COPY_DST, COPY_SRC, Engine, Location, NO_TEXT, Part, STATE_COPY_DST, Str, TextureDesc, VERSION,
    done, last_error, tn_device_from_vk, tn_gpu_create, tn_gpu_shutdown, tn_place, tn_read_back,
    tn_readback_wait, tn_recording_native, tn_release, with_extensions,
};

#[repr(C)]
struct Copy {
    src: *mut c_void,
    dst: *mut c_void,
    offsets: [u64; 3],
    row_pitch: u64,
    rows: u32,
    subresource: u32,
    region: [u32; 10],
}

#[repr(C)]
struct PassUse {
    resource: u32,
    state: u32,
}

#[repr(C)]
struct PassDesc {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    queue: u32,
    reserved: u32,
    uses: *const PassUse,
    use_count: usize,
    after: *const u32,
    after_count: usize,
    name: Str,
}

#[repr(C)]
struct Pass {
    number: u32,
    resource_count: u32,
    recording: *mut c_void,
    resources: *const *mut c_void,
}

#[repr(C)]
struct SwapchainDesc {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    size: [u32; 2],
    formats: *const c_void,
    format_count: usize,
    modes: *const u32,
    mode_count: usize,
    format: [u32; 2],
    images: u32,
    usage: u32,
    frame_latency: u32,
    reserved: u32,
    name: Str,
}

#[repr(C)]
struct SwapchainProperties {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    size: [u32; 2],
    format: u32,
    color_space: u32,
    mode: u32,
    images: u32,
    is_outdated: u32,
    is_occluded: u32,
    queues: u32,
    reserved: u32,
}

#[repr(C)]
struct SwapchainImage {
    texture: *mut c_void,
    view: *mut c_void,
    index: u32,
    reserved: u32,
}

type PassFn = extern "C" fn(*mut c_void, *const Pass) -> i32;

// The functions of the header.
unsafe extern "C" {
    fn tn_graph_create(out: *mut *mut c_void) -> i32;
    fn tn_graph_texture(graph: *mut c_void, desc: *const TextureDesc, number: *mut u32) -> i32;
    fn tn_graph_pass(graph: *mut c_void, desc: *const PassDesc, number: *mut u32) -> i32;
    fn tn_frame_begin(gpu: *mut c_void, out: *mut *mut c_void) -> i32;
    fn tn_frame_execute(
        frame: *mut c_void,
        graph: *mut c_void,
        record: PassFn,
        user: *mut c_void,
        done: *mut c_void,
    ) -> i32;
    fn tn_frame_end(frame: *mut c_void) -> i32;
    fn tn_recording_copy(recording: *mut c_void, copies: *const Copy, count: usize) -> i32;
    fn tn_swapchain_create_vk(
        gpu: *mut c_void,
        surface: u64,
        desc: *const SwapchainDesc,
        out: *mut *mut c_void,
    ) -> i32;
    fn tn_swapchain_create_sim(gpu: *mut c_void, desc: *const SwapchainDesc, out: *mut *mut c_void) -> i32;
    fn tn_swapchain_properties(swapchain: *mut c_void, out: *mut SwapchainProperties) -> i32;
    fn tn_swapchain_acquire(swapchain: *mut c_void, out: *mut SwapchainImage) -> i32;
    fn tn_swapchain_begin(swapchain: *mut c_void, recording: *mut c_void) -> i32;
    fn tn_swapchain_finish(swapchain: *mut c_void, recording: *mut c_void) -> i32;
    fn tn_swapchain_present(swapchain: *mut c_void) -> i32;
    fn tn_swapchain_resize(swapchain: *mut c_void, width: u32, height: u32) -> i32;
}

const SIZE: [u32; 2] = [64, 32];
const TEXELS: usize = 64 * 32 * 4;
const STATE_COPY_SRC: u32 = State::COPY_SRC.bits();
const BEGINS_RECORDING: u32 = 1;

/// What a pass needs.
struct Drawn<'e> {
    engine: &'e Engine,
    swapchain: *mut c_void,
    image: *mut c_void,
    scene: u32,
    white: bool,
    readback: *mut c_void,
}

/// The first pass clears a texture with a command of the program, the second copies it to the window.
extern "C" fn record(user: *mut c_void, pass: *const Pass) -> i32 {
    // SAFETY: the user is the one of the call below, the pass valid for the call.
    unsafe {
        let (drawn, pass) = (&mut *user.cast::<Drawn<'_>>(), &*pass);
        let scene = *pass.resources.add(drawn.scene as usize);
        if pass.number == 0 {
            let (mut list, mut place): (u64, Location) = (0, mem::zeroed());
            done(tn_recording_native(pass.recording, &raw mut list));
            done(tn_place(scene, &raw mut place));
            let image: vk::Image = vk::Handle::from_raw(place.object);
            let color = vk::ClearColorValue { float32: [f32::from(u8::from(drawn.white)); 4] };
            let range = vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .level_count(1)
                .layer_count(1);
            drawn.engine.device.cmd_clear_color_image(
                vk::Handle::from_raw(list),
                image,
                vk::ImageLayout::TRANSFER_DST_OPTIMAL,
                &color,
                &[range],
            );
            return 0;
        }
        done(tn_swapchain_begin(drawn.swapchain, pass.recording));
        let copy = Copy { src: scene, dst: drawn.image, subresource: ALL, ..mem::zeroed() };
        done(tn_recording_copy(pass.recording, &raw const copy, 1));
        let part = Part { resource: drawn.image, offset: 0, size: 0, region: [0; 10] };
        done(tn_read_back(pass.recording, &raw const part, &raw mut drawn.readback));
        tn_swapchain_finish(drawn.swapchain, pass.recording)
    }
}

/// Declares the passes, and returns the number of the texture.
///
/// # Safety
/// The handle is one of a graph.
unsafe fn declare(graph: *mut c_void, format: u32) -> u32 {
    let mut scene = 99;
    // SAFETY: the structures are those of the header.
    unsafe {
        let desc = TextureDesc {
            struct_size: size_of::<TextureDesc>() as u32,
            format,
            width: SIZE[0],
            height: SIZE[1],
            usage: COPY_SRC | COPY_DST,
            ..mem::zeroed()
        };
        done(tn_graph_texture(graph, &raw const desc, &raw mut scene));
        for (state, flags) in [(STATE_COPY_DST, 0), (STATE_COPY_SRC, BEGINS_RECORDING)] {
            let used = PassUse { resource: scene, state };
            let desc = PassDesc {
                struct_size: size_of::<PassDesc>() as u32,
                flags,
                uses: &raw const used,
                use_count: 1,
                ..mem::zeroed()
            };
            done(tn_graph_pass(graph, &raw const desc, ptr::null_mut()));
        }
    }
    scene
}

/// Whether the loader has surfaces without windows.
fn has_headless_surfaces() -> bool {
    // SAFETY: no other code runs before the library is loaded that could disturb it.
    let entry = unsafe { ash::Entry::load() }.expect("a loader");
    // SAFETY: a plain call.
    let found = unsafe { entry.enumerate_instance_extension_properties(None) }.expect("extensions");
    found.iter().any(|one| one.extension_name_as_c_str() == Ok(ash::ext::headless_surface::NAME))
}

#[test]
fn a_graph_draws_to_a_window() {
    if !has_headless_surfaces() {
        eprintln!("left out: no VK_EXT_headless_surface");
        return;
    }
    let instance = [ash::khr::surface::NAME.as_ptr(), ash::ext::headless_surface::NAME.as_ptr()];
    let device_extensions = [ash::khr::swapchain::NAME.as_ptr()];
    with_extensions(&instance, &device_extensions, |engine, info| {
        let queues = [engine.queue(0)];
        let desc = engine.desc(info, &queues);
        assert_eq!(desc.api_version, VERSION);
        let [mut device, mut gpu, mut swapchain, mut graph, mut frame] = [ptr::null_mut(); 5];
        let headless = ash::ext::headless_surface::Instance::new(&engine.entry, &engine.instance);
        let surfaces = ash::khr::surface::Instance::new(&engine.entry, &engine.instance);
        // SAFETY: the structures are those of the header, and pointers are valid for each call. The engine's objects outlive the
        // device, and the surface the swap chain.
        unsafe {
            let surface = headless.create_headless_surface(&Default::default(), None).expect("a surface");
            done(tn_device_from_vk(&raw const desc, &raw mut device));
            done(tn_gpu_create(device, ptr::null(), &raw mut gpu));
            let wanted = SwapchainDesc {
                struct_size: size_of::<SwapchainDesc>() as u32,
                size: SIZE,
                usage: COPY_SRC | COPY_DST | Usage::RENDER_TARGET.bits(),
                frame_latency: 2,
                name: NO_TEXT,
                ..mem::zeroed()
            };
            assert_eq!(tn_swapchain_create_vk(gpu, 0, &raw const wanted, &raw mut swapchain), -100);
            assert!(last_error().contains("VkSurfaceKHR"), "{}", last_error());
            assert_eq!(tn_swapchain_create_sim(gpu, &raw const wanted, &raw mut swapchain), -14);
            let late = SwapchainDesc { frame_latency: 99, ..wanted };
            let number = vk::Handle::as_raw(surface);
            assert_eq!(tn_swapchain_create_vk(gpu, number, &raw const late, &raw mut swapchain), -81);
            assert!(last_error().contains("1 to 16"), "{}", last_error());
            let wanted = SwapchainDesc { frame_latency: 2, ..late };
            done(tn_swapchain_create_vk(gpu, number, &raw const wanted, &raw mut swapchain));
            let mut found: SwapchainProperties = mem::zeroed();
            found.struct_size = size_of::<SwapchainProperties>() as u32;
            done(tn_swapchain_properties(swapchain, &raw mut found));
            assert_eq!((found.size, found.is_outdated, found.queues), (SIZE, 0, 1));

            done(tn_graph_create(&raw mut graph));
            let scene = declare(graph, found.format);
            for count in 0..8 {
                done(tn_frame_begin(gpu, &raw mut frame));
                if count == 4 {
                    done(tn_swapchain_resize(swapchain, 0, 0));
                    done(tn_swapchain_resize(swapchain, SIZE[0], SIZE[1]));
                }
                let mut image: SwapchainImage = mem::zeroed();
                done(tn_swapchain_acquire(swapchain, &raw mut image));
                let (white, readback) = (count % 2 == 0, ptr::null_mut());
                let mut drawn = Drawn { engine, swapchain, image: image.texture, scene, white, readback };
                let user = (&raw mut drawn).cast();
                done(tn_frame_execute(frame, graph, record, user, ptr::null_mut()));
                done(tn_swapchain_present(swapchain));
                let mut place: Location = mem::zeroed();
                assert_eq!(tn_place(image.view, &raw mut place), -104);
                let mut read = vec![7_u8; TEXELS];
                done(tn_readback_wait(drawn.readback, u64::MAX, read.as_mut_ptr(), read.len()));
                assert!(read.iter().all(|byte| *byte == if white { 255 } else { 0 }), "frame {count}");
                done(tn_release(drawn.readback));
                done(tn_frame_end(frame));
            }
            done(tn_release(graph));
            done(tn_release(swapchain));
            surfaces.destroy_surface(surface, None);
            done(tn_gpu_shutdown(gpu, ptr::null_mut(), ptr::null_mut()));
            done(tn_release(gpu));
            done(tn_release(device));
        }
    });
}
