//! Examples live in `examples/examples`, one feature a file.
