/* Barriers of threads. */
#define _POSIX_C_SOURCE 200809L
/* Misuse is an error with a text, and changes nothing. */
#include "check.h"

#include <pthread.h>

static tn_Gpu* gpu = NULL;
static tn_Gpu* other_gpu = NULL;
static tn_Device* devices[2];

static tn_BufferDesc buffer_desc(void) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 256;
    desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_DST | TN_USAGE_COPY_SRC;
    desc.name = TN_LIT("rock");
    return desc;
}

static tn_Buffer* create_buffer(tn_Gpu* on) {
    const tn_BufferDesc desc = buffer_desc();
    tn_Buffer* buffer = NULL;
    CHECK(tn_buffer_create(on, &desc, &buffer) == TN_OK);
    return buffer;
}

static tn_Recording* begin(void) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("recording"), &recording) == TN_OK);
    return recording;
}

static void pointers(void) {
    tn_BufferDesc desc = buffer_desc();
    tn_Buffer* buffer = NULL;
    FAILS(tn_buffer_create(NULL, &desc, &buffer), TN_ERROR_HANDLE, "null, where a tn_Gpu");
    FAILS(tn_buffer_create(gpu, NULL, &buffer), TN_ERROR_POINTER, "tn_BufferDesc");
    FAILS(tn_buffer_create(gpu, &desc, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_device_create_sim(NULL, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_gpu_create(devices[0], NULL, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_gpu_wait(gpu, NULL, 0), TN_ERROR_POINTER, "tn_SyncPoint");
    FAILS(tn_gpu_submitted(gpu, NULL), TN_ERROR_POINTER, "tn_SyncPoint");
    FAILS(tn_upload(gpu, NULL, NULL, NULL), TN_ERROR_POINTER, "tn_Part");
    FAILS(tn_set_log(TN_LOG_WARN, NULL, NULL), TN_ERROR_POINTER, "tn_LogFn");
    FAILS(tn_gpu_defer(gpu, TN_LIT("x"), NULL, NULL, NULL, &(tn_Deferred*){NULL}), TN_ERROR_POINTER, "tn_DestroyFn");
    buffer = create_buffer(gpu);
    FAILS(tn_place(buffer, NULL), TN_ERROR_POINTER, "tn_Place");
    FAILS(tn_place(buffer, (tn_Place*)((uintptr_t)&desc + 1)), TN_ERROR_POINTER, "aligned");
    CHECK(tn_release(buffer) == TN_OK);
    CHECK(tn_release(NULL) == TN_OK);
    tn_Recording* recording = begin();
    FAILS(tn_recording_use(recording, NULL, 1), TN_ERROR_POINTER, "uses");
    FAILS(tn_recording_copy(recording, NULL, SIZE_MAX), TN_ERROR_POINTER, "copies");
    FAILS(tn_recording_constants(recording, NULL, 16, &(tn_Place){0}), TN_ERROR_POINTER, "data");
    CHECK(tn_recording_use(recording, NULL, 0) == TN_OK);
    FAILS(tn_recording_submit(recording, (tn_SyncPoint*)((uintptr_t)&desc + 1)), TN_ERROR_POINTER, "aligned");
    CHECK(tn_release(recording) == TN_OK);
}

static void handles(void) {
    tn_Buffer* buffer = create_buffer(gpu);
    tn_Place place;
    FAILS(tn_buffer_write((tn_Buffer*)(void*)gpu, 0, "x", 1), TN_ERROR_HANDLE, "is not a tn_Buffer: it has the type tn_Gpu");
    FAILS(tn_place(gpu, &place), TN_ERROR_HANDLE, "an object with a place");
    FAILS(tn_place(NULL, &place), TN_ERROR_HANDLE, "null, where a handle of an object");
    CHECK(tn_release(buffer) == TN_OK);
    FAILS(tn_release(buffer), TN_ERROR_HANDLE, "was released");
    FAILS(tn_place(buffer, &place), TN_ERROR_HANDLE, "was released");
    /* Also when its slot has another object. */
    tn_Buffer* next = create_buffer(gpu);
    FAILS(tn_place(buffer, &place), TN_ERROR_HANDLE, "was released");
    CHECK(tn_release(next) == TN_OK);
    /* Never a handle. */
    int number = 0;
    FAILS(tn_release(&number), TN_ERROR_HANDLE, "");
    FAILS(tn_release((void*)(uintptr_t)3), TN_ERROR_HANDLE, "");
    FAILS(tn_release((void*)UINTPTR_MAX), TN_ERROR_HANDLE, "");
    for (uintptr_t bits = 1; bits < 4096; ++bits) CHECK(tn_release((void*)bits) == TN_ERROR_HANDLE);
    CHECK(tn_name((void*)(uintptr_t)99).size == 0);
    CHECK(tn_readback_size((tn_Readback*)(void*)gpu) == 0 && tn_frame_number(NULL) == 0);
    CHECK(tn_text((tn_Text*)(void*)gpu).size == 0);

    tn_Recording* recording = begin();
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    FAILS(tn_recording_submit(recording, NULL), TN_ERROR_HANDLE, "was released");
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    CHECK(tn_release(frame) == TN_OK);
    FAILS(tn_frame_end(frame), TN_ERROR_HANDLE, "tn_Frame was released");
    tn_Frame* frames[17];
    int count = 0;
    while (count < 16 && tn_frame_begin(gpu, &frames[count]) == TN_OK) ++count;
    FAILS(tn_frame_begin(gpu, &frames[count]), TN_ERROR_TOO_MANY_FRAMES, "raise the setting frames.in_flight");
    while (count > 0) CHECK(tn_release(frames[--count]) == TN_OK);
}

static void other_manager(void) {
    tn_Buffer* foreign = create_buffer(other_gpu);
    tn_Recording* recording = begin();
    const tn_Use use = {foreign, TN_STATE_COPY_SRC, TN_ALL};
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_FOREIGN, "rock");
    const tn_Use gpu_use = {gpu, TN_STATE_COPY_SRC, TN_ALL};
    FAILS(tn_recording_use(recording, &gpu_use, 1), TN_ERROR_HANDLE, "buffer, texture, view, table or set");
    tn_Part part = {0};
    part.resource = foreign;
    part.size = 4;
    FAILS(tn_read_back(gpu, &part, &(tn_Readback*){NULL}), TN_ERROR_FOREIGN, "rock");
    FAILS(tn_read_back(foreign, &part, &(tn_Readback*){NULL}), TN_ERROR_HANDLE, "tn_Gpu or a tn_Recording");
    CHECK(tn_release(recording) == TN_OK);
    CHECK(tn_release(foreign) == TN_OK);
    tn_SyncPoint point = {{0}, 0, 0};
    point.serials[0] = 1000;
    FAILS(tn_gpu_wait(gpu, &point, TN_FOREVER), TN_ERROR_NEVER_SUBMITTED, "1000");
    FAILS(tn_gpu_create(devices[0], NULL, &(tn_Gpu*){NULL}), TN_ERROR_DEVICE_IN_USE, "already has");
}

/* A call that fails leaves the memory of the program as it was. */
static void kept(void) {
    unsigned char bytes[8] = "abcdefg";
    tn_BufferDesc desc = buffer_desc();
    desc.usage = TN_USAGE_COPY_DST;
    desc.memory = TN_MEMORY_READBACK;
    tn_Buffer* buffer = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &buffer) == TN_OK);
    FAILS(tn_buffer_read(buffer, 250, bytes, 8), TN_ERROR_OUT_OF_RANGE, "256");
    FAILS(tn_buffer_read(buffer, UINT64_MAX, bytes, 8), TN_ERROR_OUT_OF_RANGE, "");
    CHECK(tn_release(buffer) == TN_OK);
    buffer = create_buffer(gpu);
    FAILS(tn_buffer_read(buffer, 0, bytes, 8), TN_ERROR_NOT_MAPPED, "rock");
    tn_Recording* recording = begin();
    tn_Part part = {0};
    part.resource = buffer;
    part.size = 8;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    CHECK(tn_readback_wait(readback, 0, bytes, 8) == TN_NOT_READY);
    FAILS(tn_readback_wait(readback, 0, bytes, 4), TN_ERROR_WRONG_LENGTH, "8 B are needed");
    CHECK(memcmp(bytes, "abcdefg", 8) == 0);
    CHECK(tn_release(recording) == TN_OK && tn_release(readback) == TN_OK && tn_release(buffer) == TN_OK);
    /* Also without an error. */
    CHECK(tn_name(gpu).data[0] == '\0');
}

