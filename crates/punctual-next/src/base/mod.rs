//! Values that every module shares.

pub(crate) mod errors;
pub(crate) mod settings;
