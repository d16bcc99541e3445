//! Contingency → scores → ranking → subset: selectors, their combinations, and subset search.

pub mod search;
