/* The parts that need no device, as programs call them: plans, suballocators, release queues, heap pools. And recordings of
 * allocations, movable and read-only resources. */
#include "check.h"

static void plans(void) {
    tn_PlanItem items[4] = {{0}, {0}, {0}, {0}};
    const uint64_t times[4][2] = {{0, 3}, {1, 5}, {3, 6}, {5, 7}};
    const uint64_t sizes[4] = {16, 32, 16, 32};
    for (int at = 0; at < 4; ++at) {
        items[at].first = times[at][0];
        items[at].end = times[at][1];
        items[at].size = sizes[at];
    }
    items[3].alignment = 16;
    uint64_t offsets[4], peak = 0;
    tn_PlanResult result = DESC(tn_PlanResult);
    CHECK(tn_plan(items, 4, NULL, offsets, &result) == TN_OK);
    CHECK(result.peak == 48 && result.lower_bound == 48 && result.is_proven && result.moved == 0);
    CHECK(tn_plan_check(items, 4, offsets, &peak) == TN_OK && peak == 48);

    /* The offsets before are kept, one is fixed, and another class has its own. */
    for (int at = 0; at < 4; ++at) {
        items[at].previous = offsets[at] + 64;
        items[at].has = TN_PLAN_PREVIOUS;
    }
    items[2].pinned = 64;
    items[2].has |= TN_PLAN_PINNED;
    items[1].memory_class = 7;
    tn_PlanDesc desc = DESC(tn_PlanDesc);
    desc.flags = TN_PLAN_STABLE | TN_PLAN_QUICK;
    desc.capacity = 1 << 20;
    desc.threads = 2;
    desc.seed = 7;
    CHECK(tn_plan(items, 4, &desc, offsets, &result) == TN_OK);
    CHECK(offsets[2] == 64 && result.nodes == 0 && result.moved < 4);
    CHECK(tn_plan_check(items, 4, offsets, &peak) == TN_OK && peak == result.peak);
    desc.flags = 0;
    desc.time_ns = 1000;
    CHECK(tn_plan(items, 4, &desc, offsets, NULL) == TN_OK);
    desc.nodes = 10;
    CHECK(tn_plan(items, 4, &desc, offsets, NULL) == TN_OK);
    CHECK(tn_plan(NULL, 0, NULL, NULL, &result) == TN_OK && result.peak == 0);
    CHECK(tn_plan_check(NULL, 0, NULL, NULL) == TN_OK);
}

static tn_SuballocatorTotals totals_of(tn_Suballocator* suballocator) {
    tn_SuballocatorTotals totals = DESC(tn_SuballocatorTotals);
    CHECK(tn_suballocator_totals(suballocator, &totals) == TN_OK);
    return totals;
}

static tn_Suballocator* create(tn_SuballocatorKind kind, uint64_t capacity, uint64_t granule) {
    tn_SuballocatorDesc desc = DESC(tn_SuballocatorDesc);
    desc.kind = kind;
    desc.capacity = capacity;
    desc.granule = granule;
    tn_Suballocator* suballocator = NULL;
    CHECK(tn_suballocator_create(&desc, &suballocator) == TN_OK);
    return suballocator;
}

