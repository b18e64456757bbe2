/* Misuse of the parts that need no device: an error with a text, and nothing is changed. */
#include "check.h"

#include <pthread.h>

static void plans(void) {
    tn_PlanItem items[2] = {{0}, {0}};
    uint64_t offsets[2] = {7, 7}, peak = 0;
    for (int at = 0; at < 2; ++at) {
        items[at].end = 2;
        items[at].size = 64;
    }
    tn_PlanDesc desc = DESC(tn_PlanDesc);
    tn_PlanResult result = DESC(tn_PlanResult);
    FAILS(tn_plan(NULL, 2, NULL, offsets, NULL), TN_ERROR_POINTER, "items");
    FAILS(tn_plan(items, 2, NULL, NULL, NULL), TN_ERROR_POINTER, "offsets");
    FAILS(tn_plan(items, SIZE_MAX, NULL, offsets, NULL), TN_ERROR_POINTER, "fit into no memory");
    FAILS(tn_plan(items, SIZE_MAX / sizeof *items, NULL, offsets, NULL), TN_ERROR_POINTER, "fit into no memory");
    FAILS(tn_plan((tn_PlanItem*)((uintptr_t)items + 1), 1, NULL, offsets, NULL), TN_ERROR_POINTER, "aligned");
    desc.flags = 1u << 31;
    FAILS(tn_plan(items, 2, &desc, offsets, NULL), TN_ERROR_ENUM, "flags");
    desc.struct_size = 4;
    FAILS(tn_plan(items, 2, &desc, offsets, NULL), TN_ERROR_STRUCT_SIZE, "tn_PlanDesc");
    result.struct_size = 0;
    FAILS(tn_plan(items, 2, NULL, offsets, &result), TN_ERROR_STRUCT_SIZE, "tn_PlanResult");
    items[1].end = 0;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "item 1 has an empty lifetime");
    items[1].first = 5;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "from 5 to 0");
    items[1].first = 0;
    items[1].end = 2;
    items[1].alignment = 3;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "alignment 3");
    items[1].alignment = (uint64_t)1 << 63;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "item 1");
    items[1].alignment = 0;
    items[1].size = UINT64_MAX;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "item 1");
    items[1].size = 64;
    items[1].has = 1u << 2;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ENUM, "has = 4");
    items[0].has = items[1].has = TN_PLAN_PINNED;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "fixed to the same bytes");
    items[1].pinned = UINT64_MAX;
    FAILS(tn_plan(items, 2, NULL, offsets, NULL), TN_ERROR_ARGUMENT, "item 1");
    CHECK(offsets[0] == 7 && offsets[1] == 7);

    items[0].has = items[1].has = 0;
    FAILS(tn_plan_check(items, 2, offsets, &peak), TN_ERROR_ARGUMENT, "items 0 and 1 share bytes");
    FAILS(tn_plan_check(items, 2, NULL, &peak), TN_ERROR_POINTER, "offsets");
    offsets[1] = UINT64_MAX;
    FAILS(tn_plan_check(items, 2, offsets, &peak), TN_ERROR_ARGUMENT, "address space");
    FAILS(tn_plan_check(items, 2, offsets, (uint64_t*)((uintptr_t)&peak + 1)), TN_ERROR_POINTER, "aligned");
    /* Any number of the description is fine. */
    desc = (tn_PlanDesc)DESC(tn_PlanDesc);
    desc.flags = TN_PLAN_STABLE;
    desc.capacity = desc.nodes = desc.time_ns = desc.seed = UINT64_MAX;
    desc.threads = desc.stability = UINT32_MAX;
    items[0].has = TN_PLAN_PREVIOUS;
    items[0].previous = UINT64_MAX;
    CHECK(tn_plan(items, 2, &desc, offsets, NULL) == TN_OK);
    CHECK(tn_plan_check(items, 2, offsets, &peak) == TN_OK && peak == 128);
}

