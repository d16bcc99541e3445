//! Finding and recognising a corpus.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::annif;
use super::blocks::FileContext;
use super::detect::{self, Folder, Listed};
use super::folders::{self, DocumentFile};
use super::lyrl::{self, Qrels};
use super::reader::{Corpus, Origin, Shared};
use super::source::{Compression, Source};
use super::synth::{self, SynthOptions};
use super::{Format, ReadOptions};
use crate::{Error, Result};

/// What the name of a built-in corpus begins with.
const BUILT_IN: &str = "synth:";

/// Finds and recognises a corpus: files, folders, `-` for standard input, or a built-in one: `synth:topics[:N]`,
/// `synth:rcv1[:N]`.
///
/// Several files are one corpus, in the order given; they must have one format. Documents without an id are named after
/// their file and line (`name:17`), so ids do not depend on threads, and a part has the same ids alone and in the whole.
pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Corpus> {
    let built_in = paths.iter().find_map(|path| Some((path, path.to_str()?.strip_prefix(BUILT_IN)?)));
    if let Some((path, name)) = built_in {
        return open_built_in(path, name, paths.len() > 1, options);
    }
    if options.max_record_bytes == 0 {
        return Err(Error::invalid("max_record", 0, "a record needs at least one byte"));
    }
    if let Some(delimiter) = options.delimiter.filter(|c| !c.is_ascii() || "\"\r\n\0".contains(*c)) {
        return Err(Error::invalid("delimiter", format!("{delimiter:?}"), "must be one ASCII character, no quote"));
    }
    let mut opening = Opening { options, format: None, listed: Vec::new(), documents: Vec::new(), stream: None };
    for path in paths {
        opening.add(path, paths.len() > 1)?;
    }
    let empty = opening.drop_empty(paths)?;
    detect::parts_by_name(&mut opening.listed);
    let Opening { format: Some((format, _)), mut listed, mut documents, stream, .. } = opening else {
        return Err(Error::data(match empty {
            0 => "no corpus was named; give a file, a folder, - for standard input or synth:topics".to_owned(),
            n => format!("the corpus is empty: all {n} files have no content"),
        }));
    };
    if format == Format::Parquet && stream.is_some() {
        let reason = "Parquet cannot be read from a stream, since its index is at the end; save it to a file first";
        return Err(Error::malformed_file(&paths[0], reason));
    }
    let qrels = match format {
        Format::Lyrl => read_qrels(&listed, options)?,
        _ => Qrels::default(),
    };
    let names = distinct_names(&listed)?;
    if format == Format::Annif && !documents.is_empty() && !listed.is_empty() {
        let reason = "a folder of texts and a file of lines are two corpora of Annif's; give one kind at a time";
        return Err(Error::malformed_file(&listed[0].path, reason));
    }
    if format == Format::Text && stream.is_none() {
        // A text is read as a file of a folder is.
        for (file, id) in listed.drain(..).zip(names.iter()) {
            let bytes = std::fs::metadata(&file.path).map_or(0, |data| data.len());
            documents.push(DocumentFile {
                path: file.path,
                id: id.clone(),
                labels: Vec::new(),
                part: file.part,
                bytes,
            });
        }
    }
    let context = |(file, name): (Listed, String)| FileContext {
        path: file.path,
        name,
        part: file.part,
        limit: options.max_record_bytes,
    };
    let files = Shared {
        format,
        paths: paths.to_vec(),
        files: listed.into_iter().zip(names).map(context).collect(),
        stream: stream.is_some(),
        folders: Arc::new(folders::FolderFiles {
            documents,
            encoding: options.encoding,
            limit: options.max_record_bytes,
        }),
        qrels: Arc::new(qrels),
        options: options.clone(),
        keys: Arc::default(),
    };
    Ok(Corpus { origin: Origin::Files { files: Arc::new(files), once: Mutex::new(stream) } })
}

fn open_built_in(path: &Path, name: &str, several: bool, options: &ReadOptions) -> Result<Corpus> {
    if several {
        let reason = "a built-in corpus cannot be mixed with others; `tamis convert` makes a file of it";
        return Err(Error::malformed_file(path, reason));
    }
    let generated = SynthOptions::named(name, options.seed).and_then(|o| synth::Generator::new(&o).map(|_| o));
    let generated = generated.map_err(|error| Error::malformed_file(path, error.to_string()))?;
    Ok(Corpus { origin: Origin::BuiltIn { path: path.to_owned(), options: generated } })
}

/// What was found while the paths are looked at.
struct Opening<'o> {
    options: &'o ReadOptions,
    /// The format, and the file it was told by.
    format: Option<(Format, PathBuf)>,
    listed: Vec<Listed>,
    documents: Vec<DocumentFile>,
    stream: Option<Source>,
}

