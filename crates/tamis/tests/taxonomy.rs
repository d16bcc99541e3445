//! Taxonomies: formats, refusals, closure, round trips; real files when TAMIS_DATA is set.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use tamis::counts::{Csr, Vocabulary};
use tamis::hierarchy::{ParentPolicy, Separator, Taxonomy, TaxonomyFormat, TaxonomyOptions};

fn read(text: &str) -> tamis::Result<Taxonomy> {
    Taxonomy::read(text.as_bytes(), "tree.tsv", &TaxonomyOptions::default())
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn edges(t: &Taxonomy) -> Vec<(String, Option<String>)> {
    t.records().into_iter().map(|r| (r.id, r.parent)).collect()
}

fn edge(child: &str, parent: Option<&str>) -> (String, Option<String>) {
    (child.to_owned(), parent.map(str::to_owned))
}

/// addis 2, figure 1: a taxonomy of six nodes gives six pipelines.
#[test]
fn every_node_ends_one_pipeline() {
    let t = read("b\ta\nc\tb\nd\tb\na\t\tAll\nf\ta\ne\t\n").unwrap();
    assert_eq!(t.len(), 6);
    let paths: Vec<Vec<&str>> = t.pipelines().iter().map(|p| p.iter().map(|&n| t.id(n)).collect()).collect();
    assert_eq!(paths, [vec!["a"], vec!["a", "b"], vec!["a", "b", "c"], vec!["a", "b", "d"], vec!["e"], vec!["a", "f"]]);
    assert_eq!((t.name(0), t.name(1)), ("All", "b"));
    assert_eq!(t.depth(t.node("d").unwrap()), 3);
    assert_eq!(t.height(), 3);
    let ids = |nodes: Vec<u32>| nodes.into_iter().map(|n| t.id(n)).collect::<Vec<_>>();
    assert_eq!(ids(t.leaves().collect()), ["c", "d", "e", "f"]);
    assert_eq!(ids(t.inner().collect()), ["a", "b"]);
    assert_eq!(ids(t.roots().collect()), ["a", "e"]);
    assert_eq!(ids(t.siblings(t.node("a").unwrap())), ["e"]);
    assert_eq!(ids(t.siblings(t.node("b").unwrap())), ["f"]);
    assert_eq!(ids(t.closure([t.node("d").unwrap(), t.node("f").unwrap()])), ["a", "b", "d", "f"]);
    assert!(t.is_within(t.node("c").unwrap(), t.node("a").unwrap()));
    assert!(!t.is_within(t.node("a").unwrap(), t.node("c").unwrap()));
}

#[test]
fn the_formats_are_told_apart() {
    let expected =
        vec![edge("C", None), edge("C1", Some("C")), edge("C11", Some("C1")), edge("C2", Some("C")), edge("E", None)];
    for text in [
        "Root\tC\tE\nC\tC1\tC2\nC1\tC11\n",
        "Root\tC\tE\r\nC\tC1\tC2\r\nC1\tC11\t\r\n",
        "Root C E\nC C1 C2\n\nC1 C11\n",
        "# a comment\nE\nC C1 C2\nC1 C11\n",
        "C1\tC\nC11\tC1\nC2\tC\nE\t\n",
        "\u{feff}child\tparent\tname\nC\tRoot\nC1\tC\nC11\tC1\nC2\tC\nE\tRoot\tEconomy",
        "parent: None  child: Root  child-description: Root\n\
         parent: Root child: C child-description: C\nparent: Root child: E child-description: E x\n\
         parent: C child: C1 child-description: a\nparent: C child: C2 child-description: b\n\
         parent: C1 child: C11 child-description: c",
    ] {
        assert_eq!(edges(&read(text).unwrap()), expected, "{text}");
    }
    let named = read("parent: Root child: E child-description: ECONOMIC PERFORMANCE\n").unwrap();
    assert_eq!(named.name(0), "ECONOMIC PERFORMANCE");
    // Two fields with tabs are child and parent; asked for, they are parent and child.
    let options = TaxonomyOptions { format: TaxonomyFormat::ParentChildren, ..TaxonomyOptions::default() };
    let flipped = Taxonomy::read("a\tb\n".as_bytes(), "-", &options).unwrap();
    assert_eq!(edges(&flipped), [edge("a", None), edge("b", Some("a"))]);
    assert_eq!(edges(&read("a\tb\n").unwrap()), [edge("a", Some("b")), edge("b", None)]);
}

#[test]
fn a_label_called_root_is_a_label() {
    let plant = [edge("plant", None), edge("root", Some("plant")), edge("stem", Some("plant"))];
    for text in ["root\tplant\nstem\tplant\n", "stem\tplant\tThe stem\nroot\tplant\tThe root\n"] {
        assert_eq!(edges(&read(text).unwrap()), plant, "{text}");
    }
    let chain = [edge("hair", Some("root")), edge("plant", None), edge("root", Some("plant"))];
    assert_eq!(edges(&read("root\tplant\nhair\troot\n").unwrap()), chain);
    let up = [edge("plant", None), edge("root", Some("stem")), edge("stem", Some("plant"))];
    assert_eq!(edges(&read("stem\tplant\nroot\tstem\n").unwrap()), up);
    let two = [edge("flower", None), edge("Plant", None), edge("Root", Some("Plant")), edge("rose", Some("flower"))];
    let mut read_two = edges(&read("Root\tPlant\nrose\tflower\n").unwrap());
    read_two.sort_by_key(|(child, _)| child.to_lowercase());
    assert_eq!(read_two, two);
    // The virtual root, in RCV1's way.
    let below = [edge("a", None), edge("b", Some("a"))];
    assert_eq!(edges(&read("Root\ta\na\tb\n").unwrap()), below);
    assert_eq!(edges(&read("root\ta\tc\na\tb\n").unwrap()), [below[0].clone(), below[1].clone(), edge("c", None)]);
}

#[test]
fn circles_are_refused_and_several_parents_where_asked_to() {
    let message = |text: &str| {
        let refuse = TaxonomyOptions { parents: ParentPolicy::Refuse, ..TaxonomyOptions::default() };
        Taxonomy::read(text.as_bytes(), "tree.tsv", &refuse).unwrap_err().to_string()
    };
    assert_eq!(message("a\tb\nb\tc\nc\ta\n"), "tree.tsv:3: the parents go in a circle: a → b → c → a");
    assert_eq!(message("x\tx\n"), "tree.tsv:1: the parents go in a circle: x → x");
    let several = "p\t\nq\t\nx\tp\nx\tq\n";
    assert_eq!(
        message(several),
        "tree.tsv:4: \"x\" has several parents: p (line 3) and q; take all of them (the option `parent=all`) or the first (the \
         option `parent=first`)"
    );
    let first = TaxonomyOptions { parents: ParentPolicy::First, ..TaxonomyOptions::default() };
    let t = Taxonomy::read(several.as_bytes(), "-", &first).unwrap();
    assert_eq!(edges(&t)[2], edge("x", Some("p")));
    assert!(message("x\t\nx\tp\n").contains("no parent (line 1) and p"));
    assert!(message("Root\ta\tb\nb\ta\tc\n").contains("tree.tsv:2: \"a\" has several parents: no parent"));
    assert!(read("x\tp\nx\tp\n").is_ok(), "the same parent twice is no conflict");
    let pairs = Taxonomy::from_pairs([("a", Some("b")), ("b", Some("a"))], ParentPolicy::First);
    assert!(pairs.unwrap_err().to_string().contains("a → b → a"));
}

#[test]
fn bad_lines_are_refused_with_their_place() {
    assert_eq!(message(""), "tree.tsv: the taxonomy has no nodes");
    assert_eq!(message("# only a comment\n\n"), "tree.tsv: the taxonomy has no nodes");
    assert!(message("a\t\n\tb\n").starts_with("tree.tsv:2: the first field"));
    assert!(message("Root\ta\tb\tc\td\na\t\tx\n").starts_with("tree.tsv:2: field 2 is empty"));
    assert!(message("parent: a child: b\nparent: child: b\n").starts_with("tree.tsv:2: expected \"parent:"));
    let latin1 = Taxonomy::read(&b"a\tb\nbo\xeete\ta\n"[..], "tree.tsv", &TaxonomyOptions::default());
    assert_eq!(latin1.unwrap_err().to_string(), "tree.tsv:2: not UTF-8 at byte 3 of the line");
    let fields = TaxonomyOptions { format: TaxonomyFormat::ChildParent, ..TaxonomyOptions::default() };
    let four = Taxonomy::read("a\tb\tc\td\n".as_bytes(), "tree.tsv", &fields).unwrap_err();
    assert!(four.to_string().contains("more than three fields"));
    let missing = Taxonomy::open("no-such-taxonomy.tsv", &TaxonomyOptions::default()).unwrap_err();
    assert!(missing.to_string().starts_with("no-such-taxonomy.tsv: "), "{missing}");
    let control = Taxonomy::from_pairs([("a\nb", None::<&str>)], ParentPolicy::Refuse).unwrap_err();
    assert!(control.to_string().contains("control character"));
}

#[test]
fn names_are_paths() {
    let t = Taxonomy::from_names(["rec.sport.hockey", "rec.autos", "misc"], Separator::Auto).unwrap();
    assert_eq!(
        edges(&t),
        [
            edge("misc", None),
            edge("rec", None),
            edge("rec.autos", Some("rec")),
            edge("rec.sport", Some("rec")),
            edge("rec.sport.hockey", Some("rec.sport")),
        ]
    );
    let slashed = Taxonomy::from_names(["a/b.x/c", "a"], Separator::Auto).unwrap();
    assert_eq!(edges(&slashed), [edge("a", None), edge("a/b.x", Some("a")), edge("a/b.x/c", Some("a/b.x"))]);
    let rooted = Taxonomy::from_names(["/a/b"], Separator::Slash).unwrap();
    assert_eq!(edges(&rooted), [edge("/a", None), edge("/a/b", Some("/a"))]);
    for bad in ["a//b", "a/", "/", ""] {
        let error = Taxonomy::from_names([bad], Separator::Slash).unwrap_err().to_string();
        assert!(error.contains(&format!("{bad:?} has an empty part")), "{error}");
    }
}

#[test]
fn labels_of_the_corpus_are_found_or_named() {
    let t = Taxonomy::from_names(["a.b", "c"], Separator::Dot).unwrap();
    let known = Vocabulary::new(["a.b", "c"]);
    let node_of = t.align(&known).unwrap();
    assert_eq!(node_of, [1, 2]);
    let mut assignments = Csr::new(2);
    assignments.push_row([(0, ())]);
    assignments.push_row([]);
    assignments.push_row([(0, ()), (1, ())]);
    let closed = t.close(&assignments, &node_of);
    assert_eq!((0..3).map(|r| closed.row_indices(r).to_vec()).collect::<Vec<_>>(), [vec![0, 1], vec![], vec![0, 1, 2]]);
    let unknown = Vocabulary::new(["a.b", "x", "y"]);
    assert_eq!(t.missing(&unknown), ["x", "y"]);
    let error = t.align(&unknown).unwrap_err().to_string();
    assert!(error.starts_with("2 of 3 labels are not in the taxonomy: x, y;"), "{error}");
    let many = Vocabulary::new((0..25).map(|i| format!("z{i:02}")));
    assert!(t.align(&many).unwrap_err().to_string().contains("z09 and 15 more"));
    assert!(t.find("a.c").unwrap_err().to_string().contains("did you mean a.b"));
}

proptest! {
    /// Any forest survives TSV and JSON, also with labels that look like headers, comments or the virtual root.
    #[test]
    fn forests_round_trip(parents in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..40)) {
        let odd = ["Root", "child", "#x", "parent:", "child:", "root", "é b", "0"];
        let label = |i: usize| odd.get(i).map_or_else(|| format!("n{i}"), |s| (*s).to_owned());
        let pairs: Vec<(String, Option<String>)> = parents
            .iter()
            .enumerate()
            .map(|(i, (parent, root))| (label(i), (i > 0 && !root).then(|| label(parent.index(i)))))
            .collect();
        let t = Taxonomy::from_pairs(pairs.iter().map(|(c, p)| (c, p.as_ref())), ParentPolicy::Refuse).unwrap();
        let mut tsv = Vec::new();
        t.write_tsv(&mut tsv).unwrap();
        let read_back = Taxonomy::read(&tsv[..], "-", &TaxonomyOptions::default()).unwrap();
        prop_assert_eq!(&read_back, &t);
        let json = serde_json::to_string(&t).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Taxonomy>(&json).unwrap(), &t);
        // The same forest as the pairs say, whatever their order.
        let mut shuffled = pairs.clone();
        shuffled.reverse();
        let again = Taxonomy::from_pairs(shuffled.iter().map(|(c, p)| (c, p.as_ref())), ParentPolicy::Refuse).unwrap();
        prop_assert_eq!(&again, &t);
        for (child, parent) in &pairs {
            let node = t.node(child).unwrap();
            prop_assert_eq!(t.parent(node).map(|p| t.id(p)), parent.as_deref());
            prop_assert_eq!(t.pipeline(node).len(), t.depth(node));
            for ancestor in t.ancestors(node) {
                prop_assert!(t.closure([node]).contains(&ancestor));
                prop_assert!(t.depth(ancestor) < t.depth(node));
            }
        }
        let place = |n: u32| t.top_down().iter().position(|&m| m == n).unwrap();
        prop_assert!(t.nodes().all(|n| t.parent(n).is_none_or(|p| place(p) < place(n))));
    }
}

