// A draw writes down what it found: its constants, and the first word of each buffer of its table.

cbuffer Constants : register(b0) {
    uint number;
    uint value;
};
Buffer<uint> mesh0 : register(t0);
Buffer<uint> mesh1 : register(t1);
Buffer<uint> mesh2 : register(t2);
Buffer<uint> mesh3 : register(t3);
RWByteAddressBuffer output : register(u0);

[numthreads(1, 1, 1)]
void main() {
    uint at = number * 24;
    output.Store4(at, uint4(number, value, mesh0[0], mesh1[0]));
    output.Store2(at + 16, uint2(mesh2[0], mesh3[0]));
}
