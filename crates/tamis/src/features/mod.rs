//! Contingency → scores → ranking → subset: selectors, their combinations, and subset search.
//!
//! ```
//! use tamis::counts::{Contingency, Counts};
//! use tamis::features::Selector;
//!
//! let counts = Counts::from_rows(&[
//!     (vec!["ship", "oil", "port"], vec!["shipping"]),
//!     (vec!["ship", "crew"], vec!["shipping"]),
//!     (vec!["oil", "price"], vec!["crude"]),
//!     (vec!["price", "barrel", "oil"], vec!["crude"]),
//! ]);
//! let selector: Selector = "lr(chi2max,ig)@1".parse()?;
//! let ranking = selector.rank(&Contingency::of(&counts))?;
//! let best: Vec<&str> = ranking.top(2).iter().map(|&t| counts.vocabulary.name(t)).collect();
//! assert_eq!(best, ["price", "ship"]);
//! # Ok::<(), tamis::Error>(())
//! ```

pub mod expression;
pub mod formulas;
pub mod overlap;
pub mod search;

mod combine;
mod empty_cells;
mod lambda;
mod rank;
mod ranking;
mod registry;
mod scoring;
mod selector;
mod size;
mod subset;

pub use lambda::{Evaluate, FoldLambda, LambdaOptions, LearnedLambda, learn_lambda};
pub use rank::rank_all;
pub use ranking::{Prefix, Ranking};
pub use registry::{Formula, Lambda, Needs, Pool, Score, Spec, WordPrior};
pub use selector::{Combination, CombinationSpec, Combine, Kind, Search, Selector};
pub use size::Size;