static void structures(void) {
    tn_BufferDesc desc = buffer_desc();
    tn_Buffer* buffer = NULL;
    const uint32_t sizes[] = {0, sizeof desc - 8, UINT32_MAX};
    for (size_t at = 0; at < 3; ++at) {
        desc.struct_size = sizes[at];
        FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_STRUCT_SIZE, "struct_size");
    }
    /* A later version: its new fields are zero, or refused. */
    struct {
        tn_BufferDesc desc;
        uint64_t added;
    } later = {buffer_desc(), 0};
    later.desc.struct_size = sizeof later;
    CHECK(tn_buffer_create(gpu, &later.desc, &buffer) == TN_OK);
    CHECK(tn_release(buffer) == TN_OK);
    later.added = 1;
    FAILS(tn_buffer_create(gpu, &later.desc, &buffer), TN_ERROR_STRUCT_SIZE, "struct_size");

    const tn_Chain chain = {77, sizeof chain, NULL};
    desc = buffer_desc();
    desc.next = &chain;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_CHAIN, "next");
    desc = buffer_desc();
    desc.flags = 1u << 31;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_ENUM, "0x80000000");
    desc = buffer_desc();
    desc.usage |= 1u << 31;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_ENUM, "usage");
    desc = buffer_desc();
    desc.memory = TN_MEMORY_GPU_UPLOAD + 1;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_ENUM, "memory = 4");
    desc = buffer_desc();
    desc.priority = TN_PRIORITY_HIGH + 1;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_ENUM, "priority = 4");
    desc = buffer_desc();
    desc.allocation = 1u << 4;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_ENUM, "allocation");
    desc = buffer_desc();
    desc.size = 0;
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_DEVICE, "size");
    FAILS(tn_recording_begin(gpu, 3, TN_LIT("x"), &(tn_Recording*){NULL}), TN_ERROR_ENUM, "queue = 3");
    tn_HeapMemory memory = DESC(tn_HeapMemory);
    FAILS(tn_gpu_heap_memory(gpu, 99, &memory), TN_ERROR_OUT_OF_RANGE, "memory heap 99");
    FAILS(tn_gpu_on_pressure(gpu, NULL, NULL), TN_ERROR_POINTER, "tn_PressureFn");
    FAILS(tn_gpu_submit_external(gpu, 0, NULL, NULL, NULL, NULL), TN_ERROR_POINTER, "tn_SubmitFn");
    const tn_Use no_resource = {gpu, TN_STATE_COPY_SRC, TN_ALL};
    FAILS(tn_gpu_declare_state(gpu, &no_resource, 1, NULL), TN_ERROR_HANDLE, "buffer or texture");
    FAILS(tn_gpu_report(gpu, 99, &(tn_Text*){NULL}), TN_ERROR_ENUM, "report = 99");
    FAILS(tn_set_log(6, NULL, NULL), TN_ERROR_ENUM, "most = 6");

    tn_TextureDesc texture = DESC(tn_TextureDesc);
    texture.width = texture.height = 4;
    texture.usage = TN_USAGE_SHADER_READ;
    FAILS(tn_texture_create(gpu, &texture, &(tn_Texture*){NULL}), TN_ERROR_ENUM, "format = 0, TN_FORMAT_UNKNOWN: must be");
    texture.format = TN_FORMAT_RGBA8_UNORM;
    texture.dimension = 2;
    FAILS(tn_texture_create(gpu, &texture, &(tn_Texture*){NULL}), TN_ERROR_ENUM, "dimension = 2");
    texture.dimension = TN_DIMENSION_2D;
    texture.clear.kind = 3;
    FAILS(tn_texture_create(gpu, &texture, &(tn_Texture*){NULL}), TN_ERROR_ENUM, "clear.kind = 3");

    tn_Device* device = NULL;
    tn_SimDesc sim = DESC(tn_SimDesc);
    sim.profile = TN_LIT("voodoo");
    FAILS(tn_device_create_sim(&sim, &device), TN_ERROR_CREATE_DEVICE, "vulkan-nvidia");
    tn_DeviceProperties properties;
    memset(&properties, 0, sizeof properties);
    FAILS(tn_device_properties(devices[0], &properties), TN_ERROR_STRUCT_SIZE, "tn_DeviceProperties");
    CHECK(tn_device_create_sim(NULL, &device) == TN_OK);
    tn_Setting setting = {TN_LIT("frames.in_fligth"), 2};
    tn_GpuDesc gpu_desc = DESC(tn_GpuDesc);
    gpu_desc.settings = &setting;
    gpu_desc.setting_count = 1;
    FAILS(tn_gpu_create(device, &gpu_desc, &(tn_Gpu*){NULL}), TN_ERROR_CONFIG, "frames.in_fligth");
    setting = (tn_Setting){TN_LIT("frames.in_flight"), 0};
    FAILS(tn_gpu_create(device, &gpu_desc, &(tn_Gpu*){NULL}), TN_ERROR_CONFIG, "must be 1 to 16");
    setting = (tn_Setting){TN_LIT("descriptors.poison"), 2};
    FAILS(tn_gpu_create(device, &gpu_desc, &(tn_Gpu*){NULL}), TN_ERROR_CONFIG, "descriptors.poison = 2");
    CHECK(tn_release(device) == TN_OK);
}

