//! Looks over one message at its top level only, at any depth below, before anything is built.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The members of a message that decide what it is; the rest is looked over, at any depth.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) version: Option<Leaf>,
    pub(super) id: Option<Leaf>,
    pub(super) method: Option<Leaf>,
    pub(super) params: Option<Leaf>,
    /// It has a result or an error.
    pub(super) answers: bool,
}

/// A JSON value as far as it matters here.
#[derive(Debug)]
pub(super) enum Leaf {
    Scalar(Value),
    Array,
    Object,
}

impl Leaf {
    /// The value where it is a scalar, else null.
    pub(super) fn scalar(self) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::Array | Self::Object => Value::Null,
        }
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;

        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            // By hand, because a derived one refuses a member that comes twice.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    let value = map.next_value::<Leaf>()?;
                    match &*key {
                        "jsonrpc" => envelope.version = Some(value),
                        "id" => envelope.id = Some(value),
                        "method" => envelope.method = Some(value),
                        "params" => envelope.params = Some(value),
                        "result" | "error" => envelope.answers = true,
                        _ => {}
                    }
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

impl<'de> Deserialize<'de> for Leaf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LeafVisitor;

        impl<'de> Visitor<'de> for LeafVisitor {
            type Value = Leaf;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("JSON")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(value.into()))
            }

            fn visit_unit<E>(self) -> Result<Leaf, E> {
                Ok(Leaf::Scalar(Value::Null))
            }

            // The parts are passed over without recursion, however deep they nest.
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Leaf, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Leaf::Array)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Leaf, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Leaf::Object)
            }
        }

        deserializer.deserialize_any(LeafVisitor)
    }
}
