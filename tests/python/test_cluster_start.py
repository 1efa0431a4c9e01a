"""How a program of `plait cc --cluster` starts, and what is refused then. Each test says its processes."""

import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT, MpiError
from programs import MPI, cluster_program, needs_cluster, run

pytestmark = needs_cluster()
PART = "int n;\nvoid part(void) {\n#pragma omp parallel\n#pragma omp atomic\n  ++n;\n}\n"
MAIN = '#include <stdio.h>\nvoid part(void);\nint main(void) {\n  part();\n  puts("right");\n}\n'


def compile_(*words):
    subprocess.run([str(word) for word in words], check=True, timeout=120)


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "part.c").write_text(PART)
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path


def test_arguments_are_shared(tmp_path):
    """3"""
    program = cluster_program("arguments.c", tmp_path / "arguments")
    assert run(program, "one", "two words", processes=3).stdout == "right\n"


def test_libraries_with_openmp_of_their_own_are_refused_at_start(sources):
    """1 and 2"""
    plait = [ROOT / "plait", "--mpi", MPI.name, "cc", "--cluster"]
    library = ["-shared", "-fPIC", sources / "part.c", "-o", sources / "libpart.so"]
    compile_("gcc", "-fopenmp", *library)
    compile_(*plait, sources / "main.c", f"-L{sources}", "-lpart", f"-Wl,-rpath,{sources}", "-o", sources / "program")
    assert run(sources / "program", processes=1).stdout == "right\n"
    done = run(sources / "program", processes=2, status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert f"plait: OpenMP over several nodes: {sources}/libpart.so uses OpenMP (GOMP_parallel) and was not compiled" in done.stderr
    # The same library with the option is taken.
    compile_(*plait, *library)
    assert run(sources / "program", processes=2).stdout == "right\n"


def test_a_program_whose_main_would_run_everywhere_is_refused(sources):
    """2: linked by hand"""
    folder = MPI.library.parent
    own = ["-fopenmp", "-fno-inline-atomics", "-no-pie", f"-L{folder}", f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed", "-lplait_cluster"]
    compile_(*MPI.compiler("c", [*own, str(sources / "main.c"), str(sources / "part.c"), "-o", str(sources / "program")]))
    done = run(sources / "program", processes=2, status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert "plait: OpenMP over several nodes: the program has libplait_cluster, but was not linked by plait cc --cluster" in done.stderr


def test_a_program_linked_without_the_library_is_refused_by_plait_run(sources):
    """0"""
    for name in "main", "part":
        compile_(ROOT / "plait", "--mpi", MPI.name, "cc", "--cluster", "-c", sources / f"{name}.c", "-o", sources / f"{name}.o")
    compile_("gcc", "-fopenmp", "-no-pie", sources / "main.o", sources / "part.o", "-o", sources / "program", "-latomic")
    with pytest.raises(MpiError, match="was compiled with --cluster, but linked without it: link it by plait cc --cluster, too"):
        run(sources / "program", processes=2)
