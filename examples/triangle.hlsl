// The shaders of `triangle-d3d12.rs`. `triangle.wgsl` has the same for Vulkan.

cbuffer Frame : register(b0) {
    float4 frame; // cosine and sine of the angle, and height over width of the target
};
Texture2D board : register(t0);
SamplerState board_sampler : register(s0);

struct Corner {
    float4 position : SV_Position;
    float2 uv : UV;
};

Corner vertex(float3 position : POSITION, float2 uv : UV) {
    float x = frame.x * position.x - frame.y * position.y;
    float y = frame.y * position.x + frame.x * position.y;
    Corner corner;
    corner.position = float4(x * frame.z, y, position.z, 1.0);
    corner.uv = uv;
    return corner;
}

float4 fragment(Corner corner) : SV_Target {
    float4 tint = corner.position.z > 0.5 ? float4(1.0, 0.5, 0.1, 1.0) : float4(1.0, 1.0, 1.0, 1.0);
    return board.Sample(board_sampler, corner.uv) * tint;
}
