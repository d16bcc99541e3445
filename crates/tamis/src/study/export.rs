//! Rows as tables: CSV, and Parquet where it is built in.

use std::path::Path;

use super::rows::{ResultRow, Row};
use crate::atomic::AtomicFile;
use crate::measure::Measure;
use crate::{Error, Result};

fn results(rows: &[Row]) -> Vec<&ResultRow> {
    rows.iter().filter_map(|row| if let Row::Result(result) = row { Some(result) } else { None }).collect()
}

/// Measures in the order in which rows have them.
fn measures(results: &[&ResultRow]) -> Vec<Measure> {
    results.first().map_or(Vec::new(), |row| row.values.0.iter().map(|(m, _)| *m).collect())
}

/// Writes the results as CSV, a column for each measure; where there are none, a simulation's sets or the thresholds of
/// pipelines.
pub fn write_csv(rows: &[Row], path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let failed = |e: csv::Error| Error::io(path, std::io::Error::other(e.to_string()));
    let mut writer = csv::Writer::from_writer(AtomicFile::create(path)?);
    let results = results(rows);
    let measures = measures(&results);
    let text = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
    if rows.iter().any(|row| matches!(row, Row::Pipeline(_))) {
        let names =
            ["split", "pipeline", "documents", "positives", "imbalance", "method", "F1", "F1 on others", "evaluations"];
        writer.write_record(names).map_err(failed)?;
    } else if results.is_empty() {
        writer.write_record(["set", "classifier", "MAP", "RPrec", "F1@micro", "n"]).map_err(failed)?;
    } else {
        let fixed = ["split", "classifier", "selector", "size", "features", "threshold", "lambda", "n"];
        let names = fixed.iter().map(|s| (*s).to_owned()).chain(measures.iter().map(ToString::to_string));
        writer.write_record(names).map_err(failed)?;
    }
    for row in &results {
        let fixed = [
            row.split.to_string(),
            row.classifier.clone(),
            row.selector.clone(),
            row.size.to_string(),
            row.features.to_string(),
            row.threshold.clone(),
            text(row.lambda),
            row.n.map_or(String::new(), |n| n.to_string()),
        ];
        let values = measures.iter().map(|&m| text(row.values.get(m).copied().flatten()));
        writer.write_record(fixed.into_iter().chain(values)).map_err(failed)?;
    }
    for row in rows {
        let Row::Set(set) = row else { continue };
        for (name, judged) in [("a", set.a), ("b", set.b)] {
            let numbers = [judged.map, judged.rprec, judged.f1].map(|v| v.to_string());
            let [map, rprec, f1] = numbers;
            let n = judged.n.to_string();
            writer.write_record([set.set.to_string(), name.into(), map, rprec, f1, n]).map_err(failed)?;
        }
    }
    for row in rows {
        let Row::Pipeline(p) = row else { continue };
        let record = [
            p.split.to_string(),
            p.pipeline.clone(),
            p.documents.to_string(),
            p.positives.to_string(),
            p.imbalance.clone(),
            p.method.clone(),
            p.utility.to_string(),
            p.check.to_string(),
            p.evaluations.to_string(),
        ];
        writer.write_record(record).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?.commit()
}

/// Writes the results as Parquet, with the columns of the CSV. A simulation has none.
#[cfg(feature = "parquet")]
pub fn write_parquet(rows: &[Row], path: impl AsRef<Path>) -> Result<()> {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
    use parquet::arrow::ArrowWriter;

    let path = path.as_ref();
    let results = results(rows);
    let failed = |e: &dyn std::fmt::Display| Error::io(path, std::io::Error::other(e.to_string()));
    let strings = |of: &dyn Fn(&ResultRow) -> String| -> ArrayRef {
        Arc::new(results.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let numbers = |of: &dyn Fn(&ResultRow) -> Option<f64>| -> ArrayRef {
        Arc::new(results.iter().map(|row| of(row)).collect::<Float64Array>())
    };
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("split".into(), Arc::new(results.iter().map(|row| row.split).collect::<UInt32Array>())),
        ("classifier".into(), strings(&|row| row.classifier.clone())),
        ("selector".into(), strings(&|row| row.selector.clone())),
        ("size".into(), strings(&|row| row.size.to_string())),
        ("features".into(), Arc::new(results.iter().map(|row| row.features as u64).collect::<UInt64Array>())),
        ("threshold".into(), strings(&|row| row.threshold.clone())),
        ("lambda".into(), numbers(&|row| row.lambda)),
        ("n".into(), Arc::new(results.iter().map(|row| row.n).collect::<UInt32Array>())),
    ];
    for measure in measures(&results) {
        columns.push((measure.to_string(), numbers(&|row| row.values.get(measure).copied().flatten())));
    }
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .map_err(|e| failed(&e))?;
    let mut writer = ArrowWriter::try_new(AtomicFile::create(path)?, batch.schema(), None).map_err(|e| failed(&e))?;
    writer.write(&batch).map_err(|e| failed(&e))?;
    writer.into_inner().map_err(|e| failed(&e))?.commit()
}