static tn_Suballocator* create(tn_SuballocatorKind kind) {
    tn_SuballocatorDesc desc = DESC(tn_SuballocatorDesc);
    desc.kind = kind;
    desc.capacity = 1 << 16;
    tn_Suballocator* suballocator = NULL;
    CHECK(tn_suballocator_create(&desc, &suballocator) == TN_OK);
    return suballocator;
}

static void descriptions_of_suballocators(void) {
    tn_Suballocator* suballocator = NULL;
    tn_SuballocatorDesc desc = DESC(tn_SuballocatorDesc);
    FAILS(tn_suballocator_create(NULL, &suballocator), TN_ERROR_POINTER, "tn_SuballocatorDesc");
    FAILS(tn_suballocator_create(&desc, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_suballocator_create(&desc, &suballocator), TN_ERROR_CONFIG, "0 bytes");
    for (tn_SuballocatorKind kind = 0; kind < TN_SUBALLOCATOR_RING; ++kind) {
        desc.kind = kind;
        desc.capacity = UINT64_MAX;
        FAILS(tn_suballocator_create(&desc, &suballocator), TN_ERROR_CONFIG, "above the maximum");
        desc.capacity = 1 << 16;
        desc.granule = 3;
        FAILS(tn_suballocator_create(&desc, &suballocator), TN_ERROR_CONFIG, "granule 3");
        desc.granule = (uint64_t)1 << 63;
        CHECK(tn_suballocator_create(&desc, &suballocator) == TN_ERROR_CONFIG && suballocator == NULL);
        desc.granule = 0;
    }
    desc.kind = TN_SUBALLOCATOR_RING + 1;
    FAILS(tn_suballocator_create(&desc, &suballocator), TN_ERROR_ENUM, "kind = 4");
}

static void suballocators(void) {
    tn_Range ranges[4];
    for (tn_SuballocatorKind kind = 0; kind <= TN_SUBALLOCATOR_RING; ++kind) {
        tn_Suballocator* suballocator = create(kind);
        tn_Range* range = &ranges[kind];
        const uint64_t alignment = 1;
        FAILS(tn_suballocator_allocate(suballocator, 1, alignment, NULL), TN_ERROR_POINTER, "tn_Range");
        FAILS(tn_suballocator_allocate(suballocator, 0, alignment, range), TN_ERROR_ARGUMENT, "size is zero");
        FAILS(tn_suballocator_allocate(suballocator, 1, 0, range), TN_ERROR_ARGUMENT, "alignment");
        FAILS(tn_suballocator_allocate(suballocator, 1, 3, range), TN_ERROR_ARGUMENT, "alignment");
        FAILS(tn_suballocator_allocate(suballocator, UINT64_MAX, alignment, range), TN_ERROR_TOO_LARGE, "never");
        CHECK(tn_suballocator_allocate(suballocator, UINT64_MAX, UINT64_MAX, range) < 0);
        CHECK(tn_suballocator_allocate(suballocator, 1, (uint64_t)1 << 63, range) < 0 || range->offset == 0);
        CHECK(tn_suballocator_clear(suballocator) == TN_OK);
        CHECK(tn_suballocator_allocate(suballocator, 1 << 15, alignment, range) == TN_OK);
        tn_Range other;
        FAILS(tn_suballocator_allocate(suballocator, (1 << 15) + 1, alignment, &other), TN_ERROR_OUT_OF_MEMORY, "free");
        tn_OutOfMemory numbers = DESC(tn_OutOfMemory);
        CHECK(tn_last_out_of_memory(&numbers) == TN_OK && numbers.size == (1 << 15) + 1);
        CHECK(numbers.largest_free == 1 << 15 && numbers.budget == UINT64_MAX && numbers.memory_type == UINT32_MAX);
        tn_SuballocatorTotals totals = DESC(tn_SuballocatorTotals);
        totals.flags = 1;
        FAILS(tn_suballocator_totals(suballocator, &totals), TN_ERROR_ENUM, "tn_SuballocatorTotals");
        CHECK(tn_last_out_of_memory(&numbers) == TN_NOT_READY);
        CHECK(tn_release(suballocator) == TN_OK);
        FAILS(tn_release(suballocator), TN_ERROR_HANDLE, "tn_Suballocator was released");
        FAILS(tn_suballocator_allocate(suballocator, 1, 1, &other), TN_ERROR_HANDLE, "was released");
        FAILS(tn_suballocator_free((tn_Suballocator*)(uintptr_t)77, &other), TN_ERROR_HANDLE, "is not a");
        FAILS(tn_suballocator_clear(NULL), TN_ERROR_HANDLE, "null");
    }
}

static void ranges(void) {
    for (tn_SuballocatorKind kind = 0; kind < TN_SUBALLOCATOR_RING; ++kind) {
        tn_Suballocator *suballocator = create(kind), *other = create(kind);
        tn_Range range, none = {0, 0, 0, {0, 0}};
        CHECK(tn_suballocator_allocate(suballocator, 256, 1, &range) == TN_OK);
        FAILS(tn_suballocator_free(suballocator, NULL), TN_ERROR_POINTER, "tn_Range");
        FAILS(tn_suballocator_free(suballocator, &none), TN_ERROR_FOREIGN, "was not allocated by this");
        FAILS(tn_suballocator_free(other, &range), TN_ERROR_FOREIGN, "was not allocated by this");
        /* Values that no call has returned: only those of the one range are accepted. */
        for (uint64_t place = 0; place < 32; ++place) {
            for (uint64_t tag = 0; tag < 64; ++tag) {
                tn_Range made = range;
                made.handle[0] = place;
                made.handle[1] = (range.handle[1] & UINT64_MAX << 32) | tag;
                const int is_it = memcmp(made.handle, range.handle, sizeof made.handle) == 0;
                if (!is_it) CHECK(tn_suballocator_free(suballocator, &made) == TN_ERROR_HANDLE);
            }
        }
        CHECK(tn_suballocator_free(suballocator, &range) == TN_OK);
        FAILS(tn_suballocator_free(suballocator, &range), TN_ERROR_HANDLE, "freed before");
        tn_Range next;
        CHECK(tn_suballocator_allocate(suballocator, 256, 1, &next) == TN_OK);
        FAILS(tn_suballocator_free(suballocator, &range), TN_ERROR_HANDLE, "freed before");
        CHECK(tn_suballocator_clear(suballocator) == TN_OK);
        FAILS(tn_suballocator_free(suballocator, &next), TN_ERROR_HANDLE, "freed before");
        FAILS(tn_suballocator_close(suballocator, 1), TN_ERROR_ARGUMENT, "only a ring");
        FAILS(tn_suballocator_release_up_to(suballocator, 1), TN_ERROR_ARGUMENT, "only a ring");
        CHECK(tn_release(suballocator) == TN_OK && tn_release(other) == TN_OK);
    }
    tn_Suballocator* ring = create(TN_SUBALLOCATOR_RING);
    tn_Range range;
    CHECK(tn_suballocator_allocate(ring, 256, 1, &range) == TN_OK);
    FAILS(tn_suballocator_free(ring, &range), TN_ERROR_ARGUMENT, "tn_suballocator_release_up_to");
    CHECK(tn_suballocator_close(ring, UINT64_MAX) == TN_OK && tn_suballocator_close(ring, 0) == TN_OK);
    CHECK(tn_suballocator_release_up_to(ring, UINT64_MAX) == TN_OK);
    CHECK(tn_release(ring) == TN_OK);
}

enum { ROUNDS = 20000 };
static tn_Suballocator* shared = NULL;

static void* allocate_much(void* user) {
    (void)user;
    for (int round = 0; round < ROUNDS; ++round) {
        tn_Range range;
        tn_Status status = tn_suballocator_allocate(shared, 64, 16, &range);
        CHECK(status == TN_OK || status == TN_ERROR_BUSY);
        if (status != TN_OK) continue;
        do {
            status = tn_suballocator_free(shared, &range);
        } while (status == TN_ERROR_BUSY);
        CHECK(status == TN_OK);
    }
    return NULL;
}

static void threads(void) {
    shared = create(TN_SUBALLOCATOR_GENERAL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate_much, NULL) == 0);
    allocate_much(NULL);
    pthread_join(thread, NULL);
    tn_SuballocatorTotals totals = DESC(tn_SuballocatorTotals);
    CHECK(tn_suballocator_totals(shared, &totals) == TN_OK && totals.free == totals.capacity);
    CHECK(tn_release(shared) == TN_OK);
}

