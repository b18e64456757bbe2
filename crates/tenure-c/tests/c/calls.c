/* Every function, as programs call it, on the simulated device. */
#include "check.h"

enum { SIDE = 16, TEXELS = SIDE * SIDE * 4, BYTES = 4096 };

static int logged = 0;
static int destroyed = 0;

static void log_line(void* user, tn_LogLevel level, tn_Str text) {
    CHECK(level >= TN_LOG_ERROR && level <= TN_LOG_TRACE);
    CHECK(text.size > 0);
    *(int*)user += 1;
}

static void destroy(void* user, void* object) {
    CHECK(user == &destroyed);
    destroyed += *(int*)object;
}

static tn_Device* create_device(void) {
    tn_SimDesc desc = DESC(tn_SimDesc);
    desc.profile = TN_LIT("vulkan-nvidia");
    tn_Device* device = NULL;
    CHECK(tn_device_create_sim(&desc, &device) == TN_OK);
    tn_DeviceProperties properties = DESC(tn_DeviceProperties);
    CHECK(tn_device_properties(device, &properties) == TN_OK);
    CHECK(properties.backend == TN_BACKEND_SIM && properties.name.size > 0 && properties.queues > 0);
    CHECK(properties.memory_heaps > 0 && properties.memory_types > 0 && properties.constant_alignment > 0);
    return device;
}

static tn_Gpu* create_gpu(tn_Device* device) {
    static const tn_Setting settings[] = {{TN_LIT_INIT("frames.in_flight"), 2}, {TN_LIT_INIT("pools.shards"), 1}};
    tn_GpuDesc desc = DESC(tn_GpuDesc);
    desc.settings = settings;
    desc.setting_count = sizeof settings / sizeof settings[0];
    tn_Gpu* gpu = NULL;
    CHECK(tn_gpu_create(device, &desc, &gpu) == TN_OK);
    tn_Text* text = NULL;
    CHECK(tn_gpu_report(gpu, TN_REPORT_SETTINGS, &text) == TN_OK);
    CHECK(contains(tn_text(text), "\"frames.in_flight\":2"));
    CHECK(tn_release(text) == TN_OK);
    return gpu;
}

