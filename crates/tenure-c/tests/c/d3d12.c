/* A Direct3D 12 device of the program. */
#define COBJMACROS
#include <initguid.h>

#include <d3d12.h>
#include <d3dcompiler.h>

#include "check.h"
#include "tenure_d3d12.h"

enum { BYTES = 1024 };

static ID3D12CommandQueue* create_queue(ID3D12Device* device, D3D12_COMMAND_LIST_TYPE type) {
    D3D12_COMMAND_QUEUE_DESC desc = {0};
    desc.Type = type;
    void* queue = NULL;
    CHECK(SUCCEEDED(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &queue)));
    return queue;
}

static ULONG references(ID3D12CommandQueue* queue) {
    ID3D12CommandQueue_AddRef(queue);
    return ID3D12CommandQueue_Release(queue);
}

static void refusals(ID3D12Device* own, ID3D12CommandQueue* direct, ID3D12CommandQueue* compute) {
    const ULONG before = references(direct);
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
    ID3D12CommandQueue* copy = create_queue(own, D3D12_COMMAND_LIST_TYPE_COPY);
    queue = copy;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "direct");
    ID3D12CommandQueue_Release(copy);
    ID3D12CommandQueue* many[1000];
    for (int at = 0; at < 1000; ++at) many[at] = direct;
    desc.queues = many;
    desc.queue_count = 2;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "each queue is there once");
    desc.queue_count = 1000;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "1 to 8 queues");
    many[999] = NULL;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "a queue is null");
    desc.queue_count = (size_t)-1;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "fit into no memory");
    desc.queue_count = 0;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CREATE_DEVICE, "1 to 8 queues");
    desc.queue_count = 1;
    desc.queues = NULL;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "queues");
    /* Pointers to interfaces of another kind. */
    queue = (ID3D12CommandQueue*)own;
    desc.queues = &queue;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "a queue is no ID3D12CommandQueue");
    queue = direct;
    desc.device = (ID3D12Device*)direct;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_POINTER, "device is no ID3D12Device");
    desc.device = own;
    struct {
        tn_D3d12DeviceDesc desc;
        uint64_t later;
    } longer = {desc, 7};
    longer.desc.struct_size = sizeof longer;
    FAILS(tn_device_from_d3d12(&longer.desc, &device), TN_ERROR_STRUCT_SIZE, "tn_D3d12DeviceDesc");
    desc.next = (const tn_Chain*)&desc;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_CHAIN, "no structure");
    desc.next = NULL;
    desc.flags = 1;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_ENUM, "0x1");
    desc.flags = 0;
    FAILS(tn_device_from_d3d12(&desc, NULL), TN_ERROR_POINTER, "null");
    desc.struct_size = 0;
    FAILS(tn_device_from_d3d12(&desc, &device), TN_ERROR_STRUCT_SIZE, "tn_D3d12DeviceDesc");
    CHECK(device == NULL);
    CHECK(references(direct) == before);
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

static tn_Recording* begin(tn_Gpu* gpu, const char* name) {
    tn_Recording* recording = NULL;
    const tn_Str text = {name, strlen(name)};
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, text, &recording) == TN_OK);
    return recording;
}

/* A recording waits for the program's fence, and signals another. */
static void fences(tn_Gpu* gpu, ID3D12Device* own) {
    void *first = NULL, *second = NULL;
    CHECK(SUCCEEDED(ID3D12Device_CreateFence(own, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, &first)));
    CHECK(SUCCEEDED(ID3D12Device_CreateFence(own, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, &second)));
    const tn_D3d12Point wait = {first, 3}, signal = {second, 8}, null = {NULL, 1}, other = {(ID3D12Fence*)own, 1};
    tn_Recording* recording = begin(gpu, "waits");
    FAILS(tn_recording_add_fences_d3d12(NULL, &wait, 1, NULL, 0), TN_ERROR_HANDLE, "null");
    FAILS(tn_recording_add_fences_d3d12(recording, &null, 1, NULL, 0), TN_ERROR_POINTER, "fence is null");
    FAILS(tn_recording_add_fences_d3d12(recording, NULL, 0, &other, 1), TN_ERROR_POINTER, "fence is no ID3D12Fence");
    FAILS(tn_recording_add_fences_d3d12(recording, &wait, 1, NULL, 1), TN_ERROR_POINTER, "signals");
    CHECK(tn_recording_add_fences_d3d12(recording, &wait, 1, &signal, 1) == TN_OK);
    tn_SyncPoint submitted = {0};
    CHECK(tn_recording_submit(recording, &submitted) == TN_OK);
    ID3D12Fence_Release((ID3D12Fence*)first);
    CHECK(tn_gpu_wait(gpu, &submitted, 50000000) == TN_NOT_READY);
    CHECK(ID3D12Fence_GetCompletedValue((ID3D12Fence*)second) == 0);
    CHECK(SUCCEEDED(ID3D12Fence_Signal((ID3D12Fence*)first, 3)));
    CHECK(tn_gpu_wait(gpu, &submitted, TN_FOREVER) == TN_OK);
    CHECK(ID3D12Fence_GetCompletedValue((ID3D12Fence*)second) == 8);
    ID3D12Fence_Release((ID3D12Fence*)second);
}

