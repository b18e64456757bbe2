//! The frame's resources.

use tenure::Format;

/// The size of a texture, in texels of mip 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The frame's size, divided by this and rounded up.
    Part(u32),
    /// A square. Its side is the frame's height, rounded up to a power of two and divided by this: larger frames
    /// have finer shadows.
    Shadow(u32),
    /// A width and a height that do not depend on the frame's size.
    Fixed(u32, u32),
}

/// The type and the size of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A texture of one mip.
    Texture(Format, Extent),
    /// A texture with all its mips.
    Mipped(Format, Extent),
    /// A 3D texture of this depth.
    Volume(Format, Extent, u32),
    /// A buffer of this size in bytes.
    Buffer(u64),
    /// A buffer with this number of bytes for each tile of 16 by 16 pixels.
    TileBuffer(u64),
    /// A buffer with this number of bytes for each tile of 16 by 16 pixels and each of 32 slices in depth.
    ClusterBuffer(u64),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

macro_rules! resources {
    ($($id:ident $name:literal: $shape:expr;)*) => {
        /// A resource of the frame: its index in [`RESOURCES`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Id { $($id,)* }

        /// The resources, in the order of [`Id`].
        pub(crate) const RESOURCES: &[Row] = &[$(Row { name: $name, shape: $shape },)*];
    };
}

use Extent::{Fixed, Part, Shadow};
use Format::{D16Unorm, D32Float, R8Unorm, R11G11B10Float, R16Float, R32Float, Rg8Unorm};
use Format::{Rg16Float, Rg32Float, Rgb10A2Unorm, Rgba8Unorm, Rgba16Float};
use Shape::{Buffer, ClusterBuffer, Mipped, Texture, TileBuffer, Volume};

