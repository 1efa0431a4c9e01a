"""The manual: links lead somewhere, the map names what there is, and messages of fatal ends are explained."""

import re

import pytest
from plait.mpis import ROOT

pytestmark = pytest.mark.once  # the same whatever the MPI is

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("python/**/*.md")])
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A path of the repository within a piece of code; not one that is only built, or a pattern.
PATH = re.compile(r"`((?:src|include|python|tests|bench|apps|scripts|tools|cmake|decks|docs)(?:/[\w.-]+)*/?)`")


def prose(page):
    """Without pieces of code: what is indented by four or more at a paragraph's begin is one, too."""
    text = FENCE.sub("", page.read_text())
    kept, code, blank = [], False, True
    for line in text.splitlines():
        code = bool(line.startswith("    ") and (code or blank)) or (code and not line.strip())
        blank = not line.strip()
        kept.append("" if code else line)
    return "\n".join(kept)


def anchors(page):
    """As the pages of GitHub have them: a heading in lower case, its blanks as hyphens, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    broken = []
    for link in LINK.findall(CODE.sub("", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_that_are_named_exist(page):
    assert [path for path in PATH.findall(prose(page)) if not (ROOT / path).exists()] == []


def test_every_page_of_the_manual_is_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert [p.name for p in sorted(ROOT.glob("docs/*.md")) if f"(docs/{p.name})" not in readme] == []


def test_the_architecture_names_every_folder_of_the_sources():
    folders = sorted(name(f) for f in (ROOT / "src").rglob("*") if f.is_dir() and f.name != "__pycache__")
    assert len(folders) > 5
    assert [f for f in folders if f"`{f}`" not in ARCHITECTURE] == []


def test_constants_and_functions_that_the_architecture_names_are_there():
    """In its section on where to find what: kNames, and Class::member."""
    section = ARCHITECTURE.split("## Where to find")[1].split("## Quirks")[0]
    names = set(re.findall(r"`(?:\w+::)?(k[A-Z]\w+|\w+)`", section)) - {"implemented", "Key", "src"}
    sources = "\n".join(p.read_text() for p in (ROOT / "src").rglob("*.[hct]*") if p.suffix in (".hpp", ".cpp", ".txt"))
    assert len(names) > 10
    assert sorted(n for n in names if not re.search(rf"\b{n}\b", sources)) == []


def test_every_progress_source_is_in_the_architecture():
    registering = sorted({name(p) for p in (ROOT / "src").rglob("*.cpp") if "progress::add_source(" in p.read_text()})
    assert registering
    assert [p for p in registering if f"`{p}`" not in ARCHITECTURE] == []


def test_every_fatal_end_is_explained():
    errors = (ROOT / "docs" / "errors.md").read_text()
    texts = set()
    for path in (ROOT / "src").rglob("*.cpp"):
        texts |= set(re.findall(r'\bfatal\("((?:[^"\\%])+)', path.read_text()))
    assert len(texts) >= 4
    assert sorted(t for t in texts if f"`{t.strip()}" not in errors) == []
