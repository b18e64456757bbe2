/* What the programs share. */
#ifndef CHECK_H
#define CHECK_H

#include "tenure.h"
#include "tenure_vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #condition,     \
                    tn_last_error().data);                                                      \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

/* The status of a failed call, and a part of its text. */
static inline void check_failed(tn_Status status, tn_Status expected, const char* part, const char* file, int line) {
    if (status != expected || strstr(tn_last_error().data, part) == NULL) {
        fprintf(stderr, "%s:%d: %s instead of %s\nlast error: %s\n", file, line, tn_status_name(status).data,
                tn_status_name(expected).data, tn_last_error().data);
        exit(1);
    }
}
#define FAILS(call, status, part) check_failed((call), (status), (part), __FILE__, __LINE__)

/* A simulated device has found no hazard, and all its objects are destroyed. */
static inline void check_clean(tn_Device* device) {
    tn_Text* text = NULL;
    if (tn_sim_findings(device, &text) != TN_OK) {
        fprintf(stderr, "%.*s\n", (int)tn_text(text).size, tn_text(text).data);
        exit(1);
    }
}

/* A text contains another. */
static inline int contains(tn_Str text, const char* part) {
    const size_t size = strlen(part);
    for (size_t at = 0; at + size <= text.size; ++at) {
        if (memcmp(text.data + at, part, size) == 0) return 1;
    }
    return 0;
}

/* A zeroed description. */
#define DESC(Type) {.struct_size = sizeof(Type)}

#endif
