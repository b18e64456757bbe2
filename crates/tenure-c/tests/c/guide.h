/* What the fragments of the guide leave out. */
#include "tenure_vulkan.h"

#include <stdio.h>

static const float vertices[3] = {0};

#ifdef __cplusplus
#include "tenure_vulkan.hpp"

#include <cstring>

using namespace std::chrono_literals;
using namespace tn::literals;

extern const tn::Gpu gpu;
extern const tn::View color, normal;
extern const tn::Texture brick;
extern const std::vector<unsigned char> texels;
extern const tn::Graph graph;
extern const tn::Frame frame;
extern const tn::Recording list;
extern const tn::UploadRing ring;
extern const tn_Place place;
extern const tn_AccelerationStructureDesc rock_desc;
extern const std::uint64_t scratch_size;
void build(tn_Native list, tn_Place structure, tn_Place scratch);
extern std::uint32_t scene;
extern const tn_BufferDesc desc;
void draw(tn_Native list, tn_Place vertices);
void log_error(tn_Status status, tn_Str text);
#else
typedef struct VkBuffer_T* VkBuffer;
typedef struct VkCommandBuffer_T* VkCommandBuffer;

extern tn_Gpu* gpu;
extern tn_Graph* graph;
extern tn_Frame* frame;
extern tn_Swapchain* swapchain;
extern tn_Recording* list;
extern const tn_TextureDesc target;
extern void* user;
tn_Status record(void* user, const tn_Pass* pass);
void log_error(const char* text);
void vkCmdBindVertexBuffers(VkCommandBuffer list, uint32_t first, uint32_t count, const VkBuffer* buffers, const uint64_t* offsets);
#endif
