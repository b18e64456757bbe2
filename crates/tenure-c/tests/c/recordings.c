/* Queries, GPU times, upload rings and scratch memory of recordings on the simulated device, and their misuse. */
#include "check.h"

static tn_Gpu *gpu, *other_gpu;
static tn_Device* devices[2];

static tn_Recording* begin(tn_Gpu* on, const char* name) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(on, TN_QUEUE_GRAPHICS, (tn_Str){name, TN_TO_NUL}, &recording) == TN_OK);
    return recording;
}

static tn_Buffer* create_buffer(uint64_t size) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = size;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("rock");
    tn_Buffer* buffer = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &buffer) == TN_OK);
    return buffer;
}

static void timestamps(void) {
    tn_Recording* recording = begin(gpu, "shadows");
    tn_Query *first = NULL, *last = NULL, *discarded = NULL;
    CHECK(tn_recording_write_timestamp(recording, &first) == TN_OK);
    CHECK(tn_recording_write_timestamp(recording, &last) == TN_OK);
    tn_QueryResult result = DESC(tn_QueryResult);
    result.value = 77;
    uint64_t time = 77;
    CHECK(tn_query_wait(first, 0, &result) == TN_NOT_READY && tn_query_wait(first, 1000, &result) == TN_NOT_READY);
    CHECK(tn_query_between(first, last, &time) == TN_NOT_READY);
    CHECK(result.value == 77 && time == 77);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_query_wait(last, TN_FOREVER, &result) == TN_OK);
    const uint64_t ticks = result.value;
    CHECK(tn_query_wait(first, 0, &result) == TN_OK && result.value < ticks && result.struct_size == sizeof result);
    CHECK(tn_query_between(first, last, &time) == TN_OK && time > 0);
    CHECK(tn_query_between(last, first, &time) == TN_OK && time == 0);

    recording = begin(gpu, "forgotten");
    CHECK(tn_recording_write_timestamp(recording, &discarded) == TN_OK);
    CHECK(tn_release(recording) == TN_OK);
    FAILS(tn_query_wait(discarded, TN_FOREVER, &result), TN_ERROR_DISCARDED, "forgotten");
    FAILS(tn_query_between(first, discarded, &time), TN_ERROR_DISCARDED, "forgotten");
    FAILS(tn_query_between(first, last, NULL), TN_ERROR_POINTER, "time");
    FAILS(tn_query_wait(first, 0, NULL), TN_ERROR_POINTER, "tn_QueryResult");
    result.struct_size = 8;
    FAILS(tn_query_wait(first, 0, &result), TN_ERROR_STRUCT_SIZE, "tn_QueryResult");
    /* Refused at once, and not only when both have arrived. */
    tn_Query *late = NULL, *foreign = NULL;
    tn_Recording *compute = NULL, *elsewhere = begin(other_gpu, "elsewhere");
    CHECK(tn_recording_begin(gpu, TN_QUEUE_COMPUTE, TN_LIT("compute"), &compute) == TN_OK);
    CHECK(tn_recording_write_timestamp(compute, &late) == TN_OK);
    CHECK(tn_recording_write_timestamp(elsewhere, &foreign) == TN_OK);
    FAILS(tn_query_between(first, late, &time), TN_ERROR_QUERY, "different clocks");
    FAILS(tn_query_between(first, foreign, &time), TN_ERROR_FOREIGN, "timestamp");
    FAILS(tn_query_between(foreign, first, &time), TN_ERROR_FOREIGN, "timestamp");
    CHECK(tn_release(compute) == TN_OK && tn_release(elsewhere) == TN_OK);
    CHECK(tn_release(late) == TN_OK && tn_release(foreign) == TN_OK);
    CHECK(tn_release(first) == TN_OK && tn_release(last) == TN_OK && tn_release(discarded) == TN_OK);
    result.struct_size = sizeof result;
    FAILS(tn_query_wait(first, 0, &result), TN_ERROR_HANDLE, "tn_Query was released");
}

