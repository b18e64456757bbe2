/* A Direct3D 12 device of the program. */
#define COBJMACROS
#include <initguid.h>

#include <d3d12.h>

#include "check.h"
#include "tenure_d3d12.h"

enum { BYTES = 1024 };

static void refusals(ID3D12Device* own, ID3D12CommandQueue* compute) {
    tn_D3d12DeviceDesc desc = DESC(tn_D3d12DeviceDesc);
    tn_Device* device = NULL;
    FAILS(tn_device_from_d3d12(NULL, &device), TN_ERROR_POINTER, "tn_D3d12DeviceDesc");
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "device is null");
    desc.device = own;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "queue");
    ID3D12CommandQueue* queue = NULL;
    desc.queues = &queue;
    desc.queue_count = 1;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "a queue is null");
    queue = compute;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "direct");
    desc.struct_size = 0;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_STRUCT_SIZE, "tn_D3d12DeviceDesc");
    CHECK(device == NULL);
}

static ID3D12CommandQueue* create_queue(ID3D12Device* device, D3D12_COMMAND_LIST_TYPE type) {
    D3D12_COMMAND_QUEUE_DESC desc = {0};
    desc.Type = type;
    void* queue = NULL;
    CHECK(SUCCEEDED(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &queue)));
    return queue;
}

/* tenure's resources and barriers, the program's command. */
static void buffers(tn_Gpu* gpu) {
    unsigned char bytes[BYTES], read[BYTES];
    for (int at = 0; at < BYTES; ++at) bytes[at] = (unsigned char)(at * 7);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = BYTES;
    desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("source");
    desc.data = bytes;
    desc.data_size = BYTES;
    tn_Buffer *source = NULL, *copy = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &source) == TN_OK);
    desc.name = TN_LIT("copy");
    desc.data = NULL;
    desc.data_size = 0;
    CHECK(tn_buffer_create(gpu, &desc, &copy) == TN_OK);
    tn_Place from, to;
    CHECK(tn_place(source, &from) == TN_OK && tn_place(copy, &to) == TN_OK);
    CHECK(from.object != 0 && from.gpu_address != 0 && from.size == BYTES);

    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("copy"), &recording) == TN_OK);
    const tn_Use uses[] = {{source, TN_STATE_COPY_SRC, TN_ALL}, {copy, TN_STATE_COPY_DST, TN_ALL}};
    CHECK(tn_recording_use(recording, uses, 2) == TN_OK);
    tn_Native list = 0;
    CHECK(tn_recording_native(recording, &list) == TN_OK);
    ID3D12GraphicsCommandList_CopyBufferRegion((ID3D12GraphicsCommandList*)list, (ID3D12Resource*)to.object, to.offset,
                                               (ID3D12Resource*)from.object, from.offset, BYTES);
    CHECK(tn_release(source) == TN_OK);
    tn_Part part = {0};
    part.resource = copy;
    part.size = BYTES;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_readback_wait(readback, TN_FOREVER, read, BYTES) == TN_OK);
    CHECK(memcmp(bytes, read, BYTES) == 0);
    CHECK(tn_release(readback) == TN_OK);
    CHECK(tn_release(copy) == TN_OK);
}

static void textures(tn_Gpu* gpu) {
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_COPY_SRC;
    desc.name = TN_LIT("target");
    tn_Texture* target = NULL;
    CHECK(tn_texture_create(gpu, &desc, &target) == TN_OK);
    tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    tn_View* view = NULL;
    CHECK(tn_view_create(gpu, target, &view_desc, &view) == TN_OK);
    tn_Place place;
    CHECK(tn_place(view, &place) == TN_OK && place.object != 0);

    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("clear"), &recording) == TN_OK);
    const tn_Use use = {target, TN_STATE_RENDER_TARGET, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
    tn_Native list = 0;
    CHECK(tn_recording_native(recording, &list) == TN_OK);
    const float color[4] = {1, 0, 0, 1};
    const D3D12_CPU_DESCRIPTOR_HANDLE handle = {(SIZE_T)place.object};
    ID3D12GraphicsCommandList_ClearRenderTargetView((ID3D12GraphicsCommandList*)list, handle, color, 0, NULL);
    tn_Part part = {0};
    part.resource = target;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    unsigned char texels[64];
    CHECK(tn_readback_wait(readback, TN_FOREVER, texels, sizeof texels) == TN_OK);
    for (int at = 0; at < 64; ++at) CHECK(texels[at] == (at % 4 == 0 || at % 4 == 3 ? 255 : 0));
    CHECK(tn_release(readback) == TN_OK);
    CHECK(tn_release(view) == TN_OK);
    CHECK(tn_release(target) == TN_OK);
}

static void pump(void) {
    MSG message;
    while (PeekMessageA(&message, NULL, 0, 0, PM_REMOVE)) DispatchMessageA(&message);
}

