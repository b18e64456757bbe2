/* Transient resources and render graphs on the simulated device: every function, and misuse. */
#include "check.h"

#include <pthread.h>

enum { SIDE = 64, PITCH = SIDE * 4, TEXELS = SIDE * PITCH };
enum { DRAW, BLUR, LENS, READ, PASSES };

static tn_Gpu *gpu, *other_gpu;
static tn_Device* devices[2];
static tn_Buffer* staging;
static unsigned char texels[TEXELS];

static tn_TextureDesc texture_desc(tn_Str name) {
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = SIDE;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = name;
    return desc;
}

static tn_BufferDesc buffer_desc(void) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = TEXELS;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("lights");
    return desc;
}

static tn_Recording* begin(tn_Gpu* on) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(on, TN_QUEUE_GRAPHICS, TN_LIT("recording"), &recording) == TN_OK);
    return recording;
}

static void write_texels(tn_Recording* recording, void* texture) {
    tn_Copy copy = {0};
    copy.src = staging;
    copy.dst = texture;
    copy.row_pitch = PITCH;
    CHECK(tn_recording_copy(recording, &copy, 1) == TN_OK);
}

static void copy_texture(tn_Recording* recording, void* src, void* dst) {
    tn_Copy copy = {0};
    copy.src = src;
    copy.dst = dst;
    copy.subresource = TN_ALL;
    CHECK(tn_recording_copy(recording, &copy, 1) == TN_OK);
}

static tn_Readback* read_back(tn_Recording* recording, void* texture) {
    tn_Part part = {0};
    part.resource = texture;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK);
    return readback;
}

static void check_texels(tn_Readback* readback) {
    unsigned char read[TEXELS];
    CHECK(tn_readback_wait(readback, TN_FOREVER, read, TEXELS) == TN_OK);
    CHECK(memcmp(texels, read, TEXELS) == 0);
    CHECK(tn_release(readback) == TN_OK);
}

static tn_View* sampled(void* texture) {
    tn_TextureViewDesc desc = DESC(tn_TextureViewDesc);
    desc.access = TN_TEXTURE_SAMPLED;
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(gpu, texture, &desc, &view) == TN_OK);
    return view;
}

/* Pass by pass. */

static void transient(void) {
    tn_View* kept = NULL;
    uint64_t descriptor = 0;
    for (int frame = 0; frame < 4; ++frame) {
        tn_Recording* recording = begin(gpu);
        tn_TextureDesc desc = texture_desc(TN_LIT("bright"));
        tn_Texture *bright = NULL, *blurred = NULL;
        CHECK(tn_recording_transient_texture(recording, &desc, &bright) == TN_OK);
        CHECK(contains(tn_name(bright), "bright"));
        write_texels(recording, bright);
        tn_View* view = sampled(bright);
        tn_Place place;
        CHECK(tn_place(view, &place) == TN_OK);
        /* It is created once. */
        tn_View* twin = sampled(bright);
        tn_Place same;
        CHECK(tn_place(twin, &same) == TN_OK && same.offset == place.offset);
        CHECK(frame == 0 || place.offset == descriptor);
        descriptor = place.offset;
        CHECK(tn_release(twin) == TN_OK);
        desc.name = TN_LIT("blurred");
        CHECK(tn_recording_transient_texture(recording, &desc, &blurred) == TN_OK);
        copy_texture(recording, bright, blurred);
        CHECK(tn_release(bright) == TN_OK);
        FAILS(tn_place(bright, &place), TN_ERROR_HANDLE, "was released");
        CHECK(tn_release(view) == TN_OK);

        tn_Recording* early = begin(gpu);
        const tn_Use use = {blurred, TN_STATE_COPY_SRC, TN_ALL};
        FAILS(tn_recording_use(early, &use, 1), TN_ERROR_NOT_ACQUIRED, "blurred");
        CHECK(tn_release(early) == TN_OK);
        tn_Readback* readback = read_back(recording, blurred);

        const tn_BufferDesc bytes = buffer_desc();
        tn_Buffer* lights = NULL;
        CHECK(tn_recording_transient_buffer(recording, &bytes, &lights) == TN_OK);
        CHECK(tn_place(lights, &place) == TN_OK && place.size == TEXELS && place.object != 0);
        tn_Copy copy = {0};
        copy.src = staging;
        copy.dst = lights;
        copy.size = TEXELS;
        CHECK(tn_recording_copy(recording, &copy, 1) == TN_OK);
        tn_Part part = {0};
        part.resource = lights;
        const tn_Texels data = {texels, 4, 0, 0, 0};
        FAILS(tn_upload(gpu, &part, &data, NULL), TN_ERROR_TRANSIENT, "lights");
        if (kept == NULL) kept = sampled(blurred);
        CHECK(tn_recording_submit(recording, NULL) == TN_OK);
        CHECK(tn_release(blurred) == TN_OK);
        CHECK(tn_release(lights) == TN_OK);
        check_texels(readback);
    }
    /* A view keeps the object, also when the memory is given back. */
    CHECK(tn_gpu_trim(gpu) == TN_OK && tn_gpu_reclaim(gpu) == TN_OK);
    tn_Place place;
    CHECK(tn_place(kept, &place) == TN_OK);
    CHECK(tn_release(kept) == TN_OK);
}

