#include <stdio.h>
#include <tenure.h>

int main(void) {
    tn_Device* device = NULL;
    tn_Gpu* gpu = NULL;
    tn_Buffer* rock = NULL;
    tn_BufferDesc desc = {.struct_size = sizeof desc};
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("rock");
    if (tn_device_create_sim(NULL, &device) < 0 || tn_gpu_create(device, NULL, &gpu) < 0 ||
        tn_buffer_create(gpu, &desc, &rock) < 0) {
        fprintf(stderr, "%s\n", tn_last_error().data);
        return 1;
    }
    tn_release(rock);
    const tn_Status status = tn_gpu_shutdown(gpu, NULL, NULL);
    tn_release(gpu);
    tn_release(device);
    return status == TN_OK ? 0 : 1;
}
