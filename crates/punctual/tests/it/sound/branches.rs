//! Both branches of `join`, scopes and lanes that are disposed of around them.