static void suballocators(void) {
    const struct {
        tn_SuballocatorKind kind;
        uint64_t granule, size, alignment, taken;
    } kinds[3] = {{TN_SUBALLOCATOR_GENERAL, 256, 1000, 512, 1024},
                  {TN_SUBALLOCATOR_BUDDY, 0, 1000, 256, 1024},
                  {TN_SUBALLOCATOR_SLOTS, 0, 3, 1, 3}};
    for (int at = 0; at < 3; ++at) {
        tn_Suballocator* suballocator = create(kinds[at].kind, 1 << 20, kinds[at].granule);
        tn_Range first, second;
        CHECK(tn_suballocator_allocate(suballocator, kinds[at].size, kinds[at].alignment, &first) == TN_OK);
        CHECK(tn_suballocator_allocate(suballocator, kinds[at].size, kinds[at].alignment, &second) == TN_OK);
        CHECK(first.size == kinds[at].taken && second.offset >= first.offset + first.size);
        CHECK(second.offset % kinds[at].alignment == 0);
        const tn_SuballocatorTotals totals = totals_of(suballocator);
        CHECK(totals.capacity == 1 << 20 && totals.free == (1 << 20) - 2 * kinds[at].taken);
        CHECK(totals.largest_free <= totals.free);
        CHECK(tn_suballocator_free(suballocator, &first) == TN_OK);
        CHECK(tn_suballocator_clear(suballocator) == TN_OK);
        CHECK(totals_of(suballocator).free == 1 << 20);
        CHECK(tn_release(suballocator) == TN_OK);
    }
    tn_Suballocator* ring = create(TN_SUBALLOCATOR_RING, 1024, 0);
    tn_Range range;
    CHECK(tn_suballocator_allocate(ring, 700, 256, &range) == TN_OK && range.offset == 0 && range.size == 700);
    CHECK(tn_suballocator_close(ring, 1) == TN_OK);
    FAILS(tn_suballocator_allocate(ring, 700, 256, &range), TN_ERROR_OUT_OF_MEMORY, "700 bytes");
    CHECK(tn_suballocator_release_up_to(ring, 0) == TN_OK && totals_of(ring).free == 324);
    CHECK(tn_suballocator_release_up_to(ring, 1) == TN_OK && totals_of(ring).largest_free == 1024);
    CHECK(tn_suballocator_allocate(ring, 1, 1, &range) == TN_OK);
    CHECK(tn_suballocator_clear(ring) == TN_OK && totals_of(ring).free == 1024);
    CHECK(tn_release(ring) == TN_OK);
}

static int destroyed = 0;
static uint64_t moved_rocks = 0;

static void destroy(void* user, void* object) {
    CHECK(user == &destroyed);
    destroyed += *(int*)object;
}

static tn_Status submit(void* user, uint64_t serial) {
    *(uint64_t*)user = serial;
    return TN_OK;
}

static tn_ReleaseTotals waiting(tn_ReleaseQueue* queue) {
    CHECK(tn_release_queue_reclaim(queue) == TN_OK);
    tn_ReleaseTotals totals = DESC(tn_ReleaseTotals);
    CHECK(tn_release_queue_totals(queue, &totals) == TN_OK);
    return totals;
}

static void release_queues(void) {
    static int one = 1, ten = 10, hundred = 100;
    tn_ReleaseQueue* queue = NULL;
    CHECK(tn_release_queue_create(2, &queue) == TN_OK);
    uint64_t recording = 0, serial = 0;
    CHECK(tn_release_queue_open(queue, TN_LIT("shadows"), &recording) == TN_OK && recording != 0);
    CHECK(tn_release_queue_push(queue, NULL, destroy, &destroyed, &one, 4096) == TN_OK);
    CHECK(waiting(queue).open_recordings == 1 && destroyed == 0);
    tn_SyncPoint done;
    CHECK(tn_release_queue_submit(queue, 1, submit, &serial, &done) == TN_OK && serial == 1 && done.serials[1] == 1);
    CHECK(tn_release_queue_close(queue, recording) == TN_OK);
    CHECK(tn_release_queue_push(queue, &done, destroy, &destroyed, &ten, 1) == TN_OK);
    tn_ReleaseTotals totals = waiting(queue);
    CHECK(totals.pending == 2 && totals.pending_bytes == 4097 && totals.incomplete == 1 && destroyed == 0);
    CHECK(tn_release_queue_complete(queue, 1, 1) == TN_OK);
    CHECK(tn_release_queue_complete(queue, 1, 0) == TN_OK);
    totals = waiting(queue);
    CHECK(totals.pending == 0 && totals.pending_bytes == 0 && totals.incomplete == 0 && destroyed == 11);
    /* The rest goes with the queue. */
    CHECK(tn_release_queue_submit(queue, 0, submit, &serial, NULL) == TN_OK && serial == 1);
    CHECK(tn_release_queue_push(queue, NULL, destroy, &destroyed, &hundred, 0) == TN_OK);
    CHECK(waiting(queue).pending == 1);
    CHECK(tn_release(queue) == TN_OK && destroyed == 111);
}

/* A driver with 64 MiB. */
typedef struct Driver {
    uint64_t next, live, used, sizes[64];
    void* resource;
} Driver;

