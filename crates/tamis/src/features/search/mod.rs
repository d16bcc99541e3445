//! Subset search: the `r` terms that are best *together* (method 4 and 5).
//!
//! Search × criterion are orthogonal. A [`Criterion`] keeps running state and answers "what if this term came or went";
//! a search walks from subset to subset by these answers alone. [`Strategy`] names the searches in expressions.
//!
//! | search | steps |
//! |---|---|
//! | [`Oscillating`] | swings around the wanted size, from any start order (novovicova 4.2) |
//! | [`Sequential`] | forward, backward, and both floating: grow or shrink to the wanted size |
//!
//! | criterion | value |
//! |---|---|
//! | [`Bhattacharyya`] | multinomial Bhattacharyya distance between the classes, no classifier needed (method 5) |
//! | your own | whatever implements the trait |
//!
//! ```
//! use tamis::Silent;
//! use tamis::counts::{Contingency, Counts};
//! use tamis::features::search::{Bhattacharyya, Oscillating};
//!
//! let counts = Counts::from_rows(&[
//!     (vec!["the", "wheat", "grain"], vec!["crops"]),
//!     (vec!["the", "wheat", "rain"], vec!["crops"]),
//!     (vec!["the", "gold", "mine"], vec!["metal"]),
//!     (vec!["the", "gold", "ore"], vec!["metal"]),
//! ]);
//! let table = Contingency::of(&counts);
//! let mut criterion = Bhattacharyya::cut(&table, 0)?;
//! let by_name: Vec<u32> = (0..table.terms() as u32).collect();
//! let found = Oscillating::default().search(&mut criterion, &by_name, 2, &Silent)?;
//! let words: Vec<&str> = found.terms.iter().map(|&t| counts.vocabulary.name(t)).collect();
//! assert_eq!(words, ["gold", "wheat"]);
//! # Ok::<(), tamis::Error>(())
//! ```

mod bhattacharyya;
mod bounds;
mod budget;
mod contenders;
mod criterion;
mod oscillating;
mod sequential;
mod strategy;
mod twofold;
mod walk;

pub use bhattacharyya::Bhattacharyya;
pub use budget::{Budget, Clock, Ended, Found};
pub use criterion::{BETTER_BY, Choice, Criterion, is_better};
pub use oscillating::Oscillating;
pub use sequential::{Direction, Sequential};
pub use strategy::Strategy;