static void buffers(tn_Gpu* gpu) {
    unsigned char bytes[BYTES], read[BYTES];
    for (int at = 0; at < BYTES; ++at) bytes[at] = (unsigned char)(at * 7);

    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = BYTES;
    desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    char name[] = "rock";
    desc.name = (tn_Str){name, TN_TO_NUL};
    desc.tag = TN_LIT("terrain");
    desc.data = bytes;
    desc.data_size = sizeof bytes;
    tn_Buffer* rock = NULL;
    desc.data_size = 0;
    FAILS(tn_buffer_create(gpu, &desc, &rock), TN_ERROR_WRONG_LENGTH, "data_size = 0");
    desc.data_size = sizeof bytes;
    CHECK(tn_buffer_create(gpu, &desc, &rock) == TN_OK);
    /* It was copied. */
    memset(name, 'x', sizeof name - 1);
    CHECK(tn_name(rock).size == 4 && memcmp(tn_name(rock).data, "rock", 4) == 0);
    tn_Place place;
    CHECK(tn_place(rock, &place) == TN_OK);
    CHECK(place.object != 0 && place.size == BYTES && place.gpu_address != 0 && place.mapped == NULL);

    tn_Part part = {0};
    part.resource = rock;
    part.size = BYTES;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(gpu, &part, &readback) == TN_OK);
    CHECK(tn_readback_size(readback) == BYTES);
    CHECK(tn_readback_wait(readback, TN_FOREVER, read, BYTES) == TN_OK);
    CHECK(memcmp(bytes, read, BYTES) == 0);
    CHECK(tn_release(readback) == TN_OK);

    desc = (tn_BufferDesc)DESC(tn_BufferDesc);
    desc.size = BYTES;
    desc.usage = TN_USAGE_COPY_SRC;
    desc.memory = TN_MEMORY_UPLOAD;
    tn_Buffer* staging = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &staging) == TN_OK);
    CHECK(tn_buffer_write(staging, 16, "sixteen", 8) == TN_OK);
    CHECK(tn_place(staging, &place) == TN_OK);
    /* The simulated device hands out no address: it checks each access. */
    CHECK(place.mapped == NULL);
    desc.usage = TN_USAGE_COPY_DST;
    desc.memory = TN_MEMORY_READBACK;
    tn_Buffer* result = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &result) == TN_OK);

    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("copy"), &recording) == TN_OK);
    tn_Copy copies[2] = {{0}, {0}};
    copies[0].src = staging;
    copies[0].dst = rock;
    copies[0].src_offset = 16;
    copies[0].dst_offset = 8;
    copies[0].size = 8;
    copies[1].src = rock;
    copies[1].dst = result;
    copies[1].size = 64;
    CHECK(tn_recording_copy(recording, copies, 2) == TN_OK);
    const tn_Use use = {rock, TN_STATE_VERTEX_OR_CONSTANT, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
    tn_Native list = 0;
    CHECK(tn_recording_native(recording, &list) == TN_OK && list != 0);
    const float matrix[16] = {1};
    CHECK(tn_recording_constants(recording, matrix, sizeof matrix, &place) == TN_OK);
    CHECK(place.size == sizeof matrix && place.object != 0 && place.offset % 64 == 0);
    /* Released while a recording that uses them is open. */
    CHECK(tn_release(staging) == TN_OK);
    CHECK(tn_release(rock) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_recording_submit(recording, &done) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    CHECK(tn_buffer_read(result, 0, read, 16) == TN_OK);
    CHECK(memcmp(read, bytes, 8) == 0 && memcmp(read + 8, "sixteen", 7) == 0);
    CHECK(tn_release(result) == TN_OK);
}

static void textures(tn_Gpu* gpu) {
    unsigned char texels[TEXELS], read[TEXELS];
    for (int at = 0; at < TEXELS; ++at) texels[at] = (unsigned char)at;
    CHECK(tn_gpu_supports_format(gpu, TN_FORMAT_RGBA8_UNORM, TN_USAGE_SHADER_READ) == 1);
    CHECK(tn_gpu_supports_format(gpu, 5000, TN_USAGE_SHADER_READ) == 0);
    CHECK(tn_format_to_vk(TN_FORMAT_RGBA8_UNORM) == 37 && tn_format_from_vk(126) == TN_FORMAT_D32_FLOAT);
    for (tn_Format format = TN_FORMAT_UNKNOWN; format <= TN_FORMAT_ASTC_12X12_SRGB; ++format) {
        CHECK(tn_format_from_vk(tn_format_to_vk(format)) == format);
    }
    CHECK(tn_format_to_vk(5000) == 0 && tn_format_to_vk(UINT32_MAX) == 0 && tn_format_from_vk(5000) == TN_FORMAT_UNKNOWN);

    const tn_Texels data = {texels, TEXELS, 0, 0, 0};
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = SIDE;
    desc.height = SIDE;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("board");
    desc.data = &data;
    desc.data_count = 1;
    tn_Texture* board = NULL;
    CHECK(tn_texture_create(gpu, &desc, &board) == TN_OK);
    desc.data_count = 0;
    tn_Texture* copy = NULL;
    FAILS(tn_texture_create(gpu, &desc, &copy), TN_ERROR_WRONG_LENGTH, "data_count = 0");
    desc.data = NULL;
    CHECK(tn_texture_create(gpu, &desc, &copy) == TN_OK);

    tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    view_desc.access = TN_TEXTURE_SAMPLED;
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(gpu, board, &view_desc, &view) == TN_OK);
    tn_Place place;
    CHECK(tn_place(view, &place) == TN_OK);
    CHECK(tn_place(board, &place) == TN_OK && place.object != 0 && place.size >= TEXELS);

    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("textures"), &recording) == TN_OK);
    tn_Copy between = {0};
    between.src = board;
    between.dst = copy;
    between.subresource = TN_ALL;
    CHECK(tn_recording_copy(recording, &between, 1) == TN_OK);
    tn_Part part = {0};
    part.resource = copy;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    CHECK(tn_readback_wait(readback, 0, read, TEXELS) == TN_NOT_READY);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_readback_wait(readback, TN_FOREVER, read, TEXELS) == TN_OK);
    CHECK(memcmp(texels, read, TEXELS) == 0);
    CHECK(tn_release(readback) == TN_OK);

    /* A quarter of the texels again, through a buffer, with other bytes. */
    memset(texels, 9, TEXELS);
    tn_BufferDesc buffer_desc = DESC(tn_BufferDesc);
    buffer_desc.size = 256 * 8;
    buffer_desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    buffer_desc.data = texels;
    buffer_desc.data_size = 32;
    tn_Buffer* rows = NULL;
    CHECK(tn_buffer_create(gpu, &buffer_desc, &rows) == TN_OK);
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("rows"), &recording) == TN_OK);
    tn_Copy copies[2] = {{0}, {0}};
    copies[0].src = rows;
    copies[0].dst = copy;
    copies[0].row_pitch = 256;
    copies[0].region.extent[0] = 8;
    copies[0].region.extent[1] = 1;
    copies[0].region.extent[2] = 1;
    copies[1].src = copy;
    copies[1].dst = rows;
    copies[1].row_pitch = 256;
    copies[1].dst_offset = 512;
    copies[1].region = copies[0].region;
    CHECK(tn_recording_copy(recording, copies, 2) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    part.resource = rows;
    part.offset = 512;
    part.size = 32;
    CHECK(tn_read_back(gpu, &part, &readback) == TN_OK);
    CHECK(tn_readback_wait(readback, TN_FOREVER, read, 32) == TN_OK);
    CHECK(memcmp(texels, read, 32) == 0);
    CHECK(tn_release(readback) == TN_OK);

    tn_BufferViewDesc bytes_desc = DESC(tn_BufferViewDesc);
    bytes_desc.access = TN_BUFFER_CONSTANTS;
    bytes_desc.size = 256;
    tn_View* refused = (tn_View*)&bytes_desc;
    FAILS(tn_buffer_view_create(gpu, rows, &bytes_desc, &refused), TN_ERROR_DEVICE, "the access of the view is TN_BUFFER_CONSTANTS");
    CHECK(refused == NULL);
    desc.usage = TN_USAGE_RENDER_TARGET;
    tn_Texture* target = NULL;
    CHECK(tn_texture_create(gpu, &desc, &target) == TN_OK);
    FAILS(tn_texture_view_create(gpu, target, &view_desc, &refused), TN_ERROR_DEVICE, "the access of the view is TN_TEXTURE_SAMPLED");
    CHECK(tn_release(target) == TN_OK);

    tn_Upload* upload = NULL;
    part = (tn_Part){0};
    part.resource = copy;
    const tn_Texels whole = {texels, TEXELS, 0, 0, 0};
    CHECK(tn_upload(gpu, &part, &whole, &upload) == TN_OK);
    CHECK(tn_upload_wait(gpu, upload, TN_FOREVER) == TN_OK);
    CHECK(tn_release(upload) == TN_OK);
    part.resource = rows;
    const tn_Texels bytes = {"upload", 6, 0, 0, 0};
    CHECK(tn_upload(gpu, &part, &bytes, NULL) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_gpu_flush_uploads(gpu, &done) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);

    CHECK(tn_release(rows) == TN_OK);
    CHECK(tn_release(view) == TN_OK);
    CHECK(tn_release(board) == TN_OK);
    CHECK(tn_release(copy) == TN_OK);
}