static tn_ReleaseQueue* queue = NULL;
static int destroyed = 0;

static void destroy(void* user, void* object) {
    (void)user;
    (void)object;
    ++destroyed;
    FAILS(tn_release_queue_reclaim(queue), TN_ERROR_CALLBACK, "tn_DestroyFn");
    FAILS(tn_suballocator_clear(NULL), TN_ERROR_CALLBACK, "tn_DestroyFn");
}

static tn_Status submit(void* user, uint64_t serial) {
    CHECK(serial == 1);
    FAILS(tn_release_queue_submit(queue, 0, submit, NULL, NULL), TN_ERROR_CALLBACK, "tn_SubmitFn");
    return *(tn_Status*)user;
}

static void release_queues(void) {
    FAILS(tn_release_queue_create(0, &queue), TN_ERROR_ARGUMENT, "queues = 0");
    FAILS(tn_release_queue_create(9, &queue), TN_ERROR_ARGUMENT, "queues = 9");
    FAILS(tn_release_queue_create(1, NULL), TN_ERROR_POINTER, "handle");
    tn_ReleaseQueue* other = NULL;
    CHECK(tn_release_queue_create(1, &queue) == TN_OK && tn_release_queue_create(1, &other) == TN_OK);
    uint64_t recording = 0;
    FAILS(tn_release_queue_open(queue, TN_LIT("x"), NULL), TN_ERROR_POINTER, "a number");
    FAILS(tn_release_queue_open(queue, (tn_Str){"\xff", 1}, &recording), TN_ERROR_TEXT, "UTF-8");
    FAILS(tn_release_queue_close(queue, 0), TN_ERROR_HANDLE, "recording 0 is not open");
    FAILS(tn_release_queue_close(queue, UINT64_MAX), TN_ERROR_HANDLE, "is not open");
    CHECK(tn_release_queue_open(queue, TN_LIT("x"), &recording) == TN_OK);
    CHECK(tn_release_queue_close(queue, recording) == TN_OK);
    FAILS(tn_release_queue_close(queue, recording), TN_ERROR_HANDLE, "is not open");

    tn_SyncPoint done;
    tn_Status answer = -1000;
    FAILS(tn_release_queue_submit(queue, 0, NULL, NULL, NULL), TN_ERROR_POINTER, "tn_SerialFn");
    FAILS(tn_release_queue_submit(queue, 1, submit, &answer, &done), TN_ERROR_ARGUMENT, "queue 1: the tn_ReleaseQueue has 1");
    FAILS(tn_release_queue_submit(queue, UINT32_MAX, submit, &answer, NULL), TN_ERROR_ARGUMENT, "has 1");
    FAILS(tn_release_queue_submit(queue, 0, submit, &answer, &done), -1000, "-1000");
    answer = TN_OK;
    /* The serial of the refused submission. */
    CHECK(tn_release_queue_submit(queue, 0, submit, &answer, &done) == TN_OK);
    FAILS(tn_release_queue_complete(queue, 0, 2), TN_ERROR_NEVER_SUBMITTED, "serial 2 of queue 0");
    FAILS(tn_release_queue_complete(queue, 0, UINT64_MAX), TN_ERROR_NEVER_SUBMITTED, "newest submission has 1");
    FAILS(tn_release_queue_complete(queue, 8, 0), TN_ERROR_ARGUMENT, "queue 8");

    FAILS(tn_release_queue_push(queue, NULL, NULL, NULL, NULL, 0), TN_ERROR_POINTER, "tn_DestroyFn");
    FAILS(tn_release_queue_push(other, &done, destroy, NULL, NULL, 0), TN_ERROR_FOREIGN, "not of this");
    tn_SyncPoint never = {{0, 0, 1}, 0, 0};
    FAILS(tn_release_queue_push(queue, &never, destroy, NULL, NULL, 0), TN_ERROR_NEVER_SUBMITTED, "not made");
    CHECK(tn_release_queue_push(queue, NULL, destroy, NULL, NULL, UINT64_MAX) == TN_OK);
    FAILS(tn_release_queue_push(queue, NULL, destroy, NULL, NULL, 1), TN_ERROR_ARGUMENT, "bytes = 1");
    tn_ReleaseTotals totals = {0};
    FAILS(tn_release_queue_totals(queue, &totals), TN_ERROR_STRUCT_SIZE, "tn_ReleaseTotals");
    CHECK(tn_release_queue_complete(queue, 0, 1) == TN_OK && destroyed == 0);
    CHECK(tn_release_queue_reclaim(queue) == TN_OK && destroyed == 1);
    CHECK(tn_release_queue_reclaim(queue) == TN_OK && destroyed == 1);
    CHECK(tn_release(other) == TN_OK && tn_release(queue) == TN_OK);
    FAILS(tn_release_queue_reclaim(queue), TN_ERROR_HANDLE, "was released");
}

