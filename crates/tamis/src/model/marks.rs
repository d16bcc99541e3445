//! Where in a text the words are that speak for a label.

use std::ops::Range;

use serde::Serialize;

use super::{Labeller, Why};
use crate::corpus::Body;
use crate::terms::TEXT_FIELD;

/// A place in a text and what it adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Span<'m> {
    /// The field whose text it is in; left out for a document that is one text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub field: Option<&'m str>,
    /// First character, counted in Unicode code points from 0.
    pub start: usize,
    /// After the last character.
    pub end: usize,
    /// What this occurrence adds to the score.
    pub adds: f64,
}

/// The features in one text of a document.
pub(super) struct Places<'m, 't> {
    field: Option<&'m str>,
    text: &'t str,
    features: Vec<(Range<usize>, u32)>,
}

/// Places in an answer: megabytes of text would make hundreds of them.
const MOST_SPANS: usize = 100_000;

impl<'m> Labeller<'m> {
    /// Where the features are in each text that the model reads.
    pub(super) fn places_of<'t>(&mut self, body: &'t Body<'_>) -> Vec<Places<'m, 't>> {
        let named = matches!(body, Body::Fields(_));
        let fields = self.model().text.fields();
        let found = fields.into_iter().filter_map(|field| {
            let text = body.field(field)?;
            Some(Places { field: named.then_some(field), text, features: self.places_in(field, text) })
        });
        found.collect()
    }
}

impl<'m> Span<'m> {
    /// What each place of a word adds, text by text.
    pub(super) fn of(places: &[Places<'m, '_>], why: &Why) -> Vec<Self> {
        let mut each: Vec<(u32, f64)> =
            why.words.iter().map(|w| (w.feature, w.adds / f64::from(w.count.max(1)))).filter(|w| w.1 != 0.0).collect();
        each.sort_unstable_by_key(|w| w.0);
        let adds = |feature: u32| each.binary_search_by_key(&feature, |w| w.0).ok().map(|at| each[at].1);
        let mut spans = Vec::new();
        for Places { field, text, features } in places {
            let found = features.iter().filter_map(|(range, feature)| Some((range.clone(), adds(*feature)?)));
            spans.extend(in_characters(*field, text, &found.take(MOST_SPANS - spans.len()).collect::<Vec<_>>()));
        }
        spans
    }

    /// Overlapping spans as stretches that do not overlap, each with the sum of what all spans over it add: what to colour
    /// a text with. Text by text, in order; stretches that add nothing are left out.
    ///
    /// ```
    /// use tamis::model::Span;
    ///
    /// let span = |start, end, adds| Span { field: None, start, end, adds };
    /// let stretches = Span::summed(&[span(0, 3, 1.0), span(2, 5, 0.5)]);
    /// assert_eq!(stretches, [span(0, 2, 1.0), span(2, 3, 1.5), span(3, 5, 0.5)]);
    /// ```
    pub fn summed(spans: &[Self]) -> Vec<Self> {
        let mut summed: Vec<Self> = Vec::new();
        for same in spans.chunk_by(|a, b| a.field == b.field) {
            // Each span begins and ends once; sums are made anew for each stretch, so that nothing is left of those that ended.
            let mut bounds: Vec<usize> = same.iter().flat_map(|span| [span.start, span.end]).collect();
            bounds.sort_unstable();
            bounds.dedup();
            let mut sums = vec![0.0; bounds.len()];
            let place = |at: usize| bounds.binary_search(&at).unwrap_or(0);
            for span in same {
                sums[place(span.start)..place(span.end)].iter_mut().for_each(|sum| *sum += span.adds);
            }
            let stretches = bounds.windows(2).zip(sums).filter(|(_, adds)| *adds != 0.0);
            summed.extend(stretches.map(|(w, adds)| Self { field: same[0].field, start: w[0], end: w[1], adds }));
        }
        summed
    }

    /// The text of a document that the span is in.
    pub fn text_in<'t>(&self, body: &'t Body<'_>) -> Option<&'t str> {
        body.field(self.field.unwrap_or(TEXT_FIELD))
    }
}

/// Places in bytes, in any order, as places in characters.
fn in_characters<'m>(field: Option<&'m str>, text: &str, places: &[(Range<usize>, f64)]) -> Vec<Span<'m>> {
    let mut bounds: Vec<usize> = places.iter().flat_map(|(range, _)| [range.start, range.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut counted = Vec::with_capacity(bounds.len());
    let (mut at, mut characters) = (0, 0);
    for &bound in &bounds {
        characters += text.get(at..bound).map_or(0, |piece| piece.chars().count());
        at = bound;
        counted.push(characters);
    }
    let place = |byte: usize| bounds.binary_search(&byte).map_or(0, |i| counted[i]);
    let span = |(range, adds): &(Range<usize>, f64)| Span {
        field,
        start: place(range.start),
        end: place(range.end),
        adds: *adds,
    };
    places.iter().map(span).collect()
}

/// A text in pieces: plain ones, and marked ones with what they add, for whoever colours it. `spans` are those of this text,
/// summed.
pub fn marked<'t>(text: &'t str, spans: &[Span<'_>]) -> Vec<(&'t str, Option<f64>)> {
    let mut pieces = Vec::new();
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    // Bytes and characters that were passed.
    let (mut done, mut passed, mut byte) = (0, 0, places.next().unwrap_or(0));
    let mut reach = |character: usize| {
        while passed < character {
            let Some(next) = places.next() else { break };
            (passed, byte) = (passed + 1, next);
        }
        byte
    };
    for span in spans {
        let (start, end) = (reach(span.start), reach(span.end));
        if start > done {
            pieces.push((&text[done..start], None));
        }
        if end > start {
            pieces.push((&text[start..end], Some(span.adds)));
        }
        done = done.max(end);
    }
    if done < text.len() {
        pieces.push((&text[done..], None));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let text = "é🦊 ab";
        let spans = in_characters(None, text, &[(0..2, 1.0), (2..6, 2.0), (0..6, 3.0), (7..9, 4.0)]);
        let found: Vec<(usize, usize)> = spans.iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(found, [(0, 1), (1, 2), (0, 2), (3, 5)]);
        let summed = Span::summed(&spans);
        let pieces = marked(text, &summed);
        assert_eq!(pieces, [("é", Some(4.0)), ("🦊", Some(5.0)), (" ", None), ("ab", Some(4.0))]);
    }

    #[test]
    fn fields_are_summed_apart() {
        let span = |field, start, end, adds| Span { field: Some(field), start, end, adds };
        let spans =
            [span("title", 0, 2, 1.0), span("title", 0, 2, -1.0), span("title", 2, 4, 2.0), span("body", 0, 2, 1.0)];
        assert_eq!(Span::summed(&spans), [span("title", 2, 4, 2.0), span("body", 0, 2, 1.0)]);
        assert_eq!(marked("", &[]), []);
        assert_eq!(marked("abc", &[]), [("abc", None)]);
    }
}
