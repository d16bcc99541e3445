//! Plan → run → rows: the experiments of the papers, and your own.
