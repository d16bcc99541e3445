//! Each error of the library is one Python exception.

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use tamis::{Error, spell_options};

create_exception!(tamis, MalformedError, PyValueError, "A record or file does not follow its format.");
create_exception!(tamis, UnknownNameError, PyValueError, "A name that is not known; the message lists the known ones.");
create_exception!(tamis, ExpressionError, PyValueError, "An expression that does not parse.");
create_exception!(tamis, InvalidOptionError, PyValueError, "An option outside its range.");
create_exception!(tamis, DataError, PyValueError, "The data does not allow what was asked.");
create_exception!(tamis, DamagedFileError, PyValueError, "A model or counts file that is damaged or too new.");

/// The exception of an error. Those that scikit-learn users expect as `ValueError` are its subclasses.
pub(crate) fn to_py(error: Error) -> PyErr {
    let message = spelled(&error.to_string());
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            // Python chooses the subclass, such as FileNotFoundError, by the number.
            Some(number) => PyOSError::new_err((number, strerror(&source), path.to_string_lossy().into_owned())),
            None => PyOSError::new_err(message),
        },
        Error::Malformed { .. } => MalformedError::new_err(message),
        Error::Unknown { .. } => UnknownNameError::new_err(message),
        Error::Expression { .. } => ExpressionError::new_err(message),
        Error::Invalid { .. } => InvalidOptionError::new_err(message),
        Error::File { .. } => DamagedFileError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        _ => DataError::new_err(message),
    }
}

/// A message of the library with its options as arguments.
pub(crate) fn spelled(message: &str) -> String {
    spell_options(message, |option, value| {
        let Some(argument) = argument(option) else {
            let set = value.map_or(String::new(), |value| format!("={value}"));
            return format!("`{option}{set}` of the command");
        };
        match value {
            None => format!("{argument}="),
            Some("true") => format!("{argument}=True"),
            Some("false") => format!("{argument}=False"),
            Some(value) if value.parse::<f64>().is_ok() => format!("{argument}={value}"),
            Some(value) => format!("{argument}={value:?}"),
        }
    })
}

/// The argument that Python has for an option; the command alone has some.
fn argument(option: &'static str) -> Option<&'static str> {
    Some(match option {
        "from" => "from_format",
        "corpus" => "documents",
        "set" => "change",
        // A study that was stopped goes on whenever its folder is given again.
        "resume" => "output",
        "format" | "id" | "keep" | "number" | "only_score" | "parent" | "prefix" | "to" | "to_prefix"
        | "to_separator" => return None,
        same => same,
    })
}

/// The options that messages name, with the arguments that Python has for them.
#[pyfunction]
fn option_arguments() -> Vec<(&'static str, Option<&'static str>)> {
    tamis::OPTIONS.iter().map(|option| (*option, argument(option))).collect()
}

/// A message as Python shows it.
#[pyfunction]
fn spell_message(message: &str) -> String {
    spelled(message)
}

/// What the system says, without the number that Python adds itself.
fn strerror(source: &std::io::Error) -> String {
    let text = source.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Options that came as JSON from `python/tamis`.
pub(crate) fn options<'a, T: serde::Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(format!("options {json}: {e}")))
}

/// An answer as JSON; numbers keep every digit.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add_function(wrap_pyfunction!(option_arguments, m)?)?;
    m.add_function(wrap_pyfunction!(spell_message, m)?)?;
    m.add("MalformedError", py.get_type::<MalformedError>())?;
    m.add("UnknownNameError", py.get_type::<UnknownNameError>())?;
    m.add("ExpressionError", py.get_type::<ExpressionError>())?;
    m.add("InvalidOptionError", py.get_type::<InvalidOptionError>())?;
    m.add("DataError", py.get_type::<DataError>())?;
    m.add("DamagedFileError", py.get_type::<DamagedFileError>())
}
