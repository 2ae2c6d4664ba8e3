//! Many tasks at once: all, any (`INV-..`), groups (`ECS-..`).
