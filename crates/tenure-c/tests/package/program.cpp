#include <tenure.hpp>

int main() {
    const tn::Device device = tn::Device::simulated();
    const tn::Gpu gpu = tn::Gpu::create(device);
    return gpu.shutdown().empty() ? 0 : 1;
}
