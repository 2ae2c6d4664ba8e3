//! Scopes: closures that borrow are gone when the brace is reached.