static tn_Status create_heap(void* user, tn_HeapDesc desc, tn_Native* heap) {
    Driver* driver = user;
    CHECK(desc.size > 0 && desc.alignment > 0 && desc.category <= TN_HEAP_TEXTURES);
    if (desc.size > ((uint64_t)64 << 20) - driver->used) return TN_ERROR_OUT_OF_MEMORY;
    CHECK(driver->next + 1 < 64);
    *heap = ++driver->next;
    driver->sizes[*heap] = desc.size;
    driver->used += desc.size;
    driver->live += 1;
    driver->resource = desc.resource;
    return TN_OK;
}

static void destroy_heap(void* user, tn_Native heap) {
    Driver* driver = user;
    CHECK(heap > 0 && heap < 64 && driver->sizes[heap] > 0);
    driver->used -= driver->sizes[heap];
    driver->sizes[heap] = 0;
    driver->live -= 1;
}

static void heap_budget(void* user, uint32_t heap, uint64_t* budget, uint64_t* usage) {
    CHECK(heap == 0 && *budget == 0 && *usage == 0);
    *budget = (uint64_t)64 << 20;
    *usage = ((Driver*)user)->used;
}

static tn_Bool is_movable(void* user, tn_MemoryRange range) {
    *(int*)user += 1;
    return range.size == 100 << 10;
}

static tn_MemoryTotals memory(tn_HeapPools* pools) {
    tn_MemoryTotals totals = DESC(tn_MemoryTotals);
    CHECK(tn_heap_pools_totals(pools, &totals) == TN_OK);
    return totals;
}

enum { MESHES = 100 };

static void heap_pools(void) {
    Driver driver = {0};
    const tn_MemoryType types[] = {{TN_MEMORY_DEVICE_LOCAL, 0}, {TN_MEMORY_HOST_VISIBLE | TN_MEMORY_HOST_COHERENT, 0}};
    const tn_MemoryHeap heaps[] = {{(uint64_t)64 << 20, 1, 0}};
    tn_HeapPoolsDesc desc = DESC(tn_HeapPoolsDesc);
    desc.flags = TN_HEAP_POOLS_COMPACT;
    desc.create_heap = create_heap;
    desc.destroy_heap = destroy_heap;
    desc.budget = heap_budget;
    desc.user = &driver;
    desc.memory_types = types;
    desc.memory_type_count = 2;
    desc.memory_heaps = heaps;
    desc.memory_heap_count = 1;
    tn_HeapPools* pools = NULL;
    CHECK(tn_heap_pools_create(&desc, &pools) == TN_OK);

    const uint32_t order[] = {0, 1};
    tn_MemoryRequest request = DESC(tn_MemoryRequest);
    request.size = 100 << 10;
    request.alignment = 256;
    request.memory_types = order;
    request.memory_type_count = 2;
    request.category = TN_HEAP_BUFFERS;
    request.name = TN_LIT("mesh");
    static tn_MemoryRange meshes[MESHES];
    for (int at = 0; at < MESHES; ++at) {
        CHECK(tn_heap_pools_allocate(pools, &request, &meshes[at]) == TN_OK);
        CHECK(meshes[at].heap > 0 && meshes[at].offset % 256 == 0 && meshes[at].size == request.size);
        CHECK(meshes[at].memory_type == 0 && !meshes[at].is_dedicated);
    }
    tn_MemoryTotals totals = memory(pools);
    CHECK(totals.allocations == MESHES && totals.requested == MESHES * request.size && totals.heaps == driver.live);
    CHECK(totals.reserved_bytes == driver.used && totals.peak_reserved == driver.used && totals.spilled == 0);
    for (int at = 0; at < MESHES; ++at) {
        if (at % 10 != 0) CHECK(tn_heap_pools_free(pools, &meshes[at]) == TN_OK);
    }
    /* The rest moves together. */
    int asked = 0, moved = 0;
    tn_MemoryMove moves[3];
    size_t count = 0;
    const tn_CompactionBudget budget = {16 << 20, 100, 1000};
    tn_Status status = TN_NOT_READY;
    while (status == TN_NOT_READY) {
        status = tn_heap_pools_compact(pools, &budget, is_movable, &asked, moves, 3, &count);
        CHECK(status >= 0 && count <= 3);
        for (size_t at = 0; at < count; ++at, ++moved) {
            CHECK(moves[at].from.heap != moves[at].to.heap && moves[at].to.heap > 0);
            CHECK(tn_heap_pools_free(pools, &moves[at].from) == TN_OK);
        }
    }
    CHECK(moved > 3 && asked >= moved && memory(pools).allocations == MESHES / 10);
    CHECK(memory(pools).reserved_bytes < totals.reserved_bytes / 2 && memory(pools).heaps_created == driver.next);
    CHECK(tn_heap_pools_stop_compaction(pools) == TN_OK);

    int image = 0;
    tn_MemoryRange dedicated;
    request.flags = TN_MEMORY_DEDICATED | TN_MEMORY_WITHIN_BUDGET;
    request.spill = TN_SPILL_NEVER;
    request.resource = &image;
    request.alignment = 0;
    CHECK(tn_heap_pools_allocate(pools, &request, &dedicated) == TN_OK);
    CHECK(dedicated.is_dedicated && dedicated.offset == 0 && driver.resource == &image);
    CHECK(tn_heap_pools_free(pools, &dedicated) == TN_OK);
    CHECK(tn_heap_pools_set_cap(pools, 0, 1) == TN_OK);
    request.size = (uint64_t)32 << 20;
    FAILS(tn_heap_pools_allocate(pools, &request, &dedicated), TN_ERROR_OUT_OF_MEMORY, "mesh");
    tn_OutOfMemory numbers = DESC(tn_OutOfMemory);
    CHECK(tn_last_out_of_memory(&numbers) == TN_OK && numbers.size == request.size && numbers.memory_type == 0);
    CHECK(tn_heap_pools_set_cap(pools, 0, UINT64_MAX) == TN_OK);
    CHECK(tn_heap_pools_allocate(pools, &request, &dedicated) == TN_OK);
    CHECK(tn_heap_pools_free(pools, &dedicated) == TN_OK);
    CHECK(tn_heap_pools_trim(pools) == TN_OK);
    CHECK(tn_release(pools) == TN_OK && driver.live == 0 && driver.used == 0);
}