static void texts(void) {
    tn_BufferDesc desc = buffer_desc();
    tn_Buffer* buffer = NULL;
    desc.name = (tn_Str){"ro\xffk", 4};
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_TEXT, "from byte 2");
    desc.name = (tn_Str){NULL, 4};
    FAILS(tn_buffer_create(gpu, &desc, &buffer), TN_ERROR_POINTER, "text");
    desc.name = (tn_Str){NULL, 0};
    CHECK(tn_buffer_create(gpu, &desc, &buffer) == TN_OK && tn_name(buffer).size == 0);
    CHECK(tn_release(buffer) == TN_OK);
}

static void ranges(void) {
    tn_Buffer* buffer = create_buffer(gpu);
    char bytes[8];
    FAILS(tn_buffer_write(buffer, 0, "x", 1), TN_ERROR_NOT_MAPPED, "rock");
    FAILS(tn_buffer_read(buffer, 0, bytes, 8), TN_ERROR_NOT_MAPPED, "rock");
    tn_Part part = {0};
    part.resource = buffer;
    part.offset = 250;
    const tn_Texels data = {bytes, 8, 0, 0, 0};
    memset(bytes, 1, sizeof bytes);
    FAILS(tn_upload(gpu, &part, &data, NULL), TN_ERROR_OUT_OF_RANGE, "250");
    part.offset = 0;
    part.size = 8;
    tn_Readback* readback = NULL;
    tn_Recording* recording = begin();
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    FAILS(tn_readback_wait(readback, 0, bytes, 7), TN_ERROR_WRONG_LENGTH, "7 B");
    CHECK(tn_release(recording) == TN_OK);
    FAILS(tn_readback_wait(readback, TN_FOREVER, bytes, 8), TN_ERROR_DISCARDED, "recording");
    CHECK(tn_release(readback) == TN_OK);
    CHECK(tn_release(buffer) == TN_OK);
}

