"""Links of the documentation's site, for site.sh: `links.py stage FOLDER [REPOSITORY]` and `links.py check SITE`."""

import re
import shutil
import sys
from html.parser import HTMLParser
from os.path import exists, normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"(!?\[[^][]*\])\(([^)#\s:]+)(#[^)]*)?\)")


def stage(folder, repository=None):
    """Copies the pages that docs/SUMMARY.md lists and the files to which they link, at the same paths, to a folder."""
    summary = Path("docs/SUMMARY.md").read_text()
    pages = {normpath(f"docs/{target}") for _, target, _ in LINK.findall(summary)}
    if missing := {str(page) for page in Path("docs").rglob("*.md")} - pages - {"docs/SUMMARY.md"}:
        sys.exit(f"docs/SUMMARY.md: not listed: {' '.join(sorted(missing))}")

    def copy(path, text):
        Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, path).write_text(text)

    def staged(page, link):
        text, target, fragment = link.groups("")
        path = normpath(Path(page).parent / target)
        if path in pages or not exists(path):
            return link[0]
        if repository and not text.startswith("!"):
            return f"{text}({repository}/{path}{fragment})"
        if Path(path).is_dir():
            return text[1:-1]
        Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, Path(folder, path))
        return link[0]

    for page in filter(exists, pages):
        copy(page, LINK.sub(lambda link: staged(page, link), Path(page).read_text()))
    copy("SUMMARY.md", LINK.sub(lambda link: f"{link[1]}({normpath('docs/' + link[2])})", summary))


class Page(HTMLParser):
    """The places of an HTML file to which links may lead, and its links."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = {""}, []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.links += [(tag, attributes[name]) for name in ("href", "src") if attributes.get(name)]


def check(site):
    """Ends with an error if a link within the site leads nowhere, or a page loads something from elsewhere."""
    pages = {path.resolve(): Page(path) for path in Path(site).rglob("*.html")}
    wrong, tried = [], 0
    for path, page in pages.items():
        for tag, link in page.links:
            url, tried = urlsplit(link), tried + 1
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            is_local = not (url.scheme or url.netloc)
            has_fragment = target not in pages or unquote(url.fragment) in pages[target].ids
            if tag != "a" and not is_local or is_local and not (target.is_file() and has_fragment):
                wrong.append(f"{path.relative_to(Path(site).resolve())}: {link}")
    print(*sorted(set(wrong)), f"{tried} links in {len(pages)} pages, {len(wrong)} wrong", sep="\n")
    sys.exit(bool(wrong))


{"stage": stage, "check": check}[sys.argv[1]](*sys.argv[2:])