static void clear_window(tn_Gpu* gpu, tn_Swapchain* swapchain, uint32_t width, uint32_t height) {
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    tn_SwapchainImage image;
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    tn_Place place;
    CHECK(tn_place(image.view, &place) == TN_OK && place.object != 0);
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("picture"), &recording) == TN_OK);
    CHECK(tn_swapchain_begin(swapchain, recording) == TN_OK);
    const tn_Use use = {image.texture, TN_STATE_RENDER_TARGET, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
    tn_Native list = 0;
    CHECK(tn_recording_native(recording, &list) == TN_OK);
    const float color[4] = {1, 0, 0, 1};
    const D3D12_CPU_DESCRIPTOR_HANDLE handle = {(SIZE_T)place.object};
    ID3D12GraphicsCommandList_ClearRenderTargetView((ID3D12GraphicsCommandList*)list, handle, color, 0, NULL);
    tn_Part part = {0};
    part.resource = image.texture;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    CHECK(tn_swapchain_finish(swapchain, recording) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_swapchain_present(swapchain) == TN_OK);
    FAILS(tn_place(image.view, &place), TN_ERROR_HANDLE, "was released");
    static unsigned char texels[64 * 64 * 4];
    const size_t size = (size_t)width * height * 4;
    CHECK(tn_readback_wait(readback, TN_FOREVER, texels, size) == TN_OK);
    /* Blue, green, red, alpha. */
    for (size_t at = 0; at < size; ++at) CHECK(texels[at] == (at % 4 < 2 ? 0 : 255));
    CHECK(tn_release(readback) == TN_OK);
    CHECK(tn_frame_end(frame) == TN_OK);
    pump();
}

static void windows(tn_Gpu* gpu) {
    const DWORD style = WS_POPUP | WS_VISIBLE;
    HWND window = CreateWindowExA(WS_EX_TOPMOST, "STATIC", "tenure", style, 0, 0, 64, 32, NULL, NULL, NULL, NULL);
    CHECK(window != NULL);
    pump();
    tn_SwapchainDesc desc = DESC(tn_SwapchainDesc);
    desc.width = 64;
    desc.height = 32;
    desc.usage = TN_USAGE_COPY_SRC;
    desc.frame_latency = 1;
    desc.name = TN_LIT("window");
    tn_Swapchain *swapchain = NULL, *second = NULL;
    FAILS(tn_swapchain_create_sim(gpu, &desc, &swapchain), TN_ERROR_FOREIGN, "another backend");
    FAILS(tn_swapchain_create_d3d12(gpu, NULL, &desc, &swapchain), TN_ERROR_SWAPCHAIN, "window");
    FAILS(tn_swapchain_create_d3d12(gpu, window, NULL, &swapchain), TN_ERROR_POINTER, "tn_SwapchainDesc");
    CHECK(tn_swapchain_create_d3d12(gpu, window, &desc, &swapchain) == TN_OK);
    FAILS(tn_swapchain_create_d3d12(gpu, window, &desc, &second), TN_ERROR_SWAPCHAIN, "window");
    tn_SwapchainProperties found = DESC(tn_SwapchainProperties);
    CHECK(tn_swapchain_properties(swapchain, &found) == TN_OK);
    CHECK(found.width == 64 && found.format == TN_FORMAT_BGRA8_SRGB && (found.queues & 1) != 0);
    for (int count = 0; count < 4; ++count) clear_window(gpu, swapchain, 64, 32);

    /* An image that was not presented does not hold a resize up; a view of the program's own does. */
    tn_SwapchainImage image;
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    tn_View* view = NULL;
    CHECK(tn_view_create(gpu, image.texture, &view_desc, &view) == TN_OK);
    CHECK(SetWindowPos(window, NULL, 0, 0, 32, 32, SWP_NOMOVE | SWP_NOZORDER));
    pump();
    FAILS(tn_swapchain_resize(swapchain, 32, 32), TN_ERROR_SWAPCHAIN, "window");
    CHECK(tn_release(view) == TN_OK);
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    CHECK(tn_swapchain_resize(swapchain, 32, 32) == TN_OK);
    clear_window(gpu, swapchain, 32, 32);
    CHECK(tn_release(swapchain) == TN_OK);
    DestroyWindow(window);
    pump();
}

int main(void) {
    CHECK(tn_abi_version() == TN_ABI_VERSION && tn_has_backend(TN_BACKEND_D3D12));
    void* created = NULL;
    CHECK(SUCCEEDED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, &created)));
    ID3D12Device* own = created;
    ID3D12CommandQueue* queues[] = {create_queue(own, D3D12_COMMAND_LIST_TYPE_DIRECT),
                                    create_queue(own, D3D12_COMMAND_LIST_TYPE_COMPUTE)};
    refusals(own, queues[1]);
    tn_D3d12DeviceDesc desc = DESC(tn_D3d12DeviceDesc);
    desc.device = own;
    desc.queues = queues;
    desc.queue_count = 2;
    tn_Device* device = NULL;
    CHECK(tn_device_from_d3d12(&desc, &device) == TN_OK);
    tn_DeviceProperties properties = DESC(tn_DeviceProperties);
    CHECK(tn_device_properties(device, &properties) == TN_OK);
    CHECK(properties.backend == TN_BACKEND_D3D12 && properties.queues == 2);
    tn_Gpu* gpu = NULL;
    CHECK(tn_gpu_create(device, NULL, &gpu) == TN_OK);
    buffers(gpu);
    textures(gpu);
    windows(gpu);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_release(device) == TN_OK);
    for (int at = 0; at < 2; ++at) ID3D12CommandQueue_Release(queues[at]);
    ID3D12Device_Release(own);
    return 0;
}
