//! The frame's passes.

use tenure::{Queue, State};

use crate::resources::Id;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) queue: Queue,
    pub(crate) name: &'static str,
    pub(crate) uses: &'static [(Id, State)],
}

macro_rules! passes {
    ($($queue:ident $name:literal: $($state:ident[$($id:ident)*])*;)*) => {
        /// The passes, in an order in which they can run.
        pub(crate) const PASSES: &[Row] =
            &[$(Row { queue: Queue::$queue, name: $name, uses: &[$($((Id::$id, $state),)*)*] },)*];
    };
}

/// Render target.
const RT: State = State::RENDER_TARGET;
/// Depth that is tested and written.
const DS: State = State::DEPTH_WRITE;
/// Depth that is tested, and read by pixel shaders.
const DR: State = State::DEPTH_READ.union(State::PIXEL_SHADER);
/// Unordered access.
const UA: State = State::UNORDERED_ACCESS;
/// Read by pixel shaders.
const PS: State = State::PIXEL_SHADER;
/// Read by other shaders.
const CS: State = State::NON_PIXEL_SHADER;
/// Arguments of draws and dispatches.
const IA: State = State::INDIRECT;
/// Source of a copy.
const FROM: State = State::COPY_SRC;
/// Destination of a copy.
const TO: State = State::COPY_DST;