impl Opening<'_> {
    fn add(&mut self, path: &Path, several: bool) -> Result<()> {
        let Self { options, .. } = *self;
        let prefix = options.label_prefix.as_str();
        if path.as_os_str() == "-" {
            return self.add_stream(path, several);
        }
        let data = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        if data.is_dir() {
            match detect::of_folder(path, options.from, prefix)? {
                Folder::Files(format, files) => {
                    self.agree(format, path)?;
                    self.listed.extend(files);
                }
                Folder::Labels(found) => {
                    self.agree(Format::Folders, path)?;
                    let mut documents = folders::documents(found);
                    if documents.is_empty() {
                        let reason =
                            "no document was found in the folder: expected a folder for each label with files in it";
                        return Err(Error::malformed_file(path, reason));
                    }
                    if several {
                        let root = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                        for document in &mut documents {
                            document.id.insert_str(0, &format!("{root}/"));
                        }
                    }
                    self.documents.append(&mut documents);
                }
                Folder::Subjects(found) => {
                    self.agree(Format::Annif, path)?;
                    let root = path.file_name().filter(|_| several).map(|n| n.to_string_lossy().into_owned());
                    let mut documents = annif::documents(found)?;
                    for (document, root) in documents.iter_mut().zip(std::iter::repeat(&root)) {
                        document.id.insert_str(0, &root.as_ref().map(|r| format!("{r}/")).unwrap_or_default());
                    }
                    self.documents.append(&mut documents);
                }
                Folder::Texts(found) => {
                    self.agree(Format::Text, path)?;
                    let root = path.file_name().filter(|_| several).map(|n| n.to_string_lossy().into_owned());
                    let mut documents = folders::texts(found);
                    for (document, root) in documents.iter_mut().zip(std::iter::repeat(&root)) {
                        document.id.insert_str(0, &root.as_ref().map(|r| format!("{r}/")).unwrap_or_default());
                    }
                    self.documents.append(&mut documents);
                }
            }
            return Ok(());
        }
        if options.from == Some(Format::Folders) {
            return Err(Error::malformed_file(path, "the option `from=folders` needs a folder, and this is a file"));
        }
        if !data.is_file() {
            return self.add_stream(path, several);
        }
        self.listed.push(Listed { path: path.to_owned(), part: None });
        Ok(())
    }

    fn add_stream(&mut self, path: &Path, several: bool) -> Result<()> {
        if several {
            return Err(Error::malformed_file(
                path,
                "a stream cannot be mixed with other files; save it to a file first",
            ));
        }
        let Self { options, .. } = *self;
        let mut source = Source::open(path, options.encoding)?;
        if source.peek(1)?.is_empty() {
            return Err(Error::malformed_file(path, "the corpus is empty: nothing came from the stream"));
        }
        let format = detect::of_source(&mut source, options)?;
        self.agree(format, path)?;
        self.listed.push(Listed { path: path.to_owned(), part: None });
        self.stream = Some(source);
        Ok(())
    }

    /// All files must have one format.
    fn agree(&mut self, format: Format, path: &Path) -> Result<()> {
        match &self.format {
            None => self.format = Some((format, path.to_owned())),
            Some((known, _)) if *known == format => {}
            Some((known, first)) => {
                let reason = format!("this is {format}, but {} is {known}; convert one of them first", first.display());
                return Err(Error::malformed_file(path, reason));
            }
        }
        Ok(())
    }

    /// Looks at the first bytes of all files, drops empty ones and returns how many. Clusters write empty parts, so
    /// they are an error only where nothing else is left.
    fn drop_empty(&mut self, paths: &[PathBuf]) -> Result<usize> {
        if self.stream.is_some() {
            return Ok(0);
        }
        let files = std::mem::take(&mut self.listed);
        let alone = files.len() == 1 && paths.len() == 1;
        let mut empty = 0;
        for file in files {
            let mut source = Source::open(&file.path, self.options.encoding)?;
            // An empty text is a document without words.
            let empty_text = || self.options.from.or_else(|| detect::by_name(&file.path)) == Some(Format::Text);
            if source.peek(1)?.is_empty() && !empty_text() {
                if alone {
                    let reason = "the file is empty: there is no document to read";
                    return Err(Error::malformed_file(&file.path, reason));
                }
                tracing::warn!("{}: the file is empty", file.path.display());
                empty += 1;
                continue;
            }
            let format = detect::of_source(&mut source, self.options)?;
            self.agree(format, &file.path)?;
            self.listed.push(file);
        }
        if self.listed.is_empty() && self.documents.is_empty() {
            self.format = None;
        }
        Ok(empty)
    }
}

fn read_qrels(files: &[Listed], options: &ReadOptions) -> Result<Qrels> {
    let paths = if let Some(path) = &options.qrels {
        vec![path.clone()]
    } else {
        let mut found = Vec::new();
        for file in files.iter().filter(|file| file.path.as_os_str() != "-") {
            found.append(&mut lyrl::qrels_beside(&file.path)?);
        }
        found.sort();
        found.dedup();
        found
    };
    if paths.is_empty() {
        tracing::warn!("no qrels file was given or found beside the token files: documents have no labels");
    }
    Qrels::read(&paths, options.max_record_bytes)
}

/// A name for each file, for documents without an id: its last components without endings, as many as tell all apart.
fn distinct_names(files: &[Listed]) -> Result<Vec<String>> {
    let name = |path: &Path, components: usize, endings: bool| {
        if path.as_os_str() == "-" {
            return "stdin".to_owned();
        }
        let plain = Compression::of_name(path).1;
        let plain = match detect::by_name(path) {
            _ if endings => path.to_owned(),
            Some(Format::Text) => plain,
            Some(_) => plain.with_extension(""),
            None => plain,
        };
        let all: Vec<_> = plain.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        all[all.len().saturating_sub(components)..].join("/")
    };
    let deepest = files.iter().map(|file| file.path.components().count()).max().unwrap_or(1);
    for endings in [false, true] {
        for components in 1..=deepest {
            let names: Vec<String> = files.iter().map(|file| name(&file.path, components, endings)).collect();
            let mut distinct: Vec<&String> = names.iter().collect();
            distinct.sort_unstable();
            distinct.dedup();
            if distinct.len() == names.len() {
                return Ok(names);
            }
        }
    }
    let mut paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    paths.sort_unstable();
    let twice = paths.windows(2).find(|pair| pair[0] == pair[1]).map_or(Path::new("a file"), |pair| pair[0]);
    Err(Error::malformed_file(twice, "the file is given twice"))
}
