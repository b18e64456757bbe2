
/* The objects that the calls are given: of a manager, of another one, and some that were released. */
static void* objects[KINDS][3];
enum { MINE, OTHERS, RELEASED };

static const struct {
    tn_Chain chain;
    uint64_t words[64];
} unknown = {{77, sizeof unknown, NULL}, {0}};
static const tn_Str wrong_text = {"\xff", 1};

/* The text of an error that a call does not set. */
static char forgotten[64];
/* In place of a handle that a call has not written. */
#define UNWRITTEN ((void*)&unknown)
enum { MADE = sizeof memory.made / sizeof *memory.made };

static int failures;
/* Whether the call returns no status, and something else than 0 or an empty text. */
static int has_answer, has_no_status;

/* Before each call. */
static void prepare(void) {
    (void)tn_set_log(99, NULL, NULL);
    (void)snprintf(forgotten, sizeof forgotten, "%s", tn_last_error().data);
    has_answer = has_no_status = 0;
    memset(memory.room, 0x5a, sizeof memory.room);
    for (int at = 0; at < MADE; ++at) memory.made[at] = UNWRITTEN;
    memcpy(&before, &memory, sizeof memory);
}

static tn_Status answered(int is_something) {
    has_no_status = 1;
    has_answer = is_something;
    return TN_OK;
}

static int is_error_new(void) { return strcmp(tn_last_error().data, forgotten) != 0; }

static int is_in_word(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
           letter == '_';
}

/* Whether a text has these words, where '*' stands for any others. */
static int has_words(const char* text, const char* words) {
    const size_t size = strcspn(words, "*");
    for (const char* at = text; *at != 0 || size == 0; ++at) {
        const int begins = size == 0 || at == text || !is_in_word(at[-1]) || !is_in_word(words[0]);
        if (!begins || strncmp(at, words, size) != 0) continue;
        if (size > 0 && is_in_word(words[size - 1]) && is_in_word(at[size])) continue;
        return words[size] == 0 || has_words(at + size, words + size + 1);
    }
    return 0;
}

static int is_as_expected(tn_Status status, tn_Status expected, const char* words) {
    return (has_no_status || status == expected) && has_words(tn_last_error().data, words);
}

static void failed(const char* function, const char* place, const char* misuse, const char* reason, const char* more) {
    ++failures;
    fprintf(stderr, "%s: %s %s: %s%s\n    %s\n", function, place, misuse, reason, more, tn_last_error().data);
}

/* A refused call has set an error, has left its arguments as they were, and has made nothing. */
static void expect_nothing_else(const char* function, const char* place, const char* misuse) {
    if (!is_error_new()) failed(function, place, misuse, "sets no error", "");
    if (has_answer) failed(function, place, misuse, "returns something", "");
    for (size_t at = 0; at < sizeof parts / sizeof *parts; ++at) {
        const size_t first = parts[at].first;
        if (memcmp((char*)&memory + first, (char*)&before + first, parts[at].size) != 0)
            failed(function, place, misuse, "changes ", parts[at].name);
    }
}

static void expect(const char* function, const char* place, const char* misuse, tn_Status status, tn_Status expected,
                   const char* words) {
    expect_nothing_else(function, place, misuse);
    if (is_as_expected(status, expected, words)) return;
    failed(function, place, misuse, tn_status_name(status).data, ": another error was expected");
    fprintf(stderr, "    %s: %s\n", tn_status_name(expected).data, words);
}

/* As `expect`, for a call that does not return what others do. */
static void except(const char* function, const char* place, const char* misuse, tn_Status status, tn_Status expected,
                   const char* words, tn_Status rule, const char* rules_words) {
    expect(function, place, misuse, status, expected, words);
    if (is_as_expected(status, rule, rules_words)) failed(function, place, misuse, "needs no exception", "");
}

/* A call with valid arguments. */
static void confirm(const char* function, const char* place, const char* misuse, tn_Status status, tn_Status expected,
                    const char* words) {
    if (expected < 0) {
        expect(function, place, misuse, status, expected, words);
        return;
    }
    if (status < 0 || is_error_new()) failed(function, place, misuse, tn_status_name(status).data, ": it is valid");
    for (int at = 0; at < MADE; ++at) {
        if (memory.made[at] != UNWRITTEN) CHECK(tn_release(memory.made[at]) == TN_OK);
    }
}

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
static void good_tn_PlanItem(tn_PlanItem* out) { out->end = out->size = out->alignment = 1; }
static void good_tn_HdrMetadata(tn_HdrMetadata* out) { out->max_luminance = 1000; }
static void good_tn_PassDesc(tn_PassDesc* out) {
    out->uses = NULL;
    out->after = NULL;
    out->use_count = out->after_count = 0;
}
static void good_tn_Use(tn_Use* out) { out->state = TN_STATE_COPY_SRC; }
static void good_tn_SurfaceFormat(tn_SurfaceFormat* out) { out->format = TN_FORMAT_BGRA8_SRGB; }
static void good_tn_MemoryHeap(tn_MemoryHeap* out) { out->size = 1 << 30; }
static void good_tn_MemoryRequest(tn_MemoryRequest* out) { out->size = 64; }
static void good_tn_SuballocatorDesc(tn_SuballocatorDesc* out) { out->capacity = 4096; }
static void good_tn_AccelerationStructureDesc(tn_AccelerationStructureDesc* out) { out->size = 4096; }
static void good_tn_PagesDesc(tn_PagesDesc* out) { out->page_size = 1 << 16; }
/* Objects beside those of the kinds, for the calls that need them. */
static struct {
    tn_Device *device, *other_device;
    tn_Gpu* gpu;
    tn_Buffer *readable, *writable;
    tn_Reserved* reserved;
    tn_AccelerationStructure* structure;
    tn_SetLayout* dynamic;
    tn_Suballocator* ring;
    tn_Range range;
    tn_MemoryRange memory_range;
    tn_RingSlice slice;
    tn_OpenQuery query;
    int has_query;
} more;

