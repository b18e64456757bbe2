/* Swap chains on the simulated device: every function, and misuse. */
#include "check.h"

enum { WIDTH = 64, HEIGHT = 32, PITCH = WIDTH * 4, TEXELS = HEIGHT * PITCH };

static tn_Gpu *gpu, *other_gpu;
static tn_Device* devices[2];
static tn_Buffer* staging;
static unsigned char texels[TEXELS];

static tn_SwapchainDesc swapchain_desc(void) {
    tn_SwapchainDesc desc = DESC(tn_SwapchainDesc);
    desc.width = WIDTH;
    desc.height = HEIGHT;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("window");
    return desc;
}

static tn_Swapchain* create(const tn_SwapchainDesc* desc) {
    tn_Swapchain* swapchain = NULL;
    CHECK(tn_swapchain_create_sim(gpu, desc, &swapchain) == TN_OK);
    return swapchain;
}

static tn_Recording* begin(tn_Gpu* on) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(on, TN_QUEUE_GRAPHICS, TN_LIT("picture"), &recording) == TN_OK);
    return recording;
}

static void draw(tn_Recording* recording, tn_Texture* image) {
    tn_Copy copy = {0};
    copy.src = staging;
    copy.dst = image;
    copy.row_pitch = PITCH;
    CHECK(tn_recording_copy(recording, &copy, 1) == TN_OK);
}

