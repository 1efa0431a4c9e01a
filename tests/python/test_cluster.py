"""`plait cc --cluster`: OpenMP's constructs over several processes, group by group, and what is refused. Each test says its processes."""

import os
import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, cluster_program, needs_cluster, run

SOURCES = ROOT / "tests/programs/cluster/constructs"
GROUPS = ("loops", "sync", "atomics", "homes", "order", "teams", "tasks", "doacross", "reductions", "cancel", "controls")
CANCELLATION = {"OMP_CANCELLATION": "true"}
SETTINGS = {"cancel": CANCELLATION, "teams": {"OMP_STACKSIZE": "40M"}}  # of groups that want some

# What ends the job in a region of all processes: how its message begins, and an example.
REFUSED = {
    "GOMP_target_ext is not carried": "#pragma omp parallel\n#pragma omp master\n#pragma omp target map(tofrom : n)\n  n = 1;",
    "detached tasks are not carried": """  omp_event_handle_t event;
#pragma omp parallel
#pragma omp master
  {
#pragma omp task detach(event) shared(n)
    n = 1;
    omp_fulfill_event(event);
  }""",
    "a region is cancelled where a thread waits at a barrier that gcc gives it no way to leave": """#pragma omp parallel
  {
    if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
    }
    int own;
#pragma omp single copyprivate(own)
    own = 1;
#pragma omp atomic write
    n = own;
  }""",
}

pytestmark = needs_cluster()


def compile_(*arguments, language="cc", cluster=True):
    line = [ROOT / "plait", "--mpi", MPI.name, language, *(["--cluster"] if cluster else []), *arguments]
    return subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("constructs")

    def build(group):
        program = folder / group
        if not program.exists():
            done = compile_("-O2", "-fopenmp", SOURCES / f"{group}.c", "-o", program)
            assert done.returncode == 0, done.stderr
        return program

    return build


def launched(program, processes, threads=1, hosts=1, env=None):
    """As `run`, with threads."""
    done = launch.run(MPI, [str(program)], processes, threads, hosts, env or {}, 60, capture=True, show_stacks=True, own_time=True)
    return done.returncode, done.stdout, done.stderr


def test_memory_is_consistent_without_openmp(hosts):
    """2 and 3; 4 on 2 and on 4 nodes"""
    for processes in (2, 3) if hosts == 1 else (4,):
        assert run("cluster-memory", processes=processes, hosts=hosts).stdout == "right\n"


@pytest.mark.thorough
@pytest.mark.parametrize("group", GROUPS)
def test_constructs_on_one_process_are_libgomps(built, group):
    """1 x 2"""
    assert launched(built(group), 1, 2, env=SETTINGS.get(group))[:2] == (0, "right\n")


@pytest.mark.thorough_where(group=("homes", "order", "controls"))
@pytest.mark.parametrize("group", GROUPS)
def test_constructs_on_several_processes(built, group):
    """2 x 2 and 3 x 1"""
    for processes, threads in (2, 2), (3, 1):
        status, said, mistakes = launched(built(group), processes, threads, env=SETTINGS.get(group))
        assert (status, said) == (0, "right\n"), f"{processes} x {threads}: {said}{mistakes}"


