//! Workers that are started, kept, replaced and retired.