static void create_rock(tn_Gpu* gpu) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    tn_Buffer* rock = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &rock) == TN_OK);
    CHECK(tn_release(rock) == TN_OK);
}

static int file_has(const char* path, const char* part) {
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL);
    char text[4096];
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    CHECK(size > 0 && size < sizeof text);
    return contains((tn_Str){text, size}, part);
}

static void recorders(void) {
    const char* path = "parts-recording.csv";
    for (int is_finished = 0; is_finished < 2; ++is_finished) {
        tn_Device* device = NULL;
        tn_Gpu* gpu = NULL;
        CHECK(tn_device_create_sim(NULL, &device) == TN_OK && tn_gpu_create(device, NULL, &gpu) == TN_OK);
        tn_Recorder *recorder = NULL, *second = NULL;
        CHECK(tn_gpu_record(gpu, (tn_Str){path, TN_TO_NUL}, TN_RECORD_NAMES, &recorder) == TN_OK);
        create_rock(gpu);
        /* The other recorder's file stays. */
        FAILS(tn_gpu_record(gpu, (tn_Str){path, TN_TO_NUL}, 0, &second), TN_ERROR_BUSY, "has a recorder");
        CHECK((is_finished ? tn_recorder_finish(recorder) : tn_release(recorder)) == TN_OK);
        FAILS(tn_recorder_finish(recorder), TN_ERROR_HANDLE, "was released");
        create_rock(gpu);
        CHECK(file_has(path, "alloc,1,4096") && file_has(path, "name=rock") && file_has(path, "free,1,4096"));
        CHECK(!file_has(path, "alloc,2"));
        CHECK(remove(path) == 0);
        CHECK(tn_release(gpu) == TN_OK && tn_release(device) == TN_OK);
    }
}

enum { ROCKS = 200 };

static void take_moved(void* user, uint64_t id, uint64_t moves) {
    tn_Buffer* const* rocks = user;
    int found = 0;
    for (int at = 0; at < ROCKS; at += 10) found += tn_movable_id(rocks[at]) == id;
    CHECK(found == 1 && moves == 1);
    moved_rocks += 1;
}

