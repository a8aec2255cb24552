//! What the service answers, typed. Fields it does not know are ignored, words it does not know are kept.

mod anchors;
mod heads;
mod histories;
mod node;
mod problem;
mod proof;
mod records;
#[cfg(feature = "client")]
mod shared_receipts;
mod shown;
mod trace;
mod verified;
mod words;

pub use anchors::*;
pub use heads::*;
pub use histories::*;
pub use node::*;
pub use problem::*;
pub use proof::*;
pub use records::*;
#[cfg(feature = "client")]
pub(crate) use shared_receipts::AnyBatch;
pub use trace::*;
pub use verified::*;
pub use words::*;
