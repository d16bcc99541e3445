//! Documents that Python holds: strings and Arrow columns, read in place.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyString, PyType};
use rayon::prelude::*;
use tamis::corpus::{BATCH_BYTES, Batch, Batches, Body, Document, Glance};
use tamis::counts::{CountOptions, Csr, Vocabulary, count};
use tamis::terms::{Analyzer, TextChoices, TextOptions};
use tamis::{Error, Result};

use crate::arrays::Sets;
use crate::errors::{json, options, to_py};
use crate::work::{How, run};

/// Text options from JSON.
pub(crate) fn text_options(json: &str) -> PyResult<TextOptions> {
    options::<TextChoices>(json)?.options().map_err(to_py)
}

/// The fields that text options read; none where they read nothing but the text.
#[pyfunction]
fn text_fields(text: &str) -> PyResult<Option<Vec<String>>> {
    // The language has no say in it.
    let choices = TextChoices { language: None, ..options(text)? };
    Ok(named_fields(&choices.options().map_err(to_py)?))
}

pub(crate) fn named_fields(text: &TextOptions) -> Option<Vec<String>> {
    text.has_fields().then(|| text.fields().into_iter().map(str::to_owned).collect())
}

/// Text options with what the language of texts has, stop words and a stemmer, where they ask for it to be recognised.
#[pyfunction]
fn with_language(texts: GivenTexts, text: &str) -> PyResult<String> {
    let choices: TextChoices = options(text)?;
    let (_, glance) = Glance::of(HeldTexts::of(&LabelledTexts::unlabelled(texts.into()))).map_err(to_py)?;
    json(&choices.with_language_of(&glance).map_err(to_py)?)
}

/// The terms of each text, in its order, as people read them.
#[pyfunction]
fn analyze(texts: Vec<PyBackedStr>, text: &str) -> PyResult<Vec<Vec<String>>> {
    let options = text_options(text)?;
    let mut analyzer = Analyzer::new(&options).map_err(to_py)?;
    let terms = |text: &PyBackedStr| {
        let mut numbers = Vec::new();
        analyzer.analyze(&Body::Text(Cow::Borrowed(text)), |term, _| numbers.push(term));
        let shown = |&term: &u32| {
            let name = analyzer.term(term);
            if options.marks_terms() { options.shown(&name).into_owned() } else { name }
        };
        numbers.iter().map(shown).collect()
    };
    Ok(texts.iter().map(terms).collect())
}

/// The stop words of a language, or of a file with a word in each line.
#[pyfunction]
fn stop_words(name: &str) -> PyResult<Vec<String>> {
    let path = std::path::Path::new(name);
    if path.is_file() { tamis::terms::stop_words_of_file(path) } else { tamis::terms::stop_words(name) }.map_err(to_py)
}

/// The texts of some documents.
pub(crate) enum Texts {
    /// Python's own strings: their UTF-8, which Python makes once and keeps.
    Strings(Vec<PyBackedStr>),
    /// An Arrow column: text back to back.
    Column { bytes: Vec<u8>, ends: Vec<usize> },
    /// Several columns with their names; a document may lack any of them.
    Fields { names: Vec<String>, columns: Vec<Vec<Option<PyBackedStr>>>, rows: usize },
}

/// Texts as Python hands them over: names and columns of fields, or a list of strings.
#[derive(FromPyObject)]
pub(crate) enum GivenTexts {
    /// Names, columns, rows.
    Fields(Vec<String>, Vec<Vec<Option<PyBackedStr>>>, usize),
    /// One text for each document.
    #[pyo3(transparent)]
    Strings(Vec<PyBackedStr>),
}

impl From<GivenTexts> for Texts {
    fn from(given: GivenTexts) -> Self {
        match given {
            GivenTexts::Fields(names, columns, rows) => Self::Fields { names, columns, rows },
            GivenTexts::Strings(strings) => Self::Strings(strings),
        }
    }
}

