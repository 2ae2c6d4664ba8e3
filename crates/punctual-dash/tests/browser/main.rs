//! The page in a real browser: every page with figures, what its buttons do, and that nothing in a name becomes code.

/// A headless Chromium.
mod chrome;
/// Pages of what was.
mod dumps;
/// What was served while a level waited.
mod instead;
/// What a page loads, and how it goes on.
mod pages;
/// Pictures for the documents.
mod pictures;
/// Figures that come while a page is open.
mod shown;
/// A workload to look at.
mod stage;
/// What is shown and what can be done.
mod steer;
/// Names that would like to be code.
mod strange_names;