static void transient_misuse(void) {
    tn_Recording* recording = begin(gpu);
    tn_BufferDesc bytes = buffer_desc();
    tn_Buffer* buffer = NULL;
    FAILS(tn_recording_transient_buffer(NULL, &bytes, &buffer), TN_ERROR_HANDLE, "null, where a tn_Recording");
    FAILS(tn_recording_transient_buffer(recording, NULL, &buffer), TN_ERROR_POINTER, "tn_BufferDesc");
    FAILS(tn_recording_transient_buffer(recording, &bytes, NULL), TN_ERROR_POINTER, "handle");
    bytes.memory = TN_MEMORY_UPLOAD;
    FAILS(tn_recording_transient_buffer(recording, &bytes, &buffer), TN_ERROR_TRANSIENT, "GpuOnly");
    bytes = buffer_desc();
    bytes.data = texels;
    FAILS(tn_recording_transient_buffer(recording, &bytes, &buffer), TN_ERROR_TRANSIENT, "lights: data");
    bytes.data = NULL;
    bytes.read_only = TN_STATE_SHADER_READ;
    FAILS(tn_recording_transient_buffer(recording, &bytes, &buffer), TN_ERROR_TRANSIENT, "lights: read_only");
    bytes.read_only = 0;
    tn_TextureDesc desc = texture_desc(TN_LIT("bright"));
    desc.usage = 1u << 31;
    tn_Texture* texture = NULL;
    FAILS(tn_recording_transient_texture(recording, &desc, &texture), TN_ERROR_ENUM, "usage");
    desc.struct_size = 8;
    FAILS(tn_recording_transient_texture(recording, &desc, &texture), TN_ERROR_STRUCT_SIZE, "tn_TextureDesc");
    CHECK(buffer == NULL && texture == NULL);
    CHECK(tn_release(recording) == TN_OK);
}

/* Graphs. */

typedef struct Frame {
    tn_Frame* frame;
    tn_Graph* graph;
    uint32_t bright, blurred, lens, list;
    int calls;
    int fails_in;
    tn_Readback* readback;
    uint64_t descriptor;
    tn_Recording* last_recording;
    void* last_resource;
} Frame;

static void declare(Frame* frame) {
    tn_TextureDesc desc = texture_desc(TN_LIT("bright"));
    CHECK(tn_graph_texture(frame->graph, &desc, &frame->bright) == TN_OK);
    desc.name = TN_LIT("blurred");
    CHECK(tn_graph_texture(frame->graph, &desc, &frame->blurred) == TN_OK);
    desc.name = TN_LIT("lens");
    CHECK(tn_graph_texture(frame->graph, &desc, &frame->lens) == TN_OK);
    const tn_BufferDesc bytes = buffer_desc();
    CHECK(tn_graph_buffer(frame->graph, &bytes, &frame->list) == TN_OK);
    CHECK(frame->bright == 0 && frame->list == 3);

    const tn_PassUse uses[][2] = {
        {{frame->bright, TN_STATE_COPY_DST}, {frame->list, TN_STATE_COPY_DST}},
        {{frame->bright, TN_STATE_COPY_SRC}, {frame->blurred, TN_STATE_COPY_DST}},
        {{frame->blurred, TN_STATE_COPY_SRC}, {frame->lens, TN_STATE_COPY_DST}},
        {{frame->lens, TN_STATE_COPY_SRC}, {0, 0}},
    };
    const tn_Str names[] = {TN_LIT("draw"), TN_LIT("blur"), TN_LIT("lens"), TN_LIT("read")};
    for (uint32_t at = 0; at < PASSES; ++at) {
        tn_PassDesc pass = DESC(tn_PassDesc);
        pass.flags = at == READ ? TN_PASS_BEGINS_RECORDING : 0;
        pass.queue = TN_QUEUE_GRAPHICS;
        pass.uses = uses[at];
        pass.use_count = at == READ ? 1 : 2;
        const uint32_t first = DRAW;
        pass.after = &first;
        pass.after_count = at == READ ? 1 : 0;
        pass.name = names[at];
        uint32_t number = 99;
        CHECK(tn_graph_pass(frame->graph, &pass, &number) == TN_OK && number == at);
    }
}

