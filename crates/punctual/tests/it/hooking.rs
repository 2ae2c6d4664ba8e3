//! Hooks and decorators round every task (`HOOK-..`).
