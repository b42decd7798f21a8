//! Plain bytes for what travels between the server and its re-executed self: both ends are the
//! same binary, so there are no versions, only lengths. Paths keep every byte.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

/// A value that can be written to and read from bytes.
pub(super) trait Wire: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes the value off the front; `None` when the bytes are not one.
    fn take(input: &mut &[u8]) -> Option<Self>;

    /// The value alone.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        self.put(&mut out);
        out
    }

    /// The value, when the bytes are it and nothing more.
    fn from_bytes(mut input: &[u8]) -> Option<Self> {
        let value = Self::take(&mut input)?;
        input.is_empty().then_some(value)
    }
}

/// Implements [`Wire`] for a struct, field by field in the order given.
macro_rules! wire_struct {
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::sandbox::codec::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::sandbox::codec::Wire::put(&self.$field, out);)+
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::sandbox::codec::Wire::take(input)?),+ })
            }
        }
    };
}
pub(super) use wire_struct;

macro_rules! wire_number {
    ($($number:ty),+) => {$(
        impl Wire for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                let (number, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_le_bytes(*number))
            }
        }
    )+};
}
wire_number!(u8, u16, u32, u64, i32);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(u8::take(input)? != 0)
    }
}

impl Wire for OsString {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::take(input)?).ok()?;
        let (bytes, rest) = input.split_at_checked(length)?;
        *input = rest;
        Some(Self::from_vec(bytes.to_vec()))
    }
}

impl Wire for PathBuf {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_os_str().to_owned().put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        OsString::take(input).map(Self::from)
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        OsString::from(self).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        OsString::take(input)?.into_string().ok()
    }
}

impl Wire for Duration {
    fn put(&self, out: &mut Vec<u8>) {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        u64::take(input).map(Self::from_nanos)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some((A::take(input)?, B::take(input)?))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        if bool::take(input)? { T::take(input).map(Some) } else { Some(None) }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for item in self {
            item.put(out);
        }
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let count = u64::take(input)?;
        // No capacity from the wire: a wrong count must not allocate.
        (0..count).map(|_| T::take(input)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::PathBuf;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::Wire as _;
    use crate::sandbox::{Limits, Mode, Network, Profile};

    fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
        let path = prop::collection::vec(any::<u8>(), 0..40);
        prop::collection::vec(path.prop_map(|b| PathBuf::from(OsString::from_vec(b))), 0..4)
    }

    proptest! {
        #[test]
        fn a_profile_comes_back_byte_for_byte(
            lists in [paths(), paths(), paths(), paths()],
            read_only: bool, proxied: bool, tasks: u64, nanos: u64,
        ) {
            let [readable, writable, hidden, unprotected] = lists;
            let environment = readable
                .iter()
                .map(|p| (p.clone().into_os_string(), OsString::from("x")))
                .collect();
            let profile = Profile {
                mode: if read_only { Mode::ReadOnly } else { Mode::WorkspaceWrite },
                network: if proxied { Network::Proxied } else { Network::Off },
                readable, writable, hidden, unprotected, environment,
                limits: Limits { tasks, grace: Duration::from_nanos(nanos), ..Limits::default() },
                ..Profile::new(PathBuf::from("/r"), PathBuf::from("/h"))
            };
            let bytes = profile.to_bytes();
            prop_assert_eq!(Profile::from_bytes(&bytes), Some(profile));
            for cut in 0..bytes.len() {
                prop_assert_eq!(Profile::from_bytes(bytes.get(..cut).unwrap_or_default()), None);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(profile) = Profile::from_bytes(&bytes) {
                prop_assert_eq!(profile.to_bytes().len(), bytes.len());
            }
        }
    }
}
