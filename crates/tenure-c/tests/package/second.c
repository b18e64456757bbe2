/* Two static libraries that are written in Rust, in one program, and a second copy of tenure, the shared library of the argument. */
#include <dlfcn.h>
#include <tenure.h>

size_t second(size_t number);

int main(int count, char** arguments) {
    void* copy = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (copy == NULL) return 2;
    tn_Status (*create)(const tn_SimDesc*, tn_Device**);
    tn_Status (*release)(void*);
    *(void**)&create = dlsym(copy, "tn_device_create_sim");
    *(void**)&release = dlsym(copy, "tn_release");
    if (create == NULL || release == NULL) return 3;

    tn_Device* device = NULL;
    tn_Device* of_copy = NULL;
    if (tn_device_create_sim(NULL, &device) != TN_OK || create(NULL, &of_copy) != TN_OK) return 4;
    /* Each copy refuses the handles of the other. */
    if (release(device) != TN_ERROR_HANDLE || tn_release(of_copy) != TN_ERROR_HANDLE) return 5;
    if (tn_release(device) != TN_OK || release(of_copy) != TN_OK) return 6;
    return second(7) == 7 ? 0 : 1;
}
