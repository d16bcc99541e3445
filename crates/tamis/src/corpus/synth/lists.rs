//! The word lists: `topics.txt` and `words.txt`, parsed once.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// A noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noun {
    pub(super) text: &'static str,
    pub(super) plural: Plural,
}

/// What happens to a noun when there are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plural {
    /// The rule of English.
    Regular,
    /// A form of its own.
    Irregular(&'static str),
    /// Nothing, and it takes no "a" either.
    None,
    /// It is a name: it has a capital and takes no determiner.
    Name,
}

/// A node of the taxonomy with its own words, the most typical first.
#[derive(Debug)]
pub(super) struct Topic {
    /// Its label: the way from the root, joined by slashes.
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    /// How common it is as a label, relative to the others.
    pub(super) weight: f64,
    /// Place of its parent in the list, always before its own.
    pub(super) parent: Option<usize>,
    pub(super) nouns: Vec<Noun>,
    pub(super) adjectives: Vec<&'static str>,
}

/// Words of no topic.
#[derive(Debug)]
pub(super) struct Common {
    /// With whether it goes with a single thing only.
    pub(super) determiners: Vec<(&'static str, bool)>,
    pub(super) prepositions: Vec<&'static str>,
    pub(super) modals: Vec<&'static str>,
    pub(super) times: Vec<String>,
    /// Base and past.
    pub(super) verbs: Vec<(&'static str, &'static str)>,
    pub(super) speaking: Vec<String>,
    pub(super) nouns: Vec<Noun>,
    pub(super) adjectives: Vec<&'static str>,
    pub(super) adverbs: Vec<&'static str>,
    pub(super) sentences: Vec<&'static str>,
}

/// The built-in taxonomy.
pub(super) static TOPICS: LazyLock<Vec<Topic>> =
    LazyLock::new(|| topics(include_str!("topics.txt")).expect("the built-in list parses: a test does nothing else"));

/// The built-in common words.
pub(super) static COMMON: LazyLock<Common> =
    LazyLock::new(|| common(include_str!("words.txt")).expect("the built-in list parses: a test does nothing else"));

/// Lines that say something.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn noun(word: &'static str) -> Noun {
    if let Some(text) = word.strip_suffix('*') {
        Noun { text, plural: Plural::None }
    } else if let Some(text) = word.strip_prefix('^') {
        Noun { text, plural: Plural::Name }
    } else if let Some((text, many)) = word.split_once('/') {
        Noun { text, plural: Plural::Irregular(many) }
    } else {
        Noun { text: word, plural: Plural::Regular }
    }
}

fn topics(text: &'static str) -> Result<Vec<Topic>, String> {
    let mut topics: Vec<Topic> = Vec::new();
    for line in lines(text) {
        if let Some(header) = line.strip_prefix('[') {
            let (path, rest) = header.split_once("] ").ok_or_else(|| format!("no \"] \" in {line:?}"))?;
            let (weight, name) = rest.split_once(' ').ok_or_else(|| format!("no weight and name in {line:?}"))?;
            let weight: u32 = weight.parse().map_err(|_| format!("{weight:?} is not a weight in {line:?}"))?;
            let parent = match path.rsplit_once('/') {
                None => None,
                Some((above, _)) => Some(
                    topics
                        .iter()
                        .position(|t| t.path == above)
                        .ok_or_else(|| format!("{path}: its parent does not come before it"))?,
                ),
            };
            topics.push(Topic {
                path,
                name,
                weight: f64::from(weight),
                parent,
                nouns: Vec::new(),
                adjectives: Vec::new(),
            });
        } else {
            let topic = topics.last_mut().ok_or_else(|| format!("words before the first topic: {line:?}"))?;
            for word in line.split_whitespace() {
                match word.strip_prefix('~') {
                    Some(adjective) => topic.adjectives.push(adjective),
                    None => topic.nouns.push(noun(word)),
                }
            }
        }
    }
    Ok(topics)
}