static void* use_on_another_thread(void* user) {
    const tn_Pass* pass = user;
    tn_Native list = 0;
    CHECK(tn_recording_native(pass->recording, &list) == TN_OK && list != 0);
    return NULL;
}

/* Calls that a pass must not make. */
static void misuse_in_pass(Frame* frame, const tn_Pass* pass) {
    FAILS(tn_recording_submit(pass->recording, NULL), TN_ERROR_CALLBACK, "tn_frame_execute");
    FAILS(tn_release(gpu), TN_ERROR_CALLBACK, "tn_PassFn");
    FAILS(tn_frame_end(frame->frame), TN_ERROR_BUSY, "tn_Frame");
    FAILS(tn_release(frame->frame), TN_ERROR_BUSY, "tn_Frame");
    FAILS(tn_graph_clear(frame->graph), TN_ERROR_BUSY, "tn_Graph");
    FAILS(tn_release(frame->graph), TN_ERROR_BUSY, "tn_Graph");
    FAILS(tn_frame_execute(frame->frame, frame->graph, NULL, NULL, NULL), TN_ERROR_BUSY, "tn_Frame");
    const tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    tn_View* view = NULL;
    FAILS(tn_texture_view_create(other_gpu, pass->resources[frame->bright], &view_desc, &view), TN_ERROR_FOREIGN, "");
    tn_Recording* elsewhere = begin(other_gpu);
    const tn_Use foreign = {pass->resources[frame->bright], TN_STATE_COPY_DST, TN_ALL};
    FAILS(tn_recording_use(elsewhere, &foreign, 1), TN_ERROR_FOREIGN, "");
    CHECK(tn_release(elsewhere) == TN_OK);
    const tn_Use not_declared = {pass->resources[frame->lens], TN_STATE_COPY_DST, TN_ALL};
    FAILS(tn_recording_use(pass->recording, &not_declared, 1), TN_ERROR_HANDLE, "null");
    tn_Readback* readback = NULL;
    tn_Part part = {0};
    part.resource = pass->resources[frame->list];
    part.size = TEXELS + 1;
    FAILS(tn_read_back(pass->recording, &part, &readback), TN_ERROR_OUT_OF_RANGE, "lights");
}

static tn_Status record(void* user, const tn_Pass* pass) {
    Frame* frame = user;
    CHECK(pass->number == (uint32_t)frame->calls && pass->resource_count == 4);
    frame->calls += 1;
    tn_Recording* list = pass->recording;
    switch (pass->number) {
        case DRAW: {
            misuse_in_pass(frame, pass);
            write_texels(list, pass->resources[frame->bright]);
            tn_Copy copy = {0};
            copy.src = staging;
            copy.dst = pass->resources[frame->list];
            copy.size = TEXELS;
            CHECK(tn_recording_copy(list, &copy, 1) == TN_OK);
            /* Two handles of one view. */
            tn_View *view = sampled(pass->resources[frame->bright]), *twin = sampled(pass->resources[frame->bright]);
            tn_Place place, same;
            CHECK(tn_place(view, &place) == TN_OK && tn_place(twin, &same) == TN_OK && place.offset == same.offset);
            CHECK(frame->descriptor == 0 || frame->descriptor == place.offset);
            frame->descriptor = place.offset;
            CHECK(tn_release(view) == TN_OK);
            CHECK(tn_place(twin, &place) == TN_OK && tn_release(twin) == TN_OK);
            break;
        }
        case BLUR: {
            copy_texture(list, pass->resources[frame->bright], pass->resources[frame->blurred]);
            pthread_t thread;
            tn_Pass copy = *pass;
            CHECK(pthread_create(&thread, NULL, use_on_another_thread, &copy) == 0);
            pthread_join(thread, NULL);
            /* Objects outside of the graph can be created, used and released. */
            tn_BufferDesc desc = buffer_desc();
            desc.flags = TN_RESOURCE_OWN;
            tn_Buffer* own = NULL;
            CHECK(tn_buffer_create(gpu, &desc, &own) == TN_OK);
            tn_Copy bytes = {0};
            bytes.src = staging;
            bytes.dst = own;
            bytes.size = 16;
            CHECK(tn_recording_copy(list, &bytes, 1) == TN_OK);
            CHECK(tn_release(own) == TN_OK);
            break;
        }
        case LENS:
            copy_texture(list, pass->resources[frame->blurred], pass->resources[frame->lens]);
            /* The end of a loan before its time. */
            CHECK(tn_release(pass->resources[frame->blurred]) == TN_OK);
            FAILS(tn_release(pass->resources[frame->blurred]), TN_ERROR_HANDLE, "was released");
            CHECK(tn_release(list) == TN_OK);
            FAILS(tn_release(list), TN_ERROR_HANDLE, "was released");
            break;
        default:
            CHECK(pass->resources[frame->bright] == NULL);
            frame->readback = read_back(list, pass->resources[frame->lens]);
            frame->last_recording = list;
            frame->last_resource = pass->resources[frame->lens];
            break;
    }
    if (frame->fails_in == frame->calls) return -1000;
    return TN_OK;
}

