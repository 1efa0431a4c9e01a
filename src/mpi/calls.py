#!/usr/bin/env python3
"""Writes the exported functions that only pass a call on: one for each blocking, asking and gated call of calls.txt that the
chosen MPI declares, by the prototypes of its own mpi.h. Run by CMake when libplait is built; wants nothing but Python.

calls.py TABLE OUTPUT DEPFILE COMPILER [FLAG...]
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("implemented", "blocking", "asking", "gated", "direct")
HEADERS = "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n"
# Handles that may be plait's, by the name that decisions have for them.
HANDLES = {"MPI_Comm": "comm", "MPI_Group": "group", "MPI_Request": "request", "MPI_Message": "message"}
# Whose error handler is told, if the call has one of these.
HANDLERS = {
    "MPI_Comm": "report_on",
    "MPI_Win": "report_on_window",
    "MPI_File": "report_on_file",
    "MPI_Session": "report_on_session",
    "MPI_Errhandler": "report_to",
}
GUARDS = {"blocking": "const Blocking guard;", "gated": "const MpiLock guard;"}


# ---- the table


@dataclass
class Decision:
    """What the table says of one call."""

    kind: str
    where: str = ""
    handles: dict[str, str] = field(default_factory=dict)  # by comm, group, request, message, number
    window: int = 0  # how many more there are afterwards
    by_leaders: bool = False  # nodes have leaders who may make it


def read_table(path):
    """Name -> Decision; raises ValueError for a line that says nothing."""
    table = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        names = [w for w in words if w.startswith("MPI")]
        kind, *rest = words[len(names) :] or [""]
        decision = Decision(kind)
        for word in rest:
            key, _, value = word.partition("=")
            if value:
                decision.handles[key] = value
            elif kind == "implemented" and not decision.where:
                decision.where = word
            elif word in ("opens-window", "closes-window"):
                decision.window = 1 if word == "opens-window" else -1
            elif word == "by-leaders":
                decision.by_leaders = True
            else:
                raise ValueError(f"{path}:{number}: {word}?")
        if not names or kind not in KINDS or (kind == "implemented") != bool(decision.where):
            raise ValueError(f"{path}:{number}: {line}")
        for name in names:
            if name in table:
                raise ValueError(f"{path}:{number}: {name} stands there twice")
            table[name] = decision
    return table


# ---- the MPI's declarations


@dataclass
class Parameter:
    """One parameter of a prototype: as it is declared, with a name, and the parts of it."""

    text: str
    name: str
    type: str  # without const
    pointer: bool  # or an array


@dataclass
class Prototype:
    name: str  # MPI_..., without the P
    result: str
    parameters: list[Parameter]


def split(text):
    """At the commas that are in no parentheses."""
    depth, parts = 0, [""]
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(p.split()) for p in parts]


def parameter(text, number):
    if function := re.search(r"\(\s*\*\s*(\w+)\s*\)", text):
        return Parameter(text, function[1], "", True)
    array = "".join(re.findall(r"\[[^]]*\]", text))
    head = text[: text.index("[")] if array else text
    words = re.findall(r"\w+", head)
    types = [w for w in words if w not in ("const", "restrict", "__restrict", "struct")]
    if len(types) > 1 and re.search(r"\w$", head.strip()) and types[-1] not in ("int", "long", "char", "unsigned", "double"):
        return Parameter(text, types[-1], types[0], "*" in head or bool(array))
    name = f"parameter{number}"
    return Parameter(f"{head.strip()} {name}{array}", name, types[0], "*" in head or bool(array))


def prototypes(compiler):
    """What the headers declare with a P before its name, but for what is a macro or takes any number of arguments."""
    line = [*compiler, "-E", "-dD", "-x", "c++", "-"]
    text = subprocess.run(line, input=HEADERS, capture_output=True, text=True, check=True).stdout
    macros = set(re.findall(r"^#define P?(MPIX?_\w+)", text, re.MULTILINE))
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)|\[\[.*?\]\]", "", text, flags=re.DOTALL)
    found = {}
    for result, name, inside in re.findall(r"(\w[\w ]*[\s*]+)P(MPIX?_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text):
        if name in macros or "..." in inside:
            continue
        given = [] if inside.strip() in ("", "void") else split(inside)
        found[name] = Prototype(name, re.sub(r"\bextern\b", "", result).strip(), [parameter(p, n) for n, p in enumerate(given)])
    return found


# ---- what is written


def reporter(p):
    """How the call's error handler is told of an error: the text before the class."""
    for a in p.parameters:
        if a.type in HANDLERS and not a.pointer:
            return f"{HANDLERS[a.type]}({a.name}, "
    return "report("


def asked(where, known):
    """The question whose communicator it is. `known`: there are some of plait's."""
    return f"{where}_of" if known else where


