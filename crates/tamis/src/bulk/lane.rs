//! The way of one shard: a thread reads, the pool labels, another thread writes, in the order of the rows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::Shard;
use super::lines::{LinePiece, LineReader, LineWriter};
#[cfg(feature = "parquet")]
use super::parquet::{MadeRows, ParquetReader, ParquetWriter};
use super::row::{Asked, Asker};
#[cfg(feature = "parquet")]
use crate::corpus::parquet::RowBatch;
use crate::corpus::{ReadOptions, Skipped};
use crate::{Error, Progress, Result};

/// Why a shard was not written.
pub(super) enum Failure {
    /// It cannot be read; others can.
    Broken(Error),
    /// Nothing can be written.
    Fatal(Error),
    /// The run ends.
    Stopped,
}

/// What was found in rows.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: u64,
    pub(super) kept: u64,
    pub(super) without_text: u64,
    pub(super) unknown: u64,
    pub(super) skipped: Skipped,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.kept += other.kept;
        self.without_text += other.without_text;
        self.unknown += other.unknown;
        self.skipped.append(other.skipped);
    }

    pub(super) fn saw(&mut self, row: &super::row::Row) {
        self.rows += 1;
        self.kept += u64::from(row.kept);
        self.without_text += u64::from(!row.has_text);
        self.unknown += u64::from(row.has_text && !row.known);
    }
}

/// Some rows of a shard, to be labelled.
pub(super) enum Piece {
    Lines(LinePiece),
    #[cfg(feature = "parquet")]
    Rows(RowBatch),
}

/// What was made of them.
pub(super) enum Made {
    Lines(Vec<u8>),
    #[cfg(feature = "parquet")]
    Rows(MadeRows),
}

/// A piece, and who waits for what becomes of it.
pub(super) struct Job {
    piece: Piece,
    reply: SyncSender<Result<(Made, Tally)>>,
}

/// What the threads of a run share.
pub(super) struct Lanes<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) read: ReadOptions,
    pub(super) shards: &'a [Shard],
    /// The shard that is begun next.
    pub(super) next: AtomicUsize,
    pub(super) stop: AtomicBool,
    /// Pieces of a shard that are between reading and writing.
    pub(super) waiting: usize,
    pub(super) progress: &'a dyn Progress,
}

enum Reader {
    Lines(LineReader),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetReader>),
}

impl Reader {
    fn next(&mut self) -> Result<Option<Piece>> {
        match self {
            Self::Lines(reader) => Ok(reader.next()?.map(Piece::Lines)),
            #[cfg(feature = "parquet")]
            Self::Parquet(reader) => Ok(reader.next()?.map(Piece::Rows)),
        }
    }
}

enum Writer {
    Lines(LineWriter),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter>),
}

impl Writer {
    fn write(&mut self, made: Made) -> Result<(), Failure> {
        match (self, made) {
            (Self::Lines(writer), Made::Lines(lines)) => writer.write(&lines),
            #[cfg(feature = "parquet")]
            (Self::Parquet(writer), Made::Rows(rows)) => writer.write(rows),
            #[cfg(feature = "parquet")]
            // A shard has one format.
            (Self::Lines(_), Made::Rows(_)) | (Self::Parquet(_), Made::Lines(_)) => Err(Failure::Stopped),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Lines(writer) => writer.finish(),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

impl Lanes<'_> {
    /// Labels pieces until there are no more.
    pub(super) fn work(&self, jobs: &Mutex<Receiver<Job>>) {
        let mut asker = self.asked.asker();
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Job { piece, reply }) = job else { return };
            // Whoever waited may be gone with a broken shard.
            let _ = reply.send(self.label(&mut asker, piece));
        }
    }

    fn label(&self, asker: &mut Asker<'_>, piece: Piece) -> Result<(Made, Tally)> {
        match piece {
            Piece::Lines(piece) => piece.label(asker, self.asked).map(|(lines, tally)| (Made::Lines(lines), tally)),
            #[cfg(feature = "parquet")]
            Piece::Rows(batch) => {
                super::parquet::label(&batch, asker, self.asked).map(|(rows, tally)| (Made::Rows(rows), tally))
            }
        }
    }

    /// Labels the next shard that nobody has begun; its number and what came of it.
    pub(super) fn next_shard(&self, jobs: &Sender<Job>) -> Option<(usize, Result<Tally, Failure>)> {
        if self.stopped() {
            return None;
        }
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let shard = self.shards.get(at)?;
        Some((at, self.shard(shard, jobs)))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.progress.cancelled()
    }

    fn shard(&self, shard: &Shard, jobs: &Sender<Job>) -> Result<Tally, Failure> {
        let (mut reader, mut writer) = self.begin(shard)?;
        let mut tally = Tally::default();
        std::thread::scope(|threads| {
            // The queue holds where each piece will come back, in order; when it is full, reading waits.
            let (send, slots) = sync_channel(self.waiting);
            threads.spawn(move || {
                loop {
                    let piece = match reader.next() {
                        Ok(Some(piece)) => piece,
                        Ok(None) => return,
                        Err(error) => {
                            let _ = send.send(Err(error));
                            return;
                        }
                    };
                    let (reply, slot) = sync_channel(1);
                    if send.send(Ok(slot)).is_err() || jobs.send(Job { piece, reply }).is_err() {
                        return;
                    }
                }
            });
            for slot in slots {
                if self.stopped() {
                    return Err(Failure::Stopped);
                }
                let (made, of_piece) = slot
                    .map_err(Failure::Broken)?
                    .recv()
                    // Only where a thread of the pool is gone, whose panic is about to end everything.
                    .map_err(|_| Failure::Stopped)?
                    .map_err(Failure::Broken)?;
                writer.write(made)?;
                self.progress.add(of_piece.rows);
                tally.add(of_piece);
            }
            Ok(())
        })?;
        writer.finish()?;
        Ok(tally)
    }

    fn begin(&self, shard: &Shard) -> Result<(Reader, Writer), Failure> {
        match shard.format {
            #[cfg(feature = "parquet")]
            crate::corpus::Format::Parquet => {
                let reader =
                    ParquetReader::open(shard, &self.read, self.asked.keep.is_some()).map_err(Failure::Broken)?;
                let writer = ParquetWriter::create(shard, &reader, self.asked)?;
                Ok((Reader::Parquet(Box::new(reader)), Writer::Parquet(Box::new(writer))))
            }
            _ => {
                let reader = LineReader::open(shard, &self.read, self.asked).map_err(Failure::Broken)?;
                let writer = LineWriter::create(&shard.output).map_err(Failure::Fatal)?;
                Ok((Reader::Lines(reader), Writer::Lines(writer)))
            }
        }
    }
}
