//! The program, by its command line and its library.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[cfg(unix)]
mod capture;
mod cli;
mod compare;
mod counted;
mod doctor;
mod doctor_steps;
mod features;
mod files;
#[cfg(feature = "report")]
mod html;
mod inputs;
mod plan;
#[cfg(all(unix, feature = "progress"))]
mod progress;
mod real;
mod replay;
#[cfg(feature = "report")]
mod report;
mod running;
mod tune;
mod version_2;
