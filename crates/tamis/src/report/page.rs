//! One self-contained HTML page: no network, light and dark, phone and paper.

use std::fmt::Write;

use super::svg::escape;

/// A page in progress. Text given to its methods is escaped.
pub struct Page {
    title: String,
    contents: Vec<(String, String)>,
    body: String,
    figures: Vec<(String, String)>,
}

const CSS: &str = "\
:root{--ink:#1c1c1c;--mute:#5f5f5f;--grid:#e2e2e2;--paper:#fff;--box:#f6f6f4;--link:#0b5cad;color-scheme:light dark}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--mute:#a3a3a3;--grid:#3a3a3a;--paper:#161616;--box:#202020;--link:#7db7f0}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:66rem;padding:1.2rem 1.2rem 4rem;background:var(--paper);color:var(--ink);\
font:16px/1.55 system-ui,-apple-system,Segoe UI,Roboto,sans-serif}\
h1{font-size:1.7rem;margin:.2rem 0 .4rem}h2{font-size:1.25rem;margin:2.4rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--grid)}\
h3{font-size:1.02rem;margin:1.4rem 0 .3rem}p{max-width:46rem}.lead{font-size:1.08rem}.mute,figcaption,small{color:var(--mute)}\
a{color:var(--link)}nav ul{columns:2 18rem;padding-left:1.1rem}code{background:var(--box);padding:.05rem .3rem;border-radius:3px}\
pre{background:var(--box);padding:.7rem .9rem;border-radius:6px;overflow-x:auto}pre code{padding:0}\
figure{margin:1rem 0;overflow-x:auto}figure svg{max-width:100%;height:auto}figcaption{font-size:.9rem;max-width:46rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0}\
th,td{padding:.22rem .7rem;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}\
th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
.tree,.tree ul{list-style:none;padding-left:1.1rem;border-left:1px solid var(--grid);margin:.1rem 0}.tree{border:0;padding:0}\
.tree li{margin:.12rem 0}.tree .bar{display:inline-block;height:.55rem;background:#0072b2;border-radius:2px;vertical-align:middle}\
summary{cursor:pointer}.reading{white-space:pre-line}mark{color:inherit;border-radius:2px}\
.f1{background:#009e7322}.f2{background:#009e7344}.f3{background:#009e7377}.f4{background:#009e73aa}\
.a1{background:#d55e0022}.a2{background:#d55e0044}.a3{background:#d55e0077}.a4{background:#d55e00aa}\
@media print{body{font-size:11px;max-width:none}h2{break-after:avoid}figure,table{break-inside:avoid}nav{display:none}\
:root{--ink:#000;--mute:#444;--grid:#ccc;--paper:#fff;--box:#f4f4f4}}\
@media(max-width:38rem){body{padding:.8rem}table{font-size:.8rem}th,td{padding:.2rem .35rem}}";

impl Page {
    /// A page with a title and a sentence under it.
    pub fn new(title: &str, lead: &str) -> Self {
        let body = format!("<h1>{}</h1><p class=\"lead\">{}</p>", escape(title), escape(lead));
        Self { title: title.into(), contents: Vec::new(), body, figures: Vec::new() }
    }

    /// A section, listed in the contents.
    pub fn section(&mut self, heading: &str) -> &mut Self {
        let anchor = format!("s{}", self.contents.len() + 1);
        let _ = write!(self.body, "<h2 id=\"{anchor}\">{}</h2>", escape(heading));
        self.contents.push((anchor, heading.into()));
        self
    }

    /// A heading inside a section.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        let _ = write!(self.body, "<h3>{}</h3>", escape(text));
        self
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let _ = write!(self.body, "<p>{}</p>", escape(text));
        self
    }

    /// A command or other literal text.
    pub fn code(&mut self, text: &str) -> &mut Self {
        let _ = write!(self.body, "<pre><code>{}</code></pre>", escape(text));
        self
    }

    /// A text in pieces with marks: green for, red against, stronger where they add more; hovering tells how much.
    pub fn marked(&mut self, heading: &str, pieces: &[(&str, Option<f64>)]) -> &mut Self {
        let largest = pieces.iter().filter_map(|(_, adds)| *adds).map(f64::abs).fold(0.0, f64::max);
        let _ = write!(self.body, "<p class=\"reading\"><small>{}</small> ", escape(heading));
        for (piece, adds) in pieces {
            let share = adds.map_or(0.0, |adds| adds / largest);
            if share.abs() < 0.03 {
                self.body.push_str(&escape(piece));
                continue;
            }
            let (side, level) = (if share > 0.0 { "f" } else { "a" }, (4.0 * share.abs()).ceil().clamp(1.0, 4.0));
            let tip = super::short(adds.unwrap_or_default());
            let _ = write!(self.body, "<mark class=\"{side}{level}\" title=\"{tip}\">{}</mark>", escape(piece));
        }
        self.body.push_str("</p>");
        self
    }

    /// A plot with what to see in it. The name is that of its SVG file.
    pub fn figure(&mut self, name: &str, svg: String, caption: &str) -> &mut Self {
        let _ = write!(self.body, "<figure>{svg}<figcaption>{}</figcaption></figure>", escape(caption));
        self.figures.push((name.into(), svg));
        self
    }

    /// A table; columns in which every value is a number are right-aligned.
    pub fn table<S: AsRef<str>>(&mut self, header: &[&str], rows: &[Vec<S>]) -> &mut Self {
        let numeric: Vec<bool> = (0..header.len())
            .map(|c| !rows.is_empty() && rows.iter().all(|r| r.get(c).is_none_or(|v| is_number(v.as_ref()))))
            .collect();
        let class = |c: usize| if numeric[c] { " class=\"n\"" } else { "" };
        self.body.push_str("<div class=\"wide\"><table><thead><tr>");
        for (c, name) in header.iter().enumerate() {
            let _ = write!(self.body, "<th{}>{}</th>", class(c), escape(name));
        }
        self.body.push_str("</tr></thead><tbody>");
        for row in rows {
            self.body.push_str("<tr>");
            for (c, value) in row.iter().enumerate().take(header.len()) {
                let _ = write!(self.body, "<td{}>{}</td>", class(c), escape(value.as_ref()));
            }
            self.body.push_str("</tr>");
        }
        self.body.push_str("</tbody></table></div>");
        self
    }

    /// Something folded away until asked for.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let _ = write!(self.body, "<details><summary>{}</summary>", escape(summary));
        fill(self);
        self.body.push_str("</details>");
        self
    }

    /// A tree: for each node its depth, name, a value from 0 to 1 drawn as a bar, and a remark; parents before children.
    pub fn tree(&mut self, nodes: &[TreeNode]) -> &mut Self {
        let mut depth = 0;
        self.body.push_str("<ul class=\"tree\">");
        for (i, node) in nodes.iter().enumerate() {
            for _ in depth..node.depth {
                self.body.push_str("<ul>");
            }
            for _ in node.depth..depth {
                self.body.push_str("</li></ul>");
            }
            if i > 0 && node.depth <= depth {
                self.body.push_str("</li>");
            }
            depth = node.depth;
            let width = 6.0 * node.value.clamp(0.0, 1.0);
            let _ = write!(
                self.body,
                "<li>{} <span class=\"bar\" style=\"width:{width:.2}rem\"></span> <small>{}</small>",
                escape(&node.name),
                escape(&node.remark)
            );
        }
        for _ in 0..depth {
            self.body.push_str("</li></ul>");
        }
        self.body.push_str("</li></ul>");
        self
    }

    /// The plots by name, for saving as files.
    pub fn figures(&self) -> &[(String, String)] {
        &self.figures
    }

    /// The page.
    pub fn finish(&self) -> String {
        let mut contents = String::new();
        if self.contents.len() > 2 {
            contents.push_str("<nav aria-label=\"Contents\"><ul>");
            for (anchor, heading) in &self.contents {
                let _ = write!(contents, "<li><a href=\"#{anchor}\">{}</a></li>", escape(heading));
            }
            contents.push_str("</ul></nav>");
        }
        // The contents follow the title and the lead.
        let (head, rest) = self.body.split_at(self.body.find("<h2").unwrap_or(self.body.len()));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{}</title><style>{CSS}</style></head>\n<body>{head}{contents}{rest}</body></html>\n",
            escape(&self.title)
        )
    }
}

/// A node of [`Page::tree`].
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// 0 for roots; at most one more than that of the node before.
    pub depth: usize,
    /// What it is called.
    pub name: String,
    /// From 0 to 1.
    pub value: f64,
    /// What is said about it.
    pub remark: String,
}

fn is_number(text: &str) -> bool {
    let text = text.trim_end_matches(['%', 's']).replace([',', ' '], "");
    text.is_empty() || text == "–" || text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let mut page = Page::new("<b>", "&");
        page.section("<i>").text("</p><script>").table(&["<th>"], &[vec!["<td>"]]).code("</pre>");
        page.tree(&[TreeNode { depth: 0, name: "<li>".into(), value: 0.5, remark: "</ul>".into() }]);
        page.marked("<h>", &[("<u>", Some(1.0)), ("<s>", None)]);
        let html = page.finish();
        assert!(html.contains("<mark class=\"f4\" title=\"1\">&lt;u&gt;</mark>&lt;s&gt;"), "{html}");
        for forbidden in ["<b>", "<i>", "<script>", "</p><script", "<li><li>"] {
            assert!(!html.contains(forbidden), "{forbidden}");
        }
        assert!(!html.contains("http://") && !html.contains("https://"), "no network");
    }

    #[test]
    fn trees_close_what_they_open() {
        let node = |depth| TreeNode { depth, name: "n".into(), value: 1.0, remark: String::new() };
        for depths in [vec![0], vec![0, 1, 2, 2, 0, 1], vec![0, 1, 1, 0], vec![0, 1, 2, 3, 1]] {
            let mut page = Page::new("", "");
            page.tree(&depths.iter().map(|&d| node(d)).collect::<Vec<_>>());
            let html = page.finish();
            assert_eq!(html.matches("<ul").count(), html.matches("</ul>").count(), "{depths:?}");
            assert_eq!(html.matches("<li>").count(), html.matches("</li>").count(), "{depths:?}");
        }
    }
}