/* Nine of ten are released, and the rest moves together. */
static void movables(tn_Gpu* gpu) {
    static tn_Buffer* rocks[ROCKS];
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 100 << 10;
    desc.usage = TN_USAGE_VERTEX;
    desc.flags = TN_RESOURCE_MOVABLE;
    for (int at = 0; at < ROCKS; ++at) CHECK(tn_buffer_create(gpu, &desc, &rocks[at]) == TN_OK);
    for (int at = 0; at < ROCKS; ++at) {
        if (at % 10 != 0) CHECK(tn_release(rocks[at]) == TN_OK);
    }
    const tn_CompactionBudget budget = {16 << 20, 128, 1000};
    tn_CompactionReport report = DESC(tn_CompactionReport);
    uint64_t moves = 0;
    for (int frames = 0; frames < 100 && !report.is_done; ++frames) {
        tn_Frame* frame = NULL;
        CHECK(tn_frame_begin(gpu, &frame) == TN_OK);
        CHECK(tn_gpu_compact(gpu, &budget, &report) == TN_OK && report.refused == 0);
        moves += report.moves;
        CHECK(tn_frame_end(frame) == TN_OK);
    }
    CHECK(report.is_done && moves > 0 && tn_gpu_compact(gpu, &budget, NULL) == TN_OK);
    CHECK(tn_gpu_take_moved(gpu, take_moved, rocks) == TN_OK && moved_rocks == moves);
    CHECK(tn_gpu_take_moved(gpu, take_moved, rocks) == TN_OK && moved_rocks == moves);

    tn_TextureDesc texture_desc = DESC(tn_TextureDesc);
    texture_desc.format = TN_FORMAT_RGBA8_UNORM;
    texture_desc.width = texture_desc.height = 16;
    texture_desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_RENDER_TARGET;
    texture_desc.flags = TN_RESOURCE_MOVABLE;
    tn_Texture* grass = NULL;
    CHECK(tn_texture_create(gpu, &texture_desc, &grass) == TN_OK && tn_movable_id(grass) != 0);
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("meadow"), &recording) == TN_OK);
    tn_Place place, fixed;
    CHECK(tn_recording_place(recording, rocks[0], &place) == TN_OK && place.size == desc.size && place.gpu_address != 0);
    CHECK(tn_recording_place(recording, grass, &fixed) == TN_OK && fixed.object != 0 && fixed.size > 0);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_place(rocks[0], &fixed) == TN_OK);
    CHECK(fixed.object == place.object && fixed.offset == place.offset && fixed.gpu_address == place.gpu_address);

    /* Afterwards no recording names it. */
    texture_desc.flags = 0;
    tn_Texture* probe = NULL;
    CHECK(tn_texture_create(gpu, &texture_desc, &probe) == TN_OK);
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("capture"), &recording) == TN_OK);
    const tn_Use use = {probe, TN_STATE_RENDER_TARGET, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK && tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_gpu_make_read_only(gpu, probe, TN_STATE_PIXEL_SHADER) == TN_OK);
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("scene"), &recording) == TN_OK);
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_STATE, "read-only");
    CHECK(tn_release(recording) == TN_OK);
    desc.flags = TN_RESOURCE_OWN;
    tn_Buffer* table = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &table) == TN_OK && tn_movable_id(table) == 0);
    CHECK(tn_gpu_make_read_only(gpu, table, TN_STATE_VERTEX_OR_CONSTANT) == TN_OK);
    CHECK(tn_release(table) == TN_OK && tn_release(probe) == TN_OK && tn_release(grass) == TN_OK);
    for (int at = 0; at < ROCKS; at += 10) CHECK(tn_release(rocks[at]) == TN_OK);
}

static void with_device(void) {
    tn_Device* device = NULL;
    tn_Gpu* gpu = NULL;
    CHECK(tn_device_create_sim(NULL, &device) == TN_OK && tn_gpu_create(device, NULL, &gpu) == TN_OK);
    movables(gpu);
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK && tn_release(gpu) == TN_OK);
    check_clean(device);
    CHECK(tn_release(device) == TN_OK);
}

int main(void) {
    plans();
    suballocators();
    release_queues();
    heap_pools();
    recorders();
    with_device();
    return 0;
}