static void draw_and_finish(tn_Swapchain* swapchain, tn_Texture* image) {
    tn_Recording* recording = begin(gpu);
    CHECK(tn_swapchain_begin(swapchain, recording) == TN_OK);
    draw(recording, image);
    CHECK(tn_swapchain_finish(swapchain, recording) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
}

static tn_SwapchainProperties properties(tn_Swapchain* swapchain) {
    tn_SwapchainProperties found = DESC(tn_SwapchainProperties);
    CHECK(tn_swapchain_properties(swapchain, &found) == TN_OK);
    return found;
}

static void frames(void) {
    const tn_SwapchainDesc desc = swapchain_desc();
    tn_Swapchain* swapchain = create(&desc);
    tn_SwapchainProperties found = properties(swapchain);
    CHECK(found.width == WIDTH && found.height == HEIGHT && found.images == 3 && found.mode == TN_PRESENT_FIFO);
    CHECK(found.format == TN_FORMAT_BGRA8_SRGB && found.color_space == TN_COLOR_SPACE_SRGB && (found.queues & 1) != 0);
    for (uint32_t number = 0; number < 8; ++number) {
        tn_Frame* frame = NULL;
        CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
        tn_SwapchainImage image;
        CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
        CHECK(image.index == number % 3);
        tn_Recording* recording = begin(gpu);
        CHECK(tn_swapchain_begin(swapchain, recording) == TN_OK);
        const tn_Use use = {image.texture, TN_STATE_RENDER_TARGET, TN_ALL};
        CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
        draw(recording, image.texture);
        tn_Place place;
        CHECK(tn_place(image.view, &place) == TN_OK);
        /* A screenshot. */
        tn_Part part = {0};
        part.resource = image.texture;
        tn_Readback* readback = NULL;
        CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
        CHECK(tn_swapchain_finish(swapchain, recording) == TN_OK);
        CHECK(tn_recording_submit(recording, NULL) == TN_OK);
        CHECK(tn_swapchain_present(swapchain) == TN_OK);
        FAILS(tn_place(image.texture, &place), TN_ERROR_HANDLE, "this tn_Texture was released");
        FAILS(tn_place(image.view, &place), TN_ERROR_HANDLE, "this tn_View was released");
        unsigned char read[TEXELS];
        CHECK(tn_readback_wait(readback, TN_FOREVER, read, TEXELS) == TN_OK && memcmp(texels, read, TEXELS) == 0);
        CHECK(tn_release(readback) == TN_OK);
        CHECK(tn_frame_end(frame) == TN_OK);
    }
    CHECK(tn_release(swapchain) == TN_OK);
}

static void windows(void) {
    const tn_SwapchainDesc desc = swapchain_desc();
    tn_Swapchain* swapchain = create(&desc);
    CHECK(tn_swapchain_resize(swapchain, 0, 0) == TN_OK);
    tn_SwapchainImage image;
    memset(&image, 1, sizeof image);
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_NOT_READY);
    CHECK(image.texture == NULL && image.view == NULL);
    CHECK(tn_swapchain_resize(swapchain, 2 * WIDTH, HEIGHT) == TN_OK);
    CHECK(properties(swapchain).width == 2 * WIDTH && !properties(swapchain).is_outdated);

    /* A resize takes the image back. */
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    CHECK(tn_swapchain_resize(swapchain, WIDTH, HEIGHT) == TN_OK);
    FAILS(tn_place(image.texture, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");
    FAILS(tn_swapchain_present(swapchain), TN_ERROR_SWAPCHAIN, "tn_swapchain_acquire");

    /* And so does the release. */
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    draw_and_finish(swapchain, image.texture);
    CHECK(tn_swapchain_present(swapchain) == TN_OK);
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    CHECK(tn_release(swapchain) == TN_OK);
    FAILS(tn_place(image.view, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");
    FAILS(tn_swapchain_present(swapchain), TN_ERROR_HANDLE, "this tn_Swapchain was released");
}

static void wishes(void) {
    const tn_SurfaceFormat formats[] = {
        {TN_FORMAT_RGB10A2_UNORM, TN_COLOR_SPACE_HLG},
        {TN_FORMAT_RGB10A2_UNORM, TN_COLOR_SPACE_HDR10},
        {TN_FORMAT_RGBA16_FLOAT, TN_COLOR_SPACE_BY_FORMAT},
    };
    const tn_PresentMode modes[] = {TN_PRESENT_MAILBOX, TN_PRESENT_IMMEDIATE};
    tn_SwapchainDesc desc = swapchain_desc();
    desc.formats = formats;
    desc.format_count = 3;
    desc.modes = modes;
    desc.mode_count = 2;
    desc.images = 4;
    desc.frame_latency = 2;
    tn_Swapchain* swapchain = create(&desc);
    tn_SwapchainProperties found = properties(swapchain);
    CHECK(found.color_space == TN_COLOR_SPACE_HDR10 && found.mode == TN_PRESENT_MAILBOX && found.images == 4);
    tn_HdrMetadata metadata = {{0}, {0}, 0.001f, 1000, 800, 0};
    CHECK(tn_swapchain_set_hdr_metadata(swapchain, &metadata) == TN_OK);
    metadata.white_point[0] = 1.5f;
    FAILS(tn_swapchain_set_hdr_metadata(swapchain, &metadata), TN_ERROR_DEVICE, "white_point = 1.5");

    tn_SwapchainOffers offers = DESC(tn_SwapchainOffers);
    CHECK(tn_swapchain_offers(swapchain, &offers) == TN_OK);
    CHECK(offers.format_count >= 3 && offers.mode_count == 4);
    CHECK(offers.formats[0].format == TN_FORMAT_BGRA8_SRGB && offers.formats[0].color_space == TN_COLOR_SPACE_SRGB);
    CHECK(offers.modes[0] == TN_PRESENT_FIFO);

    CHECK(tn_swapchain_set_formats(swapchain, &formats[2], 1) == TN_OK);
    CHECK(tn_swapchain_set_modes(swapchain, NULL, 0) == TN_OK);
    CHECK(tn_swapchain_set_frame_latency(swapchain, 1) == TN_OK);
    CHECK(tn_swapchain_set_frame_latency(swapchain, 16) == TN_OK);
    FAILS(tn_swapchain_set_frame_latency(swapchain, 0), TN_ERROR_ARGUMENT, "frame_latency = 0: must be 1 to 16");
    FAILS(tn_swapchain_set_frame_latency(swapchain, 17), TN_ERROR_ARGUMENT, "frame_latency = 17");
    tn_SwapchainImage image;
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    found = properties(swapchain);
    CHECK(found.format == TN_FORMAT_RGBA16_FLOAT && found.color_space == TN_COLOR_SPACE_EXTENDED_SRGB_LINEAR);
    CHECK(found.mode == TN_PRESENT_FIFO);

    const tn_SurfaceFormat unknown[] = {{TN_FORMAT_RGBA8_UNORM, 6}, {5000, 0}};
    FAILS(tn_swapchain_set_formats(swapchain, &unknown[0], 1), TN_ERROR_ENUM, "color_space = 6");
    FAILS(tn_swapchain_set_formats(swapchain, &unknown[1], 1), TN_ERROR_ENUM, "format = 5000");
    FAILS(tn_swapchain_set_formats(swapchain, NULL, 1), TN_ERROR_POINTER, "formats");
    const tn_PresentMode no_mode = 4;
    FAILS(tn_swapchain_set_modes(swapchain, &no_mode, 1), TN_ERROR_ENUM, "mode = 4");
    CHECK(tn_release(swapchain) == TN_OK);
}

/* The last pass of a graph draws to the window. */

typedef struct Window {
    tn_Swapchain* swapchain;
    tn_SwapchainImage image;
} Window;

static tn_Status record(void* user, const tn_Pass* pass) {
    const Window* window = user;
    CHECK(tn_swapchain_begin(window->swapchain, pass->recording) == TN_OK);
    draw(pass->recording, window->image.texture);
    CHECK(tn_swapchain_finish(window->swapchain, pass->recording) == TN_OK);
    return TN_OK;
}

static void graph(void) {
    const tn_SwapchainDesc desc = swapchain_desc();
    Window window = {create(&desc), {0}};
    tn_Graph* graph = NULL;
    CHECK(tn_graph_create(&graph) == TN_OK);
    tn_PassDesc pass = DESC(tn_PassDesc);
    pass.flags = TN_PASS_BEGINS_RECORDING;
    pass.name = TN_LIT("tone mapping");
    CHECK(tn_graph_pass(graph, &pass, NULL) == TN_OK);
    for (int count = 0; count < 4; ++count) {
        tn_Frame* frame = NULL;
        CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
        CHECK(tn_swapchain_acquire(window.swapchain, &window.image) == TN_OK);
        CHECK(tn_frame_execute(frame, graph, record, &window, NULL) == TN_OK);
        CHECK(tn_swapchain_present(window.swapchain) == TN_OK);
        CHECK(tn_frame_end(frame) == TN_OK);
    }
    CHECK(tn_release(graph) == TN_OK);
    CHECK(tn_release(window.swapchain) == TN_OK);
}

/* The window could end before the swap chain. */
static void release_inside(void* user, void* object) {
    (void)user;
    FAILS(tn_release(object), TN_ERROR_CALLBACK, "a tn_Swapchain must not be released inside a tn_DestroyFn");
}

static void release_view(void* user, void* object) {
    (void)user;
    CHECK(tn_release(object) == TN_OK);
}

/* Views of images that only destroy functions hold, on a device whose images must be gone before a resize. */
static void resize_after_views(void) {
    tn_SimDesc sim = DESC(tn_SimDesc);
    sim.profile = TN_LIT("d3d12-uma");
    sim.lag = 3;
    tn_Device* device = NULL;
    tn_Gpu* own = NULL;
    CHECK(tn_device_create_sim(&sim, &device) == TN_OK && tn_gpu_create(device, NULL, &own) == TN_OK);
    const tn_SwapchainDesc desc = swapchain_desc();
    tn_Swapchain* swapchain = NULL;
    CHECK(tn_swapchain_create_sim(own, &desc, &swapchain) == TN_OK);
    for (uint32_t size = 1; size < 4; ++size) {
        tn_SwapchainImage image;
        CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
        tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
        view_desc.access = TN_TEXTURE_RENDER_TARGET;
        tn_View* view = NULL;
        CHECK(tn_texture_view_create(own, image.texture, &view_desc, &view) == TN_OK);
        tn_Recording* recording = begin(own);
        CHECK(tn_swapchain_begin(swapchain, recording) == TN_OK && tn_swapchain_finish(swapchain, recording) == TN_OK);
        CHECK(tn_recording_submit(recording, NULL) == TN_OK && tn_swapchain_present(swapchain) == TN_OK);
        CHECK(tn_gpu_release_after(own, NULL, release_view, NULL, view) == TN_OK);
        if (size < 3) CHECK(tn_swapchain_resize(swapchain, WIDTH * size, HEIGHT) == TN_OK);
    }
    CHECK(tn_release(swapchain) == TN_OK);
    CHECK(tn_gpu_shutdown(own, NULL, NULL) == TN_OK && tn_release(own) == TN_OK);
    check_clean(device);
    CHECK(tn_release(device) == TN_OK);
}

static void misuse(void) {
    const tn_SwapchainDesc desc_of_one = swapchain_desc();
    tn_Swapchain* one = create(&desc_of_one);
    CHECK(tn_gpu_release_after(gpu, NULL, release_inside, NULL, one) == TN_OK);
    CHECK(tn_gpu_reclaim(gpu) == TN_OK && tn_release(one) == TN_OK);
    tn_SwapchainDesc desc = swapchain_desc();
    tn_Swapchain* swapchain = NULL;
    FAILS(tn_swapchain_create_sim(NULL, &desc, &swapchain), TN_ERROR_HANDLE, "null, where a tn_Gpu");
    FAILS(tn_swapchain_create_sim(gpu, NULL, &swapchain), TN_ERROR_POINTER, "tn_SwapchainDesc");
    FAILS(tn_swapchain_create_sim(gpu, &desc, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_swapchain_create_vk(gpu, 1, &desc, &swapchain), TN_ERROR_FOREIGN, "another backend");
    desc.images = 17;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_SWAPCHAIN, "17");
    desc = swapchain_desc();
    desc.frame_latency = 17;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_ARGUMENT, "frame_latency = 17: must be 1 to 16");
    desc = swapchain_desc();
    desc.format.format = TN_FORMAT_R8_UNORM;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_SWAPCHAIN, "window");
    desc = swapchain_desc();
    desc.usage = 1u << 31;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_ENUM, "usage");
    desc = swapchain_desc();
    desc.flags = 1;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_ENUM, "flags");
    desc.struct_size = 4;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_STRUCT_SIZE, "tn_SwapchainDesc");
    CHECK(swapchain == NULL);

    desc = swapchain_desc();
    swapchain = create(&desc);
    tn_Recording* recording = begin(gpu);
    FAILS(tn_swapchain_acquire(swapchain, NULL), TN_ERROR_POINTER, "tn_SwapchainImage");
    FAILS(tn_swapchain_begin(swapchain, recording), TN_ERROR_SWAPCHAIN, "no image");
    FAILS(tn_swapchain_finish(swapchain, recording), TN_ERROR_SWAPCHAIN, "no image");
    FAILS(tn_swapchain_present(swapchain), TN_ERROR_SWAPCHAIN, "no image");
    FAILS(tn_swapchain_present((tn_Swapchain*)(void*)gpu), TN_ERROR_HANDLE, "is not a tn_Swapchain");
    FAILS(tn_swapchain_properties(swapchain, NULL), TN_ERROR_POINTER, "tn_SwapchainProperties");
    tn_SwapchainOffers offers = DESC(tn_SwapchainOffers);
    offers.struct_size = 8;
    FAILS(tn_swapchain_offers(swapchain, &offers), TN_ERROR_STRUCT_SIZE, "tn_SwapchainOffers");
    FAILS(tn_swapchain_set_hdr_metadata(swapchain, NULL), TN_ERROR_POINTER, "tn_HdrMetadata");

    /* Not finished, so not presented; then it is handed out again. */
    tn_SwapchainImage image, again;
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    tn_Recording* elsewhere = begin(other_gpu);
    FAILS(tn_swapchain_begin(swapchain, elsewhere), TN_ERROR_FOREIGN, "");
    CHECK(tn_release(elsewhere) == TN_OK);
    FAILS(tn_swapchain_begin(swapchain, NULL), TN_ERROR_HANDLE, "null, where a tn_Recording");
    FAILS(tn_swapchain_present(swapchain), TN_ERROR_SWAPCHAIN, "presented: call tn_swapchain_finish in");
    FAILS(tn_place(image.texture, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");
    CHECK(tn_swapchain_acquire(swapchain, &again) == TN_OK && again.index == image.index);
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK && again.index == image.index);
    FAILS(tn_place(again.texture, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");
    /* A release ends the handle of the program, and not the image. */
    CHECK(tn_release(image.view) == TN_OK);
    FAILS(tn_release(image.view), TN_ERROR_HANDLE, "was released");
    draw_and_finish(swapchain, image.texture);
    CHECK(tn_swapchain_present(swapchain) == TN_OK);
    FAILS(tn_swapchain_present(swapchain), TN_ERROR_SWAPCHAIN, "no image");
    CHECK(tn_release(recording) == TN_OK);

    /* A view of the program's own keeps an image. */
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(gpu, image.texture, &view_desc, &view) == TN_OK);
    CHECK(tn_release(view) == TN_OK);
    draw_and_finish(swapchain, image.texture);
    CHECK(tn_swapchain_present(swapchain) == TN_OK);
    CHECK(tn_release(swapchain) == TN_OK);
}

int main(void) {
    for (int at = 0; at < TEXELS; ++at) texels[at] = (unsigned char)(at * 7);
    tn_SimDesc sim = DESC(tn_SimDesc);
    sim.profile = TN_LIT("vulkan-nvidia");
    for (int at = 0; at < 2; ++at) CHECK(tn_device_create_sim(&sim, &devices[at]) == TN_OK);
    CHECK(tn_gpu_create(devices[0], NULL, &gpu) == TN_OK);
    CHECK(tn_gpu_create(devices[1], NULL, &other_gpu) == TN_OK);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = TEXELS;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("staging");
    desc.data = texels;
    desc.data_size = TEXELS;
    CHECK(tn_buffer_create(gpu, &desc, &staging) == TN_OK);
    frames();
    windows();
    wishes();
    graph();
    resize_after_views();
    misuse();
    CHECK(tn_release(staging) == TN_OK);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_release(other_gpu) == TN_OK);
    for (int at = 0; at < 2; ++at) {
        check_clean(devices[at]);
        CHECK(tn_release(devices[at]) == TN_OK);
    }
    return 0;
}
