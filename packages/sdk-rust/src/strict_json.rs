//! JSON that has one reading in every language. What is refused here beyond the grammar is what readers disagree about:
//! repeated names, numbers other than digits up to 2^53 − 1, and nesting without end.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::bytes::INTEGER_MAX;
use crate::error::{Error, Result};

/// Nesting of objects and arrays.
const DEPTH_MAX: usize = 32;

/// Reads JSON text, which may be attacker-controlled and is bounded by the caller. A refusal has the code.
pub(crate) fn read_strict_json(text: &str, code: &'static str) -> Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Strict { depth: 0 }.deserialize(&mut deserializer);
    read.and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| Error::verification(code, error.to_string()))
}

struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(&self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom(format!("nested deeper than {DEPTH_MAX}")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

const NO_INTEGER: &str = "a number is digits from 0 to 2^53 - 1";

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        if value > INTEGER_MAX {
            return Err(E::custom(NO_INTEGER));
        }
        Ok(Value::from(value))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Value, E> {
        Err(E::custom(NO_INTEGER))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Value, E> {
        Err(E::custom(NO_INTEGER))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            list.push(item);
        }
        // An empty list is nested as deep as a full one.
        self.deeper::<A::Error>()?;
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = || self.deeper::<A::Error>();
        let mut object = Map::new();
        inner()?;
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the name {name:?} is repeated")));
            }
            let value = members.next_value_seed(inner()?)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    fn read_strict_json(text: &str) -> crate::Result<serde_json::Value> {
        super::read_strict_json(text, "bundle_json_invalid")
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "1 2",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "1.0",
            "1e2",
            "-1",
            "-0",
            "01",
            "NaN",
            "9007199254740992",
            "\"\\ud800\"",
            "\"\t\"",
            "\u{feff}1",
            "'a'",
            "// a\n1",
        ] {
            assert_eq!(read_strict_json(text).unwrap_err().code(), "bundle_json_invalid", "{text}");
        }
        assert!(read_strict_json(&format!("{}{}", "[".repeat(33), "]".repeat(33))).is_err());
        assert!(read_strict_json(&format!("{}{}", "[".repeat(32), "]".repeat(32))).is_ok());
        assert!(read_strict_json(&"[".repeat(100_000)).is_err());
        assert_eq!(read_strict_json(" [9007199254740991, {\"a\": \"\\ud83d\\ude00\"}] ").unwrap()[1]["a"], "\u{1f600}");
    }
}
