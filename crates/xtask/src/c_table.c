
/* The objects that the calls are given: of a manager, of another one, and some that were released. */
static void* objects[KINDS][3];
enum { MINE, OTHERS, RELEASED };

static struct {
    tn_Chain chain;
    uint64_t words[64];
} unknown = {{77, sizeof unknown, NULL}, {0}};
static uint64_t room[64];
static uint64_t numbers[64];
static void* handles[1];
static const tn_Str wrong_text = {"\xff", 1};
static int failures;

static void expect(const char* function, const char* place, const char* misuse, tn_Status status, tn_Status expected,
                   const char* part) {
    if (status == expected && strstr(tn_last_error().data, part) != NULL) return;
    ++failures;
    fprintf(stderr, "%s: %s is %s: %s instead of %s\n    %s\n", function, place, misuse, tn_status_name(status).data,
            tn_status_name(expected).data, tn_last_error().data);
}

/* So that the text of an earlier error is not taken for the next one's. */
static void forget_error(void) { (void)tn_set_log(99, NULL, NULL); }

static void good_tn_BufferDesc(tn_BufferDesc* out) {
    out->size = 4096;
    out->usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    /* Contents are not for every call that takes the description. */
    out->data = NULL;
    out->data_size = 0;
}

static void good_tn_TextureDesc(tn_TextureDesc* out) {
    out->format = TN_FORMAT_RGBA8_UNORM;
    out->width = out->height = 4;
    out->usage = TN_USAGE_RENDER_TARGET | TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    out->data_count = 0;
    out->data = NULL;
    out->view_formats = NULL;
    out->view_format_count = 0;
}

static void good_tn_Setting(tn_Setting* out) {
    out->name = TN_LIT("frames.in_flight");
    out->value = 2;
}
static void good_tn_Texels(tn_Texels* out) { out->size = 64; }
static void good_tn_Bind(tn_Bind* out) {
    out->sampler = NULL;
    out->data = NULL;
    out->data_size = 0;
    out->structure = NULL;
}
static void good_tn_Part(tn_Part* out) {
    out->resource = objects[KIND_tn_Texture][MINE];
    out->size = 16;
}
static void good_tn_Copy(tn_Copy* out) {
    out->dst = objects[KIND_tn_Texture][MINE];
    out->row_pitch = 256;
}
static void good_tn_BufferViewDesc(tn_BufferViewDesc* out) {
    out->access = TN_BUFFER_TYPED;
    out->format = TN_FORMAT_R32_UINT;
}
static void good_tn_Use(tn_Use* out) { out->state = TN_STATE_COPY_SRC; }
static void good_tn_SurfaceFormat(tn_SurfaceFormat* out) { out->format = TN_FORMAT_BGRA8_SRGB; }
static void good_tn_MemoryHeap(tn_MemoryHeap* out) { out->size = 1 << 30; }
static void good_tn_MemoryRequest(tn_MemoryRequest* out) { out->size = 64; }
static void good_tn_SuballocatorDesc(tn_SuballocatorDesc* out) { out->capacity = 4096; }
static void good_tn_AccelerationStructureDesc(tn_AccelerationStructureDesc* out) { out->size = 4096; }
static void good_tn_PagesDesc(tn_PagesDesc* out) { out->page_size = 1 << 16; }
static void good_tn_TileUpdate(tn_TileUpdate* out) { out->action = TN_TILES_SHARE; }
static void good_tn_UploadRingDesc(tn_UploadRingDesc* out) { out->size = 4096; }
static void good_tn_SwapchainDesc(tn_SwapchainDesc* out) {
    out->width = out->height = 4;
    out->modes = NULL;
    out->mode_count = 0;
}