/* Objects of another backend, and a fence of another device. */
static void foreign(tn_Gpu* gpu, ID3D12Device* own) {
    const tn_SimDesc sim = DESC(tn_SimDesc);
    tn_SwapchainDesc desc = DESC(tn_SwapchainDesc);
    desc.width = desc.height = 4;
    tn_Device* device = NULL;
    tn_Gpu* simulated = NULL;
    tn_Swapchain* swapchain = NULL;
    CHECK(tn_device_create_sim(&sim, &device) == TN_OK && tn_gpu_create(device, NULL, &simulated) == TN_OK);
    CHECK(tn_swapchain_create_sim(simulated, &desc, &swapchain) == TN_OK);
    tn_Recording* recording = begin(simulated, "simulated");
    FAILS(tn_recording_add_fences_d3d12(recording, NULL, 0, NULL, 0), TN_ERROR_FOREIGN, "another backend");
    void* waitable = recording;
    FAILS(tn_swapchain_waitable_d3d12(swapchain, &waitable), TN_ERROR_FOREIGN, "another backend");
    CHECK(waitable == recording);
    FAILS(tn_swapchain_waited_d3d12(swapchain), TN_ERROR_FOREIGN, "another backend");
    tn_Swapchain* none = NULL;
    FAILS(tn_swapchain_create_d3d12(simulated, NULL, &desc, &none), TN_ERROR_FOREIGN, "another backend");
    CHECK(none == NULL && tn_release(swapchain) == TN_OK);
    CHECK(tn_release(recording) == TN_OK && tn_release(simulated) == TN_OK);
    check_clean(device);
    CHECK(tn_release(device) == TN_OK);

    void *other = NULL, *fence = NULL;
    CHECK(SUCCEEDED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, &other)));
    /* On Windows an adapter has one device. */
    if (other != own) {
        CHECK(SUCCEEDED(ID3D12Device_CreateFence((ID3D12Device*)other, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, &fence)));
        const tn_D3d12Point point = {fence, 1};
        for (size_t waits = 0; waits < 2; ++waits) {
            recording = begin(gpu, "theirs");
            CHECK(tn_recording_add_fences_d3d12(recording, &point, waits, &point, 1 - waits) == TN_OK);
            FAILS(tn_recording_submit(recording, NULL), TN_ERROR_DEVICE, "the device that made it");
        }
        ID3D12Fence_Release((ID3D12Fence*)fence);
    }
    ID3D12Device_Release((ID3D12Device*)other);
}

