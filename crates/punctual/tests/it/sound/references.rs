//! References to tasks and futures that have ended, and what they keep.