def served(p, decision, names, known):
    """A function of mpi/collective.hpp makes what the ranks do. Those between neighbours are plait's only where threads are ranks."""
    comm, *request = [a.name for a in p.parameters if a.type in ("MPI_Comm", "MPI_Request")]
    how = f"{request[0]}, " if request else f'{{"{p.name}", __builtin_return_address(0)}}, '
    given = "".join(f", {n}" for n in names if n not in (comm, *request))
    make = f"[=](Rank& rank) {{ return makers::{decision.handles['comm']}(rank{given}); }}"
    if decision.by_leaders:
        native = f"[=] {{ return P{p.name}({', '.join(names)}); }}"
        return f"""  if (Communicator* const c = {asked("with_leaders", known)}({comm})) {{
    const auto make = {make};
    if (!c->by_leaders) return run_collective({comm}, *c, {how}make);
    return run_by_leaders({comm}, *c, {how}make, {native});
  }}"""
    whose = asked("threads" if decision.handles["comm"].startswith("Neighbor") else "with_collectives", known)
    return f"  if (Communicator* const c = {whose}({comm})) return {'start' if request else 'run'}_collective({comm}, *c, {how}{make});"


def checks(p, decision, names, known=False):
    """Lines that keep plait's handles from a call that does not know them."""
    for a in p.parameters:
        what = HANDLES.get(a.type)
        how = decision.handles.get(what, "any")
        if what is None or how == "any" or (a.pointer and what != "request"):
            continue
        if what == "comm" and how in ("no-threads", "native"):
            yield f"  if ({asked('threads', known) if how == 'no-threads' else 'find_communicator'}({a.name})) [[unlikely]]"
            yield f"    return report_on({a.name}, MPI_ERR_UNSUPPORTED_OPERATION);"
        elif what == "comm":
            yield served(p, decision, names, known)
        elif how == "native":
            several = f"has_ours({p.parameters[0].name}, {a.name})" if "[" in a.text else f"is_ours({'' if a.pointer else '&'}{a.name})"
            yield f"  if ({several if what == 'request' else f'is_our_{what}({a.name})'}) [[unlikely]]"
            yield f"    return {reporter(p)}MPI_ERR_{what.upper()});"
        else:
            yield f"  if ({f'is_ours(&{a.name})' if what == 'request' else f'is_our_{what}({a.name})'}) return {how}({a.name});"
    if number := decision.handles.get("number"):
        bits = f"HandleBits<MPI_{number.capitalize()}>"
        yield f"  if ({bits}::is_number({names[0]})) return {bits}::of_number({names[0]});"


def lent(p, decision, call, found):
    """Where cores are lent: a collective call is its nonblocking form and a wait; after one that starts something others are asked. None
    for other calls."""
    names = [a.name for a in p.parameters]
    comm = [a.name for a in p.parameters if a.type == "MPI_Comm" and not a.pointer]
    start = f"MPI_I{p.name[4].lower()}{p.name[5:]}"
    if decision.kind == "blocking" and start in found and comm:
        request = f"[=](MPI_Request* request) {{ return P{start}({', '.join([*names, 'request'])}); }}"
        return f"plait::lend::polls() && polls_on({comm[0]})", f"poll_started({request})"
    if decision.kind == "gated" and p.name[:5] == "MPI_I" and f"MPI_{p.name[5].upper()}{p.name[6:]}" in found and comm:
        return "plait::lend::polls()", f"after_start(gated([&] {{ return {call}; }}))"
    return None


def function(p, decision, found):
    names = [a.name for a in p.parameters]
    call = f"P{p.name}({', '.join(names)})"
    yield f'extern "C" {p.result} {p.name}({", ".join(a.text for a in p.parameters)}) {{'
    if instead := lent(p, decision, call, found):
        # One question for all: lending pretends that there are some.
        yield "  if (plait::p2p::communicators_exist()) {"
        yield from ("  " + line.replace("\n", "\n  ") for line in checks(p, decision, names, True))
        yield f"    if ({instead[0]}) [[unlikely]]"
        yield f"      return {instead[1]};"
        yield "  }"
    else:
        yield from checks(p, decision, names)
    if decision.kind == "asking":
        yield f"  return asking_polled([&] {{ return {call}; }});"
    else:
        yield f"  {GUARDS[decision.kind]}"
        yield f"  return counting_windows({decision.window}, {call});" if decision.window else f"  return {call};"
    yield "}"


def unknown(p):
    """For a call that nobody has thought of: none of plait's handles, as far as it is sure that they are handed in. Requests that a
    call makes stand last; those that it takes by address stand first, or behind their number."""

    def is_handed_in(place, a):
        if not a.pointer or a.type != "MPI_Request":
            return not a.pointer
        return place == 0 or ("[" in a.text and p.parameters[0].type == "int")

    refused = {HANDLES[a.type] for n, a in enumerate(p.parameters) if a.type in HANDLES and is_handed_in(n, a)} if p.result == "int" else ()
    return Decision("gated", handles=dict.fromkeys(refused, "native"))


def write(table, found):
    yield '// Written by src/mpi/calls.py from src/mpi/calls.txt and the mpi.h of this MPI.\n#include "mpi/calls.hpp"\n'
    yield "using namespace plait::mpi;\n\n#pragma GCC visibility push(default)"
    for name, p in sorted(found.items()):
        decision = table.get(name)
        if decision is None:
            print(f"calls.txt does not say what plait does with {name}, which this MPI has: it is gated", file=sys.stderr)
            decision = unknown(p)
        if decision.kind in ("blocking", "asking", "gated"):
            yield "\n" + "\n".join(function(p, decision, found))
    yield "\n#pragma GCC visibility pop"


def main(table, output, depfile, *compiler):
    found = prototypes([*compiler, "-MD", "-MF", depfile, "-MT", output])
    Path(output).write_text("\n".join(write(read_table(table), found)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
