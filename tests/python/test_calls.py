"""What plait does with each call of the MPI: src/mpi/calls.txt against the standard's own list, against the sources, and
against what libplait.so of the MPI that PLAIT_MPI names exports; and programs that try it."""

import re
import subprocess
import sys
from functools import cache

import pympistandard as standard
import pytest
from plait.mpis import ROOT
from programs import MPI, run

SOURCES = ROOT / "src" / "mpi"
sys.path.insert(0, str(SOURCES))
import calls  # noqa: E402

TABLE = calls.read_table(SOURCES / "calls.txt")
# Kinds of the standard's parameters, by the names that decisions have for them.
KINDS = {"COMMUNICATOR": "comm", "GROUP": "group", "REQUEST": "request", "MESSAGE": "message"}
DECISIONS = {"any", "no-threads", "native"}
EXPORTED = ("implemented", "blocking", "asking", "gated")


@cache
def procedures():
    """Name in C -> the standard's parameters of it, with the forms for large counts; predefined functions are not called."""
    standard.use_api_version(1, force_bundled=True)
    found = {}
    for procedure in standard.all_iso_c_procedures():
        for form in (procedure.express.iso_c, procedure.express.embiggen and procedure.express.embiggen.iso_c):
            if form is not None and not form.name.endswith(("_FN", "_FN_NULL")):
                found[form.name] = form.parameters
    return found


@cache
def prototypes():
    """What this MPI has, as the generator of the written functions sees it."""
    return calls.prototypes([MPI.compiler("c", [])[0], *MPI.include_flags(), "-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX"])