fn common(text: &'static str) -> Result<Common, String> {
    let mut sections: FxHashMap<&str, Vec<&'static str>> = FxHashMap::default();
    let mut section = "";
    for line in lines(text) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name;
        } else if section == "sentences" {
            sections.entry(section).or_default().push(line);
        } else {
            sections.entry(section).or_default().extend(line.split_whitespace());
        }
    }
    let mut take = |name: &str| sections.remove(name).ok_or_else(|| format!("no section [{name}]"));
    let phrases = |words: Vec<&str>| words.into_iter().map(|w| w.replace('_', " ")).collect();
    let common = Common {
        determiners: take("determiners")?
            .into_iter()
            .map(|w| w.strip_suffix('+').map_or((w, false), |w| (w, true)))
            .collect(),
        prepositions: take("prepositions")?,
        modals: take("modals")?,
        times: phrases(take("times")?),
        verbs: take("verbs")?
            .into_iter()
            .map(|w| w.split_once('/').ok_or_else(|| format!("no base/past in {w:?}")))
            .collect::<Result<_, _>>()?,
        speaking: phrases(take("speaking")?),
        nouns: take("nouns")?.into_iter().map(noun).collect(),
        adjectives: take("adjectives")?,
        adverbs: take("adverbs")?,
        sentences: take("sentences")?,
    };
    match sections.keys().next() {
        Some(name) => Err(format!("unknown section [{name}]")),
        None => Ok(common),
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;

    fn words(topic: &Topic) -> Vec<&'static str> {
        topic.nouns.iter().map(|n| n.text).chain(topic.adjectives.iter().copied()).collect()
    }

    #[test]
    fn some_sixty_topics_in_four_levels() {
        assert!((55..=70).contains(&TOPICS.len()), "{}", TOPICS.len());
        let paths: FxHashSet<_> = TOPICS.iter().map(|t| t.path).collect();
        assert_eq!(paths.len(), TOPICS.len(), "a topic occurs twice");
        let levels: Vec<usize> =
            (1..=5).map(|l| TOPICS.iter().filter(|t| t.path.split('/').count() == l).count()).collect();
        assert!(levels[..4].iter().all(|&n| n >= 5) && levels[4] == 0, "{levels:?}");
        for topic in TOPICS.iter() {
            match topic.parent {
                None => assert!(!topic.path.contains('/')),
                Some(p) => assert_eq!(topic.path.rsplit_once('/').map(|(above, _)| above), Some(TOPICS[p].path)),
            }
            assert!(topic.path.bytes().all(|b| b.is_ascii_lowercase() || b == b'/' || b == b'-'), "{}", topic.path);
        }
    }

    #[test]
    fn every_topic_has_its_own_plain_words() {
        for topic in TOPICS.iter() {
            let own = words(topic);
            assert!((25..=60).contains(&own.len()), "{}: {} words", topic.path, own.len());
            assert!(topic.adjectives.len() >= 2, "{} has nothing to describe it", topic.path);
            assert_eq!(own.iter().collect::<FxHashSet<_>>().len(), own.len(), "{} repeats a word", topic.path);
            for word in &own {
                assert!(word.len() > 1 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{word:?}");
            }
            let mut above = topic.parent;
            while let Some(p) = above {
                let shared: Vec<_> = words(&TOPICS[p]).into_iter().filter(|w| own.contains(w)).collect();
                assert!(shared.is_empty(), "{} has {shared:?} from {} already", topic.path, TOPICS[p].path);
                above = TOPICS[p].parent;
            }
        }
    }

    #[test]
    fn some_words_are_ambiguous() {
        let mut topics_of: FxHashMap<&str, usize> = FxHashMap::default();
        for topic in TOPICS.iter() {
            for word in words(topic) {
                *topics_of.entry(word).or_default() += 1;
            }
        }
        for word in
            ["bank", "bond", "cell", "charge", "court", "key", "pitch", "plant", "star", "trial", "virus", "wing"]
        {
            assert!(topics_of[word] >= 2, "{word}");
        }
        let ambiguous = topics_of.values().filter(|&&n| n > 1).count();
        assert!((80..=250).contains(&ambiguous), "{ambiguous} of {}", topics_of.len());
    }

    #[test]
    fn common_words_are_plain() {
        let plain = |w: &str| w.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'');
        assert!(COMMON.nouns.len() > 250 && COMMON.nouns.iter().all(|n| plain(n.text)));
        assert!(COMMON.verbs.len() > 80 && COMMON.verbs.iter().all(|(b, p)| plain(b) && plain(p)));
        for list in [&COMMON.prepositions, &COMMON.modals, &COMMON.adjectives, &COMMON.adverbs] {
            assert!(list.iter().all(|w| plain(w)), "{list:?}");
        }
        assert!(COMMON.determiners.iter().any(|d| d == &("a", true)));
    }

    #[test]
    fn a_broken_list_says_where() {
        assert!(topics("lost words").expect_err("broken").contains("lost words"));
        assert!(topics("[a/b] 3 B").expect_err("broken").contains("a/b"));
        assert!(topics("[a] many A").expect_err("broken").contains("many"));
        assert!(common("[nouns]\nthing").expect_err("broken").contains("[determiners]"));
    }
}
