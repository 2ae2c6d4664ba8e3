//! What a full pool answers (`REJ-..`), and the line before it.
