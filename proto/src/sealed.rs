//! Reports and orders carry a digest of themselves, so that bits that flip on the way are noticed.
//!
//! TCP's checksum of 16 bits misses some errors, and TLS, which misses none, is optional. The digest has no
//! key: it finds accidents, and does not stop an attacker.

use crate::v1;
use fathom_layer::Digest;
use prost::Message;
use prost::bytes::Bytes;
use std::mem;

/// A message with a field for the digest of its other fields.
pub trait Sealed: Message + Sized {
    /// Returns the field.
    fn digest(&mut self) -> &mut Bytes;

    /// Returns the message with its digest.
    fn seal(mut self) -> Self {
        *self.digest() = Bytes::new();
        let digest = Digest::new(&self.encode_to_vec());
        *self.digest() = digest.0.to_vec().into();
        self
    }

    /// Returns the message, without the digest.
    ///
    /// # Errors
    /// [`Changed`] if the message is not the one that was sealed.
    fn open(mut self) -> Result<Self, Changed> {
        let digest = mem::take(self.digest());
        match digest[..] == Digest::new(&self.encode_to_vec()).0 {
            true => Ok(self),
            false => Err(Changed),
        }
    }
}

/// The error that a message has changed on its way. The call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message was changed on its way: it does not match its digest")]
pub struct Changed;

impl From<Changed> for tonic::Status {
    fn from(changed: Changed) -> Self {
        Self::data_loss(changed.to_string())
    }
}

impl Sealed for v1::ReportRequest {
    fn digest(&mut self) -> &mut Bytes {
        &mut self.digest
    }
}

impl Sealed for v1::TakeCommandsResponse {
    fn digest(&mut self) -> &mut Bytes {
        &mut self.digest
    }
}