resources! {
    // Culling on the GPU.
    VisibleInstances        "visible instances":           Buffer(512 << 10);
    DrawArguments           "draw arguments":              Buffer(64 << 10);
    LateInstances           "late instances":              Buffer(512 << 10);
    LateArguments           "late arguments":              Buffer(64 << 10);
    // Depth, and the textures derived from it.
    SceneDepth              "scene depth":                 Texture(D32Float, Part(1));
    HiZ                     "hi-z":                        Mipped(R32Float, Part(2));
    HalfDepth               "half-resolution depth":       Texture(R32Float, Part(2));
    HalfNormals             "half-resolution normals":     Texture(Rgba8Unorm, Part(2));
    // Shadows.
    ShadowCascade0          "shadow cascade 0":            Texture(D16Unorm, Shadow(1));
    ShadowCascade1          "shadow cascade 1":            Texture(D16Unorm, Shadow(1));
    ShadowCascade2          "shadow cascade 2":            Texture(D16Unorm, Shadow(1));
    ShadowCascade3          "shadow cascade 3":            Texture(D16Unorm, Shadow(1));
    ShadowAtlas             "local shadow atlas":          Texture(D16Unorm, Shadow(1));
    VolumetricShadow        "volumetric shadow map":       Texture(R32Float, Shadow(4));
    ContactShadows          "contact shadows":             Texture(R8Unorm, Part(1));
    ShadowMask              "shadow mask":                 Texture(Rgba8Unorm, Part(1));
    // G-buffer.
    DecalColor              "decal colour":                Texture(Rgba8Unorm, Part(1));
    DecalNormal             "decal normal":                Texture(Rgba8Unorm, Part(1));
    BaseColor               "base colour":                 Texture(Rgba8Unorm, Part(1));
    Normals                 "normals":                     Texture(Rgb10A2Unorm, Part(1));
    Material                "material":                    Texture(Rgba8Unorm, Part(1));
    Emissive                "emissive":                    Texture(R11G11B10Float, Part(1));
    Velocity                "velocity":                    Texture(Rg16Float, Part(1));
    // Clustered lights.
    Lights                  "lights":                      Buffer(96 << 10);
    TileDepth               "tile depth bounds":           Texture(Rg32Float, Part(16));
    LightGrid               "light grid":                  ClusterBuffer(8);
    LightIndices            "light indices":               TileBuffer(1024);
    LightCounter            "light counter":               Buffer(256);
    // Atmosphere, fog and clouds.
    Transmittance           "transmittance":               Texture(R11G11B10Float, Fixed(256, 64));
    MultiScattering         "multiple scattering":         Texture(R11G11B10Float, Fixed(32, 32));
    SkyView                 "sky view":                    Texture(R11G11B10Float, Fixed(192, 108));
    AerialPerspective       "aerial perspective":          Volume(Rgba16Float, Fixed(32, 32), 32);
    FogMedia                "fog media":                   Volume(Rgba16Float, Part(8), 64);
    FogScattering           "fog scattering":              Volume(Rgba16Float, Part(8), 64);
    IntegratedFog           "integrated fog":              Volume(Rgba16Float, Part(8), 64);
    CloudShadow             "cloud shadow":                Texture(R16Float, Fixed(512, 512));
    CloudTrace              "cloud trace":                 Texture(Rgba16Float, Part(4));
    Clouds                  "clouds":                      Texture(Rgba16Float, Part(2));
    // Ambient occlusion and global illumination.
    AmbientOcclusion        "ambient occlusion":           Texture(R8Unorm, Part(2));
    AmbientBlurX            "ambient occlusion, blurred across": Texture(R8Unorm, Part(2));
    AmbientBlurY            "ambient occlusion, blurred down":   Texture(R8Unorm, Part(2));
    AmbientFull             "ambient occlusion, full":     Texture(R8Unorm, Part(1));
    IndirectTrace           "indirect light trace":        Texture(Rgba16Float, Part(2));
    IndirectDenoised        "indirect light, denoised":    Texture(Rgba16Float, Part(2));
    // Reflections.
    ReflectionTiles         "reflection tiles":            TileBuffer(4);
    ReflectionArguments     "reflection arguments":        Buffer(256);
    ReflectionHits          "reflection hits":             Texture(Rgba16Float, Part(2));
    ReflectionResolved      "reflections, resolved":       Texture(Rgba16Float, Part(1));
    ReflectionDenoised      "reflections, denoised":       Texture(Rgba16Float, Part(1));
    // Light.
    SceneColor              "scene colour":                Texture(Rgba16Float, Part(1));
    SkinDiffuse             "skin diffuse":                Texture(Rgba16Float, Part(2));
    SkinBlurred             "skin diffuse, blurred":       Texture(Rgba16Float, Part(2));
    // Transparency.
    Particles               "particles":                   Buffer(4 << 20);
    ParticleKeys            "particle keys":               Buffer(1 << 20);
    RefractionColor         "refraction colour":           Texture(Rgba16Float, Part(1));
    Transparency            "transparency":                Texture(Rgba16Float, Part(1));
    Distortion              "distortion":                  Texture(Rg8Unorm, Part(2));
    // Post-processing.
    DilatedVelocity         "dilated velocity":            Texture(Rg16Float, Part(1));
    Antialiased             "antialiased colour":          Texture(Rgba16Float, Part(1));
    CircleOfConfusion       "circle of confusion":         Texture(R16Float, Part(2));
    FocusTiles              "focus tiles":                 Texture(Rg16Float, Part(16));
    NearField               "near field":                  Texture(Rgba16Float, Part(2));
    FarField                "far field":                   Texture(Rgba16Float, Part(2));
    NearBlurred             "near field, blurred":         Texture(Rgba16Float, Part(2));
    FarBlurred              "far field, blurred":          Texture(Rgba16Float, Part(2));
    Focused                 "focused colour":              Texture(Rgba16Float, Part(1));
    MotionTiles             "motion tiles":                Texture(Rg16Float, Part(16));
    MotionNeighbours        "motion neighbours":           Texture(Rg16Float, Part(16));
    MotionBlurred           "motion-blurred colour":       Texture(R11G11B10Float, Part(1));
    Histogram               "luminance histogram":         Buffer(1024);
    Exposure                "exposure":                    Buffer(256);
    BloomDown1              "bloom down 1/2":              Texture(R11G11B10Float, Part(2));
    BloomDown2              "bloom down 1/4":              Texture(R11G11B10Float, Part(4));
    BloomDown3              "bloom down 1/8":              Texture(R11G11B10Float, Part(8));
    BloomDown4              "bloom down 1/16":             Texture(R11G11B10Float, Part(16));
    BloomDown5              "bloom down 1/32":             Texture(R11G11B10Float, Part(32));
    BloomUp4                "bloom up 1/16":               Texture(R11G11B10Float, Part(16));
    BloomUp3                "bloom up 1/8":                Texture(R11G11B10Float, Part(8));
    BloomUp2                "bloom up 1/4":                Texture(R11G11B10Float, Part(4));
    BloomUp1                "bloom up 1/2":                Texture(R11G11B10Float, Part(2));
    GradingTable            "grading table":               Volume(Rgb10A2Unorm, Fixed(32, 32), 32);
    ToneMapped              "tone-mapped colour":          Texture(Rgb10A2Unorm, Part(1));
    Sharpened               "sharpened colour":            Texture(Rgb10A2Unorm, Part(1));
    Interface               "interface":                   Texture(Rgba8Unorm, Part(1));
    FinalColor              "final colour":                Texture(Rgba8Unorm, Part(1));
}
