//! Tables whose columns have names of their own: what is sure is taken and said, what is not is asked on a terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use tamis::corpus::{Columns, Guess, ReadOptions};

use crate::output::visible;

/// Whether a command reads labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labels {
    Read,
    Unread,
}

/// Fills in the columns of text and labels where they were not said and the table does not have the usual names.
pub(crate) fn settle(paths: &[PathBuf], options: &mut ReadOptions, labels: Labels) -> tamis::Result<()> {
    let [path, ..] = paths else { return Ok(()) };
    let Some(mut found) = Columns::of(path, options)? else { return Ok(()) };
    if labels == Labels::Unread {
        found.labels = Guess::None;
    }
    let text = chosen(&found, found.text, "the text")?;
    if text.is_none() && found.text != Guess::Named {
        return Ok(());
    }
    // Labels are only guessed where the text is known: a table may have none.
    let labels = chosen(&found, found.labels, "the labels (none: leave empty)")?;
    let mut said = Vec::new();
    if let Some(text) = text {
        said.push(format!("--text-field {}", quoted(&found.names[text])));
        options.fields.text = Some(found.names[text].clone());
    }
    if let Some(labels) = labels.filter(|&labels| Some(labels) != text) {
        said.push(format!("--labels-field {}", quoted(&found.names[labels])));
        options.fields.labels = Some(found.names[labels].clone());
    }
    if !said.is_empty() {
        tracing::warn!("{}: taken as if you had said {}", path.display(), said.join(" "));
    }
    Ok(())
}

/// A word of a shell.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

fn chosen(found: &Columns, guess: Guess, what: &str) -> tamis::Result<Option<usize>> {
    match guess {
        Guess::Sure(at) => Ok(Some(at)),
        Guess::Perhaps(at) if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => ask(found, at, what),
        Guess::Perhaps(_) | Guess::Named | Guess::None => Ok(None),
    }
}

/// Asks which column it is.
fn ask(found: &Columns, likely: usize, what: &str) -> tamis::Result<Option<usize>> {
    let io = |e| tamis::Error::io("-", e);
    let mut out = std::io::stderr().lock();
    for (at, (name, first)) in found.names.iter().zip(&found.first).enumerate() {
        let first: String = first.chars().take(50).collect();
        writeln!(out, "  {} {}  {}", at + 1, visible(name, &[]), visible(&first, &[])).map_err(io)?;
    }
    write!(out, "Which column is {what}? [{}] ", likely + 1).and_then(|()| out.flush()).map_err(io)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(io)?;
    Ok(match answer.trim() {
        "" if what.contains("none") => None,
        "" => Some(likely),
        answer => {
            let by_number =
                answer.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|&n| n < found.names.len());
            by_number.or_else(|| found.names.iter().position(|name| name == answer))
        }
    })
}
