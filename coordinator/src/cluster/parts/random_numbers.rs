//! Numbers that are unpredictable from outside.

use fathom_layer::Digest;

/// The secret of a coordinator. The numbers of sessions are derived from it, so that they cannot be guessed,
/// and so is the choice of audited shards. All zeros in tests.
#[derive(Clone, Debug, Default)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Returns a random secret.
    ///
    /// If the system provides no random bytes.
    /// If the system has no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut secret = Self::default();
        getrandom::fill(&mut secret.0)?;
        Ok(secret)
    }

    /// Returns the number derived from these byte strings, concatenated.
    pub fn number(&self, of: &[&[u8]]) -> u64 {
        let digest = Digest::new(&[&self.0[..], &of.concat()].concat());
        u64::from_le_bytes(*digest.0.first_chunk().expect("a digest has 32 bytes"))
    }
}