@cache
def exported():
    done = subprocess.run(["nm", "-D", "--defined-only", MPI.build / "lib" / "libplait.so"], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


# ---- the table


def test_every_procedure_of_the_standard_has_a_decision():
    assert len(procedures()) > 600
    assert not sorted(procedures().keys() - TABLE.keys())


def test_every_other_name_is_an_extension_or_was_removed():
    removed = {"MPI_Address", "MPI_Errhandler_create", "MPI_Errhandler_get", "MPI_Errhandler_set"}
    removed |= {f"MPI_Type_{name}" for name in ("extent", "hindexed", "hvector", "lb", "struct", "ub")}
    finepoints = {"MPI_Partitioned_Send_create", "MPI_Partitioned_Recv_create", "MPI_Partitioned_Add_to_buffer"}
    finepoints |= {"MPI_Partitioned_Add_to_buffer_a", "MPI_Partitioned_free", "MPI_Start_part", "MPI_Wait_part"}
    others = {name for name in TABLE.keys() - procedures().keys() if not name.startswith("MPIX_")}
    assert others - removed - finepoints == {"MPI_Session_set_info"}  # MPICH's, without the X


def test_every_handle_that_may_be_plaits_has_a_decision():
    for name, parameters in procedures().items():
        decision = TABLE[name]
        if decision.kind == "implemented":
            continue
        handed_in = {KINDS[p.kind.name] for p in parameters if p.kind.name in KINDS and p.direction.name != "OUT"}
        assert handed_in == decision.handles.keys() - {"number"}, name


def test_every_decision_is_known():
    """A function that serves plait's handles stands in the header that has them."""
    served = (SOURCES / "collective.hpp").read_text()
    others = (SOURCES / "calls.hpp").read_text()
    for name, decision in TABLE.items():
        for handle, what in decision.handles.items():
            if handle == "number":
                assert what in KINDS.values() and name.endswith(("_f2c", "_fromint")), name
            elif what not in DECISIONS:
                assert handle in KINDS.values(), name
                assert re.search(rf"\b{what}\(", served if handle == "comm" else others), name


def test_implemented_calls_are_found_by_their_names():
    sources = {path.name: path.read_text() for path in SOURCES.glob("*.cpp")}
    for name, decision in TABLE.items():
        if decision.kind == "implemented":
            assert re.search(rf"\b{name}\b", sources[decision.where]), name
    # And nothing else is.
    for file, text in sources.items():
        for name in re.findall(r'extern "C" \w+ (MPIX?_\w+)\(', text):
            assert TABLE[name].where == file, name


@pytest.mark.parametrize("line", ["MPI_Send", "MPI_Send often", "MPI_Send implemented", "MPI_Send gated p2p.cpp", "gated comm=any"])
def test_lines_that_say_nothing_are_errors(tmp_path, line):
    (tmp_path / "calls.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match=re.escape("calls.txt:1")):
        calls.read_table(tmp_path / "calls.txt")


def test_a_name_stands_once(tmp_path):
    (tmp_path / "calls.txt").write_text("MPI_Send gated\nMPI_Recv MPI_Send gated\n")
    with pytest.raises(ValueError, match="twice"):
        calls.read_table(tmp_path / "calls.txt")


# ---- what is written


def written(tmp_path, header, table=""):
    """The functions for an MPI with this header."""
    (tmp_path / "mpi.h").write_text(header)
    (tmp_path / "calls.txt").write_text(table)
    line = [sys.executable, SOURCES / "calls.py", tmp_path / "calls.txt", tmp_path / "calls.cpp", tmp_path / "calls.d"]
    done = subprocess.run([*line, "g++", f"-I{tmp_path}"], capture_output=True, text=True, check=True)
    assert "mpi.h" in (tmp_path / "calls.d").read_text()
    return (tmp_path / "calls.cpp").read_text(), done.stderr


def test_a_call_that_nobody_thought_of_is_gated(tmp_path):
    header = "typedef int MPI_Comm, MPI_Group;\nint PMPI_New_call(const void *buf, MPI_Comm, MPI_Group group);\n"
    text, said = written(tmp_path, header)
    assert "MPI_New_call" in said
    body = text[text.index('extern "C"') :]
    assert "int MPI_New_call(const void *buf, MPI_Comm parameter1, MPI_Group group) {" in body
    order = [
        "find_communicator(parameter1)",
        "is_our_group(group)",
        "const MpiLock guard;",
        "return PMPI_New_call(buf, parameter1, group);",
    ]
    places = [body.index(piece) for piece in order]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("parameters", "check"),
    [
        ("MPI_Request *request, MPI_Status *status", "is_ours(request)"),
        ("int count, MPI_Request requests[], int *flag", "has_ours(count, requests)"),
        ("void *buf, MPI_Comm comm, MPI_Request *request", None),  # it makes one
    ],
)
def test_requests_that_such_a_call_takes_are_refused(tmp_path, parameters, check):
    header = f"typedef int MPI_Comm, MPI_Request; typedef struct {{ int i; }} MPI_Status;\nint PMPI_New_call({parameters});\n"
    text, _ = written(tmp_path, header)
    assert (f"if ({check}) [[unlikely]]\n    return report(MPI_ERR_REQUEST);" in text) if check else ("ours(" not in text)


def test_macros_and_calls_with_any_number_of_arguments_are_left_alone(tmp_path):
    header = "int PMPI_Pcontrol(const int level, ...);\n#define MPI_Comm_c2f(c) (c)\nint PMPI_Comm_c2f(int c);\n"
    text, said = written(tmp_path, header, "MPI_Pcontrol direct\nMPI_Comm_c2f gated comm=any\n")
    assert 'extern "C"' not in text
    assert not said


def test_parameters_of_every_form(tmp_path):
    header = (
        '__attribute__((visibility("default"))) int PMPI_Three(int ranges[][3], char **argv[], void (*f)(int, void *),\n'
        "    unsigned int, const char *) __attribute__((nonnull(1)));\n"
    )
    text, _ = written(tmp_path, header, "MPI_Three gated\n")
    assert (
        "int MPI_Three(int ranges[][3], char **argv[], void (*f)(int, void *), unsigned int parameter3, const char * parameter4) {" in text
    )
    assert "return PMPI_Three(ranges, argv, f, parameter3, parameter4);" in text


# ---- this MPI


def test_this_mpi_has_no_call_that_is_not_in_the_table():
    assert len(prototypes()) > 350
    assert not sorted(prototypes().keys() - TABLE.keys())


def test_libplait_exports_what_the_table_says():
    for name in prototypes():
        assert (name in exported()) == (TABLE[name].kind in EXPORTED), name
    calls = {name for name in exported() if name.startswith("MPI")}
    assert all(TABLE[name].kind in EXPORTED for name in calls)
    profiled = {name for name in exported() if name.startswith("PMPI")}
    assert profiled == {f"P{name}" for name in calls}
    # Completion calls of Open MPI's Fortran: src/mpi/fortran.cpp.
    ends = [f"{verb}{what}" for verb in ("wait", "test") for what in ("", "all", "any", "some")]
    fortran = {name for end in ends for name in (f"mpi_{end}_", f"pmpi_{end}_", f"ompi_{end}_f")} if MPI.family == "openmpi" else set()
    own = ("shan", "queue", "event", "cl", "team", "single", "loop", "balance", "lend")
    starts = ("gaspi_", "pgaspi_", "shan_", *(f"plait_{name}_" for name in own), "plait_native_function")
    others = {name for name in exported() if name.startswith(starts)}
    assert exported() - calls - profiled - others == fortran


# ---- programs


def test_plaits_handles_in_the_mpis_own_calls():
    """2 x 1"""
    done = run("handles")
    assert done.stdout == "no handle of plait's is taken for one of the MPI's\n"
    assert "not so" not in done.stderr


def test_messages_move_on_while_the_mpi_blocks(tmp_path):
    """2 x 1"""
    done = run("moves_on", tmp_path / "file")
    assert done.stdout == "messages move on during every call\n", done.stderr


@pytest.mark.thorough_where(hosts=2)
def test_one_thread_at_a_time_in_an_mpi_that_lets_in_one(hosts):
    """2 x 2, on one node and on 2; 4 x 2 on 4"""
    # Between nodes each of the calls takes a turn of eight threads on the cores.
    done = run("serialized", 1000 if hosts == 1 else 300, hosts=hosts, env=["PLAIT_THREAD_LEVEL=serialized"])
    assert done.stdout == "one thread at a time in the MPI\n"