impl Texts {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strings(strings) => strings.len(),
            Self::Column { ends, .. } => ends.len(),
            Self::Fields { rows, .. } => *rows,
        }
    }

    /// What a document says.
    fn body(&self, at: usize) -> Body<'_> {
        let text = match self {
            Self::Strings(strings) => &strings[at],
            Self::Column { bytes, ends } => {
                let start = if at == 0 { 0 } else { ends[at - 1] };
                std::str::from_utf8(&bytes[start..ends[at]]).unwrap_or_default()
            }
            Self::Fields { names, columns, .. } => {
                let text = |(name, column): (&'_ String, &Vec<Option<PyBackedStr>>)| {
                    let text: &str = column.get(at)?.as_ref()?;
                    Some((name.clone().into(), text.to_owned().into()))
                };
                return Body::Fields(names.iter().zip(columns).filter_map(text).collect());
            }
        };
        Body::Text(Cow::Borrowed(text))
    }

    /// What tells a document from others.
    pub(crate) fn fingerprint(&self, at: usize) -> u64 {
        self.body(at).fingerprint()
    }

    /// Bytes of a document.
    fn bytes(&self, at: usize) -> usize {
        match self {
            Self::Strings(strings) => strings[at].len(),
            Self::Column { ends, .. } => ends[at] - if at == 0 { 0 } else { ends[at - 1] },
            Self::Fields { columns, .. } => columns.iter().filter_map(|c| c.get(at)?.as_ref()).map(|t| t.len()).sum(),
        }
    }

    /// The columns that there are, to name them where one is missed.
    fn names(&self) -> &[String] {
        if let Self::Fields { names, .. } = self { names } else { &[] }
    }
}

/// Documents with their labels.
pub(crate) struct LabelledTexts {
    pub(crate) texts: Texts,
    pub(crate) labels: Csr<()>,
    pub(crate) names: Vocabulary,
    /// The number of each label in `names`, by the caller's numbers.
    pub(crate) name_of: Vec<u32>,
}

impl LabelledTexts {
    pub(crate) fn new(texts: Texts, labels: Csr<()>, names: &[String]) -> PyResult<Self> {
        if labels.rows() != texts.len() || labels.columns() != names.len() {
            return Err(PyValueError::new_err(format!(
                "Found input variables with inconsistent numbers of samples: [{}, {}]",
                texts.len(),
                labels.rows()
            )));
        }
        let sorted = Vocabulary::new(names);
        let name_of = names.iter().filter_map(|name| sorted.id(name)).collect();
        Ok(Self { texts, labels, names: sorted, name_of })
    }

    /// Texts that nobody has labelled.
    pub(crate) fn unlabelled(texts: Texts) -> Arc<Self> {
        let mut labels = Csr::new(0);
        (0..texts.len()).for_each(|_| labels.push_row([]));
        Arc::new(Self { texts, labels, names: Vocabulary::default(), name_of: Vec::new() })
    }
}

/// Hands documents out in batches of about the usual size. They are named by their rows, from 0 as Python counts.
pub(crate) struct HeldTexts {
    documents: Arc<LabelledTexts>,
    next: usize,
}

impl HeldTexts {
    pub(crate) fn of(documents: &Arc<LabelledTexts>) -> Box<dyn Batches> {
        Box::new(Self { documents: Arc::clone(documents), next: 0 })
    }
}

impl Batches for HeldTexts {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let start = self.next;
        let mut bytes = 0;
        while self.next < self.documents.texts.len() && bytes < BATCH_BYTES {
            bytes += self.documents.texts.bytes(self.next) + 64;
            self.next += 1;
        }
        if start == self.next {
            return Ok(None);
        }
        Ok(Some(Box::new(TextBatch { documents: Arc::clone(&self.documents), range: start..self.next })))
    }

    fn fields(&self) -> Vec<String> {
        self.documents.texts.names().to_vec()
    }
}

struct TextBatch {
    documents: Arc<LabelledTexts>,
    range: Range<usize>,
}

impl Batch for TextBatch {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        let LabelledTexts { texts, labels, names, name_of } = &*self.documents;
        for at in self.range.clone() {
            let labels = labels.row_indices(at).iter().map(|&l| Cow::Borrowed(names.name(name_of[l as usize])));
            let id = Cow::Owned(at.to_string());
            let document = Document { id, labels: labels.collect(), ..unlabelled(texts.body(at)) };
            if visit(Ok(document)).is_break() {
                return;
            }
        }
    }
}