#[test]
fn json_that_is_not_a_forest_is_refused() {
    let error = serde_json::from_str::<Taxonomy>(r#"[{"id":"a","parent":"b"},{"id":"b","parent":"a"}]"#).unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn real_taxonomies() {
    let Some(data) = std::env::var_os("TAMIS_DATA") else {
        eprintln!("skipped: TAMIS_DATA is not set");
        return;
    };
    let open = |file: &str| Taxonomy::open(Path::new(&data).join(file), &TaxonomyOptions::default()).unwrap();
    let cwe = open("advisories/cwe.taxonomy.tsv");
    assert_eq!((cwe.len(), cwe.height(), cwe.roots().count()), (458, 6, 10));
    assert_eq!(cwe.name(cwe.node("CWE-20").unwrap()), "Improper Input Validation");
    let rcv1 = open("rcv1/rcv1.taxonomy");
    let roots: Vec<&str> = rcv1.roots().map(|n| rcv1.id(n)).collect();
    assert_eq!((roots, rcv1.height()), (vec!["CCAT", "ECAT", "GCAT", "MCAT"], 4));
    let deep: Vec<&str> = rcv1.pipeline(rcv1.node("C1511").unwrap()).into_iter().map(|n| rcv1.id(n)).collect();
    assert_eq!(deep, ["CCAT", "C15", "C151", "C1511"]);
}

#[test]
fn several_parents_give_the_union_of_ancestors() {
    // d has the parents b and c, both below a; e hangs below d.
    let text = "child\tparent\tname\na\t\tAll\nb\ta\t\nc\ta\t\nd\tb\t\nd\tc\t\ne\td\t\n";
    let t = Taxonomy::read(text.as_bytes(), "t.tsv", &TaxonomyOptions::default()).unwrap();
    let node = |id: &str| t.node(id).unwrap();
    assert!(!t.is_forest());
    assert_eq!(t.parents(node("d")), [node("b"), node("c")]);
    assert_eq!(t.closure([node("e")]), [node("a"), node("b"), node("c"), node("d"), node("e")]);
    assert_eq!(t.ancestors(node("e")).count(), 4);
    assert_eq!(t.pipeline(node("e")), [node("a"), node("b"), node("d"), node("e")]);
    assert!(t.is_within(node("e"), node("c")));
    let place = |id: &str| t.top_down().iter().position(|&n| n == node(id)).unwrap();
    assert!(place("c") < place("d") && place("b") < place("d") && place("d") < place("e"));
    // Through records, JSON and a file it comes back the same.
    let json = serde_json::to_string(&t).unwrap();
    assert_eq!(serde_json::from_str::<Taxonomy>(&json).unwrap(), t);
    let mut tsv = Vec::new();
    t.write_tsv(&mut tsv).unwrap();
    assert_eq!(Taxonomy::read(tsv.as_slice(), "t.tsv", &TaxonomyOptions::default()).unwrap(), t);
    // Asked to, it refuses, or takes the first.
    let with = |parents| TaxonomyOptions { parents, ..TaxonomyOptions::default() };
    let refused = Taxonomy::read(text.as_bytes(), "t.tsv", &with(ParentPolicy::Refuse)).unwrap_err().to_string();
    assert!(refused.contains("several parents: b (line 5) and c"), "{refused}");
    let first = Taxonomy::read(text.as_bytes(), "t.tsv", &with(ParentPolicy::First)).unwrap();
    assert!(first.is_forest() && first.closure([first.node("d").unwrap()]).len() == 3);
    // A circle through a second parent is found.
    let circle = Taxonomy::from_pairs(
        [("a", Some("b")), ("b", Some("c")), ("b", Some("d")), ("d", Some("a"))],
        ParentPolicy::All,
    );
    let circle = circle.unwrap_err().to_string();
    assert!(circle.contains("in a circle") && circle.contains('d'), "{circle}");
}

#[test]
fn thesauri_are_read_and_written() {
    let turtle = r#"
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        @prefix : <http://example.org/> .
        :animals a skos:Concept ; skos:prefLabel "Tiere"@de, "animals"@en ; skos:narrower :cats .
        :pets a skos:Concept ; skos:prefLabel "pets" .
        :cats a skos:Concept ; skos:prefLabel "cats"@en, "Katzen"@de ; skos:broader :pets ; skos:altLabel "kitties"@en .
        :rest a skos:Concept ; skos:prefLabel "Rest  der\\tWelt"@de .
    "#;
    let open = |text: &str, name: &str| Taxonomy::read(text.as_bytes(), name, &TaxonomyOptions::default());
    let t = open(turtle, "t.ttl").unwrap();
    let node = |id: &str| t.node(&format!("http://example.org/{id}")).unwrap();
    assert_eq!(t.len(), 4);
    assert_eq!([t.name(node("animals")), t.name(node("pets")), t.name(node("cats"))], ["animals", "pets", "cats"]);
    let mut parents = t.parents(node("cats")).to_vec();
    parents.sort_unstable();
    assert_eq!(parents, [node("animals"), node("pets")]);
    let mut written = Vec::new();
    t.write_turtle(&mut written).unwrap();
    let again = open(std::str::from_utf8(&written).unwrap(), "again.ttl").unwrap();
    assert_eq!(again, t);
    let xml = r#"<?xml version="1.0"?>
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
          <skos:Concept rdf:about="http://example.org/animals"><skos:prefLabel xml:lang="en">animals</skos:prefLabel></skos:Concept>
          <skos:Concept rdf:about="http://example.org/cats">
            <skos:prefLabel xml:lang="en">cats</skos:prefLabel>
            <skos:broader rdf:resource="http://example.org/animals"/>
          </skos:Concept>
        </rdf:RDF>"#;
    let x = open(xml, "t.rdf").unwrap();
    assert_eq!(x.len(), 2);
    assert_eq!(x.parent(x.node("http://example.org/cats").unwrap()), x.node("http://example.org/animals"));
    assert!(open("this is no turtle", "t.ttl").is_err());
    assert!(open("<a xmlns='x'>", "t.rdf").is_err());
    let empty = open("<http://a> <http://b> <http://c> .", "t.nt").unwrap_err().to_string();
    assert!(empty.contains("no skos:Concept"), "{empty}");
    let plain = Taxonomy::from_names(["a/b"], Separator::Auto).unwrap();
    assert!(plain.write_turtle(Vec::new()).unwrap_err().to_string().contains("no IRI"));
}

/// A label that is called root, in either spelling, is a node like any other where a line says so.
#[test]
fn a_label_may_be_called_root() {
    for name in ["root", "Root", "ROOT"] {
        let text = format!("child\tparent\tname\n{name}\tplant\t\nplant\t\t\nhair\t{name}\t\n");
        let t = Taxonomy::read(text.as_bytes(), "t.tsv", &TaxonomyOptions::default()).unwrap();
        let node = |id: &str| t.node(id).unwrap();
        assert_eq!(t.pipeline(node("hair")), [node("plant"), node(name), node("hair")]);
    }
}
