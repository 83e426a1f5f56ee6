//! For whom a stream identifier means something.

use serde::{Deserialize, Serialize};

/// A host at a namespace: what a stream identifier is unique within.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    /// The namespace (NSID).
    pub namespace: u32,
    /// Writer of the stream.
    pub host: StreamHost,
}

/// A host, as a controller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StreamHost {
    /// It registered a Host Identifier (64 or 128 bits, not 0), and is the same through every
    /// controller.
    Identified(u128),
    /// It registered none. It is then a host of its own at each controller, by number, and shares
    /// no identifiers.
    Anonymous(u16),
}

impl Scope {
    /// The only host at a namespace.
    pub fn of_namespace(namespace: u32) -> Scope {
        Scope {
            namespace,
            host: StreamHost::Anonymous(0),
        }
    }

    /// The scope where hosts that name themselves share identifiers.
    pub(super) fn shared(self) -> Scope {
        match self.host {
            StreamHost::Anonymous(_) => self,
            StreamHost::Identified(_) => Scope {
                host: StreamHost::Identified(0),
                ..self
            },
        }
    }
}
