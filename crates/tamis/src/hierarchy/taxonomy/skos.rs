//! Thesauri in SKOS: concepts are nodes, preferred labels their names, `broader` their parents.

use std::io::{self, BufRead, Write};
use std::path::Path;

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;
use rustc_hash::FxHashMap;

use super::build::{Origin, ParentPolicy, Said, Statement, build};
use super::{Taxonomy, TaxonomyFormat, turtle};
use crate::{Error, Result};

const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// What Turtle writes as `a`.
pub(super) const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// The language whose labels are taken where there are several; then those without a language, then the first language by name.
const LANGUAGE: &str = "en";

/// What stands at the end of a triple.
pub(super) enum Object {
    /// Another thing, by its name.
    Name(String),
    /// A text and its language in lower case, empty for none.
    Literal {
        /// The text.
        text: String,
        /// The language.
        language: String,
    },
}

/// How a name says that a file is RDF.
pub(super) fn by_name(path: &Path) -> Option<TaxonomyFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    match name.rsplit_once('.')?.1 {
        "ttl" | "nt" | "turtle" => Some(TaxonomyFormat::Turtle),
        "rdf" | "owl" | "xml" => Some(TaxonomyFormat::RdfXml),
        _ => None,
    }
}

/// Reads the concepts of a thesaurus; `path` is for messages.
pub(super) fn read(
    mut input: impl BufRead,
    path: &Path,
    format: TaxonomyFormat,
    parents: ParentPolicy,
) -> Result<Taxonomy> {
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(|e| Error::io(path, e))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut thesaurus = Thesaurus::default();
    let mut hear = |subject: &str, predicate: &str, object: Object| thesaurus.hear(subject, predicate, object);
    if format == TaxonomyFormat::RdfXml {
        read_xml(text, &mut hear).map_err(|reason| Error::malformed_file(path, reason))?;
    } else {
        turtle::read(text, &mut hear).map_err(|(line, reason)| Error::malformed(path, line, reason))?;
    }
    thesaurus.taxonomy(path, parents)
}

/// An element that is open in RDF/XML.
enum Open {
    /// A thing, where it has a name.
    Thing(Option<String>),
    /// A property of the thing around it: its name, the text so far and the language.
    Property { name: String, text: String, language: String, said: bool },
}

/// RDF/XML as thesauri write it: things with `rdf:about` within properties within things. Errors are sentences.
fn read_xml(text: &str, each: &mut dyn FnMut(&str, &str, Object)) -> std::result::Result<(), String> {
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<Open> = Vec::new();
    loop {
        let at = reader.buffer_position();
        let place = |e: &dyn std::fmt::Display| format!("byte {at}: {e}");
        let (namespace, event) = reader.read_resolved_event().map_err(|e| place(&e))?;
        let space = match namespace {
            ResolveResult::Bound(space) => space.as_ref().to_owned(),
            _ => String::new(),
        };
        match event {
            Event::Eof if open.is_empty() => return Ok(()),
            Event::Eof => return Err(place(&"an element is not closed")),
            Event::Start(start) => {
                let next = begin(&reader, &start, &space, &open, each).map_err(|e| place(&e))?;
                open.push(next);
            }
            Event::Empty(start) => {
                let next = begin(&reader, &start, &space, &open, each).map_err(|e| place(&e))?;
                end(next, &mut open, each);
            }
            Event::End(_) => {
                if let Some(last) = open.pop() {
                    end(last, &mut open, each);
                }
            }
            Event::Text(found) => {
                if let Some(Open::Property { text, .. }) = open.last_mut() {
                    text.push_str(&found);
                }
            }
            Event::CData(found) => {
                if let Some(Open::Property { text, .. }) = open.last_mut() {
                    text.push_str(&found);
                }
            }
            Event::GeneralRef(reference) => {
                let found = match reference.resolve_char_ref().map_err(|e| place(&e))? {
                    Some(c) => c.to_string(),
                    None => quick_xml::escape::resolve_xml_entity(&reference).map(str::to_owned).unwrap_or_default(),
                };
                if let Some(Open::Property { text, .. }) = open.last_mut() {
                    text.push_str(&found);
                }
            }
            _ => {}
        }
    }
}

/// An element begins. Elements within `rdf:RDF` and within properties are things, those within things are properties.
fn begin(
    reader: &NsReader<&[u8]>,
    start: &BytesStart<'_>,
    space: &str,
    open: &[Open],
    each: &mut dyn FnMut(&str, &str, Object),
) -> std::result::Result<Open, String> {
    let name = format!("{space}{}", start.local_name().as_ref());
    if name == format!("{RDF}RDF") {
        // Nothing is said of the root, and what is within it are things.
        return Ok(Open::Property { name, text: String::new(), language: String::new(), said: true });
    }
    let (mut about, mut resource, mut language) = (None, None, String::new());
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| e.to_string())?;
        let (bound, key) = reader.resolver().resolve_attribute(attribute.key);
        let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map_err(|e| e.to_string())?.into_owned();
        let is_rdf = matches!(bound, ResolveResult::Bound(space) if space.as_ref() == RDF);
        match key.as_ref() {
            "about" if is_rdf => about = Some(value),
            "resource" if is_rdf => resource = Some(value),
            _ if attribute.key.as_ref() == "xml:lang" => language = value.to_ascii_lowercase(),
            _ => {}
        }
    }
    let is_thing = match open.last() {
        None | Some(Open::Property { .. }) => true,
        Some(Open::Thing(_)) => false,
    };
    if is_thing {
        if let Some(subject) = about.as_deref().filter(|_| name != format!("{RDF}Description")) {
            each(subject, TYPE, Object::Name(name));
        }
        return Ok(Open::Thing(about));
    }
    let said = resource.is_some();
    if let (Some(Open::Thing(Some(subject))), Some(resource)) = (open.last(), resource) {
        each(subject, &name, Object::Name(resource));
    }
    Ok(Open::Property { name, text: String::new(), language, said })
}

