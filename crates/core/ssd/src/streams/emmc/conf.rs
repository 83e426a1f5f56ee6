//! Configuration of a context: the byte `CONTEXT_CONF`.

use serde::{Deserialize, Serialize};

use super::Rule;

/// Direction that a context is open for: bits 1:0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// 0: closed, and not addressable.
    #[default]
    Closed,
    /// 1: open for writes.
    WriteOnly,
    /// 2: open for reads. It takes up no stream.
    ReadOnly,
    /// 3: open for both.
    ReadWrite,
}

impl Activation {
    pub(super) fn writes(self) -> bool {
        matches!(self, Activation::WriteOnly | Activation::ReadWrite)
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Activation::ReadOnly | Activation::ReadWrite)
    }
}

/// Reliability mode, the data of a context that an interruption may damage: bits 7:6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// 0: anything written since the context was configured.
    #[default]
    Normal,
    /// 1: the interrupted command, or the large unit being written.
    Reliable,
    /// 2: the large unit being written and the one before.
    OneUnitTail,
}

/// The configuration of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ContextConf {
    /// Direction that it is open for.
    pub activation: Activation,
    /// Granules of a large unit (bits 5:3), where the context follows the rules of large units (bit 2).
    pub large_unit: Option<u8>,
    /// Reliability mode. It changes no count.
    pub reliability: Reliability,
}

impl ContextConf {
    /// A context that is open so, without large units.
    pub fn open(activation: Activation) -> ContextConf {
        ContextConf {
            activation,
            ..ContextConf::default()
        }
    }

    /// Understands the byte. One that closes a context says nothing else.
    ///
    /// # Errors
    /// [`Rule::Reliability`].
    pub fn of_byte(byte: u8) -> Result<ContextConf, Rule> {
        let activation = match byte & 3 {
            0 => return Ok(ContextConf::default()),
            1 => Activation::WriteOnly,
            2 => Activation::ReadOnly,
            _ => Activation::ReadWrite,
        };
        let large_unit = (byte & 4 != 0).then_some(byte >> 3 & 7);
        let reliability = match (byte >> 6, large_unit) {
            (0, _) => Reliability::Normal,
            (1, _) => Reliability::Reliable,
            (2, Some(_)) => Reliability::OneUnitTail,
            _ => return Err(Rule::Reliability),
        };
        Ok(ContextConf {
            activation,
            large_unit,
            reliability,
        })
    }
}
