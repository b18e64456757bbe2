/* Creates and releases buffers, as many as the argument says: `cargo xtask c-instructions` counts the instructions. */
#include <stdlib.h>
#include <tenure.h>

__attribute__((noinline)) static int measured(tn_Gpu* gpu) {
    tn_BufferDesc desc = {.struct_size = sizeof desc};
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    tn_Buffer* rock = NULL;
    if (tn_buffer_create(gpu, &desc, &rock) < 0) return 1;
    return tn_release(rock) < 0;
}

int main(int count, char** arguments) {
    const int rounds = count > 1 ? atoi(arguments[1]) : 1;
    tn_Device* device = NULL;
    tn_Gpu* gpu = NULL;
    int failures = tn_device_create_sim(NULL, &device) < 0 || tn_gpu_create(device, NULL, &gpu) < 0;
    for (int round = 0; round < rounds; ++round) failures += measured(gpu) + (tn_gpu_reclaim(gpu) < 0);
    failures += tn_gpu_shutdown(gpu, NULL, NULL) != TN_OK;
    tn_release(gpu);
    tn_release(device);
    return failures != 0;
}
