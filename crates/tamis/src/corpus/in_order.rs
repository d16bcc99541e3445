//! Batches worked on by all threads, results in corpus order, in constant memory.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use rayon::prelude::*;

use super::{Batch, Batches};
use crate::{Error, Result};

/// An iterator over what `work` makes of each batch. See [`in_order`].
pub struct InOrder<'w, T> {
    incoming: Receiver<Result<Box<dyn Batch>>>,
    reader: Option<JoinHandle<()>>,
    work: Box<dyn Fn(&dyn Batch) -> T + Send + Sync + 'w>,
    ready: VecDeque<T>,
    failed: Option<Error>,
}

/// Batches that wait between reading and work, for each thread.
const WAITING: usize = 4;

/// Hands batches to `work` on all threads and gives the results in corpus order.
///
/// Reading has a thread of its own, so it goes on while others work; whatever has come in since is taken together, so a slow
/// source is answered at once and a fast one keeps every thread busy. After an error of the source there is nothing more.
pub fn in_order<'w, T: Send>(
    mut documents: Box<dyn Batches>,
    work: impl Fn(&dyn Batch) -> T + Send + Sync + 'w,
) -> InOrder<'w, T> {
    let (send, incoming) = mpsc::sync_channel(WAITING * rayon::current_num_threads());
    let reader = std::thread::Builder::new().name("tamis-read".into()).spawn(move || {
        loop {
            let (batch, last) = match documents.next_batch() {
                Ok(Some(batch)) => (Ok(batch), false),
                Ok(None) => return,
                Err(error) => (Err(error), true),
            };
            // Nobody listens any more: the iterator was dropped.
            if send.send(batch).is_err() || last {
                return;
            }
        }
    });
    let (reader, failed) = match reader {
        Ok(reader) => (Some(reader), None),
        Err(error) => (None, Some(Error::io("a thread that reads", error))),
    };
    InOrder { incoming, reader, work: Box::new(work), ready: VecDeque::new(), failed }
}

impl<T: Send> Iterator for InOrder<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if let Some(done) = self.ready.pop_front() {
            return Some(Ok(done));
        }
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let mut together: Vec<Box<dyn Batch>> = match self.incoming.recv() {
            Ok(batch) => match batch {
                Ok(batch) => vec![batch],
                Err(error) => return Some(Err(error)),
            },
            Err(_) => {
                // A reader that panicked did not come to the end of the documents.
                if let Some(Err(panic)) = self.reader.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                return None;
            }
        };
        while together.len() < WAITING * rayon::current_num_threads() {
            match self.incoming.try_recv() {
                Ok(Ok(batch)) => together.push(batch),
                Ok(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                Err(_) => break,
            }
        }
        let work = &self.work;
        let done: Vec<T> = together.into_par_iter().with_max_len(1).map(|batch| work(batch.as_ref())).collect();
        self.ready.extend(done);
        self.ready.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::corpus::{Body, Document, InMemory};

    fn documents(n: usize) -> Box<dyn Batches> {
        let document = |i: usize| Document {
            id: i.to_string().into(),
            body: Body::Text("".into()),
            labels: Vec::new(),
            part: None,
            date: None,
            weight: None,
        };
        Box::new(InMemory((0..n).map(document)))
    }

    /// So many batches, then a failure.
    struct Failing(usize);

    impl Batches for Failing {
        fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
            if self.0 == 0 {
                return Err(Error::data("broken"));
            }
            self.0 -= 1;
            Ok(Some(Box::new(Vec::<Document<'static>>::new())))
        }
    }

    #[test]
    fn results_come_in_order() {
        let ids = |batch: &dyn Batch| {
            let mut ids = Vec::new();
            batch.visit(&mut |document| {
                ids.extend(document.map(|d| d.id.into_owned()));
                ControlFlow::Continue(())
            });
            ids
        };
        let all: Vec<String> = in_order(documents(5000), ids).flat_map(Result::unwrap).collect();
        assert_eq!(all, (0..5000).map(|i| i.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn what_came_before_an_error_is_given_first() {
        let results: Vec<Result<()>> = in_order(Box::new(Failing(9)), |_| ()).collect();
        assert_eq!(results.len(), 10);
        assert!(results[..9].iter().all(Result::is_ok));
        assert_eq!(results[9].as_ref().unwrap_err().to_string(), "broken");
    }

    #[test]
    fn a_panic_while_reading_is_not_the_end() {
        struct Panicking;

        impl Batches for Panicking {
            fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
                panic!("a reader's mistake");
            }
        }
        let counted = std::panic::catch_unwind(|| in_order(Box::new(Panicking), |_| ()).count());
        assert!(counted.is_err());
    }

    #[test]
    fn it_may_be_left_early() {
        assert!(in_order(documents(100_000), |_| ()).next().is_some());
    }
}