static void frames(tn_Gpu* gpu) {
    static int one = 1, ten = 10;
    tn_Deferred* pipeline = NULL;
    CHECK(tn_gpu_defer(gpu, TN_LIT("pipeline"), destroy, &destroyed, &one, &pipeline) == TN_OK);
    tn_SyncPoint last = {{0}, 0, 0};
    for (uint64_t number = 1; number <= 8; ++number) {
        tn_Frame* frame = NULL;
        CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
        CHECK(tn_frame_number(frame) == number);
        tn_Recording *draw = NULL, *after = NULL;
        CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("draw"), &draw) == TN_OK);
        if (number == 4) {
            CHECK(tn_release(pipeline) == TN_OK);
            CHECK(destroyed == 0);
        }
        CHECK(tn_recording_submit(draw, &last) == TN_OK);
        CHECK(tn_recording_begin(gpu, TN_QUEUE_COMPUTE, TN_LIT("after"), &after) == TN_OK);
        CHECK(tn_recording_wait_for(after, &last) == TN_OK);
        CHECK(tn_recording_submit(after, &last) == TN_OK);
        CHECK(tn_frame_end(frame) == TN_OK);
    }
    CHECK(destroyed == 1);
    tn_SyncPoint submitted, completed;
    CHECK(tn_gpu_submitted(gpu, &submitted) == TN_OK);
    CHECK(tn_gpu_release_after(gpu, NULL, destroy, &destroyed, &ten) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &submitted, TN_FOREVER) == TN_OK);
    CHECK(tn_gpu_completed(gpu, &completed) == TN_OK);
    CHECK(memcmp(submitted.serials, completed.serials, sizeof submitted.serials) == 0);
    CHECK(tn_gpu_reclaim(gpu) == TN_OK);
    CHECK(destroyed == 11);
    CHECK(tn_gpu_trim(gpu) == TN_OK);
}

