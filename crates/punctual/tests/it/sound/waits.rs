//! Waits inside of tasks that must end or be told.
