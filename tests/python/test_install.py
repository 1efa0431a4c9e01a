"""libplait as other programs meet it: installed and in the build tree, linked and preloaded, its symbols and its header.

Under the MPI that PLAIT_MPI names, after `make`. Programs run with 2 x 1.
"""

import os
import re
import subprocess
import sys

import pytest
from plait import mpis
from plait.mpis import ROOT

MPI = mpis.find()
GREQ = ROOT / "tests/programs/greq.c"
HEADER = ROOT / "include/plait/mpix.h"
LANGUAGES = ("c", "c++")
SUFFIX = {"c": "c", "c++": "cpp"}

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(plait 0.1 REQUIRED)
add_executable(greq_c greq.c)
add_executable(greq_cpp greq.cpp)
# The MPI's file first: libplait must stand before it all the same.
get_target_property(mpi Plait::MPI INTERFACE_LINK_LIBRARIES)
target_link_libraries(greq_c PRIVATE ${mpi} Plait::plait ${CMAKE_DL_LIBS})
target_link_libraries(greq_cpp PRIVATE Plait::plait ${CMAKE_DL_LIBS})
"""


def run(*words, status=0, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def plait(*words, **more):
    return run(ROOT / "plait", "--mpi", MPI.name, *words, **more)


def owners(library):
    return [f"rank {rank}: MPIX_Grequest_start of {library}, MPI_Waitall of {library}" for rank in range(2)]


def works(program, *options):
    """Both libraries' functions are libplait's, and a wait for a request of either kind ends."""
    said = sorted(plait("run", "-n", 2, *options, program).stdout.splitlines())
    assert said == sorted([*owners("libplait.so"), "rank 0: asked 3 times, received 1", "rank 1: asked 3 times, received 0"])


def loaded(program):
    environment = {**os.environ, **MPI.needs()}
    return re.findall(r"libplait\.so => (\S+)", run("ldd", program, env=environment).stdout)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same program as C and as C++, outside of the repository."""
    folder = tmp_path_factory.mktemp("sources")
    for suffix in SUFFIX.values():
        (folder / f"greq.{suffix}").write_text(GREQ.read_text())
    (folder / "CMakeLists.txt").write_text(PROJECT)
    return folder


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("make", "-C", ROOT, f"MPI={MPI.name}", "install", f"PREFIX={folder}")
    return folder


@pytest.fixture(params=["prefix", "build tree"])
def place(request):
    """Where the package is found: the variable plait_DIR, pkg-config's folder, and libplait."""
    if request.param == "build tree":
        return MPI.build, MPI.build / "lib/pkgconfig", MPI.library
    folder = request.getfixturevalue("prefix")
    return folder / "lib/cmake/plait", folder / "lib/pkgconfig", folder / "lib/libplait.so"


# ---- what is installed


def test_install_heeds_destdir_and_puts_nothing_elsewhere(tmp_path):
    run("make", "-C", ROOT, f"MPI={MPI.name}", "install", "PREFIX=/opt/plait", f"DESTDIR={tmp_path}")
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    cmake = ["plaitConfig.cmake", "plaitConfigVersion.cmake", "plaitTargets-release.cmake", "plaitTargets.cmake"]
    capitals = ("GASPI", "GASPI_Ext", "GASPI_Threads", "PGASPI", "SHAN_comm", "SHAN_segment", "SHAN_type")
    headers = [
        f"include/plait/{name}.h"
        for name in (*capitals, "cluster/atomics", "finepoints", "lend", "mpix", "native", "opencl", "partitioned", "queue", "subteam")
    ]
    names = [*headers, *(f"lib/cmake/plait/{name}" for name in cmake), "lib/libplait.so", "lib/libplait_lend.so", "lib/pkgconfig/plait.pc"]
    assert files == [f"opt/plait/{name}" for name in names]
    assert "prefix=/opt/plait\n" in (tmp_path / "opt/plait/lib/pkgconfig/plait.pc").read_text()


