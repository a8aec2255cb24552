//! Recorders: what happened is on the disk before `record` returns, and is anchored, with its receipt beside it, after.
//! docs/recorder.md, "Recording events".

mod board;
mod delivery;
mod errors;
mod files;
mod folder_lock;
mod frame;
mod kept_folder;
mod options;
mod recorded_event;
#[allow(clippy::module_inception)]
mod recorder;
mod recording;
mod requests;
mod spool;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

#[cfg(test)]
pub(crate) use frame::{write_frame, Frames, SpooledEvent};
pub use options::{RecordOptions, RecorderOptions, RecorderProgress};
pub use recorded_event::{KeptEvent, RecordedEvent};
pub use recorder::Recorder;