static void ranges(void) {
    static const tn_QueryKind kinds[] = {TN_QUERY_OCCLUSION, TN_QUERY_BINARY_OCCLUSION, TN_QUERY_PIPELINE_STATISTICS};
    tn_Recording* recording = begin(gpu, "boxes");
    tn_OpenQuery open[3];
    tn_Query* queries[3] = {NULL};
    for (int at = 0; at < 3; ++at) {
        /* One of samples at a time. */
        if (at == 1) CHECK(tn_recording_end_query(recording, &open[0], &queries[0]) == TN_OK);
        CHECK(tn_recording_begin_query(recording, kinds[at], (tn_Str){NULL, 0}, &open[at]) == TN_OK);
        CHECK(open[at].kind == kinds[at]);
        FAILS(tn_recording_begin_query(recording, kinds[at], (tn_Str){NULL, 0}, &(tn_OpenQuery){{0}, 0, 0}), TN_ERROR_QUERY, "");
    }
    FAILS(tn_recording_begin_query(recording, 9, (tn_Str){NULL, 0}, &open[2]), TN_ERROR_ENUM, "kind = 9");
    FAILS(tn_recording_begin_query(recording, TN_QUERY_OCCLUSION, TN_LIT("box"), &open[2]), TN_ERROR_ARGUMENT, "box");
    tn_Recording* other = begin(gpu, "elsewhere");
    FAILS(tn_recording_end_query(other, &open[2], &queries[2]), TN_ERROR_QUERY, "elsewhere");
    CHECK(queries[2] == NULL && tn_release(other) == TN_OK);
    FAILS(tn_recording_end_query(recording, &open[2], NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_recording_end_query(recording, NULL, &queries[2]), TN_ERROR_POINTER, "tn_OpenQuery");
    tn_OpenQuery wrong = open[2];
    wrong.kind = 9;
    FAILS(tn_recording_end_query(recording, &wrong, &queries[2]), TN_ERROR_ENUM, "kind = 9");
    for (int at = 0; at < 3; ++at) {
        if (at > 0) CHECK(tn_recording_end_query(recording, &open[at], &queries[at]) == TN_OK);
        tn_Query* again = NULL;
        FAILS(tn_recording_end_query(recording, &open[at], &again), TN_ERROR_QUERY, "");
        CHECK(again == NULL);
    }
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    for (int at = 0; at < 3; ++at) {
        tn_QueryResult result = DESC(tn_QueryResult);
        result.value = 77;
        result.compute_invocations = 77;
        CHECK(tn_query_wait(queries[at], TN_FOREVER, &result) == TN_OK);
        CHECK(result.value == 0 && result.compute_invocations == 0);
        FAILS(tn_query_between(queries[at], queries[at], &result.value), TN_ERROR_QUERY, "timestamp");
        CHECK(tn_release(queries[at]) == TN_OK);
    }
    /* A query that has not ended. */
    recording = begin(gpu, "open");
    CHECK(tn_recording_begin_query(recording, TN_QUERY_OCCLUSION, (tn_Str){NULL, 0}, &open[0]) == TN_OK);
    FAILS(tn_recording_submit(recording, NULL), TN_ERROR_QUERY, "open");
}

static int times;

static void take_time(void* user, tn_GpuTime time) {
    CHECK(user == &times && time.frame == 1 && time.nanoseconds > 0);
    CHECK(contains(time.name, time.depth == 0 ? "shadow pass" : "cascade"));
    CHECK(tn_gpu_trim(gpu) == TN_ERROR_CALLBACK);
    times += 1;
}

static void scopes(void) {
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    tn_Recording* recording = begin(gpu, "main");
    tn_OpenQuery outer, inner;
    CHECK(tn_recording_begin_query(recording, TN_QUERY_GPU_TIME, TN_LIT("shadow pass"), &outer) == TN_OK);
    CHECK(tn_recording_begin_query(recording, TN_QUERY_GPU_TIME, TN_LIT("cascade"), &inner) == TN_OK);
    tn_Query* none = NULL;
    FAILS(tn_recording_end_query(recording, &inner, &none), TN_ERROR_POINTER, "tn_gpu_times");
    CHECK(tn_recording_end_query(recording, &inner, NULL) == TN_OK);
    FAILS(tn_recording_end_query(recording, &inner, NULL), TN_ERROR_QUERY, "");
    CHECK(tn_recording_end_query(recording, &outer, NULL) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_recording_submit(recording, &done) == TN_OK && tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    CHECK(tn_frame_end(frame) == TN_OK);
    CHECK(tn_gpu_times(gpu, take_time, &times) == TN_OK && times == 2);
    FAILS(tn_gpu_times(gpu, NULL, NULL), TN_ERROR_POINTER, "tn_GpuTimeFn");
    CHECK(tn_gpu_times(gpu, take_time, &times) == TN_OK && times == 4);

    /* Without timestamps. */
    CHECK(tn_recording_begin(gpu, TN_QUEUE_COPY, TN_LIT("uploads"), &recording) == TN_OK);
    FAILS(tn_recording_write_timestamp(recording, &none), TN_ERROR_DEVICE, "timestamp");
    CHECK(tn_recording_begin_query(recording, TN_QUERY_GPU_TIME, TN_LIT("outer"), &outer) == TN_OK);
    CHECK(tn_recording_begin_query(recording, TN_QUERY_GPU_TIME, TN_LIT("inner"), &inner) == TN_OK);
    CHECK(tn_recording_end_query(recording, &inner, NULL) == TN_OK);
    FAILS(tn_recording_end_query(recording, &inner, NULL), TN_ERROR_QUERY, "uploads");
    CHECK(tn_recording_end_query(recording, &outer, NULL) == TN_OK && tn_recording_submit(recording, NULL) == TN_OK);
}

/* What the GPU has copied. */
static void check_bytes(tn_Buffer* buffer, uint64_t offset, const char* expected, size_t size) {
    char bytes[64];
    tn_Part part = {0};
    part.resource = buffer;
    part.offset = offset;
    part.size = size;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(gpu, &part, &readback) == TN_OK);
    CHECK(tn_readback_wait(readback, TN_FOREVER, bytes, size) == TN_OK && memcmp(bytes, expected, size) == 0);
    CHECK(tn_release(readback) == TN_OK);
}

static void rings(void) {
    tn_UploadRingDesc desc = DESC(tn_UploadRingDesc);
    desc.size = 4096;
    desc.name = TN_LIT("particles");
    desc.timeout_ns = 1000000000;
    tn_UploadRing *ring = NULL, *large = NULL;
    CHECK(tn_upload_ring_create(gpu, &desc, &ring) == TN_OK);
    desc.flags = TN_RING_DEDICATE;
    desc.memory = TN_MEMORY_GPU_UPLOAD;
    desc.usage = TN_USAGE_COPY_SRC;
    CHECK(tn_upload_ring_create(gpu, &desc, &large) == TN_OK);

    tn_Buffer* buffer = create_buffer(256);
    tn_TextureDesc image = DESC(tn_TextureDesc);
    image.format = TN_FORMAT_RGBA8_UNORM;
    image.width = image.height = 2;
    image.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    tn_Texture* texture = NULL;
    CHECK(tn_texture_create(gpu, &image, &texture) == TN_OK);
    tn_Recording *recording = begin(gpu, "first"), *other = begin(gpu, "second"), *foreign = begin(other_gpu, "foreign");
    tn_RingSlice slices[3], none = {0};
    CHECK(tn_upload_ring_allocate(ring, recording, 512, 256, &slices[0]) == TN_OK);
    CHECK(tn_upload_ring_allocate(ring, recording, 1024, 256, &slices[1]) == TN_OK);
    CHECK(slices[1].place.object == slices[0].place.object && slices[1].place.offset >= slices[0].place.offset + 512);
    CHECK(slices[1].place.size == 1024 && slices[1].place.gpu_address != 0);
    static const char zeroes[264] = {0};
    CHECK(tn_recording_write_slice(recording, &slices[0], 0, zeroes, sizeof zeroes) == TN_OK);
    /* Beside the ring. */
    CHECK(tn_upload_ring_allocate(large, recording, 8192, 256, &slices[2]) == TN_OK && slices[2].place.size == 8192);
    tn_Copy copy = {0};
    copy.dst = buffer;
    copy.src_offset = 4;
    copy.size = 8;
    for (uint64_t at = 0; at < 3; ++at) {
        CHECK(tn_recording_write_slice(recording, &slices[at], 4, at == 2 ? "dedicate" : "particle", 8) == TN_OK);
        copy.dst_offset = at * 8;
        CHECK(tn_recording_copy_slice(recording, &slices[at], &copy, 1) == TN_OK);
        FAILS(tn_recording_write_slice(other, &slices[at], 0, "x", 1), TN_ERROR_OTHER_RECORDING, "recording first");
        FAILS(tn_recording_copy_slice(other, &slices[at], &copy, 1), TN_ERROR_OTHER_RECORDING, "recording second");
        FAILS(tn_recording_write_slice(foreign, &slices[at], 0, "x", 1), TN_ERROR_FOREIGN, "particles");
        tn_RingSlice wrong = slices[at];
        wrong.ring = at == 2 ? ring : large;
        FAILS(tn_recording_write_slice(recording, &wrong, 0, "x", 1), TN_ERROR_DEVICE, "that has allocated it");
        FAILS(tn_recording_write_slice(recording, &slices[at], slices[at].place.size, "x", 1), TN_ERROR_OUT_OF_RANGE, "");
    }
    tn_Copy texels = {0};
    texels.dst = texture;
    texels.row_pitch = 256;
    CHECK(tn_recording_copy_slice(recording, &slices[0], &texels, 1) == TN_OK);
    copy.dst = recording;
    FAILS(tn_recording_copy_slice(recording, &slices[0], &copy, 1), TN_ERROR_HANDLE, "buffer or texture");
    CHECK(tn_recording_copy_slice(recording, &none, NULL, 0) == TN_OK);
    FAILS(tn_recording_write_slice(recording, &none, 0, "x", 1), TN_ERROR_HANDLE, "tn_UploadRing");
    FAILS(tn_upload_ring_allocate(ring, recording, 8192, 256, &none), TN_ERROR_TOO_LARGE, "particles");
    FAILS(tn_upload_ring_allocate(ring, recording, 64, 3, &none), TN_ERROR_DEVICE, "align");
    FAILS(tn_upload_ring_allocate(ring, recording, 64, 4, NULL), TN_ERROR_POINTER, "tn_RingSlice");
    FAILS(tn_upload_ring_allocate(ring, foreign, 64, 4, &none), TN_ERROR_FOREIGN, "particles");
    CHECK(tn_upload_ring_allocate(ring, other, 2560, 256, &none) == TN_OK);
    FAILS(tn_upload_ring_allocate(ring, other, 2560, 256, &none), TN_ERROR_HELD_BY_RECORDING, "particles");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK && tn_recording_submit(other, NULL) == TN_OK);
    CHECK(tn_release(foreign) == TN_OK);
    check_bytes(buffer, 0, "particleparticlededicate", 24);

    /* After the recording, and in a later one. */
    FAILS(tn_recording_write_slice(recording, &slices[0], 0, "x", 1), TN_ERROR_HANDLE, "was released");
    recording = begin(gpu, "third");
    FAILS(tn_recording_write_slice(recording, &slices[0], 0, "x", 1), TN_ERROR_OTHER_RECORDING, "recording third");
    tn_UploadRingTotals totals = DESC(tn_UploadRingTotals);
    CHECK(tn_upload_ring_totals(ring, &totals) == TN_OK);
    CHECK(totals.capacity == 4096 && totals.used >= 4096 && totals.allocations == 3 && totals.bytes == 4096);
    CHECK(tn_release(recording) == TN_OK && tn_upload_ring_close(ring) == TN_OK);
    recording = begin(gpu, "fourth");
    CHECK(tn_upload_ring_allocate(ring, recording, 4096, 256, &none) == TN_OK);
    CHECK(tn_upload_ring_totals(large, &totals) == TN_OK && totals.dedicated == 1);
    /* A ring that ends while a recording uses it. */
    CHECK(tn_release(ring) == TN_OK);
    FAILS(tn_recording_write_slice(recording, &none, 0, "x", 1), TN_ERROR_HANDLE, "tn_UploadRing was released");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(large) == TN_OK && tn_release(buffer) == TN_OK && tn_release(texture) == TN_OK);

    desc.size = 100;
    FAILS(tn_upload_ring_create(gpu, &desc, &ring), TN_ERROR_DEVICE, "upload ring");
    desc.size = 4096;
    desc.usage = TN_USAGE_UNORDERED_ACCESS;
    FAILS(tn_upload_ring_create(gpu, &desc, &ring), TN_ERROR_DEVICE, "usage");
    desc.usage = 0;
    desc.memory = TN_MEMORY_READBACK;
    FAILS(tn_upload_ring_create(gpu, &desc, &ring), TN_ERROR_DEVICE, "upload rings");
    CHECK(ring == NULL);
}