/* Threads: a recording is for one at a time, a release happens once, errors have their own text. */

enum { ROUNDS = 2000 };
static tn_Recording* shared = NULL;
static tn_Buffer* victim = NULL;
static pthread_barrier_t barrier;

static void* record_much(void* user) {
    int* busy = user;
    for (int round = 0; round < ROUNDS; ++round) {
        tn_Place place;
        const tn_Status status = tn_recording_constants(shared, "sixteen bytes ...", 16, &place);
        CHECK(status == TN_OK || status == TN_ERROR_BUSY);
        *busy += status == TN_ERROR_BUSY;
    }
    return NULL;
}

static void* release_once(void* user) {
    pthread_barrier_wait(&barrier);
    *(tn_Status*)user = tn_release(victim);
    return NULL;
}

static void threads(void) {
    shared = begin();
    pthread_t thread;
    int busy[2] = {0, 0};
    CHECK(pthread_create(&thread, NULL, record_much, &busy[0]) == 0);
    record_much(&busy[1]);
    pthread_join(thread, NULL);
    CHECK(tn_recording_submit(shared, NULL) == TN_OK);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int round = 0; round < 200; ++round) {
        victim = create_buffer(gpu);
        tn_Status statuses[2];
        CHECK(pthread_create(&thread, NULL, release_once, &statuses[0]) == 0);
        release_once(&statuses[1]);
        pthread_join(thread, NULL);
        CHECK((statuses[0] == TN_OK) != (statuses[1] == TN_OK));
    }
    pthread_barrier_destroy(&barrier);
}

/* Callbacks. */

static tn_Buffer* released_inside = NULL;
static int calls_inside = 0;