static void ignore_pressure(void* user, tn_PressureChange change) {
    (void)user;
    (void)change;
}

static tn_Buffer* released_under_pressure = NULL;

static void note_pressure(void* user, tn_PressureChange change) {
    CHECK(change.heap == 0 && change.now > change.before && change.usage > 0);
    CHECK(tn_gpu_trim(*(tn_Gpu**)user) == TN_ERROR_CALLBACK);
    CHECK(tn_release(released_under_pressure) == TN_OK);
    released_under_pressure = NULL;
}

static void pressure(tn_Gpu* gpu) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 8 << 20;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("level");
    CHECK(tn_buffer_create(gpu, &desc, &released_under_pressure) == TN_OK);
    CHECK(tn_gpu_on_pressure(gpu, note_pressure, &gpu) == TN_OK);
    CHECK(tn_gpu_set_memory_cap(gpu, 0, 8 << 20) == TN_OK);
    tn_Frame* frame = NULL;
    for (int count = 0; count < 64 && released_under_pressure != NULL; ++count) {
        CHECK(tn_frame_begin(gpu, &frame) == TN_OK && tn_frame_end(frame) == TN_OK);
    }
    CHECK(released_under_pressure == NULL);
    CHECK(tn_gpu_on_pressure(gpu, ignore_pressure, NULL) == TN_OK);
    CHECK(tn_gpu_set_memory_cap(gpu, 0, UINT64_MAX) == TN_OK);
}

static tn_Status submit(void* user, tn_Native queue) {
    CHECK(queue == 0);
    CHECK(tn_release(*(tn_Buffer**)user) == TN_OK);
    return TN_OK;
}

static tn_Status refuse(void* user, tn_Native queue) {
    (void)user;
    (void)queue;
    return -1000;
}

static void external(tn_Gpu* gpu) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 64;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.flags = TN_RESOURCE_OWN;
    desc.name = TN_LIT("external");
    tn_Buffer *buffer = NULL, *released = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &buffer) == TN_OK);
    CHECK(tn_buffer_create(gpu, &desc, &released) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_gpu_submit_external(gpu, TN_QUEUE_GRAPHICS, NULL, submit, &released, &done) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    const tn_Use state = {buffer, TN_STATE_COPY_DST, TN_ALL};
    CHECK(tn_gpu_declare_state(gpu, &state, 1, &done) == TN_OK);
    FAILS(tn_gpu_submit_external(gpu, TN_QUEUE_GRAPHICS, &done, refuse, NULL, NULL), -1000, "-1000");
    CHECK(tn_release(buffer) == TN_OK);
}

static void reports(tn_Gpu* gpu) {
    for (tn_Report report = TN_REPORT_STATS; report <= TN_REPORT_SETTINGS; ++report) {
        tn_Text* text = NULL;
        CHECK(tn_gpu_report(gpu, report, &text) == TN_OK);
        CHECK(tn_text(text).size > 2 && tn_text(text).data[0] == '{');
        CHECK(tn_release(text) == TN_OK);
    }
    CHECK(tn_gpu_set_memory_cap(gpu, 0, 1 << 20) == TN_OK);
    tn_HeapMemory memory = DESC(tn_HeapMemory);
    CHECK(tn_gpu_heap_memory(gpu, 0, &memory) == TN_OK);
    CHECK(memory.cap == 1 << 20 && memory.size > 0 && memory.budget > 0 && memory.used <= memory.allocated);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 1 << 30;
    desc.usage = TN_USAGE_VERTEX;
    desc.allocation = TN_ALLOCATION_DEVICE_LOCAL_ONLY;
    desc.name = TN_LIT("mountain");
    tn_Buffer* mountain = NULL;
    FAILS(tn_buffer_create(gpu, &desc, &mountain), TN_ERROR_OUT_OF_MEMORY, "mountain");
    CHECK(tn_gpu_set_memory_cap(gpu, 0, UINT64_MAX) == TN_OK);
}