static void build_scratch(void) {
    tn_Recording* recording = begin(gpu, "builds");
    tn_Place first, second, again;
    CHECK(tn_recording_build_scratch(recording, 1000, &first) == TN_OK);
    CHECK(tn_recording_build_scratch(recording, 1000, &second) == TN_OK);
    CHECK(first.object != 0 && first.size == 1000 && first.gpu_address % 256 == 0);
    CHECK(second.offset >= first.offset + 1000);
    CHECK(tn_recording_reuse_build_scratch(recording) == TN_OK);
    CHECK(tn_recording_build_scratch(recording, 1000, &again) == TN_OK && again.offset == first.offset);
    FAILS(tn_recording_build_scratch(recording, 0, &again), TN_ERROR_DEVICE, "size");
    FAILS(tn_recording_build_scratch(recording, 1000, NULL), TN_ERROR_POINTER, "tn_Place");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
}

/* Several recordings at once: all or none is taken. */
static void together(void) {
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    tn_Recording* all[] = {begin(gpu, "first"), begin(gpu, "second"), begin(gpu, "third")};
    tn_Recording* twice[] = {all[0], all[1], all[0]};
    tn_SyncPoint done;
    FAILS(tn_frame_submit_all(frame, twice, 3, &done), TN_ERROR_BUSY, "tn_Recording");
    FAILS(tn_frame_submit_all(frame, NULL, 3, &done), TN_ERROR_POINTER, "recordings");
    FAILS(tn_frame_submit_all(NULL, all, 3, &done), TN_ERROR_HANDLE, "tn_Frame");
    CHECK(tn_frame_submit_all(frame, NULL, 0, NULL) == TN_OK);
    CHECK(tn_frame_submit_all(frame, all, 3, &done) == TN_OK);
    CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    FAILS(tn_frame_submit_all(frame, all, 3, NULL), TN_ERROR_HANDLE, "was released");
    tn_Recording* mixed[] = {begin(gpu, "before"), begin(other_gpu, "stranger"), begin(gpu, "after")};
    FAILS(tn_frame_submit_all(frame, mixed, 3, NULL), TN_ERROR_FOREIGN, "stranger: belongs to a different");
    CHECK(tn_release(mixed[1]) == TN_OK);
    /* The one before the wrong one is submitted, the others are discarded. */
    mixed[1] = begin(gpu, "draw");
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_SHADER_READ;
    tn_Texture* grass = NULL;
    CHECK(tn_texture_create(gpu, &desc, &grass) == TN_OK);
    const tn_Use missing_mip = {grass, TN_STATE_PIXEL_SHADER, 7};
    CHECK(tn_sim_access(mixed[1], &missing_mip, 1) == TN_OK && tn_release(grass) == TN_OK);
    FAILS(tn_frame_submit_all(frame, mixed, 3, NULL), TN_ERROR_DEVICE, "1 of 3 recordings were submitted");
    for (int at = 0; at < 3; ++at) FAILS(tn_release(mixed[at]), TN_ERROR_HANDLE, "was released");
    CHECK(tn_frame_end(frame) == TN_OK);
}

int main(void) {
    for (int at = 0; at < 2; ++at) {
        tn_SimDesc desc = DESC(tn_SimDesc);
        desc.profile = TN_LIT("vulkan-nvidia");
        CHECK(tn_device_create_sim(&desc, &devices[at]) == TN_OK);
        CHECK(tn_gpu_create(devices[at], NULL, at == 0 ? &gpu : &other_gpu) == TN_OK);
    }
    scopes();
    timestamps();
    ranges();
    rings();
    build_scratch();
    together();
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK && tn_gpu_shutdown(other_gpu, NULL, NULL) == TN_OK);
    CHECK(tn_release(gpu) == TN_OK && tn_release(other_gpu) == TN_OK);
    for (int at = 0; at < 2; ++at) {
        check_clean(devices[at]);
        CHECK(tn_release(devices[at]) == TN_OK);
    }
    return 0;
}