static void good_tn_TileUpdate(tn_TileUpdate* out) {
    out->action = TN_TILES_SHARE;
    out->source = more.reserved;
    for (int axis = 0; axis < 3; ++axis) out->region.extent[axis] = out->source_region.extent[axis] = 1;
}
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
    const tn_Texels all_texels = {memory.room, 64, 0, 0, 0};
    texture.data = &all_texels;
    texture.data_count = 1;
    const tn_TextureViewDesc view = DESC(tn_TextureViewDesc);
    const tn_SamplerDesc sampler = DESC(tn_SamplerDesc);
    const tn_SetBinding binding = {0, TN_BINDING_TEXTURE, 1};
    const tn_Bind bind = {0, 0, sources[KIND_tn_View], NULL, NULL, 0, NULL};
    tn_Part part = {0};
    part.resource = sources[KIND_tn_Buffer];
    part.size = 16;
    const tn_Texels texels = {memory.room, 16, 0, 0, 0};
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
    tn_PassDesc pass = DESC(tn_PassDesc);
    tn_Recording* recording = NULL;
    static uint32_t files;
    uint32_t number = 0;
    char path[32];
    switch (kind) {
    case KIND_tn_Device: return device;
    case KIND_tn_Gpu: return gpu;
    case KIND_tn_Buffer:
        /* Whose state the program can declare. */
        buffer.flags = TN_RESOURCE_OWN;
        CHECK(tn_buffer_create(gpu, &buffer, (tn_Buffer**)&created) == TN_OK);
        break;
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
        CHECK(tn_recording_write_timestamp(recording, (tn_Query**)&created) == TN_OK && tn_recording_submit(recording, NULL) == TN_OK);
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
        CHECK(tn_graph_pass(created, &pass, NULL) == TN_OK);
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

static tn_Device* devices[3];
static tn_Gpu* gpus[3];

static void begin_more(void) {
    const tn_SimDesc sim = DESC(tn_SimDesc);
    CHECK(tn_device_create_sim(&sim, &more.device) == TN_OK && tn_device_create_sim(&sim, &more.other_device) == TN_OK);
    CHECK(tn_gpu_create(more.other_device, NULL, &more.gpu) == TN_OK);
    tn_Gpu* const gpu = gpus[MINE];
    tn_BufferDesc buffer = DESC(tn_BufferDesc);
    good_tn_BufferDesc(&buffer);
    CHECK(tn_reserved_buffer_create(gpu, &buffer, &more.reserved) == TN_OK);
    buffer.usage = TN_USAGE_COPY_DST;
    buffer.memory = TN_MEMORY_READBACK;
    CHECK(tn_buffer_create(gpu, &buffer, &more.readable) == TN_OK);
    buffer.usage = TN_USAGE_COPY_SRC;
    buffer.memory = TN_MEMORY_UPLOAD;
    CHECK(tn_buffer_create(gpu, &buffer, &more.writable) == TN_OK);
    tn_Copy copy = {0};
    copy.src = more.writable;
    copy.dst = more.readable;
    copy.size = 16;
    tn_Recording* recording = NULL;
    CHECK(tn_buffer_write(more.writable, 0, memory.room, 16) == TN_OK);
    CHECK(tn_recording_begin(gpu, 0, (tn_Str){NULL, 0}, &recording) == TN_OK && tn_recording_copy(recording, &copy, 1) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_recording_submit(recording, &done) == TN_OK && tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    tn_AccelerationStructureDesc structure = DESC(tn_AccelerationStructureDesc);
    good_tn_AccelerationStructureDesc(&structure);
    CHECK(tn_acceleration_structure_create(gpu, &structure, &more.structure) == TN_OK);
    const tn_SetBinding binding = {0, TN_BINDING_DYNAMIC_CONSTANTS, 1};
    tn_SetLayoutDesc layout = DESC(tn_SetLayoutDesc);
    layout.bindings = &binding;
    layout.binding_count = 1;
    CHECK(tn_set_layout_create(gpu, &layout, &more.dynamic) == TN_OK);
    tn_SuballocatorDesc suballocator = DESC(tn_SuballocatorDesc);
    good_tn_SuballocatorDesc(&suballocator);
    suballocator.kind = TN_SUBALLOCATOR_RING;
    CHECK(tn_suballocator_create(&suballocator, &more.ring) == TN_OK);
    CHECK(tn_suballocator_allocate(objects[KIND_tn_Suballocator][MINE], 16, 16, &more.range) == TN_OK);
    tn_MemoryRequest request = DESC(tn_MemoryRequest);
    good_tn_MemoryRequest(&request);
    const uint32_t memory_type = 0;
    request.memory_types = &memory_type;
    request.memory_type_count = 1;
    CHECK(tn_heap_pools_allocate(objects[KIND_tn_HeapPools][MINE], &request, &more.memory_range) == TN_OK);
    CHECK(tn_upload_ring_allocate(objects[KIND_tn_UploadRing][MINE], objects[KIND_tn_Recording][MINE], 1024, 256, &more.slice) ==
          TN_OK);
}

/* A manager with an object of each kind. */
static void begin(int owner) {
    tn_SimDesc sim = DESC(tn_SimDesc);
    /* With tables and sets. */
    sim.profile = TN_LIT("vulkan-nvidia");
    CHECK(tn_device_create_sim(&sim, &devices[owner]) == TN_OK && tn_gpu_create(devices[owner], NULL, &gpus[owner]) == TN_OK);
    void* sources[KINDS] = {NULL};
    /* Resources first, then views, because other objects are made of them. */
    for (int order = 0; order < 3; ++order) {
        for (int kind = 0; kind < KINDS; ++kind) {
            const int is_source = kind == KIND_tn_Buffer || kind == KIND_tn_Texture || kind == KIND_tn_SetLayout;
            if (order != (is_source ? 0 : kind == KIND_tn_View ? 1 : 2)) continue;
            sources[kind] = objects[kind][owner] = create(kind, devices[owner], gpus[owner], sources);
        }
    }
    if (owner == MINE) begin_more();
}

static void end_more(void) {
    more.has_query = 0;
    void* const all[] = {more.readable, more.writable, more.reserved, more.structure, more.dynamic, more.ring, more.gpu};
    for (size_t at = 0; at < sizeof all / sizeof *all; ++at) CHECK(tn_release(all[at]) == TN_OK);
    CHECK(tn_release(more.device) == TN_OK && tn_release(more.other_device) == TN_OK);
}

/* A query that has begun in the recording. */
static tn_OpenQuery open_query(void) {
    tn_Recording* const recording = objects[KIND_tn_Recording][MINE];
    if (!more.has_query) CHECK(tn_recording_begin_query(recording, TN_QUERY_OCCLUSION, (tn_Str){NULL, 0}, &more.query) == TN_OK);
    more.has_query = 1;
    return more.query;
}

static uint64_t open_recording(void) {
    uint64_t recording = 0;
    CHECK(tn_release_queue_open(objects[KIND_tn_ReleaseQueue][MINE], (tn_Str){NULL, 0}, &recording) == TN_OK);
    return recording;
}

/* The swap chain, with an image that nothing draws to, that a recording draws to, or that is ready for the screen. */
static tn_Swapchain* swapchain(int is_begun, int is_finished) {
    tn_Swapchain* const found = objects[KIND_tn_Swapchain][MINE];
    tn_SwapchainImage image;
    CHECK(tn_swapchain_acquire(found, &image) == TN_OK);
    tn_Recording* recording = objects[KIND_tn_Recording][MINE];
    if (is_finished) CHECK(tn_recording_begin(gpus[MINE], 0, (tn_Str){NULL, 0}, &recording) == TN_OK);
    if (is_begun && tn_swapchain_begin(found, recording) == TN_OK) {
        const tn_Use drawn = {image.texture, TN_STATE_RENDER_TARGET, TN_ALL};
        CHECK(tn_recording_use(recording, &drawn, 1) == TN_OK && tn_sim_access(recording, &drawn, 1) == TN_OK);
    }
    if (is_finished) {
        CHECK(tn_swapchain_finish(found, recording) == TN_OK && tn_recording_submit(recording, NULL) == TN_OK);
    }
    return found;
}

/* Releases them. Some calls end a handle. */
static void end(int owner) {
    if (owner == MINE) end_more();
    for (int kind = KINDS; kind-- > 0;) {
        if (kind == KIND_tn_Gpu || kind == KIND_tn_Device) continue;
        const tn_Status status = tn_release(objects[kind][owner]);
        CHECK(status == TN_OK || (status == TN_ERROR_HANDLE && owner == MINE));
    }
    CHECK(tn_release(gpus[owner]) == TN_OK);
    check_clean(devices[owner]);
    CHECK(tn_release(devices[owner]) == TN_OK);
}

static void first(void) {
    memory.formats[0] = TN_FORMAT_RGBA8_SRGB;
    begin(RELEASED);
    begin(OTHERS);
    end(RELEASED);
}

static int last(void) {
    end(OTHERS);
    if (failures != 0) fprintf(stderr, "%d results differ\n", failures);
    return failures != 0;
}