static int text_contains(tn_Text* text, const char* wanted) {
    const int found = contains(tn_text(text), wanted);
    CHECK(tn_release(text) == TN_OK);
    return found;
}

/* The objects at an address, and the loss of a device. */
static void losses(void) {
    tn_SimDesc sim = DESC(tn_SimDesc);
    sim.profile = TN_LIT("vulkan-nvidia");
    sim.lag = TN_ALL;
    sim.flags = TN_SIM_PAGE_FAULTS | TN_SIM_MARKERS;
    tn_Device* device = NULL;
    CHECK(tn_device_create_sim(&sim, &device) == TN_OK);
    tn_Gpu* gpu = NULL;
    CHECK(tn_gpu_create(device, NULL, &gpu) == TN_OK);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 256;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    tn_Buffer* rock = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &rock) == TN_OK);
    tn_Place place;
    CHECK(tn_place(rock, &place) == TN_OK && place.gpu_address != 0);
    tn_Text* text = NULL;
    CHECK(tn_gpu_whose(gpu, place.gpu_address + 4, 1, &text) == TN_OK);
    CHECK(text_contains(text, ": byte 4 of buffer 'rock' (256 B at "));
    CHECK(tn_release(rock) == TN_OK);
    CHECK(tn_gpu_trim(gpu) == TN_OK);
    CHECK(tn_gpu_whose(gpu, place.gpu_address, UINT64_MAX, &text) == TN_OK);
    CHECK(text_contains(text, "released in frame 0"));
    CHECK(tn_gpu_report(gpu, TN_REPORT_LOSS, &text) == TN_OK);
    CHECK(tn_text(text).size == 4 && text_contains(text, "null"));
    tn_TextureDesc cliff = DESC(tn_TextureDesc);
    cliff.format = TN_FORMAT_RGBA8_UNORM;
    cliff.width = cliff.height = 64;
    cliff.usage = TN_USAGE_SHADER_READ;
    cliff.name = TN_LIT("cliff");
    tn_Texture* texture = NULL;
    CHECK(tn_texture_create(gpu, &cliff, &texture) == TN_OK);
    CHECK(tn_gpu_whose(gpu, 0, UINT64_MAX, &text) == TN_OK);
    CHECK(text_contains(text, "texture 'cliff'"));
    CHECK(tn_release(texture) == TN_OK);

    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("opaque"), &recording) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    FAILS(tn_sim_lose(NULL, TN_LIT("hung")), TN_ERROR_HANDLE, "null");
    CHECK(tn_sim_lose(device, TN_LIT("the cable was pulled")) == TN_OK);
    FAILS(tn_frame_end(frame), TN_ERROR_DEVICE_LOST, "the cable was pulled");
    FAILS(tn_frame_begin(gpu, &frame), TN_ERROR_DEVICE_LOST, "the cable was pulled");
    CHECK(tn_gpu_report(gpu, TN_REPORT_LOSS, &text) == TN_OK);
    CHECK(contains(tn_text(text), "\"name\":\"opaque\""));
    CHECK(text_contains(text, "\"progress\":\"not_begun\""));
    tn_ShutdownReport report = DESC(tn_ShutdownReport);
    CHECK(tn_gpu_shutdown(gpu, &report, NULL) == TN_NOT_READY && report.is_lost);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_release(device) == TN_OK);
}

