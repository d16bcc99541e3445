//! Dates as people write them, brought into the one form that sorts as text.

use std::borrow::Cow;

use super::fields::quoted;
use crate::named::named;

named! {
    /// Which number of a date such as 05/06/2024 comes first.
    #[derive(Default)]
    pub enum DateOrder ("order of dates") {
        /// What the numbers allow; with points the day is first, and a date that can be read two ways is an error.
        #[default]
        Auto = "auto",
        /// The day: 05/06/2024 is in June.
        DayFirst = "day-first",
        /// The month: 05/06/2024 is in May.
        MonthFirst = "month-first",
    }
}

/// The date in a field, or what is wrong with it; an empty one is none.
pub(crate) fn date_of(date: Cow<'_, str>, order: DateOrder) -> Result<Option<Cow<'_, str>>, String> {
    if date.is_empty() {
        return Ok(None);
    }
    if sorts_as_text(&date) {
        return Ok(Some(date));
    }
    match other_order(&date, order) {
        Read::Date(iso) => Ok(Some(iso.into())),
        Read::TwoWays => Err(format!(
            "may be read two ways, as {}; say which with the option `dates=day-first` or the option `dates=month-first`",
            quoted(&date)
        )),
        Read::Nothing => Err(format!(
            "must be a date such as 2024-05-31 or 31.05.2024, found {}; to leave it unread give the option `date_field=`",
            quoted(&date)
        )),
    }
}

/// Whether a date sorts as text: `2024`, `2024-05`, `2024-05-31`, or the last with a time after `T` or a space.
fn sorts_as_text(date: &str) -> bool {
    let bytes = date.as_bytes();
    let number = |from: usize, to: usize, range: std::ops::RangeInclusive<u32>| {
        date.get(from..to)
            .is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()) && d.parse().is_ok_and(|n: u32| range.contains(&n)))
    };
    number(0, 4, 0..=9999)
        && (bytes.len() == 4
            || bytes[4] == b'-'
                && number(5, 7, 1..=12)
                && (bytes.len() == 7
                    || bytes[7] == b'-'
                        && number(8, 10, 1..=31)
                        && (bytes.len() == 10 || matches!(bytes[10], b'T' | b' '))))
}

enum Read {
    Date(String),
    TwoWays,
    Nothing,
}

/// `31.05.2024`, `31/5/2024`, `2024/5/31`, `20240531`, also with a time after a space or `T`.
fn other_order(date: &str, order: DateOrder) -> Read {
    let date = date.trim();
    let (day, time) = date.split_at(date.find(['T', ' ']).unwrap_or(date.len()));
    if !day.bytes().all(|b| b.is_ascii_digit() || b"./-".contains(&b)) {
        return Read::Nothing;
    }
    let iso = |year: &str, month: &str, day: &str| {
        let number = |text: &str, most: u32| text.parse().ok().filter(|n: &u32| (1..=most).contains(n));
        match (year.len(), number(month, 12), number(day, 31)) {
            (4, Some(month), Some(day)) => Read::Date(format!("{year}-{month:02}-{day:02}{time}")),
            _ => Read::Nothing,
        }
    };
    if day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()) {
        return iso(&day[..4], &day[4..6], &day[6..]);
    }
    let separator = ['.', '/', '-'].into_iter().find(|c| day.contains(*c)).unwrap_or('.');
    let parts: Vec<&str> = day.split(separator).collect();
    let [first, second, third] = parts[..] else { return Read::Nothing };
    if first.len() == 4 {
        return iso(first, second, third);
    }
    let above_12 = |text: &str| text.parse().is_ok_and(|n: u32| n > 12);
    match (order, separator) {
        (DateOrder::MonthFirst, _) => iso(third, first, second),
        (DateOrder::DayFirst, _) | (DateOrder::Auto, '.') => iso(third, second, first),
        _ if above_12(first) || first == second => iso(third, second, first),
        _ if above_12(second) => iso(third, first, second),
        _ => match iso(third, second, first) {
            Read::Date(_) => Read::TwoWays,
            other => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_must_sort() {
        for good in ["2024", "2024-05", "2024-05-31", "1987-02-26T15:01:01.79", "2024-05-31 10:00"] {
            assert!(sorts_as_text(good), "{good}");
        }
        for bad in
            ["31/05/2024", "20240531", "2024-13", "2024-5-1", "May 2024", "2024-05-3", "", "2024-05-31x", "２０２４"]
        {
            assert!(!sorts_as_text(bad), "{bad}");
        }
    }

    #[test]
    fn european_dates_are_turned() {
        let read = |date: &str, order| date_of(date.into(), order).map(|d| d.unwrap_or_default().into_owned());
        for (date, iso) in [
            ("31.05.2024", "2024-05-31"),
            ("1.5.2024", "2024-05-01"),
            ("05.06.2024", "2024-06-05"),
            ("31.05.2024 10:00", "2024-05-31 10:00"),
            ("31/05/2024", "2024-05-31"),
            ("05/31/2024", "2024-05-31"),
            ("31-05-2024", "2024-05-31"),
            ("2024/5/31", "2024-05-31"),
            ("2024-5-1T09:00", "2024-05-01T09:00"),
            ("20240531", "2024-05-31"),
            ("04/04/2024", "2024-04-04"),
        ] {
            assert_eq!(read(date, DateOrder::Auto).unwrap(), iso, "{date}");
        }
        let two_ways = read("05/06/2024", DateOrder::Auto).unwrap_err();
        assert!(two_ways.contains("two ways") && two_ways.contains("day-first"), "{two_ways}");
        assert_eq!(read("05/06/2024", DateOrder::DayFirst).unwrap(), "2024-06-05");
        assert_eq!(read("05/06/2024", DateOrder::MonthFirst).unwrap(), "2024-05-06");
        for bad in ["5/31/24", "soon", "32.05.2024", "31.13.2024", "1.2", "2024.05.31.1", "99999999", "13/13/2024"] {
            assert!(read(bad, DateOrder::Auto).is_err(), "{bad}");
        }
        assert!(read("31/05/2024", DateOrder::MonthFirst).is_err());
    }
}
