/* Two static libraries that are written in Rust, in one program. */
#include <tenure.h>

size_t second(size_t number);

int main(void) {
    tn_Device* device = NULL;
    if (tn_device_create_sim(NULL, &device) != TN_OK) return 1;
    tn_release(device);
    return second(7) == 7 ? 0 : 1;
}