static tn_HeapPools* pools = NULL;
static tn_Status heap_answer = TN_OK;
static uint64_t live_heaps = 0;

static tn_Status create_heap(void* user, tn_HeapDesc desc, tn_Native* heap) {
    (void)user;
    (void)desc;
    FAILS(tn_heap_pools_trim(pools), TN_ERROR_CALLBACK, "tn_HeapPools");
    FAILS(tn_release(pools), TN_ERROR_BUSY, "another call uses this tn_HeapPools");
    if (heap_answer != TN_OK) return heap_answer;
    *heap = ++live_heaps;
    return TN_OK;
}

static void destroy_heap(void* user, tn_Native heap) {
    (void)user;
    CHECK(heap != 0);
    --live_heaps;
}

static tn_Bool is_movable(void* user, tn_MemoryRange range) {
    (void)user;
    (void)range;
    return 1;
}

static void heap_pools(void) {
    const tn_MemoryType types[] = {{TN_MEMORY_DEVICE_LOCAL, 0}, {0xffffffff, 0}};
    tn_MemoryHeap heaps[] = {{UINT64_MAX, 1, 0}};
    tn_HeapPoolsDesc desc = DESC(tn_HeapPoolsDesc);
    FAILS(tn_heap_pools_create(NULL, &pools), TN_ERROR_POINTER, "tn_HeapPoolsDesc");
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_POINTER, "create_heap");
    desc.create_heap = create_heap;
    desc.destroy_heap = destroy_heap;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "memory types");
    desc.memory_type_count = 2;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_POINTER, "memory_types");
    desc.memory_types = types;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "heap 0");
    desc.memory_heaps = heaps;
    desc.memory_heap_count = 33;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "at most 32");
    desc.memory_heap_count = 1;
    desc.granule = 3;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "granule");
    desc.granule = 0;
    desc.heap_alignment = 3;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "heap_alignment");
    desc.heap_alignment = 0;
    desc.device_block_max = UINT64_MAX;
    FAILS(tn_heap_pools_create(&desc, &pools), TN_ERROR_CONFIG, "device_blocks.max");
    desc.device_block_max = 0;
    tn_HeapPools* other = NULL;
    CHECK(tn_heap_pools_create(&desc, &pools) == TN_OK && tn_heap_pools_create(&desc, &other) == TN_OK);

    tn_MemoryRange range, none = {0};
    uint32_t order[33] = {0};
    tn_MemoryRequest request = DESC(tn_MemoryRequest);
    request.size = 4096;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "memory types");
    request.memory_type_count = 1;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_POINTER, "memory_types");
    request.memory_types = order;
    request.memory_type_count = 33;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "at most 32");
    request.memory_type_count = 1;
    FAILS(tn_heap_pools_allocate(pools, &request, NULL), TN_ERROR_POINTER, "tn_MemoryRange");
    FAILS(tn_heap_pools_allocate(pools, NULL, &range), TN_ERROR_POINTER, "tn_MemoryRequest");
    order[0] = UINT32_MAX;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "memory types");
    order[0] = 0;
    request.category = TN_HEAP_TEXTURES + 1;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ENUM, "category = 4");
    request.category = TN_HEAP_ANY;
    request.spill = TN_SPILL_NEVER + 1;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ENUM, "spill = 3");
    request.spill = 0;
    request.alignment = 3;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "alignment = 3");
    request.alignment = (uint64_t)1 << 63;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "alignment");
    request.alignment = 0;
    request.size = 0;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "size = 0");
    request.size = UINT64_MAX;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_ARGUMENT, "size");
    request.size = 4096;
    heap_answer = -1234;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), -1234, "tn_CreateHeapFn");
    heap_answer = TN_ERROR_OUT_OF_MEMORY;
    FAILS(tn_heap_pools_allocate(pools, &request, &range), TN_ERROR_OUT_OF_MEMORY, "4096 B");
    heap_answer = TN_OK;
    CHECK(tn_heap_pools_allocate(pools, &request, &range) == TN_OK);

    FAILS(tn_heap_pools_free(pools, NULL), TN_ERROR_POINTER, "tn_MemoryRange");
    FAILS(tn_heap_pools_free(pools, &none), TN_ERROR_FOREIGN, "other pools");
    FAILS(tn_heap_pools_free(other, &range), TN_ERROR_FOREIGN, "other pools");
    for (uint64_t key = 0; key < 300; ++key) {
        tn_MemoryRange made = range;
        made.id[1] = key;
        made.id[2] = range.id[2] + (key == range.id[1]);
        FAILS(tn_heap_pools_free(pools, &made), TN_ERROR_HANDLE, "freed before");
    }
    tn_MemoryRange made = range;
    made.id[1] = made.id[2] = UINT64_MAX;
    FAILS(tn_heap_pools_free(pools, &made), TN_ERROR_HANDLE, "freed before");
    /* Only the identity counts. */
    made = range;
    made.size = made.offset = made.heap = UINT64_MAX;
    made.memory_type = made.is_dedicated = UINT32_MAX;
    CHECK(tn_heap_pools_free(pools, &made) == TN_OK);
    FAILS(tn_heap_pools_free(pools, &range), TN_ERROR_HANDLE, "freed before");
    tn_MemoryTotals totals = DESC(tn_MemoryTotals);
    CHECK(tn_heap_pools_totals(pools, &totals) == TN_OK && totals.allocations == 0 && totals.requested == 0);
    FAILS(tn_heap_pools_set_cap(pools, 1, 0), TN_ERROR_ARGUMENT, "heap = 1");

    const tn_CompactionBudget budget = {UINT64_MAX, UINT32_MAX, UINT32_MAX};
    tn_MemoryMove moves[1];
    size_t count = 7;
    FAILS(tn_heap_pools_compact(pools, &budget, NULL, NULL, moves, 1, &count), TN_ERROR_POINTER, "tn_IsMovableFn");
    FAILS(tn_heap_pools_compact(pools, NULL, is_movable, NULL, moves, 1, &count), TN_ERROR_POINTER, "tn_CompactionBudget");
    FAILS(tn_heap_pools_compact(pools, &budget, is_movable, NULL, NULL, 1, &count), TN_ERROR_POINTER, "moves");
    FAILS(tn_heap_pools_compact(pools, &budget, is_movable, NULL, moves, 1, NULL), TN_ERROR_POINTER, "number");
    FAILS(tn_heap_pools_compact(pools, &budget, is_movable, NULL, moves, 1, &count), TN_ERROR_ARGUMENT, "TN_HEAP_POOLS_COMPACT");
    /* Heaps with ranges go with the pools. */
    request.flags = TN_MEMORY_DEDICATED;
    CHECK(tn_heap_pools_allocate(pools, &request, &range) == TN_OK && live_heaps > 0);
    CHECK(tn_release(other) == TN_OK && tn_release(pools) == TN_OK && live_heaps == 0);
    FAILS(tn_heap_pools_free(pools, &range), TN_ERROR_HANDLE, "was released");
}

