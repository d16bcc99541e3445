//! Links in the Markdown pages: every file, image and heading they point at exists.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{capture, root};

/// Checks all Markdown files that git knows.
pub(crate) fn check() -> Result<()> {
    let listed = capture(Command::new("git").current_dir(root()).args(["ls-files", "-z"]))?;
    let files: HashSet<PathBuf> = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    let mut pages = HashMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(root().join(path)).with_context(|| path.display().to_string())?;
        pages.insert(path.clone(), text);
    }
    let broken = broken(&files, &pages);
    if broken.is_empty() { Ok(()) } else { bail!("broken links:\n{}", broken.join("\n")) }
}

/// What is wrong, by page and line. A file that git does not know is not there for readers.
fn broken(files: &HashSet<PathBuf>, pages: &HashMap<PathBuf, String>) -> Vec<String> {
    let anchors: HashMap<&Path, HashSet<String>> =
        pages.iter().map(|(path, text)| (path.as_path(), anchors(text))).collect();
    let mut wrong = Vec::new();
    for (page, text) in pages {
        for (line, link) in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { page.clone() } else { resolved(page, path) };
            let folder = || files.iter().any(|file| file.starts_with(&target));
            let missing = if !files.contains(&target) && !folder() {
                Some("is not in the repository")
            } else {
                let known = anchors.get(target.as_path());
                let found = anchor.is_none_or(|anchor| known.is_none_or(|known| known.contains(anchor)));
                (!found).then_some("names no heading there")
            };
            if let Some(missing) = missing {
                wrong.push(format!("{}:{line}: {link} {missing}", page.display()));
            }
        }
    }
    wrong.sort();
    wrong
}

/// A path as seen from a page, from the root of the repository.
fn resolved(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Lines that are not code, numbered from 1, with what stands between backquotes taken out.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        let outside = || line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        (!code && !fence).then(|| (number, outside()))
    })
}

/// Targets of `[…](target)`, `![…](target)` and `[…]: target`, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, plain) in prose(text) {
        let line = text.lines().nth(number - 1).unwrap_or_default();
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        // What is quoted as code is no link.
        found.extend(targets.filter(|target| plain.contains(&format!("]({target}"))).map(|target| (number, target)));
        if let Some((_, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
            found.push((number, target.split(' ').next().unwrap_or_default()));
        }
    }
    found
}

/// The anchors of all headings, as GitHub and its like make them, and those written as `<a id="…">`.
fn anchors(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        if !code {
            let written = line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(written.map(str::to_owned));
        }
        let title = line.trim_start_matches('#');
        if code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let free = (1..).map(|n| format!("{slug}-{n}")).find(|name| !found.contains(name));
        if !found.insert(slug) {
            found.extend(free);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(page: &str) -> Vec<String> {
        let files = ["docs/a.md", "docs/b.md", "docs/shot.png", "README.md"].map(PathBuf::from).into();
        let other =
            "# B\n## What it is: `tamis`, and more\n## Twice\n## Twice\n<a id=\"own\"></a>\n```sh\n# no heading\n```\n";
        let pages = [("docs/a.md", page), ("docs/b.md", other), ("README.md", "# Tamis\n")];
        broken(&files, &pages.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into())
    }

    #[test]
    fn links_that_lead_somewhere_are_silent() {
        let page = "# Top\n[a](b.md) ![shot](shot.png \"title\") [up](../README.md#tamis) [here](#top)\n\
                    [b](b.md#what-it-is-tamis-and-more) [c](b.md#twice-1) [d](b.md#own) [web](https://example.org/x)\n\
                    [folder](../docs/) `[code](no.md)`\n```\n[code](no.md)\n```\n[ref]: b.md\n";
        assert_eq!(wrong(page), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let page = "# Top\n![no](page.png)\n[x](b.md#nothing) [y](#no-heading) [z](b.md#no-heading)\n[ref]: gone.md\n";
        let expected = [
            "docs/a.md:2: page.png is not in the repository",
            "docs/a.md:3: #no-heading names no heading there",
            "docs/a.md:3: b.md#no-heading names no heading there",
            "docs/a.md:3: b.md#nothing names no heading there",
            "docs/a.md:4: gone.md is not in the repository",
        ];
        assert_eq!(wrong(page), expected);
    }
}