/* The simulated device names the resource that a draw accesses and no recording has declared. */
static void missing_barriers(void) {
    tn_Device* device = create_device();
    tn_Gpu* gpu = create_gpu(device);
    tn_TextureDesc texture_desc = DESC(tn_TextureDesc);
    texture_desc.format = TN_FORMAT_RGBA8_UNORM;
    texture_desc.width = texture_desc.height = SIDE;
    texture_desc.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_SHADER_READ;
    texture_desc.name = TN_LIT("bloom");
    tn_Texture* bloom = NULL;
    CHECK(tn_texture_create(gpu, &texture_desc, &bloom) == TN_OK);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = BYTES;
    desc.usage = TN_USAGE_UNORDERED_ACCESS | TN_USAGE_VERTEX;
    desc.name = TN_LIT("particles");
    tn_Buffer* particles = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &particles) == TN_OK);
    const tn_Use written[] = {{bloom, TN_STATE_RENDER_TARGET, TN_ALL}, {particles, TN_STATE_UNORDERED_ACCESS, TN_ALL}};
    const tn_Use read[] = {{bloom, TN_STATE_PIXEL_SHADER, 0}, {particles, TN_STATE_VERTEX_OR_CONSTANT, TN_ALL}};
    for (size_t forgotten = 0; forgotten < 3; ++forgotten) {
        tn_Recording* list = NULL;
        CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("list"), &list) == TN_OK);
        CHECK(tn_recording_use(list, written, 2) == TN_OK && tn_sim_access(list, written, 2) == TN_OK);
        for (size_t at = 0; at < 2; ++at) CHECK(at == forgotten || tn_recording_use(list, &read[at], 1) == TN_OK);
        CHECK(tn_sim_access(list, read, 2) == TN_OK);
        CHECK(tn_recording_submit(list, NULL) == TN_OK);
        tn_Text* text = NULL;
        if (forgotten == 2) {
            /* The hazards are those of the recordings before. */
            CHECK(tn_sim_findings(device, &text) == TN_NOT_READY);
            const tn_Str found = tn_text(text);
            CHECK(contains(found, "texture 'bloom'") && contains(found, "as PIXEL_SHADER while in state RENDER_TARGET"));
            CHECK(contains(found, "'particles'"));
            CHECK(contains(found, "submission 1") && contains(found, "submission 2") && !contains(found, "submission 3"));
            CHECK(tn_release(text) == TN_OK);
        }
    }
    tn_Recording* list = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("list"), &list) == TN_OK);
    const tn_Use missing_mip = {bloom, TN_STATE_PIXEL_SHADER, 7};
    CHECK(tn_sim_access(list, &missing_mip, 1) == TN_OK);
    FAILS(tn_recording_submit(list, NULL), TN_ERROR_DEVICE, "");
    CHECK(tn_release(bloom) == TN_OK && tn_release(particles) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK && tn_release(device) == TN_OK);
}

static void release_buffer(void* user, void* object) {
    (void)user;
    CHECK(tn_release(object) == TN_OK);
}

int main(void) {
    CHECK(tn_abi_version() == TN_ABI_VERSION);
    CHECK(tn_has_backend(TN_BACKEND_SIM) && tn_has_backend(TN_BACKEND_VULKAN) && !tn_has_backend(7));
    CHECK(tn_last_error().size == 0 && tn_last_error().data != NULL);
    CHECK(strcmp(tn_status_name(TN_NOT_READY).data, "TN_NOT_READY") == 0);
    CHECK(tn_set_log(TN_LOG_WARN, log_line, &logged) == TN_OK);
    FAILS(tn_set_log(TN_LOG_WARN, log_line, &logged), TN_ERROR_BUSY, "already");

    losses();
    missing_barriers();
    logged = 0;
    tn_Device* device = create_device();
    tn_Gpu* gpu = create_gpu(device);
    buffers(gpu);
    textures(gpu);
    frames(gpu);
    pressure(gpu);
    external(gpu);
    reports(gpu);

    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 64;
    desc.usage = TN_USAGE_INDEX;
    desc.name = TN_LIT("forgotten");
    tn_Buffer* forgotten = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &forgotten) == TN_OK);
    /* Released by a destroy function in the shutdown: not reported. */
    tn_Buffer* held = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &held) == TN_OK);
    CHECK(tn_gpu_release_after(gpu, NULL, release_buffer, NULL, held) == TN_OK);
    tn_ShutdownReport report = DESC(tn_ShutdownReport);
    tn_Text* text = NULL;
    CHECK(tn_gpu_shutdown(gpu, &report, &text) == TN_NOT_READY);
    CHECK(report.leaks == 1 && report.open_recordings == 0 && !report.timed_out && !report.is_lost);
    CHECK(contains(tn_text(text), "forgotten"));
    CHECK(logged == 1);
    CHECK(tn_release(text) == TN_OK);
    FAILS(tn_buffer_create(gpu, &desc, &(tn_Buffer*){NULL}), TN_ERROR_SHUT_DOWN, "shut down");
    CHECK(tn_release(forgotten) == TN_OK);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_sim_run(device) == TN_OK);
    check_clean(device);
    CHECK(tn_release(device) == TN_OK);
    tn_VkDeviceDesc vulkan = DESC(tn_VkDeviceDesc);
    FAILS(tn_device_from_vk(&vulkan, &device), TN_ERROR_POINTER, "get_instance_proc_addr");
    CHECK(device == NULL);
    return 0;
}
