"""plait run's care for a job: its input, its share of the machine, how it ended, what it leaves. Each test says its processes x threads."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import pytest
from plait import built, launch, leftovers, mpis
from plait.mpis import ROOT
from programs import MPI

PROGRAMS = ROOT / "tests/programs"


def plait(*words, status=0, timeout=120, **more):
    line = [str(ROOT / "plait"), "--mpi", MPI.name, *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=timeout, check=False, **more)
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(params=[1, 2])
def hosts(request):
    """One machine, then two simulated nodes, where these are allowed."""
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    program = tmp_path_factory.mktemp("programs") / "ends"
    plait("cc", PROGRAMS / "ends.c", "-o", program)
    return program


# ---- standard input


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_whole_input_reaches_the_first_process_and_no_other(size, hosts):
    """2 x 1; also its end, which wc waits for."""
    done = plait("run", "-n", 2, "--hosts", hosts, "--stdin", "--timeout", 60, "wc", "-c", input="x" * size)
    assert sorted(map(int, done.stdout.split())) == sorted([0, size])
    assert done.stderr == ""


def test_input_that_nobody_reads_holds_nothing_up():
    """2 x 1"""
    assert plait("run", "-n", 2, "--stdin", "--timeout", 60, "true", input="x" * 3_000_000).stderr == ""
    assert plait("run", "-n", 1, "--stdin", "--timeout", 60, "head", "-c", "2", input="x" * 3_000_000).stdout == "xx"


def test_input_that_does_not_end_holds_nothing_up():
    """2 x 1"""
    reading, writing = os.pipe()
    try:
        plait("run", "-n", 2, "--stdin", "--timeout", 60, "true", stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.thorough
def test_programs_that_are_over_at_once_end_on_a_busy_machine(hosts):
    """2 x 1; a daemon of Open MPI 5.0.11 on another node misses the end of such a process, about every third time."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
    try:
        for _ in range(6):
            plait("run", "-n", 2, "--hosts", hosts, "--timeout", 30, "true")
    finally:
        for one in busy:
            one.kill()
            one.wait()


# ---- its share of the machine


@pytest.mark.parametrize(
    ("threads", "cores", "processes", "each", "pin", "share"),
    [
        (2, 2, 1, 1, "core", 2),
        (2, 2, 2, 1, "core", 1),
        (16, 8, 2, 1, "core", 4),
        (16, 8, 2, 3, "core", 4),
        (16, 8, 3, 1, "core", 2),
        (16, 8, 8, 1, "core", 1),
        (16, 8, 3, 4, "hwthread", 5),
        (16, 8, 16, 1, "hwthread", 1),
        (16, 8, 17, 1, "", 1),
    ],
)
def test_processes_get_their_share_of_the_cores(monkeypatch, threads, cores, processes, each, pin, share):
    seen = []
    monkeypatch.setattr(launch, "usable_cores", lambda: (threads, cores))
    monkeypatch.setattr(launch, "allocated_nodes", lambda: 1)
    monkeypatch.setattr(type(MPI), "launch", lambda _, job, program: seen.append(job) or program)
    launch.command(MPI, ["true"], processes, each, 1, {})
    assert (seen[0].pin, seen[0].share) == (pin, share)


def test_a_process_alone_has_the_whole_machine():
    """1 x 1: so threads that it starts by itself have cores, too."""
    done = plait("run", "-n", 1, "sh", "-c", "nproc")
    # nproc counts what it may use, and heeds OMP_NUM_THREADS.
    assert done.stdout == "1\n"
    done = plait("run", "-n", 1, "sh", "-c", "unset OMP_NUM_THREADS; nproc")
    assert int(done.stdout) == launch.usable_cores()[0]


# ---- how it ended


def test_a_signal_is_told_alike_under_every_mpi(ends):
    """3 x 1"""
    for rank in (0, 1, 2):
        done = plait("run", "-n", 3, ends, "signal", rank, status=128 + signal.SIGILL)
        assert done.stderr == f"plait run: {ends}, rank {rank}, was ended by signal 4 (Illegal instruction)\n"
        assert done.stdout == ""


HYDRA = "[mpiexec@vm] Exit codes: [vm] {}\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Broken pipe (signal 13)\n"


@pytest.mark.parametrize(
    ("codes", "signal_", "rank"),
    [
        ("0,11,0", 11, 1),
        ("9,9,6", 6, 2),
        ("13,4,9", 4, 1),  # the first wrote to a launcher that was at its end
        ("139,0", 11, 0),  # with a core dump
        ("0,9", 9, 1),  # by whoever
        ("1024,9,13", None, None),  # ended with a status; the launcher ended the others
        ("9,9", None, None),
    ],
)
def test_cause_under_mpich_is_the_programs_own_signal(codes, signal_, rank):
    cause = mpis.Mpich("mpich", None).cause(HYDRA.format(codes))
    assert (cause and cause.signal, cause and cause.rank) == (signal_, rank)