passes! {
    Copy     "light upload":            TO[Lights];
    Graphics "instance culling":        UA[VisibleInstances DrawArguments];
    // At the same time as the geometry: atmosphere, clouds and particles.
    Compute  "transmittance":           UA[Transmittance];
    Compute  "multiple scattering":     CS[Transmittance] UA[MultiScattering];
    Compute  "sky view":                CS[Transmittance MultiScattering] UA[SkyView];
    Compute  "aerial perspective":      CS[Transmittance MultiScattering] UA[AerialPerspective];
    Compute  "cloud shadow":            UA[CloudShadow];
    Compute  "cloud trace":             CS[Transmittance AerialPerspective] UA[CloudTrace];
    Compute  "particle simulation":     UA[Particles];
    Compute  "particle sort":           CS[Particles] UA[ParticleKeys];
    Compute  "fog media":               UA[FogMedia];
    // Depth in two phases.
    Graphics "depth prepass":           CS[VisibleInstances] IA[DrawArguments] DS[SceneDepth];
    Graphics "hi-z":                    CS[SceneDepth] UA[HiZ];
    Graphics "occlusion culling":       CS[HiZ] UA[LateInstances LateArguments];
    Graphics "late depth prepass":      CS[LateInstances] IA[LateArguments] DS[SceneDepth];
    Graphics "late hi-z":               CS[SceneDepth] UA[HiZ];
    // At the same time as the shadows: light culling.
    Compute  "tile depth bounds":       CS[HiZ] UA[TileDepth];
    Compute  "light counter reset":     TO[LightCounter];
    Compute  "light culling":           CS[TileDepth Lights] UA[LightGrid LightIndices LightCounter];
    Graphics "shadow cascade 0":        CS[VisibleInstances] DS[ShadowCascade0];
    Graphics "shadow cascade 1":        CS[VisibleInstances] DS[ShadowCascade1];
    Graphics "shadow cascade 2":        CS[VisibleInstances] DS[ShadowCascade2];
    Graphics "shadow cascade 3":        CS[VisibleInstances] DS[ShadowCascade3];
    Graphics "local shadows":           CS[VisibleInstances LateInstances] DS[ShadowAtlas];
    Graphics "volumetric shadow map":   PS[ShadowCascade0 ShadowCascade1 ShadowCascade2] RT[VolumetricShadow];
    // At the same time as the G-buffer: fog and clouds.
    Compute  "fog scattering":          CS[FogMedia VolumetricShadow Lights LightGrid LightIndices] UA[FogScattering];
    Compute  "fog integration":         CS[FogScattering] UA[IntegratedFog];
    Compute  "cloud reconstruction":    CS[CloudTrace HiZ] UA[Clouds];
    Graphics "decals":                  DR[SceneDepth] RT[DecalColor DecalNormal];
    Graphics "G-buffer":                CS[VisibleInstances] IA[DrawArguments] PS[DecalColor DecalNormal]
                                        DS[SceneDepth] RT[BaseColor Normals Material Emissive];
    Graphics "late G-buffer":           CS[LateInstances] IA[LateArguments] PS[DecalColor DecalNormal]
                                        DS[SceneDepth] RT[BaseColor Normals Material Emissive];
    Graphics "velocity":                DR[SceneDepth] RT[Velocity];
    Graphics "half resolution":         PS[SceneDepth Normals] RT[HalfDepth HalfNormals];
    // At the same time as the shadow mask and the reflections: ambient occlusion and indirect light.
    Compute  "ambient occlusion":       CS[HalfDepth HalfNormals] UA[AmbientOcclusion];
    Compute  "ambient blur across":     CS[AmbientOcclusion HalfDepth] UA[AmbientBlurX];
    Compute  "ambient blur down":       CS[AmbientBlurX HalfDepth] UA[AmbientBlurY];
    Compute  "indirect light trace":    CS[HalfDepth HalfNormals HiZ] UA[IndirectTrace];
    Compute  "indirect light denoise":  CS[IndirectTrace HalfDepth HalfNormals] UA[IndirectDenoised];
    Graphics "contact shadows":         PS[SceneDepth] RT[ContactShadows];
    Graphics "shadow mask":             PS[SceneDepth Normals ContactShadows CloudShadow ShadowCascade0 ShadowCascade1
                                           ShadowCascade2 ShadowCascade3 ShadowAtlas] RT[ShadowMask];
    Graphics "reflection tiles":        CS[Material] UA[ReflectionTiles ReflectionArguments];
    Graphics "reflection trace":        IA[ReflectionArguments] CS[ReflectionTiles HiZ Normals Material]
                                        UA[ReflectionHits];
    Graphics "reflection resolve":      IA[ReflectionArguments] CS[ReflectionTiles ReflectionHits Normals]
                                        UA[ReflectionResolved];
    Graphics "reflection denoise":      CS[ReflectionResolved Velocity] UA[ReflectionDenoised];
    Graphics "ambient upsample":        PS[AmbientBlurY HalfDepth SceneDepth] RT[AmbientFull];
    // Light.
    Graphics "direct light":            CS[BaseColor Normals Material ShadowMask Lights LightGrid LightIndices]
                                        UA[SceneColor];
    Graphics "indirect light":          PS[BaseColor Normals Emissive AmbientFull IndirectDenoised] RT[SceneColor];
    Graphics "reflections":             PS[Normals Material ReflectionDenoised AmbientFull] RT[SceneColor];
    Graphics "skin setup":              PS[SceneColor Material] RT[SkinDiffuse];
    Graphics "skin blur":               PS[SkinDiffuse HalfDepth] RT[SkinBlurred];
    Graphics "skin recombine":          PS[SkinBlurred BaseColor] RT[SceneColor];
    Graphics "sky":                     DR[SceneDepth] PS[SkyView Transmittance] RT[SceneColor];
    Graphics "fog and clouds":          PS[SceneDepth IntegratedFog AerialPerspective Clouds] RT[SceneColor];
    // Transparency.
    Graphics "refraction copy":         FROM[SceneColor] TO[RefractionColor];
    Graphics "transparency":            DR[SceneDepth] CS[Particles ParticleKeys] PS[RefractionColor IntegratedFog
                                        Lights LightGrid LightIndices] RT[Transparency];
    Graphics "distortion":              DR[SceneDepth] RT[Distortion];
    Graphics "transparency composite":  PS[Transparency Distortion RefractionColor] RT[SceneColor];
    // Post-processing, and the exposure at the same time.
    Graphics "velocity dilation":       PS[Velocity SceneDepth] RT[DilatedVelocity];
    Graphics "temporal antialiasing":   CS[SceneColor DilatedVelocity] UA[Antialiased];
    Compute  "luminance histogram":     CS[Antialiased] UA[Histogram];
    Compute  "exposure":                CS[Histogram] UA[Exposure];
    Graphics "circle of confusion":     PS[SceneDepth] RT[CircleOfConfusion];
    Graphics "focus tiles":             CS[CircleOfConfusion] UA[FocusTiles];
    Graphics "focus split":             CS[Antialiased CircleOfConfusion] UA[NearField FarField];
    Graphics "near blur":               CS[NearField FocusTiles] UA[NearBlurred];
    Graphics "far blur":                CS[FarField FocusTiles] UA[FarBlurred];
    Graphics "focus composite":         PS[Antialiased NearBlurred FarBlurred CircleOfConfusion] RT[Focused];
    Graphics "motion tiles":            CS[DilatedVelocity] UA[MotionTiles];
    Graphics "motion neighbours":       CS[MotionTiles] UA[MotionNeighbours];
    Graphics "motion blur":             PS[Focused DilatedVelocity MotionNeighbours] RT[MotionBlurred];
    Graphics "bloom down 1/2":          PS[MotionBlurred Exposure] RT[BloomDown1];
    Graphics "bloom down 1/4":          PS[BloomDown1] RT[BloomDown2];
    Graphics "bloom down 1/8":          PS[BloomDown2] RT[BloomDown3];
    Graphics "bloom down 1/16":         PS[BloomDown3] RT[BloomDown4];
    Graphics "bloom down 1/32":         PS[BloomDown4] RT[BloomDown5];
    Graphics "bloom up 1/16":           PS[BloomDown5 BloomDown4] RT[BloomUp4];
    Graphics "bloom up 1/8":            PS[BloomUp4 BloomDown3] RT[BloomUp3];
    Graphics "bloom up 1/4":            PS[BloomUp3 BloomDown2] RT[BloomUp2];
    Graphics "bloom up 1/2":            PS[BloomUp2 BloomDown1] RT[BloomUp1];
    Graphics "grading table":           UA[GradingTable];
    Graphics "tone mapping":            PS[MotionBlurred BloomUp1 Exposure GradingTable] RT[ToneMapped];
    Graphics "sharpening":              CS[ToneMapped] UA[Sharpened];
    Graphics "interface":               RT[Interface];
    Graphics "composite":               PS[Sharpened Interface] RT[FinalColor];
    Graphics "present":                 FROM[FinalColor];
}
