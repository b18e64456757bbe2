//! A lit scene: shadows of a sun and two lamps, many materials, meshes and textures that are created and
//! dropped.

use std::process::ExitCode;

use bevy::asset::RenderAssetUsages;
use bevy::camera::RenderTarget;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::gpu_readback::{Readback, ReadbackComplete};
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat, TextureUsages};
use bevy::window::ExitCondition;
use picture::{Arguments, Picture, Result};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
/// Things each way.
const SIDE: u32 = 14;
/// Things that get a new mesh and a new texture in a frame.
const RENEWED: u32 = 3;
/// Frames that the picture may take to arrive.
const MORE_FRAMES: u32 = 60;

fn main() -> ExitCode {
    picture::main(draw)
}

fn draw(arguments: &Arguments) -> Result<Picture> {
    let mut app = App::new();
    let window = WindowPlugin {
        primary_window: None,
        exit_condition: ExitCondition::DontExit,
        ..WindowPlugin::default()
    };
    let render = RenderPlugin { synchronous_pipeline_compilation: true, ..RenderPlugin::default() };
    app.add_plugins(DefaultPlugins.set(window).set(render));
    app.insert_resource(Progress { frame: 0, last: arguments.frames, picture: None });
    app.add_systems(Startup, set_up).add_systems(Update, (advance, turn, renew, shoot).chain());
    app.finish();
    app.cleanup();
    for _ in 0..arguments.frames.saturating_add(MORE_FRAMES) {
        app.update();
        if let Some(bytes) = app.world_mut().resource_mut::<Progress>().picture.take() {
            return Ok(Picture { width: WIDTH, bytes });
        }
    }
    Err("the picture has not arrived".into())
}

/// The clock of this program: frames, up to the last one.
#[derive(Resource)]
struct Progress {
    frame: u32,
    last: u32,
    picture: Option<Vec<u8>>,
}

impl Progress {
    fn seconds(&self) -> f32 {
        self.frame as f32 / 60.0
    }

    fn is_over(&self) -> bool {
        self.frame >= self.last
    }
}

/// The target of the camera.
#[derive(Resource)]
struct Canvas(Handle<Image>);

/// Something that turns, by its number.
#[derive(Component)]
struct Thing(u32);

fn set_up(
    mut commands: Commands<'_, '_>,
    mut images: ResMut<'_, Assets<Image>>,
    mut meshes: ResMut<'_, Assets<Mesh>>,
    mut materials: ResMut<'_, Assets<StandardMaterial>>,
) {
    let mut canvas = Image::new_target_texture(WIDTH, HEIGHT, TextureFormat::Rgba8UnormSrgb, None);
    canvas.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    let canvas = images.add(canvas);
    commands.spawn((
        Camera3d::default(),
        // The others need tables of their own.
        Tonemapping::Reinhard,
        RenderTarget::Image(canvas.clone().into()),
        Transform::from_xyz(0.0, 11.0, 18.0).looking_at(Vec3::ZERO, Vec3::Y),
    ));
    commands.insert_resource(Canvas(canvas));

    let sun = DirectionalLight { shadow_maps_enabled: true, ..default() };
    commands.spawn((sun, Transform::from_xyz(6.0, 10.0, 4.0).looking_at(Vec3::ZERO, Vec3::Y)));
    for x in [-5.0, 5.0] {
        let lamp = PointLight { shadow_maps_enabled: true, intensity: 800_000.0, ..default() };
        commands.spawn((lamp, Transform::from_xyz(x, 4.0, 2.0)));
    }

    let floor =
        materials.add(StandardMaterial { base_color_texture: Some(images.add(tiles(256, 0))), ..default() });
    commands.spawn((Mesh3d(meshes.add(Plane3d::default().mesh().size(24.0, 24.0))), MeshMaterial3d(floor)));
    for number in 0..SIDE * SIDE {
        let at = |index: u32| (index as f32 - (SIDE - 1) as f32 / 2.0) * 1.5;
        let material = StandardMaterial {
            base_color: Color::hsl(number as f32 * 7.0 % 360.0, 0.7, 0.6),
            metallic: (number % 5) as f32 / 5.0,
            perceptual_roughness: 0.2 + (number % 3) as f32 * 0.3,
            ..default()
        };
        commands.spawn((
            Thing(number),
            Mesh3d(meshes.add(shape(number, 0))),
            MeshMaterial3d(materials.add(material)),
            Transform::from_xyz(at(number % SIDE), 0.7, at(number / SIDE)),
        ));
    }
}

fn advance(mut progress: ResMut<'_, Progress>) {
    if !progress.is_over() {
        progress.frame += 1;
    }
}

fn turn(progress: Res<'_, Progress>, mut things: Query<'_, '_, (&Thing, &mut Transform)>) {
    for (thing, mut transform) in &mut things {
        let phase = progress.seconds() + thing.0 as f32;
        transform.rotation = Quat::from_euler(EulerRot::XYZ, phase, phase * 0.7, 0.0);
        transform.translation.y = 0.9 + 0.4 * phase.sin();
    }
}

/// Some things get another mesh, and another texture, every frame.
fn renew(
    progress: Res<'_, Progress>,
    mut images: ResMut<'_, Assets<Image>>,
    mut meshes: ResMut<'_, Assets<Mesh>>,
    mut materials: ResMut<'_, Assets<StandardMaterial>>,
    mut things: Query<'_, '_, (&Thing, &mut Mesh3d, &MeshMaterial3d<StandardMaterial>)>,
) {
    if progress.is_over() {
        return;
    }
    let all = SIDE * SIDE;
    let is_next = |number: u32| (number + all - progress.frame * RENEWED % all) % all < RENEWED;
    for (thing, mut mesh, material) in &mut things {
        if is_next(thing.0) {
            mesh.0 = meshes.add(shape(thing.0, progress.frame));
            if let Some(mut material) = materials.get_mut(&material.0) {
                material.base_color_texture = Some(images.add(tiles(32 << (thing.0 % 4), thing.0)));
            }
        }
    }
}

/// Requests the picture of the last frame.
fn shoot(
    mut commands: Commands<'_, '_>,
    progress: Res<'_, Progress>,
    canvas: Res<'_, Canvas>,
    mut is_asked: Local<'_, bool>,
) {
    if progress.is_over() && !*is_asked {
        *is_asked = true;
        commands.spawn(Readback::texture(canvas.0.clone())).observe(
            |event: On<'_, '_, ReadbackComplete>, mut progress: ResMut<'_, Progress>| {
                progress.picture = Some(event.data.clone());
            },
        );
    }
}

/// A ball or a ring, finer in some frames than in others.
fn shape(number: u32, frame: u32) -> Mesh {
    let detail = 8 + (number + frame) % 40;
    if number.is_multiple_of(2) {
        Sphere::new(0.45).mesh().uv(detail, detail)
    } else {
        Torus::new(0.2, 0.5)
            .mesh()
            .minor_resolution(detail as usize)
            .major_resolution(detail as usize)
            .build()
    }
}

fn tiles(side: u32, hue: u32) -> Image {
    let texel = |index: u32| {
        let on = (index % side / 8 + index / side / 8).is_multiple_of(2);
        let color = Color::hsl(hue as f32 * 11.0 % 360.0, 0.4, if on { 0.8 } else { 0.5 });
        color.to_srgba().to_u8_array()
    };
    Image::new(
        Extent3d { width: side, height: side, depth_or_array_layers: 1 },
        TextureDimension::D2,
        (0..side * side).flat_map(texel).collect(),
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::RENDER_WORLD,
    )
}