def test_launchers_line_after_an_unfinished_line_is_left_out():
    """1 x 1"""
    assert plait("run", "printf", "done").stdout == "done"
    for size in (1, 2, 3, 7, 1000):
        noise = launch._Filter(mpis.Mpich.noise)
        data = b"ab[m\nname? [mpiexec@vm] Exit codes: [vm] 0,1\n[mpiexec@ x\n[mpiexec@vm] Exit codes: [vm] 0\n"
        chunks = [noise.feed(data[at : at + size]) for at in range(0, len(data), size)]
        assert b"".join([*chunks, noise.flush()]) == b"ab[m\nname? [mpiexec@ x\n"


# ---- its time


@pytest.mark.once
@pytest.mark.parametrize(("waited", "own_time", "status"), [(9, True, 0), (0, True, 124), (9, False, 124)])
def test_a_limit_of_own_time_is_longer_by_what_was_waited_for_a_core(monkeypatch, waited, own_time, status):
    """1 x 1"""
    monkeypatch.setattr(leftovers, "waited", lambda marker: waited)
    done = launch.run(MPI, ["sleep", "3"], 1, 1, timeout=2, capture=True, own_time=own_time)
    assert done.returncode == status, done.stderr


@pytest.mark.once
def test_a_limit_that_grows_with_the_time_comes_to_its_end(monkeypatch):
    """1 x 1"""
    asked = []
    began = time.monotonic()

    def waited(marker):
        asked.append(time.monotonic() - began)
        return 0.9 * asked[-1]

    monkeypatch.setattr(leftovers, "waited", waited)
    done = launch.run(MPI, ["sleep", "60"], 1, 1, timeout=0.5, capture=True, own_time=True)
    assert done.returncode == 124 and len(asked) < 100, len(asked)