static void graphs(void) {
    Frame frame = {0};
    CHECK(tn_graph_create(&frame.graph) == TN_OK);
    for (int count = 0; count < 6; ++count) {
        CHECK(tn_graph_clear(frame.graph) == TN_OK);
        declare(&frame);
        CHECK(tn_frame_begin(gpu, &frame.frame) == TN_OK);
        frame.calls = 0;
        tn_SyncPoint done;
        CHECK(tn_frame_execute(frame.frame, frame.graph, record, &frame, &done) == TN_OK);
        CHECK(frame.calls == PASSES);
        CHECK(tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
        check_texels(frame.readback);
        /* The handles of a pass end with its call. */
        FAILS(tn_recording_native(frame.last_recording, &(tn_Native){0}), TN_ERROR_HANDLE, "was released");
        FAILS(tn_place(frame.last_resource, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");
        CHECK(tn_frame_end(frame.frame) == TN_OK);
    }
    tn_GraphPlan plan = DESC(tn_GraphPlan);
    CHECK(tn_gpu_plan_graph(gpu, frame.graph, &plan) == TN_OK);
    CHECK(plan.peak >= plan.lower_bound && plan.peak < plan.bytes_apart);
    CHECK(plan.heaps >= 1 && plan.recordings == 2);

    /* An error ends the graph. */
    frame.fails_in = 2;
    frame.calls = 0;
    CHECK(tn_frame_begin(gpu, &frame.frame) == TN_OK);
    tn_SyncPoint done;
    FAILS(tn_frame_execute(frame.frame, frame.graph, record, &frame, &done), -1000, "in pass 1");
    CHECK(frame.calls == 2);
    CHECK(tn_frame_end(frame.frame) == TN_OK);
    CHECK(tn_release(frame.graph) == TN_OK);
    FAILS(tn_release(frame.graph), TN_ERROR_HANDLE, "this tn_Graph was released");
}

static void graph_misuse(void) {
    FAILS(tn_graph_create(NULL), TN_ERROR_POINTER, "handle");
    tn_Graph* graph = NULL;
    CHECK(tn_graph_create(&graph) == TN_OK);
    tn_TextureDesc desc = texture_desc(TN_LIT("bloom"));
    uint32_t bloom = 7;
    FAILS(tn_graph_texture(graph, &desc, NULL), TN_ERROR_POINTER, "number");
    FAILS(tn_graph_texture((tn_Graph*)(void*)gpu, &desc, &bloom), TN_ERROR_HANDLE, "is not a tn_Graph");
    FAILS(tn_graph_texture(graph, NULL, &bloom), TN_ERROR_POINTER, "tn_TextureDesc");
    FAILS(tn_graph_buffer(graph, NULL, &bloom), TN_ERROR_POINTER, "tn_BufferDesc");
    FAILS(tn_graph_clear(NULL), TN_ERROR_HANDLE, "null, where a tn_Graph");
    CHECK(bloom == 7);
    CHECK(tn_graph_texture(graph, &desc, &bloom) == TN_OK && bloom == 0);

    tn_PassUse use = {1, TN_STATE_PIXEL_SHADER};
    tn_PassDesc pass = DESC(tn_PassDesc);
    pass.name = TN_LIT("lens");
    pass.uses = &use;
    pass.use_count = 1;
    uint32_t number = 7;
    FAILS(tn_graph_pass(graph, NULL, &number), TN_ERROR_POINTER, "tn_PassDesc");
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_GRAPH, "pass lens uses resource 1, and the graph has 1");
    use.resource = bloom;
    use.state = 1u << 31;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_ENUM, "state");
    use.state = TN_STATE_PIXEL_SHADER;
    pass.uses = NULL;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_POINTER, "uses");
    pass.uses = &use;
    const uint32_t later = 0;
    pass.after = &later;
    pass.after_count = 1;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_GRAPH, "after pass 0, and the graph has 0");
    pass.after_count = 0;
    pass.queue = 3;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_ENUM, "queue = 3");
    pass.queue = TN_QUEUE_GRAPHICS;
    pass.flags = 2;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_ENUM, "flags");
    pass.flags = 0;
    pass.struct_size -= 8;
    FAILS(tn_graph_pass(graph, &pass, &number), TN_ERROR_STRUCT_SIZE, "tn_PassDesc");
    pass.struct_size += 8;
    /* The failed calls have declared nothing. */
    CHECK(number == 7);
    CHECK(tn_graph_pass(graph, &pass, NULL) == TN_OK);

    tn_GraphPlan plan = DESC(tn_GraphPlan);
    FAILS(tn_gpu_plan_graph(gpu, graph, &plan), TN_ERROR_GRAPH, "pass lens is the first to use bloom, and does not write");
    FAILS(tn_gpu_plan_graph(gpu, graph, NULL), TN_ERROR_POINTER, "tn_GraphPlan");
    plan.struct_size = 4;
    FAILS(tn_gpu_plan_graph(gpu, graph, &plan), TN_ERROR_STRUCT_SIZE, "tn_GraphPlan");
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
    FAILS(tn_frame_execute(frame, graph, NULL, NULL, NULL), TN_ERROR_POINTER, "tn_PassFn");
    FAILS(tn_frame_execute(frame, NULL, record, NULL, NULL), TN_ERROR_HANDLE, "null, where a tn_Graph");
    FAILS(tn_frame_execute(frame, graph, record, NULL, (tn_SyncPoint*)((uintptr_t)&plan + 1)), TN_ERROR_POINTER, "aligned");
    FAILS(tn_frame_execute(frame, graph, record, NULL, NULL), TN_ERROR_GRAPH, "does not write it");
    CHECK(tn_frame_end(frame) == TN_OK);
    CHECK(tn_release(graph) == TN_OK);
}