static void destroy(void* user, void* object) {
    (void)user;
    (void)object;
    ++calls_inside;
    tn_Buffer* made = (tn_Buffer*)(void*)&calls_inside;
    FAILS(tn_buffer_create(gpu, NULL, &made), TN_ERROR_CALLBACK, "tn_DestroyFn");
    CHECK(made == NULL);
    FAILS(tn_gpu_reclaim(gpu), TN_ERROR_CALLBACK, "tn_DestroyFn");
    FAILS(tn_gpu_wait(gpu, NULL, 0), TN_ERROR_CALLBACK, "tn_DestroyFn");
    FAILS(tn_release(gpu), TN_ERROR_CALLBACK, "tn_Gpu must not");
    CHECK(tn_release(released_inside) == TN_OK);
}

static void log_line(void* user, tn_LogLevel level, tn_Str text) {
    (void)user;
    (void)level;
    (void)text;
    ++calls_inside;
    FAILS(tn_release(gpu), TN_ERROR_CALLBACK, "tn_LogFn");
    FAILS(tn_gpu_trim(gpu), TN_ERROR_CALLBACK, "tn_LogFn");
}

static void callbacks(void) {
    released_inside = create_buffer(gpu);
    tn_Deferred* deferred = NULL;
    CHECK(tn_gpu_defer(gpu, TN_LIT("deferred"), destroy, NULL, NULL, &deferred) == TN_OK);
    CHECK(tn_release(deferred) == TN_OK);
    CHECK(tn_gpu_reclaim(gpu) == TN_OK);
    CHECK(calls_inside == 1);
    /* A refused object is still the caller's. */
    tn_SyncPoint never = {{0}, 0, 0};
    never.serials[0] = 1000000;
    FAILS(tn_gpu_release_after(gpu, &never, destroy, NULL, NULL), TN_ERROR_NEVER_SUBMITTED, "1000000");
    CHECK(calls_inside == 1);
}

enum { CHAIN = 3 };
static tn_Deferred* chain[CHAIN];
static int ends = 0;

/* The handle is over at once, and its object at the end of the call around this callback, which may still use it. */
static void destroy_next(void* user, void* object) {
    (void)user;
    (void)object;
    const int next = ++ends;
    if (next == CHAIN) return;
    CHECK(tn_release(chain[next]) == TN_OK);
    FAILS(tn_release(chain[next]), TN_ERROR_HANDLE, "was released");
    CHECK(ends == next);
}

static void releases_in_callbacks(void) {
    for (int at = 0; at < CHAIN; ++at) {
        CHECK(tn_gpu_defer(other_gpu, TN_LIT("link"), destroy_next, NULL, NULL, &chain[at]) == TN_OK);
    }
    tn_Text* text = NULL;
    CHECK(tn_gpu_shutdown(other_gpu, NULL, &text) == TN_NOT_READY);
    CHECK(tn_release(text) == TN_OK);
    CHECK(tn_release(chain[0]) == TN_OK);
    CHECK(ends == CHAIN);
}

int main(void) {
    for (int at = 0; at < 2; ++at) CHECK(tn_device_create_sim(NULL, &devices[at]) == TN_OK);
    CHECK(tn_gpu_create(devices[0], NULL, &gpu) == TN_OK);
    CHECK(tn_gpu_create(devices[1], NULL, &other_gpu) == TN_OK);
    pointers();
    handles();
    other_manager();
    structures();
    kept();
    texts();
    ranges();
    threads();
    callbacks();
    releases_in_callbacks();

    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_RENDER_TARGET;
    tn_Texture* target = NULL;
    CHECK(tn_texture_create(gpu, &desc, &target) == TN_OK);
    tn_Recording* recording = begin();
    CHECK(tn_recording_discard(recording, target, TN_ALL) == TN_OK);
    FAILS(tn_recording_discard(recording, NULL, TN_ALL), TN_ERROR_HANDLE, "tn_Texture");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(target) == TN_OK);

    CHECK(tn_set_log(TN_LOG_WARN, log_line, NULL) == TN_OK);
    tn_Buffer* leak = create_buffer(gpu);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_NOT_READY);
    CHECK(calls_inside == 2);
    CHECK(tn_release(leak) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK);
    CHECK(tn_release(other_gpu) == TN_OK);
    for (int at = 0; at < 2; ++at) {
        check_clean(devices[at]);
        CHECK(tn_release(devices[at]) == TN_OK);
    }
    return 0;
}