def test_version_is_the_same_everywhere(place):
    config, packages, _ = place
    version = re.search(r"project\(plait VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert run("pkg-config", "--modversion", packages / "plait.pc").stdout.strip() == version
    assert f'set(PACKAGE_VERSION "{version}")' in (config / "plaitConfigVersion.cmake").read_text()


def test_installed_library_finds_its_mpi(prefix):
    """By itself, as it must when it is preloaded by hand."""
    mpi = r"(libmpi\w*\.so\S*) => (/\S+)"
    found = re.findall(mpi, run("ldd", prefix / "lib/libplait.so").stdout)
    assert found and found == re.findall(mpi, run("ldd", MPI.library).stdout)


def test_only_what_the_headers_declare_is_exported():
    names = [line.split()[2].split("@")[0] for line in run("nm", "-D", "--defined-only", MPI.library).stdout.splitlines()]
    assert {"MPI_Waitall", "MPIX_Grequest_start"} <= set(names)
    # Open MPI's Fortran has its completion calls from libplait; test_calls.py has their list.
    fortran = r"|[op]?mpi_(wait|test)(all|any|some)?_f?$" if MPI.family == "openmpi" else ""
    exported = (
        r"P?MPIX?_[A-Z]|p?gaspi_|(plait_)?shan_|plait_(queue|event|cl|team|single|loop|balance|lend)_|plait_native_function$" + fortran
    )
    assert [name for name in names if not re.match(exported, name)] == []


def test_a_running_program_can_load_it():
    """Its threads' variables have places that are laid out when a program starts: what comes later gets a few."""
    library = MPI.build / "lib/libplait.so"
    tls = re.search(r"TLS\s+\S+ \S+ \S+ \S+ 0x(\w+)", run("readelf", "-lW", library).stdout)
    assert int(tls[1], 16) < 1024
    run(sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", library)


# ---- linking


def test_cmake_finds_the_package(place, sources, tmp_path):
    config, _, library = place
    run("cmake", "-S", sources, "-B", tmp_path, "-G", "Ninja", f"-Dplait_DIR={config}", env=tools())
    run("cmake", "--build", tmp_path, env=tools())
    for suffix in SUFFIX.values():
        assert loaded(tmp_path / f"greq_{suffix}") == [str(library)]
        works(tmp_path / f"greq_{suffix}")


def tools():
    """The environment with the repository's own cmake and ninja in front."""
    return {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}


@pytest.mark.thorough_where(language="c++")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapper", "compiler"])
def test_pkg_config_tells_the_flags(place, sources, tmp_path, language, wrapped):
    """For the MPI's compiler wrapper and for a compiler that knows of no MPI."""
    _, packages, library = place
    flags = run("pkg-config", "--cflags", "--libs", "plait", env={**os.environ, "PKG_CONFIG_PATH": str(packages)}).stdout.split()
    arguments = [str(sources / f"greq.{SUFFIX[language]}"), "-o", str(tmp_path / "greq"), *flags, "-ldl"]
    run(*(MPI.compiler(language, arguments) if wrapped else [{"c": "cc", "c++": "c++"}[language], *arguments]))
    assert loaded(tmp_path / "greq") == [str(library)]
    works(tmp_path / "greq")


@pytest.mark.parametrize("language", LANGUAGES)
def test_plait_links_it(sources, tmp_path, language):
    command = {"c": "cc", "c++": "c++"}[language]
    done = plait(command, sources / f"greq.{SUFFIX[language]}", "-o", tmp_path / "greq", "-ldl")
    assert done.stdout + done.stderr == ""
    assert loaded(tmp_path / "greq") == [str(MPI.library)]
    works(tmp_path / "greq")


def test_plait_compiles_and_links_apart(sources, tmp_path):
    """Compiling says nothing of libraries; linking puts libplait first even where the MPI is named."""
    done = plait("cc", "-c", sources / "greq.c", "-o", tmp_path / "greq.o", env={**os.environ, "CC": "gcc"})
    assert done.stdout + done.stderr == ""
    assert "-lplait" not in plait("cc", "--show", "-c", sources / "greq.c").stdout
    lib = ["-L", MPI.folder / "lib", "-lmpi"] if MPI.folder else []
    plait("cc", *lib, tmp_path / "greq.o", "-o", tmp_path / "greq", "-ldl")
    works(tmp_path / "greq")


# ---- where libplait is not built


@pytest.fixture
def unbuilt(tmp_path):
    """The command where the build tree is empty."""
    script = f"from plait import cli, mpis; mpis.Mpi.build = mpis.Path('{tmp_path}/build'); cli.main()"
    return ["env", f"PYTHONPATH={ROOT / 'python'}", sys.executable, "-c", script, "--mpi", MPI.name]


def test_without_libplait_programs_are_linked_to_the_mpi_alone(unbuilt, tmp_path):
    done = run(*unbuilt, "cc", ROOT / "tests/programs/ring.c", "-o", tmp_path / "ring")
    assert done.stderr == f"plait: linked without libplait, which is not built for this MPI yet; type: make MPI={MPI.name}\n"
    assert loaded(tmp_path / "ring") == []
    assert plait("run", "-n", 2, tmp_path / "ring").stdout == "ring of 2 closed\n"


def test_without_libplait_nothing_is_preloaded(unbuilt):
    done = run(*unbuilt, "run", "--preload", "/bin/true", status=2)
    assert done.stderr == f"plait: libplait.so is not built for this MPI yet; type: make MPI={MPI.name}\n"


# ---- preloading


@pytest.fixture(scope="module")
def unlinked(sources, tmp_path_factory):
    """A program that knows of the MPI only."""
    program = tmp_path_factory.mktemp("unlinked") / "greq"
    options = ["-DPREPARED_FOR_PRELOAD", f"-I{ROOT / 'include'}", str(sources / "greq.c"), "-o", str(program), "-ldl"]
    run(*MPI.compiler("c", options))
    assert loaded(program) == []
    return program


def test_preload_puts_libplait_before_the_mpi(unlinked):
    without = plait("run", "-n", 2, unlinked, "owners").stdout
    assert without.count("\n") == 2 and "libplait" not in without
    assert sorted(plait("run", "-n", 2, "--preload", unlinked, "owners").stdout.splitlines()) == owners("libplait.so")
    works(unlinked, "--preload")


def test_preload_is_for_the_program_alone_and_keeps_the_users_own():
    """The launcher sees the user's LD_PRELOAD only, the program libplait behind it, with and without standard input."""
    own = {**os.environ, "LD_PRELOAD": "libm.so.6"}
    for options in ([], ["--stdin"]):
        said = plait("run", "--preload", *options, "/bin/sh", "-c", 'echo "$LD_PRELOAD"', env=own, stdin=subprocess.DEVNULL).stdout
        assert said == f"libm.so.6:{MPI.library}\n"
    assert "LD_PRELOAD=" not in plait("run", "--preload", "--show", "/bin/true").stdout.split("/bin/sh -c")[0]


# ---- the header

USE = """
#include <plait/mpix.h>
#include <mpi.h>
#include <plait/mpix.h>
#ifdef __cplusplus
#define CHECK static_assert
#else
#define CHECK _Static_assert
#endif
CHECK(sizeof(MPIX_Iov) == sizeof(void*) + sizeof(MPI_Aint), "two members");
CHECK(MPIX_STREAM_NULL == 0x3c000000, "MPICH's value");
int (*const iov_len)(MPI_Datatype, MPI_Count, MPI_Count*, MPI_Count*) = MPIX_Type_iov_len;
int (*const iov)(MPI_Datatype, MPI_Count, MPIX_Iov*, MPI_Count, MPI_Count*) = MPIX_Type_iov;
int (*const start)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*,
                   MPIX_Grequest_poll_function*, MPIX_Grequest_wait_function*, void*, MPI_Request*) = MPIX_Grequest_start;
int (*const create)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*,
                    MPIX_Grequest_poll_function*, MPIX_Grequest_wait_function*, MPIX_Grequest_class*) = MPIX_Grequest_class_create;
int (*const allocate)(MPIX_Grequest_class, void*, MPI_Request*) = MPIX_Grequest_class_allocate;
int (*const progress)(MPIX_Stream) = MPIX_Stream_progress;
"""
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}")


@pytest.mark.parametrize(("language", "standard"), [("c", "c11"), ("c++", "c++17")])
def test_header_compiles_without_a_warning(language, standard, tmp_path):
    source = tmp_path / f"use.{SUFFIX[language]}"
    source.write_text(USE)
    run(*MPI.compiler(language, [f"-std={standard}", *STRICT, str(source)]))


# Where both declare streams: C has no second definition of a structure, so it has another name here.
SAME_IOV = """
#include <stddef.h>
_Static_assert(sizeof(struct plait_iov) == sizeof(MPIX_Iov), "the same size");
_Static_assert(offsetof(struct plait_iov, iov_base) == offsetof(MPIX_Iov, iov_base), "the same place");
_Static_assert(offsetof(struct plait_iov, iov_len) == offsetof(MPIX_Iov, iov_len), "the same place");
_Static_assert(_Generic(((struct plait_iov*)0)->iov_base, __typeof__(((MPIX_Iov*)0)->iov_base) : 1), "the same type");
_Static_assert(_Generic(((struct plait_iov*)0)->iov_len, __typeof__(((MPIX_Iov*)0)->iov_len) : 1), "the same type");
"""


def replace(pattern, by, text):
    text, times = re.subn(pattern, by, text, flags=re.DOTALL | re.MULTILINE)
    assert times == 1
    return text


@pytest.mark.skipif(MPI.family == "openmpi", reason="Open MPI declares nothing of it")
def test_header_agrees_with_the_mpis_own(tmp_path):
    """What the header leaves to an mpi.h, it would declare the same: C11 takes both at once."""
    text = replace(r"^#define PLAIT_DECLARES_GREQUESTS 0$", "#define PLAIT_DECLARES_GREQUESTS 1", HEADER.read_text())
    if MPI.family == "mpich" and [int(part) for part in re.findall(r"\d+", MPI.version)[:2]] >= [4, 1]:
        text = replace(r"^#define PLAIT_DECLARES_STREAMS 0$", "#define PLAIT_DECLARES_STREAMS 1", text)
        text = replace(r"typedef struct MPIX_Iov \{(.*?)\} MPIX_Iov;", r"struct plait_iov {\1};", text)
        text = replace(r"^#define MPIX_STREAM_NULL (.*?)$", r'_Static_assert(MPIX_STREAM_NULL == \1, "the same");', text)
        text += SAME_IOV
    source = tmp_path / "both.c"
    line = MPI.compiler("c", ["-std=c11", *STRICT, str(source)])
    source.write_text(text)
    run(*line)
    # It notices a difference: one argument of another type is an error.
    source.write_text(
        replace(r"MPIX_Grequest_class greq_class, void\* extra_state", "MPIX_Grequest_class greq_class, int* extra_state", text)
    )
    assert "MPIX_Grequest_class_allocate" in run(*line, status=1).stderr
