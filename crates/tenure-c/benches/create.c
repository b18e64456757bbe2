/* Creates and releases buffers. `cargo xtask c-instructions` counts the instructions of measured(). */
#include <tenure.h>

enum { ROUNDS = 1000 };

static int create(tn_Gpu* gpu) {
    tn_BufferDesc desc = {.struct_size = sizeof desc};
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    tn_Buffer* rock = NULL;
    if (tn_buffer_create(gpu, &desc, &rock) < 0) return 1;
    return tn_release(rock) < 0;
}

__attribute__((noinline)) static int measured(tn_Gpu* gpu) { return create(gpu); }

__attribute__((noinline)) static int warm_up(tn_Gpu* gpu) { return create(gpu); }

int main(void) {
    tn_Device* device = NULL;
    tn_Gpu* gpu = NULL;
    int failures = tn_device_create_sim(NULL, &device) < 0 || tn_gpu_create(device, NULL, &gpu) < 0;
    for (int round = 0; round < ROUNDS; ++round) failures += warm_up(gpu) + (tn_gpu_reclaim(gpu) < 0);
    for (int round = 0; round < ROUNDS; ++round) failures += measured(gpu) + (tn_gpu_reclaim(gpu) < 0);
    failures += tn_gpu_shutdown(gpu, NULL, NULL) != TN_OK;
    tn_release(gpu);
    tn_release(device);
    return failures != 0;
}