/* A pass that shuts its manager down: its recording is still open then, and can be submitted. */

static tn_Status shut_down(void* user, const tn_Pass* pass) {
    CHECK(pass->resource_count == 0 && pass->resources != NULL);
    tn_ShutdownReport report = DESC(tn_ShutdownReport);
    CHECK(tn_gpu_shutdown(user, &report, NULL) == TN_NOT_READY && report.open_recordings == 1);
    return TN_OK;
}

static void shutdown_in_pass(void) {
    tn_Graph* graph = NULL;
    CHECK(tn_graph_create(&graph) == TN_OK);
    tn_PassDesc pass = DESC(tn_PassDesc);
    CHECK(tn_graph_pass(graph, &pass, NULL) == TN_OK);
    tn_Frame* frame = NULL;
    CHECK(tn_frame_begin(other_gpu, &frame) == TN_OK);
    CHECK(tn_frame_execute(frame, graph, shut_down, other_gpu, NULL) == TN_OK);
    FAILS(tn_frame_execute(frame, graph, shut_down, other_gpu, NULL), TN_ERROR_SHUT_DOWN, "shut down");
    CHECK(tn_release(frame) == TN_OK);
    CHECK(tn_release(graph) == TN_OK);
}

int main(void) {
    for (int at = 0; at < TEXELS; ++at) texels[at] = (unsigned char)(at * 7);
    tn_SimDesc sim = DESC(tn_SimDesc);
    sim.profile = TN_LIT("vulkan-nvidia");
    for (int at = 0; at < 2; ++at) CHECK(tn_device_create_sim(&sim, &devices[at]) == TN_OK);
    CHECK(tn_gpu_create(devices[0], NULL, &gpu) == TN_OK);
    CHECK(tn_gpu_create(devices[1], NULL, &other_gpu) == TN_OK);
    tn_BufferDesc desc = buffer_desc();
    desc.name = TN_LIT("staging");
    desc.data = texels;
    desc.data_size = TEXELS;
    CHECK(tn_buffer_create(gpu, &desc, &staging) == TN_OK);
    transient();
    transient_misuse();
    graphs();
    graph_misuse();
    shutdown_in_pass();
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
