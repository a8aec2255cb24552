//! What a bundle comes to.

/// What a bundle comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleOutcome {
    /// Everything was proved.
    Valid,
    /// Nothing is wrong, but something was not proved: it rests on the word of the bundle's maker. Never show it as
    /// valid.
    ValidAsStated,
    /// Something is wrong.
    Invalid,
}

impl BundleOutcome {
    /// `valid`, `valid_as_stated` or `invalid`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::ValidAsStated => "valid_as_stated",
            Self::Invalid => "invalid",
        }
    }
}