@pytest.mark.once
def test_a_thread_that_had_no_core_has_waited():
    marker = f"PLAIT_JOB={uuid.uuid4().hex}"
    assert leftovers.waited(marker.encode()) == 0
    core = min(os.sched_getaffinity(0))
    line = ["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]
    busy = [subprocess.Popen(line, env={**os.environ, "PLAIT_JOB": marker.partition("=")[2]}) for _ in range(2)]
    try:
        until = time.monotonic() + 60
        while leftovers.waited(marker.encode()) < 0.1 and time.monotonic() < until:
            time.sleep(0.05)
        assert leftovers.waited(marker.encode()) >= 0.1
    finally:
        for process in busy:
            process.kill()
            process.wait()


# ---- what it leaves


OTHERS = ("mpich_shm_0badcafe_0", "Intel_MPI_abcdef", "sm_segment.vm.0.1.0", "mine")


@pytest.fixture
def alone(tmp_path):
    """Runs a shell's line with a /dev/shm of its own, in which there are others' segments, and gives what is there afterwards."""
    root = [] if os.geteuid() == 0 else ["-Ur"]
    if subprocess.run(["unshare", *root, "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=False, capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed here")
    # Short: Open MPI makes sockets below.
    place = Path(tempfile.mkdtemp(dir="/tmp", prefix="pl"))

    def run(line, status):
        script = f"mount -t tmpfs tmpfs /dev/shm; cd /dev/shm; touch {' '.join(OTHERS)}; {line}"
        words = ["unshare", *root, "-m", "--", "bash", "-c", script]
        done = subprocess.run(words, env={**os.environ, "TMPDIR": str(place)}, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, [path.name for path in place.iterdir() if "plait" in path.name]

    yield run
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.thorough_where(how=(("hang",),))
@pytest.mark.parametrize(
    ("how", "status"), [(("signal", 1), 128 + signal.SIGILL), (("abort", 1), 7), (("hang",), 124)], ids=["signal", "abort", "timeout"]
)
def test_a_job_that_ends_badly_leaves_no_memory_and_no_folder(ends, alone, how, status):
    """3 x 1"""
    if how[0] != "hang" and not leftovers._sees_all():
        pytest.skip("in a container a segment counts as the job's only if it was seen with one of its processes; these end at once")
    run = f"{ROOT}/plait --mpi {MPI.name} run -n 3 --timeout 5 {ends} {' '.join(map(str, how))} >&2"
    others = launchers_files()
    said, folders = alone(f"{run}; status=$?; ls; exit $status", status)
    assert said.split() == sorted(OTHERS)
    assert folders == []
    until = time.monotonic() + 20
    # Those of other jobs that run now are held.
    while (left := {path for path in launchers_files() - others if not leftovers._is_held(path)}) and time.monotonic() < until:
        time.sleep(0.2)
    assert left == set()


def launchers_files():
    """What MPICH's launcher has in /tmp for each job."""
    return set(leftovers.FILES.glob("hydra_hwloc_xmlfile_*"))


def test_what_a_killed_plait_left_the_next_run_removes(ends, alone):
    """3 x 1"""
    command = f"{ROOT}/plait --mpi {MPI.name} run"
    # The kernel tells the launcher of its end. Where that leaves the job's processes alone, the next run ends them, too.
    script = f"""{command} -n 3 --timeout 60 {ends} hang >hanging & job=$!
        until [ -s hanging ]; do sleep 0.05; done
        kill -KILL $job; wait $job
        ls -d $TMPDIR/plait-job.*; {command} true; rm hanging; ls"""
    said, folders = alone(script, 0)
    before, *left = said.split()
    assert Path(before).name.startswith("plait-job.")
    assert left == sorted(OTHERS)
    assert folders == []
    assert not [entry for entry in Path("/proc").glob("[0-9]*/exe") if _leads_to(entry, ends)]


def _leads_to(link, program):
    try:
        return os.readlink(link) == str(program)
    except OSError:
        return False


def test_folders_of_a_plait_that_lives_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with leftovers.scratch() as folder:
        leftovers.sweep()
        assert folder.is_dir()
        (tmp_path / "plait-job.dead").mkdir()
        (tmp_path / "plait-job.early").mkdir()
        (tmp_path / "plait-job.early" / leftovers.MARKER).write_text("")
        monkeypatch.setattr(leftovers, "end_marked", lambda marker: pytest.fail(f"ends processes with {marker}"))
        leftovers.sweep()
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert list(tmp_path.iterdir()) == []


def test_a_segment_that_somebody_uses_or_made_anew_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "SHARED", tmp_path)
    used, unused, other = tmp_path / "used", tmp_path / "unused", tmp_path / "other"
    for path in (used, unused, other):
        path.write_text("x")
    (tmp_path / leftovers.SEGMENTS).write_text(
        "".join(f"ours {path.stat().st_ino + (path == other)} {path}\n" for path in (used, unused, other))
    )
    with used.open():
        leftovers.remove_segments(tmp_path)
    assert used.exists() and other.exists() and not unused.exists()


@pytest.mark.once
@pytest.mark.parametrize("how", ["open", "mapped"])
def test_a_segment_that_is_used_by_another_path_stays(tmp_path, how):
    """As in a chroot that has the machine's /dev/shm. In a namespace of mounts of its own; as root or in a user namespace."""
    segment = leftovers.SHARED / f"plait-test-{uuid.uuid4().hex}"
    segment.write_bytes(b"x" * 4096)
    (tmp_path / leftovers.SEGMENTS).write_text(f"{leftovers.OURS} {segment.stat().st_ino} {segment}\n")
    (tmp_path / "root").mkdir()
    hold = "import mmap, sys, time; f = open(sys.argv[1], 'r+b'); "
    hold += "" if how == "open" else "m = mmap.mmap(f.fileno(), 4096); f.close(); "
    hold += "print('ready', flush=True); time.sleep(60)"
    line = [*launch._namespace_root(), "unshare", "--mount", "sh", "-c"]
    line += ['mount --rbind / "$1" && exec chroot "$1" /usr/bin/python3 -c "$2" "$3"', "sh", tmp_path / "root", hold, segment]
    holder = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline() != "ready\n":
            pytest.skip(f"no chroot here: {holder.stderr.read().strip()}")
        leftovers.remove_segments(tmp_path)
        assert segment.exists()
    finally:
        holder.kill()
        holder.wait()
        stayed = segment.exists()
        leftovers.remove_segments(tmp_path)
    assert stayed and not segment.exists()


def test_only_segments_of_the_jobs_processes_are_removed_where_others_may_be_hidden(tmp_path, monkeypatch):
    """Also those that nobody has."""
    monkeypatch.setattr(leftovers, "_sees_all", lambda: False)
    monkeypatch.setattr(leftovers, "SHARED", tmp_path)
    segments = leftovers.Segments(r"seg\w", "", "PLAIT_JOB=of-this-test", tmp_path)
    hold = "exec 3>{}; sleep 60"
    jobs = [
        subprocess.Popen(["bash", "-c", hold.format(tmp_path / "sega")], env={**os.environ, "PLAIT_JOB": "of-this-test"}),
        subprocess.Popen(["bash", "-c", hold.format(tmp_path / "segb")], env={**os.environ, "PLAIT_JOB": "another"}),
        subprocess.Popen(["bash", "-c", hold.format(tmp_path / "data")], env={**os.environ, "PLAIT_JOB": "of-this-test"}),
    ]
    try:
        until = time.monotonic() + 30
        notes = tmp_path / leftovers.SEGMENTS
        while time.monotonic() < until and not (
            notes.exists() and "ours" in notes.read_text() and all((tmp_path / name).exists() for name in ("segb", "data"))
        ):
            time.sleep(0.02)
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    segments.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "segb", "segments"]


# ---- programs built for another MPI


def library(folder, name, content):
    folder.mkdir(exist_ok=True)
    source = folder / "library.c"
    source.write_text(content)
    subprocess.run(["gcc", "-shared", "-fPIC", f"-Wl,-soname,{name}", source, "-o", folder / name], check=True)
    return folder / name


def program(folder, *libraries):
    source = folder / "program.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("ran"); }\n')
    links = [word for path in libraries for word in (f"-Wl,-rpath,{path.parent}", path)]
    subprocess.run(["gcc", source, "-o", folder / "program", "-Wl,--no-as-needed", *links], check=True)
    return folder / "program"


SIGN = {
    "openmpi": "int ompi_mpi_comm_world;",
    "impi": 'const char* a = "Intel(R) MPI Library"; int MPIR_a;',
    "mpich": "int MPIR_a;",
}
NAME = {"openmpi": "libmpi.so.40", "impi": "libmpi.so.12", "mpich": "libmpi.so.12"}


@pytest.mark.parametrize("family", ["openmpi", "impi", "mpich"])
def test_a_program_built_for_another_mpi_is_refused(tmp_path, family):
    """Under Open MPI's launcher each process of an MPICH program would be rank 0 of 1. The library stands in for the other MPI's."""
    # A name of its own version, lest LD_LIBRARY_PATH find the chosen MPI's.
    fake = program(tmp_path, library(tmp_path / "lib", NAME[family] + ".77", SIGN[family]))
    if family == MPI.family:
        assert plait("run", fake).stdout == "ran\n"
    for options in [[], ["--preload"]] if family != MPI.family else []:
        done = plait("run", *options, fake, status=2)
        title = mpis.FAMILIES[family].title
        assert done.stderr.startswith(f"plait: '{fake}' was built for {title} (") and done.stderr.count("\n") == 1
        assert f"not for {MPI.title}: take --mpi {family}, or compile it with plait --mpi {MPI.name} cc\n" in done.stderr


def test_a_preloaded_libplait_wants_the_programs_own_mpi(tmp_path):
    fake = program(tmp_path, library(tmp_path / "lib", NAME[MPI.family] + ".77", SIGN[MPI.family]))
    done = plait("run", "--preload", fake, status=2)
    assert "--preload wants the same" in done.stderr and done.stderr.count("\n") == 1


def test_a_program_linked_with_another_libplait_is_refused(tmp_path):
    stamp = 'const char s[] = "@(#)libplait 0.1.0 for {} 1.2";'
    fake = program(tmp_path, library(tmp_path / "lib", "libplait.so", stamp.format("Another MPI")))
    done = plait("run", fake, status=2)
    assert "is linked with the libplait of Another MPI" in done.stderr and done.stderr.count("\n") == 1
    fake = program(tmp_path, library(tmp_path / "lib", "libplait.so", stamp.format(MPI.title)))
    assert plait("run", fake).stdout == "ran\n"


def test_a_program_that_looks_for_the_mpi_when_it_runs_finds_it(hosts):
    """2 x 1, without --preload: as mpi4py's wheels do."""
    if MPI.folder is None:
        pytest.skip("the system's MPI is found as the system finds libraries")
    library = "libmpi.so.40" if MPI.family == "openmpi" else "libmpi.so.12"
    program = f"import ctypes; mpi = ctypes.CDLL('{library}'); mpi.MPI_Init(None, None); print('found\\n', end=''); mpi.MPI_Finalize()"
    assert plait("run", "-n", 2, "--hosts", hosts, "python3", "-c", program).stdout == "found\n" * 2


def test_what_is_no_mpi_program_is_not_asked(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    (tmp_path / "truncated").write_bytes(Path("/bin/sh").resolve().read_bytes()[:80])
    for path in (script, tmp_path / "truncated", tmp_path / "missing", Path("/bin/true")):
        assert built.loaded(str(path), dict(os.environ)) == []
    assert plait("run", script).stdout == "ran\n"


@pytest.mark.skipif(MPI.family != "openmpi" or MPI.version < "5", reason="Open MPI 5's")
def test_a_part_of_the_mpi_that_waits_for_a_fabric_is_left_out_where_there_is_none(ends):
    """1 x 1; what the user says comes first"""
    fabric = any(Path("/sys/class", kind).exists() for kind in ("infiniband", "cxi", "gni"))
    assert ("OMPI_MCA_btl=^ofi" in plait("run", "--show", ends).stdout) != fabric
    assert "^ofi" not in plait("run", "--show", ends, env={**os.environ, "OMPI_MCA_btl": "self,sm"}).stdout