static void textures(tn_Gpu* gpu) {
    CHECK(tn_format_to_dxgi(TN_FORMAT_RGBA8_UNORM) == DXGI_FORMAT_R8G8B8A8_UNORM);
    CHECK(tn_format_from_dxgi(DXGI_FORMAT_BC7_UNORM_SRGB) == TN_FORMAT_BC7_SRGB);
    CHECK(tn_format_to_dxgi(TN_FORMAT_ASTC_4X4_UNORM) == DXGI_FORMAT_UNKNOWN && tn_format_to_dxgi(5000) == DXGI_FORMAT_UNKNOWN);
    CHECK(tn_format_from_dxgi(DXGI_FORMAT_UNKNOWN) == TN_FORMAT_UNKNOWN && tn_format_from_dxgi(5000) == TN_FORMAT_UNKNOWN);
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
    CHECK(tn_texture_view_create(gpu, target, &view_desc, &view) == TN_OK);
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

static tn_Gpu* callbacks_of;
static ID3D12CommandQueue* first_queue;

static void destroy(void* user, void* object) {
    (void)object;
    FAILS(tn_gpu_reclaim(callbacks_of), TN_ERROR_CALLBACK, "tn_DestroyFn");
    FAILS(tn_release(callbacks_of), TN_ERROR_CALLBACK, "tn_Gpu must not");
    CHECK(tn_release(user) == TN_OK);
}

static tn_Status submit(void* user, tn_Native queue) {
    CHECK((ID3D12CommandQueue*)queue == first_queue);
    FAILS(tn_gpu_submit_external(callbacks_of, TN_QUEUE_GRAPHICS, NULL, submit, NULL, NULL), TN_ERROR_CALLBACK,
          "tn_SubmitFn");
    CHECK(tn_release(user) == TN_OK);
    return TN_OK;
}

/* Callbacks may release handles, and nothing else. */
static void callbacks(tn_Gpu* gpu) {
    callbacks_of = gpu;
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = BYTES;
    desc.usage = TN_USAGE_VERTEX;
    tn_Buffer* held[2] = {NULL, NULL};
    for (int at = 0; at < 2; ++at) CHECK(tn_buffer_create(gpu, &desc, &held[at]) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_gpu_submit_external(gpu, TN_QUEUE_GRAPHICS, NULL, submit, held[0], &done) == TN_OK);
    CHECK(tn_gpu_release_after(gpu, &done, destroy, held[1], NULL) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    CHECK(tn_gpu_reclaim(gpu) == TN_OK);
}

/* Two devices of tenure on one of the program, each with a manager, and all released in the wrong order. */
static void twice(const tn_D3d12DeviceDesc* desc) {
    tn_Device* devices[2] = {NULL, NULL};
    tn_Gpu *gpus[2] = {NULL, NULL}, *another = NULL;
    for (int at = 0; at < 2; ++at) {
        CHECK(tn_device_from_d3d12(desc, &devices[at]) == TN_OK);
        CHECK(tn_gpu_create(devices[at], NULL, &gpus[at]) == TN_OK);
        FAILS(tn_gpu_create(devices[at], NULL, &another), TN_ERROR_DEVICE_IN_USE, "already has");
        CHECK(tn_release(devices[at]) == TN_OK);
    }
    for (int round = 0; round < 4; ++round) buffers(gpus[round % 2]);
    for (int at = 0; at < 2; ++at) callbacks(gpus[at]);
    CHECK(tn_release(gpus[1]) == TN_OK);
    buffers(gpus[0]);
    CHECK(tn_gpu_shutdown(gpus[0], NULL, NULL) == TN_OK);
    CHECK(tn_release(gpus[0]) == TN_OK);
}

/* The program's pipeline: samples a texture, and writes 255 times the value. Parameters: where, textures, samplers. */
static ID3D12PipelineState* create_pipeline(ID3D12Device* device, ID3D12RootSignature** root) {
    static const char source[] =
        "RWByteAddressBuffer seen : register(u0); Texture2D<float4> color : register(t0); SamplerState smooth : register(s0);"
        "[numthreads(1, 1, 1)] void main() {"
        "    seen.Store4(0, (uint4)(color.SampleLevel(smooth, float2(0.5, 0.5), 0) * 255 + 0.5)); }";
    ID3DBlob *code = NULL, *signature = NULL;
    CHECK(SUCCEEDED(D3DCompile(source, sizeof source - 1, NULL, NULL, NULL, "main", "cs_5_0", 0, 0, &code, NULL)));
    D3D12_DESCRIPTOR_RANGE ranges[2] = {{0}, {0}};
    ranges[0].RangeType = D3D12_DESCRIPTOR_RANGE_TYPE_SRV;
    ranges[1].RangeType = D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER;
    D3D12_ROOT_PARAMETER parameters[3] = {{0}, {0}, {0}};
    parameters[0].ParameterType = D3D12_ROOT_PARAMETER_TYPE_UAV;
    for (int at = 0; at < 2; ++at) {
        ranges[at].NumDescriptors = 1;
        parameters[at + 1].ParameterType = D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE;
        parameters[at + 1].DescriptorTable.NumDescriptorRanges = 1;
        parameters[at + 1].DescriptorTable.pDescriptorRanges = &ranges[at];
    }
    D3D12_ROOT_SIGNATURE_DESC root_desc = {0};
    root_desc.NumParameters = 3;
    root_desc.pParameters = parameters;
    CHECK(SUCCEEDED(D3D12SerializeRootSignature(&root_desc, D3D_ROOT_SIGNATURE_VERSION_1_0, &signature, NULL)));
    void* created = NULL;
    CHECK(SUCCEEDED(ID3D12Device_CreateRootSignature(device, 0, ID3D10Blob_GetBufferPointer(signature),
                                                     ID3D10Blob_GetBufferSize(signature), &IID_ID3D12RootSignature,
                                                     &created)));
    *root = created;
    D3D12_COMPUTE_PIPELINE_STATE_DESC desc = {0};
    desc.pRootSignature = *root;
    desc.CS.pShaderBytecode = ID3D10Blob_GetBufferPointer(code);
    desc.CS.BytecodeLength = ID3D10Blob_GetBufferSize(code);
    CHECK(SUCCEEDED(ID3D12Device_CreateComputePipelineState(device, &desc, &IID_ID3D12PipelineState, &created)));
    ID3D10Blob_Release(signature);
    ID3D10Blob_Release(code);
    return created;
}

static void release_object(void* user, void* object) {
    (void)user;
    IUnknown_Release((IUnknown*)object);
}

static tn_DescriptorTable* create_table(tn_Gpu* gpu, tn_View* view, tn_Sampler* sampler) {
    const tn_Bind bind = {0, 0, view, sampler, NULL, 0, NULL};
    tn_DescriptorTableDesc desc = DESC(tn_DescriptorTableDesc);
    desc.binds = &bind;
    desc.bind_count = 1;
    tn_DescriptorTable* table = NULL;
    CHECK(tn_descriptor_table_create(gpu, &desc, &table) == TN_OK);
    return table;
}

static tn_View* create_color(tn_Gpu* gpu, unsigned char red) {
    const unsigned char texel[] = {red, 0, 0, 255};
    const tn_Texels data = {texel, sizeof texel, 0, 0, 0};
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 1;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    desc.data = &data;
    desc.data_count = 1;
    tn_Texture* texture = NULL;
    CHECK(tn_texture_create(gpu, &desc, &texture) == TN_OK);
    const tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(gpu, texture, &view_desc, &view) == TN_OK);
    CHECK(tn_release(texture) == TN_OK);
    return view;
}

/* A sampler and a texture, in a table each and in descriptors of the recording. */
static void descriptors(tn_Gpu* gpu, ID3D12Device* own) {
    ID3D12RootSignature* root = NULL;
    ID3D12PipelineState* pipeline = create_pipeline(own, &root);
    tn_View* views[] = {create_color(gpu, 100), create_color(gpu, 200)};
    const tn_SamplerDesc sampler_desc = DESC(tn_SamplerDesc);
    tn_Sampler* sampler = NULL;
    CHECK(tn_sampler_create(gpu, &sampler_desc, &sampler) == TN_OK);
    tn_DescriptorTable *color = create_table(gpu, views[0], NULL), *smooth = create_table(gpu, NULL, sampler);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 16;
    desc.usage = TN_USAGE_UNORDERED_ACCESS | TN_USAGE_COPY_SRC;
    tn_Buffer* seen = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &seen) == TN_OK);
    tn_Place places[3];
    CHECK(tn_place(color, &places[0]) == TN_OK && tn_place(smooth, &places[1]) == TN_OK);
    CHECK(tn_place(seen, &places[2]) == TN_OK);
    CHECK(places[0].object != 0 && places[0].gpu_address != 0 && places[0].size == 1);
    tn_Readback* readbacks[2];
    for (int at = 0; at < 2; ++at) {
        tn_Recording* recording = NULL;
        CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("sample"), &recording) == TN_OK);
        CHECK(tn_recording_set_descriptor_heaps(recording) == TN_OK);
        tn_Place place = places[0];
        const tn_Bind bind = {0, 0, views[1], NULL, NULL, 0, NULL};
        if (at == 1) CHECK(tn_recording_descriptors(recording, &bind, 1, &place) == TN_OK);
        const tn_Use uses[] = {{at == 0 ? (void*)color : (void*)views[1], TN_STATE_COMPUTE_SHADER, TN_ALL},
                               {seen, TN_STATE_UNORDERED_ACCESS, TN_ALL}};
        CHECK(tn_recording_use(recording, uses, 2) == TN_OK);
        tn_Native native = 0;
        CHECK(tn_recording_native(recording, &native) == TN_OK);
        ID3D12GraphicsCommandList* list = (ID3D12GraphicsCommandList*)native;
        ID3D12GraphicsCommandList_SetComputeRootSignature(list, root);
        ID3D12GraphicsCommandList_SetPipelineState(list, pipeline);
        ID3D12GraphicsCommandList_SetComputeRootUnorderedAccessView(list, 0, places[2].gpu_address);
        const D3D12_GPU_DESCRIPTOR_HANDLE tables[] = {{place.gpu_address}, {places[1].gpu_address}};
        ID3D12GraphicsCommandList_SetComputeRootDescriptorTable(list, 1, tables[0]);
        ID3D12GraphicsCommandList_SetComputeRootDescriptorTable(list, 2, tables[1]);
        ID3D12GraphicsCommandList_Dispatch(list, 1, 1, 1);
        tn_Part part = {0};
        part.resource = seen;
        part.size = 16;
        CHECK(tn_read_back(recording, &part, &readbacks[at]) == TN_OK);
        CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    }
    for (int at = 0; at < 2; ++at) {
        uint32_t words[4];
        CHECK(tn_readback_wait(readbacks[at], TN_FOREVER, words, sizeof words) == TN_OK);
        CHECK(words[0] == (at == 0 ? 100u : 200u) && words[1] == 0 && words[3] == 255);
        CHECK(tn_release(readbacks[at]) == TN_OK && tn_release(views[at]) == TN_OK);
    }
    CHECK(tn_gpu_release_after(gpu, NULL, release_object, NULL, pipeline) == TN_OK);
    CHECK(tn_gpu_release_after(gpu, NULL, release_object, NULL, root) == TN_OK);
    CHECK(tn_release(color) == TN_OK && tn_release(smooth) == TN_OK);
    CHECK(tn_release(sampler) == TN_OK && tn_release(seen) == TN_OK);

    const tn_SetBinding binding = {0, TN_BINDING_TEXTURE, 1};
    tn_SetLayoutDesc layout_desc = DESC(tn_SetLayoutDesc);
    layout_desc.bindings = &binding;
    layout_desc.binding_count = 1;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &(tn_SetLayout*){NULL}), TN_ERROR_DEVICE, "descriptor sets");
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
    tn_SwapchainDesc none = desc;
    none.width = none.height = 0;
    void* waitable = window;
    CHECK(tn_swapchain_create_d3d12(gpu, window, &none, &second) == TN_OK);
    CHECK(tn_swapchain_waitable_d3d12(second, &waitable) == TN_OK && waitable == NULL);
    CHECK(tn_release(second) == TN_OK);
    FAILS(tn_swapchain_create_d3d12(gpu, NULL, &desc, &swapchain), TN_ERROR_SWAPCHAIN, "window");
    FAILS(tn_swapchain_create_d3d12(gpu, window, NULL, &swapchain), TN_ERROR_POINTER, "tn_SwapchainDesc");
    CHECK(tn_swapchain_create_d3d12(gpu, window, &desc, &swapchain) == TN_OK);
    FAILS(tn_swapchain_create_d3d12(gpu, window, &desc, &second), TN_ERROR_SWAPCHAIN, "window");
    tn_SwapchainProperties found = DESC(tn_SwapchainProperties);
    CHECK(tn_swapchain_properties(swapchain, &found) == TN_OK);
    CHECK(found.width == 64 && found.format == TN_FORMAT_BGRA8_SRGB && (found.queues & 1) != 0);
    CHECK(tn_swapchain_waitable_d3d12(swapchain, &waitable) == TN_OK && waitable != NULL);
    FAILS(tn_swapchain_waitable_d3d12(swapchain, NULL), TN_ERROR_POINTER, "HANDLE");
    CHECK(WaitForSingleObject(waitable, 10000) == WAIT_OBJECT_0);
    CHECK(tn_swapchain_waited_d3d12(swapchain) == TN_OK);
    for (uint32_t count = 0; count < 4; ++count) {
        clear_window(gpu, swapchain, 64, 32);
        CHECK(tn_swapchain_set_frame_latency(swapchain, 3 - count % 3) == TN_OK);
    }
    FAILS(tn_swapchain_set_frame_latency(swapchain, 17), TN_ERROR_ARGUMENT, "1 to 16");

    /* An image that was not presented does not hold a resize up; a view of the program's own does. */
    tn_SwapchainImage image;
    CHECK(tn_swapchain_acquire(swapchain, &image) == TN_OK);
    tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(gpu, image.texture, &view_desc, &view) == TN_OK);
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
    first_queue = queues[0];
    refusals(own, queues[0], queues[1]);
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
    fences(gpu, own);
    foreign(gpu, own);
    textures(gpu);
    descriptors(gpu, own);
    windows(gpu);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_release(device) == TN_OK);
    twice(&desc);
    /* No references are left. */
    for (int at = 0; at < 2; ++at) CHECK(ID3D12CommandQueue_Release(queues[at]) == 0);
    ID3D12Device_Release(own);
    return 0;
}