@pytest.mark.thorough_where(group=("atomics", "homes", "order", "teams", "doacross", "cancel", "controls"))
@pytest.mark.parametrize("group", GROUPS)
def test_constructs_between_nodes(built, group):
    """2 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    status, said, mistakes = launched(built(group), 2, hosts=2, env=SETTINGS.get(group))
    assert (status, said) == (0, "right\n"), said + mistakes


def test_nothing_is_cancelled_where_that_is_not_allowed(built):
    """1 x 2 and 2 x 2"""
    for processes in 1, 2:
        status, said, mistakes = launched(built("cancel"), processes, 2)
        assert (status, said) == (0, "nothing is cancelled\nright\n"), said + mistakes


def test_threads_of_a_process_are_on_cores_of_their_own(tmp_path):
    """1 x 2, 2 x 2 and 3 x 2, where the user binds them"""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads cannot be on two cores: there is one")
    program = cluster_program("places.c", tmp_path / "places")
    for processes in 1, 2, 3:
        status, said, mistakes = launched(program, processes, 2, env={"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"})
        assert (status, said) == (0, "right\n"), f"{processes} x 2: {said}{mistakes}"


def test_handlers_of_signals_disturb_nothing(tmp_path):
    """2 x 2 and 3 x 1"""
    program = cluster_program("signals.c", tmp_path / "signals")
    for processes, threads in (2, 2), (3, 1):
        status, said, mistakes = launched(program, processes, threads)
        assert (status, said) == (0, "right\n"), f"{processes} x {threads}: {said}{mistakes}"


def test_children_of_fork_have_copies(tmp_path):
    """3 x 1 and 2 x 2"""
    program = cluster_program("forks.c", tmp_path / "forks")
    for processes, threads in (3, 1), (2, 2):
        status, said, mistakes = launched(program, processes, threads)
        assert (status, said) == (0, "right\n"), f"{processes} x {threads}: {said}{mistakes}"
    # What cannot be copied ends the child, and what would lose writes the job.
    done = run(program, "absent")
    assert done.stdout == "right\n" and "a child made by fork() wants memory that its parent's process has no copy of" in done.stderr
    done = run(program, "region", env=["OMP_NUM_THREADS=2"], status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert "fork() by the first thread of a parallel region is not carried: call it in a serial part" in done.stderr


@pytest.mark.thorough
@pytest.mark.once
def test_static_variables_above_4_gb(tmp_path):
    """2 x 1"""
    source = tmp_path / "large.c"
    source.write_text(
        "#include <stdio.h>\nstatic char all[5L << 30];\nint main(void) {\n  long sum = 0;\n#pragma omp parallel for\n"
        "  for (long i = 0; i < 80; ++i) all[i << 26] = 1;\n"
        '  for (long i = 0; i < 80; ++i) sum += all[i << 26];\n  printf("%ld\\n", sum);\n}\n'
    )
    assert (done := compile_("-O2", "-mcmodel=large", source, "-o", tmp_path / "large")).returncode == 0, done.stderr
    assert launched(tmp_path / "large", 2)[:2] == (0, "80\n")


@pytest.mark.once
@pytest.mark.parametrize("name, text", REFUSED.items())
def test_what_is_not_carried_stops_and_is_named(tmp_path, name, text):
    """1 and 2: on one process it is libgomp's, and nothing may be cancelled"""
    source = tmp_path / "a.c"
    source.write_text(
        f'#include <omp.h>\n#include <stdio.h>\nint main(void) {{\n  int n = 0;\n{text}\n  printf("%d\\n", n);\n  return 0;\n}}\n'
    )
    assert (done := compile_("-O2", source, "-o", tmp_path / "a")).returncode == 0, done.stderr
    assert launched(tmp_path / "a", 1, 2)[:2] == (0, "1\n")
    status, _, mistakes = launched(tmp_path / "a", 2, env=CANCELLATION)
    assert status not in (0, launch.TIMED_OUT)
    assert f"plait: OpenMP over several nodes: {name}" in mistakes, mistakes


@pytest.mark.once
def test_objects_with_inline_atomics_are_refused(tmp_path):
    """0"""
    source = tmp_path / "part.c"
    source.write_text("int n;\nvoid part(void) {\n#pragma omp parallel\n#pragma omp atomic\n  ++n;\n}\n")
    main = tmp_path / "main.c"
    main.write_text("void part(void);\nint main(void) { part(); return 0; }\n")
    part = tmp_path / "part.o"
    assert compile_("-fopenmp", "-c", source, "-o", part, cluster=False).returncode == 0
    done = compile_(main, part, "-o", tmp_path / "program")
    assert done.returncode == 2
    assert done.stderr.startswith(f"plait: '{part}' was not compiled with --cluster, and it uses OpenMP (GOMP_parallel)"), done.stderr
    archive = tmp_path / "libpart.a"
    subprocess.run(["ar", "rcs", archive, part], check=True)
    assert f"'{archive}(part.o)' was not compiled with --cluster" in compile_(main, archive, "-o", tmp_path / "program").stderr
    # With the option it is taken.
    assert compile_("-fopenmp", "-c", source, "-o", part).returncode == 0
    done = compile_(main, part, "-o", tmp_path / "program")
    assert done.returncode == 0, done.stderr


@pytest.mark.once
@pytest.mark.parametrize("option", ["-flto", "-static", "-pie", "-finline-atomics", "-mdirect-extern-access"])
def test_options_that_do_not_go_together(tmp_path, option):
    """0"""
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")
    done = compile_(option, source, "-o", tmp_path / "a")
    assert done.returncode == 2
    assert f"--cluster does not go with {option}: " in done.stderr


def test_fortran_and_cpp(tmp_path):
    """2"""
    fortran = tmp_path / "sum.f90"
    fortran.write_text(
        "program sums\n  use omp_lib\n  implicit none\n  integer :: i, n\n  integer, allocatable :: a(:)\n  n = 0\n  allocate(a(1000))\n"
        "  !$omp parallel do schedule(dynamic, 7) reduction(+:n)\n  do i = 1, 1000\n    a(i) = 2 * i\n    n = n + i\n  end do\n"
        "  !$omp end parallel do\n  print '(i0,1x,i0,1x,i0)', n, sum(a), omp_get_max_threads()\nend program\n"
    )
    done = compile_("-O2", fortran, "-o", tmp_path / "f", language="fc")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "f", processes=2).stdout == "500500 1001000 2\n"
    cpp = tmp_path / "sum.cpp"
    cpp.write_text(
        "#include <cstdio>\n#include <numeric>\n#include <vector>\nint main() {\n  std::vector<long> a(1000);\n#pragma omp parallel for\n"
        '  for (int i = 0; i < 1000; ++i) a[i] = i;\n  std::printf("%ld\\n", std::accumulate(a.begin(), a.end(), 0L));\n}\n'
    )
    done = compile_("-O2", cpp, "-o", tmp_path / "c", language="c++")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "c", processes=2).stdout == "499500\n"
