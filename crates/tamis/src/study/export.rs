//! Rows as tables: CSV, and Parquet where it is built in.

use std::path::Path;

use super::rows::{PipelineRow, ResultRow, Row, SetRow};
use crate::atomic::AtomicFile;
use crate::measure::Measure;
use crate::{Error, Result};

/// One column; a value may be missing.
enum Column {
    Text(Vec<String>),
    Whole(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<bool>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            Self::Text(values) => values[row].clone(),
            Self::Whole(values) => values[row].map_or(String::new(), |v| v.to_string()),
            Self::Number(values) => values[row].map_or(String::new(), |v| v.to_string()),
            Self::Flag(values) => values[row].to_string(),
        }
    }
}

/// Columns that are filled from values of one kind.
struct Table<'a, T> {
    of: Vec<&'a T>,
    columns: Vec<(String, Column)>,
}

impl<'a, T> Table<'a, T> {
    fn new(of: Vec<&'a T>) -> Self {
        Self { of, columns: Vec::new() }
    }

    fn text(mut self, name: &str, value: impl Fn(&T) -> String) -> Self {
        self.columns.push((name.into(), Column::Text(self.of.iter().map(|t| value(t)).collect())));
        self
    }

    fn whole(mut self, name: &str, value: impl Fn(&T) -> Option<u64>) -> Self {
        self.columns.push((name.into(), Column::Whole(self.of.iter().map(|t| value(t)).collect())));
        self
    }

    fn number(mut self, name: &str, value: impl Fn(&T) -> Option<f64>) -> Self {
        self.columns.push((name.into(), Column::Number(self.of.iter().map(|t| value(t)).collect())));
        self
    }

    fn flag(mut self, name: &str, value: impl Fn(&T) -> bool) -> Self {
        self.columns.push((name.into(), Column::Flag(self.of.iter().map(|t| value(t)).collect())));
        self
    }
}

/// Results, a column for each measure; where there are none, the thresholds of pipelines or a simulation's sets.
fn columns(rows: &[Row]) -> Vec<(String, Column)> {
    let pipelines: Vec<&PipelineRow> =
        rows.iter().filter_map(|row| if let Row::Pipeline(p) = row { Some(p) } else { None }).collect();
    let sets: Vec<&SetRow> = rows.iter().filter_map(|row| if let Row::Set(s) = row { Some(s) } else { None }).collect();
    if !pipelines.is_empty() {
        return of_pipelines(pipelines);
    }
    if !sets.is_empty() {
        return of_sets(&sets);
    }
    of_results(rows.iter().filter_map(|row| if let Row::Result(r) = row { Some(r) } else { None }).collect())
}

fn of_results(results: Vec<&ResultRow>) -> Vec<(String, Column)> {
    let measures: Vec<Measure> =
        results.first().map_or(Vec::new(), |row| row.values.0.iter().map(|(m, _)| *m).collect());
    let mut table = Table::new(results)
        .whole("split", |r| Some(r.split.into()))
        .text("classifier", |r| r.classifier.clone())
        .text("selector", |r| r.selector.clone())
        .text("size", |r| r.size.to_string())
        .whole("features", |r| Some(r.features as u64))
        .text("threshold", |r| r.threshold.clone())
        .number("lambda", |r| r.lambda)
        .whole("n", |r| r.n.map(u64::from));
    for measure in measures {
        table = table.number(&measure.to_string(), |r| r.values.get(measure).copied().flatten());
    }
    table.columns
}

fn of_pipelines(pipelines: Vec<&PipelineRow>) -> Vec<(String, Column)> {
    let thresholds = |p: &PipelineRow| p.thresholds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    Table::new(pipelines)
        .whole("split", |p| Some(p.split.into()))
        .text("pipeline", |p| p.pipeline.clone())
        .whole("documents", |p| Some(p.documents as u64))
        .whole("positives", |p| Some(p.positives as u64))
        .text("imbalance", |p| p.imbalance.clone())
        .text("method", |p| p.method.clone())
        .number("F1", |p| Some(p.utility))
        .number("F1 on others", |p| Some(p.check))
        .whole("evaluations", |p| Some(p.evaluations))
        .flag("proven", |p| p.proven)
        .text("thresholds", thresholds)
        .columns
}

fn of_sets(sets: &[&SetRow]) -> Vec<(String, Column)> {
    let judged: Vec<_> = sets.iter().flat_map(|s| [(s.set, "a", s.a), (s.set, "b", s.b)]).collect();
    Table::new(judged.iter().collect())
        .whole("set", |(set, ..)| Some((*set).into()))
        .text("classifier", |(_, name, _)| (*name).into())
        .number("MAP", |(.., j)| Some(j.map))
        .number("RPrec", |(.., j)| Some(j.rprec))
        .number("F1@micro", |(.., j)| Some(j.f1))
        .whole("n", |(.., j)| Some(j.n.into()))
        .columns
}

/// Writes the results as CSV, a column for each measure; where there are none, a simulation's sets or the thresholds of
/// pipelines.
pub fn write_csv(rows: &[Row], path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let failed = |e: csv::Error| Error::io(path, std::io::Error::other(e.to_string()));
    let columns = columns(rows);
    let mut writer = csv::Writer::from_writer(AtomicFile::create(path)?);
    writer.write_record(columns.iter().map(|(name, _)| name)).map_err(failed)?;
    for row in 0..columns.first().map_or(0, |(_, column)| column.len()) {
        writer.write_record(columns.iter().map(|(_, column)| column.text(row))).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?.commit()
}

/// Writes the same table as Parquet.
#[cfg(feature = "parquet")]
pub fn write_parquet(rows: &[Row], path: impl AsRef<Path>) -> Result<()> {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
    use parquet::arrow::ArrowWriter;

    let path = path.as_ref();
    let failed = |e: &dyn std::fmt::Display| Error::io(path, std::io::Error::other(e.to_string()));
    let array = |column: Column| -> ArrayRef {
        match column {
            Column::Text(values) => Arc::new(StringArray::from(values)),
            Column::Whole(values) => Arc::new(UInt64Array::from(values)),
            Column::Number(values) => Arc::new(Float64Array::from(values)),
            Column::Flag(values) => Arc::new(BooleanArray::from(values)),
        }
    };
    let columns = columns(rows).into_iter().map(|(name, column)| (name, array(column), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| failed(&e))?;
    let mut writer = ArrowWriter::try_new(AtomicFile::create(path)?, batch.schema(), None).map_err(|e| failed(&e))?;
    writer.write(&batch).map_err(|e| failed(&e))?;
    writer.into_inner().map_err(|e| failed(&e))?.commit()
}
