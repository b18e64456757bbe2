//! `tenure doctor`: compares the statements of a device with its behaviour.

mod descriptions;
mod examination;
mod memory;
mod placement;
mod profile;
mod table;
mod tiles;
mod times;
mod uploads;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::sim;

use crate::args::{DeviceKind, DoctorArgs, ProfileArgs};
use crate::error::CliError;
use crate::output;
use crate::replay::Verdict;
use examination::{Examination, Limits, Simulated};

pub use crate::examined::InvalidExamination;
pub use profile::{differences, profile_code};

pub(crate) fn run(args: &DoctorArgs) -> Result<Verdict, CliError> {
    check_device(args)?;
    let file = args.out.as_deref();
    file.map_or(Ok(()), check_writable).map_err(|error| refused(file, error))?;
    let limits = Limits { share: args.share, time: Duration::from_secs(args.seconds.into()) };
    let examination = examined(args, &limits)?;
    let written = file.map_or(Ok(()), |file| write(&examination, file));
    let verdict = if examination.has_failed() { Verdict::Faulty } else { Verdict::Clean };
    let told = output::tell(verdict, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &examination)?;
            return writeln!(out);
        }
        write!(out, "{}", table::tables(&examination))?;
        match (file, &written) {
            (Some(file), Ok(())) => {
                writeln!(out, "Written to {}.", output::printable(&file.display().to_string()))
            }
            _ => Ok(()),
        }
    });
    written.map_err(|error| refused(file, error))?;
    Ok(told?)
}

fn check_device(args: &DoctorArgs) -> Result<(), CliError> {
    let is_simulated = args.device == Some(DeviceKind::Sim);
    let refused = match (is_simulated, args.profile.is_some(), args.adapter.is_some()) {
        (false, true, _) => "--profile is for the simulated device: it needs --device sim",
        (true, _, true) => "--adapter is for real devices: it needs --device vulkan or --device d3d12",
        _ => return Ok(()),
    };
    Err(CliError::Usage(refused.to_owned()))
}

fn refused(file: Option<&Path>, error: io::Error) -> CliError {
    CliError::File { file: file.map(PathBuf::from).unwrap_or_default(), error }
}

/// Checks the output file before the measurements, which take two minutes and would be lost. Leaves no new file:
/// the examination may be interrupted, or find no device.
fn check_writable(file: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => fs::remove_file(file),
        // This includes a link to a missing file, which stays.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(file).map(drop),
        Err(error) => Err(error),
    }
}

/// Opens the file without truncating it: the contents are kept until the examination is written.
fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(file)
}

fn write(examination: &Examination, file: &Path) -> io::Result<()> {
    let text = serde_json::to_string_pretty(examination)? + "\n";
    let mut file = open(file)?;
    file.write_all(text.as_bytes())?;
    // Devices and pipes have no length.
    if file.metadata()?.is_file() { file.set_len(text.len() as u64) } else { Ok(()) }
}

#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
fn real<A: crate::api::Api>(args: &DoctorArgs, limits: &Limits) -> Result<Examination, CliError> {
    let adapters = A::adapters(&crate::api::Layer::off())?;
    let names: Vec<_> = adapters.iter().map(|adapter| A::name(adapter).to_owned()).collect();
    let missing = |reason| crate::replay::NoDevice { api: A::NAME, reason, remedy: "see tenure devices" };
    let index = crate::args::Pick::index(args.adapter.as_ref(), &names).map_err(missing)?;
    let adapter = adapters.get(index).ok_or_else(|| missing("there is no device".to_owned()))?;
    Ok(Examination::of(&examination::Real::<A> { adapter, index }, limits))
}

fn examined(args: &DoctorArgs, limits: &Limits) -> Result<Examination, CliError> {
    match args.device.unwrap_or(DeviceKind::Vulkan) {
        DeviceKind::Sim => {
            let profile = args.profile.unwrap_or(sim::Profile::DISCRETE);
            Ok(Examination::of(&Simulated::new(profile), limits))
        }
        #[cfg(feature = "vulkan")]
        DeviceKind::Vulkan => real::<crate::api::vulkan::Vulkan>(args, limits),
        #[cfg(not(feature = "vulkan"))]
        DeviceKind::Vulkan => Err(crate::feature::Feature::Vulkan.no_device().into()),
        #[cfg(all(windows, feature = "d3d12"))]
        DeviceKind::D3d12 => real::<crate::api::d3d12::D3d12>(args, limits),
        #[cfg(not(all(windows, feature = "d3d12")))]
        DeviceKind::D3d12 => Err(crate::feature::Feature::D3d12.no_device().into()),
    }
}

/// The output of an examination.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The file's text.
    pub json: String,
    /// The tables.
    pub tables: String,
}

/// Examines simulated devices, which `make` creates, for example with faults to inject. `share` and `time` are
/// the options of the command; `time` is limited to an hour.
///
/// # Errors
/// An examination that cannot be written in JSON.
pub fn examine_simulated(
    profile: sim::Profile,
    share: f64,
    time: Duration,
    make: impl Fn(sim::Profile) -> sim::Device + 'static,
) -> Result<Examined, serde_json::Error> {
    let examination = Examination::of(&Simulated { profile, make: Box::new(make) }, &Limits { share, time });
    Ok(Examined { json: serde_json::to_string_pretty(&examination)?, tables: table::tables(&examination) })
}

/// `tenure profile`: prints the table of a simulated device similar to an examined one.
pub(crate) fn print_profile(args: &ProfileArgs) -> Result<Verdict, CliError> {
    let failed = |error| CliError::File { file: args.file.clone(), error };
    // Files of this program have a few KiB; a device or another file may be endless.
    const MOST: u64 = 16 << 20;
    let mut text = String::new();
    let file = File::open(&args.file).map_err(failed)?;
    io::Read::read_to_string(&mut io::Read::take(file, MOST), &mut text).map_err(failed)?;
    let invalid = |error| CliError::Examination { file: args.file.clone(), error };
    let code = profile_code(&text).map_err(invalid)?;
    Ok(output::tell(Verdict::Clean, |out| write!(out, "{code}"))?)
}

#[cfg(test)]
mod tests {
    use super::examination::Examination;

    /// After a change of the format, `TENURE_BLESS=1` rewrites the file.
    #[test]
    fn the_schema_is_the_published_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/doctor.schema.json");
        let schema = schemars::generate::SchemaSettings::default().for_serialize().into_generator();
        let schema = schema.into_root_schema_for::<Examination>().to_value();
        if std::env::var_os("TENURE_BLESS").is_some() {
            std::fs::write(path, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
        }
        let published: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(published, schema, "the format has changed: write {path} anew with TENURE_BLESS=1");
    }
}
