//! A pool that grows, shrinks and is changed while it runs (`TPE-..`), and the presets (`EXE-..`).
