//! What the cells of columns are: strings, labels, lists, dates.

use std::borrow::Cow;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::corpus::fields::{Role, label_of_bool, label_of_number, weight_in, weight_of};

/// What a column must be, when it is something else.
pub(super) fn mistyped(role: Role, found: &DataType) -> Option<&'static str> {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary);
    let is_whole = DataType::is_integer;
    let is_label = |kind: &DataType| {
        is_text(kind) || is_whole(kind) || matches!(kind, DataType::Boolean | DataType::Float32 | DataType::Float64)
    };
    let is_list_of = |kind: &DataType, item: &dyn Fn(&DataType) -> bool| match kind {
        DataType::List(field) => item(field.data_type()),
        _ => false,
    };
    let is_date = |kind: &DataType| matches!(kind, DataType::Date32 | DataType::Timestamp(..));
    let (fits, expected) = match role {
        Role::Text | Role::Field(_) | Role::Split | Role::Counts => (is_text(found), "a string"),
        Role::Id => (is_text(found) || is_whole(found), "a string or a whole number"),
        Role::Labels => {
            (is_label(found) || is_list_of(found, &is_label), "a string, a number or a boolean, or a list of them")
        }
        Role::Tokens => (is_text(found) || is_list_of(found, &is_text), "a list of strings"),
        Role::Date => (is_text(found) || is_date(found), "a string or a date"),
        Role::Weight => {
            (is_text(found) || is_whole(found) || matches!(found, DataType::Float32 | DataType::Float64), "a number")
        }
    };
    (!fits).then_some(expected)
}

/// A whole number, where the column holds them.
fn whole(array: &ArrayRef, row: usize) -> Option<i128> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        _ => return None,
    })
}

/// The value of a column as a string.
pub(super) fn string(array: &ArrayRef, row: usize) -> Result<Cow<'_, str>, String> {
    if let Some(number) = whole(array, row) {
        return Ok(number.to_string().into());
    }
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Binary => {
            std::str::from_utf8(array.as_binary::<i32>().value(row)).map_err(|_| "is not UTF-8".to_owned())?.into()
        }
        DataType::Date32 => iso_day(i64::from(array.as_primitive::<Date32Type>().value(row))).into(),
        DataType::Timestamp(unit, _) => {
            let (ticks, per_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
            };
            iso_second(ticks.div_euclid(per_second)).into()
        }
        other => return Err(format!("cannot be read from a column of type {other}")),
    })
}

/// The values of a list column; `None` when the column is no list.
pub(super) fn list(array: &ArrayRef, row: usize) -> Result<Option<Vec<String>>, String> {
    each_of_list(array, row, |items, at| string(items, at).map(|text| Some(text.into_owned())))
}

/// The labels of a list column; `None` when the column is no list.
pub(super) fn label_list(array: &ArrayRef, row: usize, names: &[String]) -> Result<Option<Vec<String>>, String> {
    each_of_list(array, row, |items, at| Ok(label(items, at, names)?.map(Cow::into_owned)))
}

fn each_of_list(
    array: &ArrayRef,
    row: usize,
    each: impl Fn(&ArrayRef, usize) -> Result<Option<String>, String>,
) -> Result<Option<Vec<String>>, String> {
    let Some(lists) = array.as_list_opt::<i32>() else { return Ok(None) };
    let items = lists.value(row);
    let present = (0..items.len()).filter(|&at| !items.is_null(at));
    present.filter_map(|at| each(&items, at).transpose()).collect::<Result<_, _>>().map(Some)
}

/// One label; none where a number stands for none. `names` are those of numbered classes, empty where they have none.
pub(super) fn label<'a>(array: &'a ArrayRef, row: usize, names: &'a [String]) -> Result<Option<Cow<'a, str>>, String> {
    if let Some(number) = whole(array, row)
        && !names.is_empty()
    {
        // Hugging Face's data sets say -1 where a document has no label.
        if number == -1 {
            return Ok(None);
        }
        let name = usize::try_from(number).ok().and_then(|class| names.get(class));
        let unknown = || format!("is class {number}, and the file names {} classes from 0", names.len());
        return name.map(|name| Some(Cow::Borrowed(name.as_str()))).ok_or_else(unknown);
    }
    match array.data_type() {
        DataType::Boolean => Ok(Some(label_of_bool(array.as_boolean().value(row)).into())),
        DataType::Float32 => {
            // By its own digits: 0.1 of 32 bits is the label 0.1.
            let number = array.as_primitive::<Float32Type>().value(row);
            Ok((!number.is_nan()).then(|| (number + 0.0).to_string().into()))
        }
        DataType::Float64 => Ok(label_of_number(array.as_primitive::<Float64Type>().value(row)).map(Cow::Owned)),
        _ => string(array, row).map(Some),
    }
}

/// How often a document counts.
pub(super) fn weight(array: &ArrayRef, row: usize) -> Result<Option<f64>, String> {
    match array.data_type() {
        DataType::Float32 => weight_of(array.as_primitive::<Float32Type>().value(row).into()).map(Some),
        DataType::Float64 => weight_of(array.as_primitive::<Float64Type>().value(row)).map(Some),
        _ => weight_in(&string(array, row)?),
    }
}

/// Days since 1970 as a date of the Gregorian calendar, by counting in eras of 400 years that begin in March.
fn iso_day(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next_year)
}

fn iso_second(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    let time = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{}T{:02}:{:02}:{:02}", iso_day(seconds.div_euclid(86_400)), time.0, time.1, time.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let cases = [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (19_874, "2024-05-31")];
        for (days, date) in cases {
            assert_eq!(iso_day(days), date);
        }
        assert_eq!(iso_second(951_782_399), "2000-02-28T23:59:59");
        // Every day follows the one before, over four centuries.
        let mut before = iso_day(-150_000);
        for days in -149_999..150_000 {
            let day = iso_day(days);
            assert!(day > before, "{day}");
            before = day;
        }
    }
}
