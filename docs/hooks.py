"""What the manual takes from outside its folder, and how links to it are written there."""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}


def on_files(files, config):
    for name, page in PAGES.items():
        if page != "index.md":
            files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, **_):
    """Links between the repository's pages become links between those of the manual."""
    outside = page.file.src_uri in PAGES.values() and page.file.src_uri != "index.md"

    def link(match):
        target, anchor = match[1], match[2] or ""
        name = target.removeprefix("../")
        if name in PAGES:
            return f"]({PAGES[name]}{anchor})"
        if outside and target.startswith("docs/"):
            return f"]({target.removeprefix('docs/')}{anchor})"
        # Files of the repository that are no pages: their names must do.
        if target.startswith("../") or outside and not target.startswith("http") and not target.endswith(".md"):
            return "](index.md#install)" if not name else "]()"
        return match[0]

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", link, markdown)
