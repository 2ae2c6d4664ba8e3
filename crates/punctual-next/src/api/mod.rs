//! What users type: thin verbs over the engine.

pub(crate) mod builder;
pub(crate) mod handle;
pub(crate) mod pool;
pub(crate) mod unrun;
