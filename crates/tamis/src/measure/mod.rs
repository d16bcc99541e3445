//! Ranked or decided labels and the truth → numbers, and whether a difference is real.