/* An object of each kind. Recorders write to a file. */
static void* create(int kind, tn_Device* device, tn_Gpu* gpu, void** sources) {
    void* created = NULL;
    tn_BufferDesc buffer = DESC(tn_BufferDesc);
    tn_TextureDesc texture = DESC(tn_TextureDesc);
    good_tn_BufferDesc(&buffer);
    good_tn_TextureDesc(&texture);
    const tn_TextureViewDesc view = DESC(tn_TextureViewDesc);
    const tn_SamplerDesc sampler = DESC(tn_SamplerDesc);
    const tn_SetBinding binding = {0, TN_BINDING_TEXTURE, 1};
    const tn_Bind bind = {0, 0, sources[KIND_tn_View], NULL, NULL, 0, NULL};
    tn_Part part = {0};
    part.resource = sources[KIND_tn_Buffer];
    part.size = 16;
    const tn_Texels texels = {room, 16, 0, 0, 0};
    tn_SwapchainDesc swapchain = DESC(tn_SwapchainDesc);
    swapchain.width = swapchain.height = 4;
    tn_SuballocatorDesc suballocator = DESC(tn_SuballocatorDesc);
    good_tn_SuballocatorDesc(&suballocator);
    tn_SetLayoutDesc layout = DESC(tn_SetLayoutDesc);
    layout.bindings = &binding;
    layout.binding_count = 1;
    tn_DescriptorTableDesc table = DESC(tn_DescriptorTableDesc);
    tn_DescriptorSetDesc set = DESC(tn_DescriptorSetDesc);
    set.layout = sources[KIND_tn_SetLayout];
    table.binds = set.binds = &bind;
    table.bind_count = set.bind_count = 1;
    const tn_MemoryType memory_type = {TN_MEMORY_DEVICE_LOCAL, 0};
    const tn_MemoryHeap memory_heap = {1 << 30, 1, 0};
    tn_HeapPoolsDesc pools = DESC(tn_HeapPoolsDesc);
    pools.create_heap = program_tn_CreateHeapFn;
    pools.destroy_heap = program_tn_DestroyHeapFn;
    pools.memory_types = &memory_type;
    pools.memory_heaps = &memory_heap;
    pools.memory_type_count = pools.memory_heap_count = 1;
    pools.flags = TN_HEAP_POOLS_COMPACT;
    tn_UploadRingDesc ring = DESC(tn_UploadRingDesc);
    good_tn_UploadRingDesc(&ring);
    tn_AccelerationStructureDesc structure = DESC(tn_AccelerationStructureDesc);
    good_tn_AccelerationStructureDesc(&structure);
    tn_PagesDesc pages_desc = DESC(tn_PagesDesc);
    good_tn_PagesDesc(&pages_desc);
    tn_Recording* recording = NULL;
    static uint32_t files;
    uint32_t number = 0;
    char path[32];
    switch (kind) {
    case KIND_tn_Device: return device;
    case KIND_tn_Gpu: return gpu;
    case KIND_tn_Buffer: CHECK(tn_buffer_create(gpu, &buffer, (tn_Buffer**)&created) == TN_OK); break;
    case KIND_tn_Texture: CHECK(tn_texture_create(gpu, &texture, (tn_Texture**)&created) == TN_OK); break;
    case KIND_tn_View:
        CHECK(tn_texture_view_create(gpu, sources[KIND_tn_Texture], &view, (tn_View**)&created) == TN_OK);
        break;
    case KIND_tn_Sampler: CHECK(tn_sampler_create(gpu, &sampler, (tn_Sampler**)&created) == TN_OK); break;
    case KIND_tn_SetLayout: CHECK(tn_set_layout_create(gpu, &layout, (tn_SetLayout**)&created) == TN_OK); break;
    case KIND_tn_DescriptorTable:
        CHECK(tn_descriptor_table_create(gpu, &table, (tn_DescriptorTable**)&created) == TN_OK);
        break;
    case KIND_tn_DescriptorSet: CHECK(tn_descriptor_set_create(gpu, &set, (tn_DescriptorSet**)&created) == TN_OK); break;
    case KIND_tn_Frame: CHECK(tn_frame_begin(gpu, (tn_Frame**)&created) == TN_OK); break;
    case KIND_tn_Recording: CHECK(tn_recording_begin(gpu, 0, (tn_Str){0}, (tn_Recording**)&created) == TN_OK); break;
    case KIND_tn_Query:
        CHECK(tn_recording_begin(gpu, 0, (tn_Str){0}, &recording) == TN_OK);
        CHECK(tn_recording_write_timestamp(recording, (tn_Query**)&created) == TN_OK && tn_release(recording) == TN_OK);
        break;
    case KIND_tn_AccelerationStructure:
        CHECK(tn_acceleration_structure_create(gpu, &structure, (tn_AccelerationStructure**)&created) == TN_OK);
        break;
    case KIND_tn_Reserved: CHECK(tn_reserved_buffer_create(gpu, &buffer, (tn_Reserved**)&created) == TN_OK); break;
    case KIND_tn_Pages: CHECK(tn_pages_create(gpu, &pages_desc, (tn_Pages**)&created) == TN_OK); break;
    case KIND_tn_UploadRing: CHECK(tn_upload_ring_create(gpu, &ring, (tn_UploadRing**)&created) == TN_OK); break;
    case KIND_tn_Upload: CHECK(tn_upload(gpu, &part, &texels, (tn_Upload**)&created) == TN_OK); break;
    case KIND_tn_Readback: CHECK(tn_read_back(gpu, &part, (tn_Readback**)&created) == TN_OK); break;
    case KIND_tn_Deferred:
        CHECK(tn_gpu_defer(gpu, (tn_Str){0}, program_tn_DestroyFn, NULL, NULL, (tn_Deferred**)&created) == TN_OK);
        break;
    case KIND_tn_Text: CHECK(tn_gpu_report(gpu, TN_REPORT_STATS, (tn_Text**)&created) == TN_OK); break;
    case KIND_tn_Graph:
        CHECK(tn_graph_create((tn_Graph**)&created) == TN_OK && tn_graph_buffer(created, &buffer, &number) == TN_OK);
        break;
    case KIND_tn_Swapchain: CHECK(tn_swapchain_create_sim(gpu, &swapchain, (tn_Swapchain**)&created) == TN_OK); break;
    case KIND_tn_Suballocator: CHECK(tn_suballocator_create(&suballocator, (tn_Suballocator**)&created) == TN_OK); break;
    case KIND_tn_ReleaseQueue: CHECK(tn_release_queue_create(1, (tn_ReleaseQueue**)&created) == TN_OK); break;
    case KIND_tn_HeapPools:
        CHECK(tn_heap_pools_create(&pools, (tn_HeapPools**)&created) == TN_OK);
        break;
    case KIND_tn_Recorder:
        snprintf(path, sizeof path, "misuse-%u.csv", files++);
        CHECK(tn_gpu_record(gpu, (tn_Str){path, TN_TO_NUL}, 0, (tn_Recorder**)&created) == TN_OK);
        CHECK(remove(path) == 0);
        break;
    default: fprintf(stderr, "c_table.c creates no %s\n", kind_names[kind]); exit(1);
    }
    return created;
}
