//! What a batch did, for people ([`text`]), for programs ([`json`]), and as a picture ([`svg`]).
//!
//! In: [`Done`](crate::batch::record::Done). Out: text. [`figures`] has the arithmetic they share.

pub(crate) mod figures;
pub(crate) mod json;
pub(crate) mod svg;
pub(crate) mod text;
