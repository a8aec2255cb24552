//! Closed lists of words, and what they are called on the wire.

/// An enum whose numbers stand in leaves and whose names stand in JSON.
macro_rules! numbered_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The number that stands for it in bytes.
            pub const fn number(self) -> u8 {
                match self { $(Self::$variant => $number,)+ }
            }

            /// What a number stands for.
            pub const fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }

            /// Its name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What a name on the wire stands for: exactly that name.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

/// An enum of words that answers may extend: a word that this version does not know is kept, not refused.
macro_rules! open_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            /// A word that came later than this version of the SDK.
            Other(String),
        }

        impl $name {
            /// Its name on the wire.
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $word,)+ Self::Other(word) => word }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                Ok(match word.as_str() { $($word => Self::$variant,)+ _ => Self::Other(word) })
            }
        }
    };
}

pub(crate) use open_words;

numbered_words!(
    /// What a leaf is.
    LeafKind {
        /// The first leaf of an origin.
        Genesis = 0 "genesis",
        /// An event that nobody has signed.
        Event = 1 "event",
        /// An identity.
        Claim = 2 "claim",
        /// A delegation.
        Grant = 3 "grant",
        /// The end of a claim or a grant.
        Revocation = 4 "revocation",
        /// A new version of the trust root.
        TrustRoot = 5 "trust_root",
        /// An event that its actor has signed.
        SignedEvent = 6 "signed_event",
    }
);

numbered_words!(
    /// Why a claim or a grant was revoked.
    RevocationReason {
        /// No reason is given.
        Unspecified = 0 "unspecified",
        /// A key is no longer its owner's alone.
        KeyCompromise = 1 "key_compromise",
        /// Something else has taken its place.
        Superseded = 2 "superseded",
        /// It is no longer needed.
        Cessation = 3 "cessation",
        /// The right was taken back.
        PrivilegeWithdrawn = 4 "privilege_withdrawn",
        /// It should never have been issued.
        IssuedInError = 5 "issued_in_error",
    }
);

numbered_words!(
    /// By whose authority a claim or a grant was revoked.
    RevocationAuthority {
        /// An API client with the scope `revoke`: nobody has signed.
        Operator = 0 "operator",
        /// The issuer of the claim.
        Issuer = 1 "issuer",
        /// The subject of the claim.
        Subject = 2 "subject",
        /// The grantor of the grant.
        Grantor = 3 "grantor",
        /// The witness of the grant.
        Witness = 4 "witness",
    }
);
