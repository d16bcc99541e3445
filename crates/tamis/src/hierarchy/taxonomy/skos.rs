//! Thesauri in SKOS: concepts are nodes, preferred labels their names, `broader` their parents.

use std::io::{BufRead, Write};
use std::path::Path;

use oxrdf::vocab::rdf;
use oxrdf::{Literal, NamedNode, NamedOrBlankNode, Term, Triple, TripleRef};
use oxrdfxml::RdfXmlParser;
use oxttl::{TurtleParser, TurtleSerializer};
use rustc_hash::FxHashMap;

use super::build::{Origin, ParentPolicy, Said, Statement, build};
use super::{Taxonomy, TaxonomyFormat};
use crate::{Error, Result};

const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";

/// The language whose labels are taken where there are several; then those without a language, then the first language by name.
const LANGUAGE: &str = "en";

/// How a name says that a file is RDF.
pub(super) fn by_name(path: &Path) -> Option<TaxonomyFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    match name.rsplit_once('.')?.1 {
        "ttl" | "nt" | "turtle" => Some(TaxonomyFormat::Turtle),
        "rdf" | "owl" | "xml" => Some(TaxonomyFormat::RdfXml),
        _ => None,
    }
}

/// Reads the concepts of a thesaurus; `path` is for messages, and what relative names are relative to is unknown.
pub(super) fn read(
    input: impl BufRead,
    path: &Path,
    format: TaxonomyFormat,
    parents: ParentPolicy,
) -> Result<Taxonomy> {
    let mut thesaurus = Thesaurus::default();
    // Relative names need something they are relative to.
    let base = "urn:tamis:";
    let bad = |e: String| Error::malformed_file(path, e);
    if format == TaxonomyFormat::RdfXml {
        let parser = RdfXmlParser::new().with_base_iri(base).map_err(|e| bad(e.to_string()))?;
        for triple in parser.for_reader(input) {
            thesaurus.hear(triple.map_err(|e| bad(e.to_string()))?);
        }
    } else {
        let parser = TurtleParser::new().with_base_iri(base).map_err(|e| bad(e.to_string()))?;
        for triple in parser.for_reader(input) {
            thesaurus.hear(triple.map_err(|e| bad(e.to_string()))?);
        }
    }
    thesaurus.taxonomy(path, parents)
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
    fn hear(&mut self, triple: Triple) {
        let NamedOrBlankNode::NamedNode(subject) = triple.subject else { return };
        let subject = subject.into_string();
        if triple.predicate.as_ref() == rdf::TYPE {
            if matches!(&triple.object, Term::NamedNode(kind) if kind.as_str().strip_prefix(SKOS) == Some("Concept")) {
                self.concepts.push(subject);
            }
            return;
        }
        match (triple.predicate.as_str().strip_prefix(SKOS), triple.object) {
            (Some("broader"), Term::NamedNode(parent)) => self.pairs.push((subject, parent.into_string())),
            (Some("narrower"), Term::NamedNode(child)) => self.pairs.push((child.into_string(), subject)),
            (Some("prefLabel"), Term::Literal(label)) => self.name(subject, &label),
            _ => {}
        }
    }

    fn name(&mut self, concept: String, label: &Literal) {
        let language = label.language().unwrap_or_default().to_ascii_lowercase();
        let order = match language.as_str() {
            LANGUAGE => 0,
            "" => 1,
            _ => 2,
        };
        let name = label.value().split_whitespace().collect::<Vec<_>>().join(" ");
        let rank = (order, language);
        if name.is_empty() || self.names.get(&concept).is_some_and(|(best, _)| *best <= rank) {
            return;
        }
        self.names.insert(concept, (rank, name));
    }

    fn taxonomy(mut self, path: &Path, parents: ParentPolicy) -> Result<Taxonomy> {
        if self.concepts.is_empty() && self.pairs.is_empty() {
            return Err(Error::malformed_file(
                path,
                "there is no skos:Concept and no skos:broader in it; is it a thesaurus?",
            ));
        }
        let concepts = std::mem::take(&mut self.concepts).into_iter().map(|id| Statement {
            name: self.names.get(&id).map(|(_, name)| name.clone()),
            id,
            parent: Said::Nothing,
            line: None,
        });
        let pairs = self.pairs.iter().map(|(child, parent)| Statement {
            id: child.clone(),
            parent: Said::ChildOf(parent.clone()),
            name: self.names.get(child).map(|(_, name)| name.clone()),
            line: None,
        });
        build(concepts.collect::<Vec<_>>().into_iter().chain(pairs), Origin { path: Some(path), parents })
    }
}

impl Taxonomy {
    /// Writes the taxonomy as a SKOS thesaurus in Turtle. Labels must be absolute names (IRIs), as those of a thesaurus are.
    pub fn write_turtle(&self, out: impl Write) -> Result<()> {
        let iri = |text: &str| {
            NamedNode::new(text)
                .map_err(|e| Error::data(format!("the label {text:?} is no IRI, which a thesaurus needs: {e}")))
        };
        let failed = |e: std::io::Error| Error::io("taxonomy", e);
        let skos = |name: &str| NamedNode::new_unchecked(format!("{SKOS}{name}"));
        let (concept, broader, label) = (skos("Concept"), skos("broader"), skos("prefLabel"));
        let prefixed = TurtleSerializer::new().with_prefix("skos", SKOS).map_err(|e| Error::data(e.to_string()))?;
        let mut writer = prefixed.for_writer(out);
        for record in self.records() {
            let subject = iri(&record.id)?;
            writer.serialize_triple(TripleRef::new(&subject, rdf::TYPE, &concept)).map_err(failed)?;
            if let Some(name) = &record.name {
                let name = Literal::new_simple_literal(name);
                writer.serialize_triple(TripleRef::new(&subject, &label, &name)).map_err(failed)?;
            }
            for parent in record.parent.iter().chain(&record.further) {
                let parent = iri(parent)?;
                writer.serialize_triple(TripleRef::new(&subject, &broader, &parent)).map_err(failed)?;
            }
        }
        writer.finish().map_err(failed)?.flush().map_err(failed)
    }
}