static void moved(void* user, uint64_t id, uint64_t moves) {
    (void)user;
    (void)id;
    (void)moves;
    CHECK(0);
}

static void movables(tn_Gpu* gpu) {
    const tn_CompactionBudget budget = {UINT64_MAX, UINT32_MAX, UINT32_MAX};
    tn_CompactionReport report = {0};
    FAILS(tn_gpu_compact(gpu, &budget, &report), TN_ERROR_STRUCT_SIZE, "tn_CompactionReport");
    FAILS(tn_gpu_compact(gpu, NULL, NULL), TN_ERROR_POINTER, "tn_CompactionBudget");
    FAILS(tn_gpu_compact(NULL, &budget, NULL), TN_ERROR_HANDLE, "null");
    CHECK(tn_gpu_compact(gpu, &budget, NULL) == TN_OK);
    FAILS(tn_gpu_take_moved(gpu, NULL, NULL), TN_ERROR_POINTER, "tn_MovedFn");
    CHECK(tn_gpu_take_moved(gpu, moved, NULL) == TN_OK);
    CHECK(tn_movable_id(gpu) == 0 && tn_movable_id(NULL) == 0);

    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 64;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    tn_Buffer* rock = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &rock) == TN_OK);
    FAILS(tn_gpu_make_read_only(gpu, gpu, TN_STATE_COPY_SRC), TN_ERROR_HANDLE, "buffer or texture");
    FAILS(tn_gpu_make_read_only(gpu, rock, 1u << 31), TN_ERROR_ENUM, "state");
    FAILS(tn_gpu_make_read_only(gpu, rock, TN_STATE_COPY_DST), TN_ERROR_STATE, "rock");
    FAILS(tn_gpu_make_read_only(gpu, rock, TN_STATE_VERTEX_OR_CONSTANT), TN_ERROR_STATE, "with others: TN_RESOURCE_OWN");
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("x"), &recording) == TN_OK);
    tn_Place place;
    FAILS(tn_recording_place(recording, gpu, &place), TN_ERROR_HANDLE, "a buffer, texture, view, table or set");
    FAILS(tn_recording_place(recording, rock, NULL), TN_ERROR_POINTER, "tn_Place");
    FAILS(tn_recording_place((tn_Recording*)(void*)rock, rock, &place), TN_ERROR_HANDLE, "tn_Recording");
    CHECK(tn_recording_place(recording, rock, &place) == TN_OK);
    CHECK(tn_release(recording) == TN_OK && tn_release(rock) == TN_OK);
}

