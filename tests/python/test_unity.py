"""Sources of a folder are compiled some at a time (PLAIT_UNITY), so what a file keeps to itself is seen by the others: a name of its own
would hide another file's, or be called in its place."""

import re
from collections import defaultdict

import pytest
from plait import mpis

pytestmark = pytest.mark.once

SRC = mpis.ROOT / "src"
# src/CMakeLists.txt compiles these file by file.
ALONE = ("cluster", "lend/omp")
FOLDERS = sorted({path.parent for path in SRC.rglob("*.cpp") if not str(path.relative_to(SRC)).startswith(ALONE)})
FOLDERS += [mpis.ROOT / "apps/lbm", mpis.ROOT / "apps/spmv"]
TYPE = re.compile(r"(?:enum class|struct|class|enum|using) (\w+)")
# A function, variable or constant: the last name before its parameters, its value or its end.
NAMED = re.compile(r"[^=({]*?(?<!::)\b(\w+)\s*(?:[(;={\[]|$)")


def declarations(path):
    """The lines at the beginning of which something is declared, without attributes; their namespace; and whether the file keeps it to
    itself."""
    spaces = []
    for line in path.read_text().splitlines():
        if opened := re.fullmatch(r"namespace ?([\w:]*) ?\{", line):
            spaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif re.match(r"(?!namespace|static_assert|using [^=]*;)[\w\[:]", line):
            yield re.sub(r"\[\[.*?\]\] ?|template <.*> ?", "", line), "::".join(filter(None, spaces)), "" in spaces


def name_of(line):
    found = TYPE.match(line) or NAMED.match(line)
    return found[1] if found else None


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(mpis.ROOT)))
def test_names_of_files_differ(folder):
    files = defaultdict(set)
    for source in folder.glob("*.cpp"):
        if source.name == "main.cpp":  # an application's, compiled alone
            continue
        for line, space, own in declarations(source):
            if own and (name := name_of(line)):
                files[space, name].add(source.name)
    for header in [*folder.glob("*.hpp"), *(SRC / "base").glob("*.hpp")]:
        for line, space, _ in declarations(header):
            for key in files:  # what is declared in an enclosing namespace is found, too
                if key[1] == name_of(line) and f"{key[0]}::".startswith(f"{space}::"):
                    files[key].add(header.name)
    twice = {name: sorted(where) for (_, name), where in files.items() if len(where) > 1}
    assert not twice


def test_names_are_found(tmp_path):
    source = tmp_path / "some.cpp"
    lines = ["int one(int a);", "[[nodiscard]] inline const Thing& two(", "constinit std::array<int, 4> three{};", "template <class T>"]
    lines += ["T four(T t) {", "  int five;", "}", "struct Six {", "};", "constexpr int kSeven = 7;", "Eight eight[8];"]
    source.write_text("\n".join(["int zero();", "namespace {", *lines, "}  // namespace", "int nine();"]))
    names = [name_of(line) for line, _, own in declarations(source) if own]
    assert [name for name in names if name] == ["one", "two", "three", "four", "Six", "kSeven", "eight"]