fn end(element: Open, open: &mut [Open], each: &mut dyn FnMut(&str, &str, Object)) {
    match element {
        // A thing within a property is what the property speaks of.
        Open::Thing(Some(thing)) => {
            if let [.., Open::Thing(subject), Open::Property { name, said, .. }] = open {
                if let Some(subject) = subject {
                    each(subject, name, Object::Name(thing));
                }
                *said = true;
            }
        }
        Open::Thing(None) => {}
        Open::Property { name, text, language, said } => {
            if let (Some(Open::Thing(Some(subject))), false) = (open.last(), said) {
                each(subject, &name, Object::Literal { text, language });
            }
        }
    }
}

/// What was said of concepts, in the order it was said.
#[derive(Default)]
struct Thesaurus {
    concepts: Vec<String>,
    /// Child and parent.
    pairs: Vec<(String, String)>,
    /// The best name so far, and its rank: lower is better.
    names: FxHashMap<String, ((u8, String), String)>,
}

impl Thesaurus {
    fn hear(&mut self, subject: &str, predicate: &str, object: Object) {
        match (predicate.strip_prefix(SKOS), object) {
            (Some("broader"), Object::Name(parent)) => self.pairs.push((subject.to_owned(), parent)),
            (Some("narrower"), Object::Name(child)) => self.pairs.push((child, subject.to_owned())),
            (Some("prefLabel"), Object::Literal { text, language }) => self.name(subject, &text, language),
            (None, Object::Name(kind)) if predicate == TYPE && kind.strip_prefix(SKOS) == Some("Concept") => {
                self.concepts.push(subject.to_owned());
            }
            _ => {}
        }
    }

    fn name(&mut self, concept: &str, text: &str, language: String) {
        let order = match language.as_str() {
            LANGUAGE => 0,
            "" => 1,
            _ => 2,
        };
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let rank = (order, language);
        if name.is_empty() || self.names.get(concept).is_some_and(|(best, _)| *best <= rank) {
            return;
        }
        self.names.insert(concept.to_owned(), (rank, name));
    }

    fn taxonomy(&self, path: &Path, parents: ParentPolicy) -> Result<Taxonomy> {
        if self.concepts.is_empty() && self.pairs.is_empty() {
            let reason = "there is no skos:Concept and no skos:broader in it; is it a thesaurus?";
            return Err(Error::malformed_file(path, reason));
        }
        let statement = |id: &String, parent: Said<String>| Statement {
            id: id.clone(),
            parent,
            name: self.names.get(id).map(|(_, name)| name.clone()),
            line: None,
        };
        let concepts = self.concepts.iter().map(|id| statement(id, Said::Nothing));
        let pairs = self.pairs.iter().map(|(child, parent)| statement(child, Said::ChildOf(parent.clone())));
        build(concepts.chain(pairs).collect::<Vec<_>>(), Origin { path: Some(path), parents })
    }
}

impl Taxonomy {
    /// Writes the taxonomy as a SKOS thesaurus in Turtle. Labels must be absolute names (IRIs), as those of a thesaurus are.
    pub fn write_turtle(&self, mut out: impl Write) -> Result<()> {
        let iri = |text: &str| {
            let bad = |c: char| c.is_whitespace() || c.is_control() || "<>\"{}|^`\\".contains(c);
            let scheme = text.split_once(':').is_some_and(|(scheme, _)| {
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            });
            if scheme && !text.contains(bad) {
                return Ok(format!("<{text}>"));
            }
            Err(Error::data(format!("the label {text:?} is no IRI, which a thesaurus needs")))
        };
        let failed = |e: io::Error| Error::io("taxonomy", e);
        writeln!(out, "@prefix skos: <{SKOS}> .").map_err(failed)?;
        for record in self.records() {
            let mut said = vec!["a skos:Concept".to_owned()];
            let quoted = |name: &String| name.replace('\\', "\\\\").replace('"', "\\\"");
            said.extend(record.name.as_ref().map(|name| format!("skos:prefLabel \"{}\"", quoted(name))));
            for parent in record.parent.iter().chain(&record.further) {
                said.push(format!("skos:broader {}", iri(parent)?));
            }
            writeln!(out, "{} {} .", iri(&record.id)?, said.join(" ; ")).map_err(failed)?;
        }
        out.flush().map_err(failed)
    }
}