static void recorders(void) {
    tn_Device* device = NULL;
    tn_Gpu* gpu = NULL;
    CHECK(tn_device_create_sim(NULL, &device) == TN_OK && tn_gpu_create(device, NULL, &gpu) == TN_OK);
    tn_Recorder* recorder = NULL;
    FAILS(tn_gpu_record(gpu, TN_LIT("no/such/folder/at/all.csv"), 0, &recorder), TN_ERROR_FILE, "no/such/folder");
    FAILS(tn_gpu_record(gpu, TN_LIT("x.csv"), 2, &recorder), TN_ERROR_ENUM, "flags = 2");
    FAILS(tn_gpu_record(gpu, TN_LIT("x.csv"), 0, NULL), TN_ERROR_POINTER, "handle");
    FAILS(tn_gpu_record(gpu, (tn_Str){"\xff", 1}, 0, &recorder), TN_ERROR_TEXT, "UTF-8");
    FAILS(tn_gpu_record(gpu, (tn_Str){NULL, 0}, 0, &recorder), TN_ERROR_FILE, "cannot open");
    CHECK(recorder == NULL);
    FAILS(tn_recorder_finish(NULL), TN_ERROR_HANDLE, "null");
    movables(gpu);
    FAILS(tn_last_out_of_memory(NULL), TN_ERROR_POINTER, "tn_OutOfMemory");
    CHECK(tn_release(gpu) == TN_OK && tn_release(device) == TN_OK);
}

int main(void) {
    plans();
    descriptions_of_suballocators();
    suballocators();
    ranges();
    threads();
    release_queues();
    heap_pools();
    recorders();
    return 0;
}
