//! The proof beside a verdict.

use std::fmt;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A bundle that proves the verdicts of the answer without trust in the service: the text of a `*.bundle.json` file, for
/// [`Bundle::parse`](crate::Bundle::parse) and [`verify_bundle`](crate::verify_bundle). The client has verified it, and it
/// says what the answer says.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof(String);

impl Proof {
    /// The text of the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes of the file.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Proof({} bytes)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::<String, Value>::deserialize(deserializer)?;
        serde_json::to_string(&members).map(|text| Self(text + "\n")).map_err(D::Error::custom)
    }
}

impl Serialize for Proof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members: Map<String, Value> = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        members.serialize(serializer)
    }
}