fn unlabelled(body: Body<'_>) -> Document<'_> {
    Document { id: Cow::Borrowed(""), body, labels: Vec::new(), part: None, date: None, weight: None }
}

/// Reads a list of strings a batch at a time, for work that needs every text once. Whichever thread takes a batch holds
/// the GIL for as long as it takes to reach the strings, while the others go on, and then finds them in its cache: reaching
/// all of them beforehand took a tenth of the time of counting 124,213 short texts.
struct Listed {
    list: Py<PyList>,
    length: usize,
    next: usize,
    ended: Arc<Ended>,
}

/// What a [`Listed`] and its batches leave behind.
#[derive(Default)]
struct Ended {
    /// Strings that were read, let go by whoever holds the GIL next.
    read: Mutex<Vec<Vec<PyBackedStr>>>,
    /// Why the list cannot be read.
    failure: Mutex<Option<PyErr>>,
}

impl Listed {
    fn of(list: &Bound<'_, PyList>) -> (Box<dyn Batches>, Arc<Ended>) {
        let ended = Arc::new(Ended::default());
        let source = Self { list: list.clone().unbind(), length: list.len(), next: 0, ended: Arc::clone(&ended) };
        (Box::new(source), ended)
    }

    fn take(&mut self, py: Python<'_>) -> PyResult<Vec<PyBackedStr>> {
        let list = self.list.bind(py);
        let mut texts = Vec::new();
        let mut bytes = 0;
        while self.next < self.length && bytes < BATCH_BYTES {
            let text = PyBackedStr::try_from(list.get_item(self.next)?.cast_into::<PyString>()?)?;
            bytes += text.len() + 64;
            texts.push(text);
            self.next += 1;
        }
        Ok(texts)
    }
}

impl Batches for Listed {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let taken = Python::attach(|py| {
            // Taken out first: others need the lock, and letting go of strings takes a while.
            let read = std::mem::take(&mut *locked(&self.ended.read));
            drop(read);
            self.take(py)
        });
        match taken {
            Ok(texts) if texts.is_empty() => Ok(None),
            Ok(texts) => Ok(Some(Box::new(Strings { texts, ended: Arc::clone(&self.ended) }))),
            Err(failure) => {
                let error = Error::data(failure.to_string());
                *locked(&self.ended.failure) = Some(failure);
                Err(error)
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Strings {
    texts: Vec<PyBackedStr>,
    ended: Arc<Ended>,
}

impl Drop for Strings {
    fn drop(&mut self) {
        locked(&self.ended.read).push(std::mem::take(&mut self.texts));
    }
}

impl Batch for Strings {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        for text in &self.texts {
            if visit(Ok(unlabelled(Body::Text(Cow::Borrowed(text))))).is_break() {
                return;
            }
        }
    }
}

/// An Arrow column of text as `(offsets, bytes)`; bytes are copied once, because Arrow may free them.
pub(crate) fn column(offsets: &[i64], bytes: &[u8]) -> PyResult<Texts> {
    let wrong = || PyValueError::new_err("not a column of UTF-8 text");
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Err(wrong()) };
    let range = usize::try_from(first).ok().zip(usize::try_from(last).ok()).ok_or_else(wrong)?;
    let bytes = bytes.get(range.0..range.1).ok_or_else(wrong)?;
    if offsets.windows(2).any(|w| w[0] > w[1]) {
        return Err(wrong());
    }
    let ends: Vec<usize> = offsets[1..].iter().map(|&o| (o - first) as usize).collect();
    let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
    if ends.iter().any(|&end| !text.is_char_boundary(end)) {
        return Err(wrong());
    }
    Ok(Texts::Column { bytes: bytes.to_vec(), ends })
}

/// Terms in their order. They stay here until somebody asks for them: turning a hundred thousand names into strings of
/// Python's takes longer than counting some documents.
#[pyclass(frozen, module = "tamis._core", name = "Terms")]
pub(crate) struct Terms(Arc<Vocabulary>);

#[pymethods]
impl Terms {
    /// Takes names in any order; repetitions are dropped.
    #[new]
    fn new(names: Vec<PyBackedStr>) -> Self {
        Self(Arc::new(Vocabulary::new(names.iter().map(|name| &**name))))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// As a list of strings.
    fn tolist(&self) -> Vec<&str> {
        self.0.iter().collect()
    }

    /// As people read them, where they were counted with these text options; those of one block as they are, for they are
    /// what scikit-learn would call them.
    fn shown(&self, text: &str) -> PyResult<Vec<String>> {
        let text = text_options(text)?;
        let shown = |term| if text.marks_terms() { text.shown(term).into_owned() } else { str::to_owned(term) };
        Ok(self.0.iter().map(shown).collect())
    }

    /// How to make it again: for pickle and copy.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Vec<String>,)) {
        (slf.get_type(), (slf.get().0.iter().map(str::to_owned).collect(),))
    }
}

/// Terms, `indptr`, `indices`, `data`, lengths.
type CountedTexts<'py> =
    (Terms, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Texts → counts. With a vocabulary, its terms are the columns. Nothing where something else than strings is in the list:
/// then somebody slower looks at it. A language that is to be recognised is that of these texts.
#[pyfunction]
fn count_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    text: &str,
    vocabulary: Option<&Bound<'py, Terms>>,
    memory: usize,
    how: How,
) -> PyResult<Option<CountedTexts<'py>>> {
    let choices: TextChoices = options(text)?;
    let vocabulary = vocabulary.map(|terms| Arc::clone(&terms.get().0));
    let (source, ended) = match texts.cast::<PyList>() {
        Ok(list) => Listed::of(list),
        Err(_) => {
            let texts = Texts::from(texts.extract::<GivenTexts>()?);
            (HeldTexts::of(&LabelledTexts::unlabelled(texts)), Arc::default())
        }
    };
    let text = choices.options().map_err(to_py)?;
    let counted = run(py, how, move |progress| {
        let options = CountOptions { text, memory, vocabulary: vocabulary.clone(), ..CountOptions::default() };
        let (counts, _) = count(source, &options, progress)?;
        let (matrix, terms) = match vocabulary {
            None => (counts.matrix, counts.vocabulary),
            Some(all) => {
                let place: Vec<Option<u32>> = counts.vocabulary.iter().map(|name| all.id(name)).collect();
                (counts.matrix.map_columns(all.len(), &place), all)
            }
        };
        if i32::try_from(matrix.entries()).is_err() {
            return Err(Error::data("more than 2,147,483,647 entries; count in parts"));
        }
        let (offsets, indices, values) = matrix.into_parts();
        let offsets: Vec<i32> = offsets.into_iter().map(|o| o as i32).collect();
        // Of the same width: collected where they lie.
        let indices: Vec<i32> = indices.into_iter().map(|i| i as i32).collect();
        let values = widened(&values);
        let lengths: Vec<i64> = counts.lengths.iter().map(|&l| i64::from(l)).collect();
        Ok((Terms(terms), offsets, indices, values, lengths))
    });
    if let Some(failure) = locked(&ended.failure).take() {
        return if failure.is_instance_of::<PyTypeError>(py) { Ok(None) } else { Err(failure) };
    }
    let (terms, offsets, indices, values, lengths) = counted?;
    let (offsets, indices) = (offsets.into_pyarray(py), indices.into_pyarray(py));
    Ok(Some((terms, offsets, indices, values.into_bound(py), lengths.into_pyarray(py))))
}

/// Counts as numpy's usual integers. New memory is dear: numpy gets it in large pages (35 MB were filled in 5 ms instead
/// of 19), and all threads touch it.
fn widened(counts: &[u32]) -> Py<PyArray1<i64>> {
    // SAFETY: nobody else knows the array, and its numbers are all written before it is handed on.
    let (array, room) = Python::attach(|py| unsafe {
        let array = PyArray1::<i64>::new(py, counts.len(), false);
        let room = std::slice::from_raw_parts_mut(array.data().cast::<MaybeUninit<i64>>(), counts.len());
        (array.unbind(), room)
    });
    room.par_iter_mut().zip(counts).for_each(|(wide, &count)| _ = wide.write(i64::from(count)));
    array
}

/// Texts and labels from Python arguments.
pub(crate) fn labelled(texts: GivenTexts, sets: &Sets<'_>, names: &[String]) -> PyResult<Arc<LabelledTexts>> {
    Ok(Arc::new(LabelledTexts::new(texts.into(), sets.csr()?, names)?))
}

/// The same from an Arrow column.
pub(crate) fn labelled_column(
    offsets: &PyReadonlyArray1<'_, i64>,
    bytes: &PyReadonlyArray1<'_, u8>,
    sets: &Sets<'_>,
    names: &[String],
) -> PyResult<Arc<LabelledTexts>> {
    let texts = column(offsets.as_slice()?, bytes.as_slice()?)?;
    Ok(Arc::new(LabelledTexts::new(texts, sets.csr()?, names)?))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Terms>()?;
    m.add_function(wrap_pyfunction!(text_fields, m)?)?;
    m.add_function(wrap_pyfunction!(analyze, m)?)?;
    m.add_function(wrap_pyfunction!(stop_words, m)?)?;
    m.add_function(wrap_pyfunction!(with_language, m)?)?;
    m.add_function(wrap_pyfunction!(count_texts, m)?)
}
