//! What was learned, in one: what pages' lives are predicted to be, and how predictions part.

use super::{
    classes::Classes,
    predictor::{Predictor, Senses},
};

/// All that settings are applied to.
#[derive(Debug)]
pub(super) struct Mind {
    pub predictor: Predictor,
    pub classes: Classes,
}

impl Mind {
    pub fn new(logical_pages: u32, senses: Senses) -> Mind {
        Mind {
            predictor: Predictor::new(logical_pages, senses),
            classes: Classes::new(),
        }
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Mind>() + self.predictor.memory_bytes() + self.classes.memory_bytes()
    }
}
