"""The plait command as a user types it, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from plait import launch, mpis, stacks
from plait.mpis import ROOT

PROGRAMS = ROOT / "tests/programs"
MPI = mpis.find()


def plait(*words, status=0, timeout=120, **more):
    done = subprocess.run(
        [str(ROOT / "plait"), "--mpi", MPI.name, *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, **more
    )
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The programs of tests/programs, compiled by plait itself."""
    folder = tmp_path_factory.mktemp("programs")
    plait("cc", PROGRAMS / "ring.c", "-O1", "-o", folder / "ring")
    plait("cc", PROGRAMS / "ends.c", "-o", folder / "ends")
    plait("c++", "-fopenmp", PROGRAMS / "threads.cpp", "-o", folder / "threads")
    return folder


@pytest.fixture(params=[1, 2])
def hosts(request):
    """One machine, then two simulated nodes, where these are allowed."""
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


def one_line(done, text):
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and text in lines[0], done.stderr


# ---- compiling


def test_compiler_status_and_messages_are_the_compilers(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return missing; }\n")
    assert "missing" in plait("cc", "-c", source, "-o", tmp_path / "wrong.o", status=1).stderr


def test_compiling_and_linking_apart(tmp_path):
    plait("cc", "-c", PROGRAMS / "ring.c", "-o", tmp_path / "ring.o")
    plait("cc", tmp_path / "ring.o", "-o", tmp_path / "ring")
    assert plait("run", "-n", 2, tmp_path / "ring").stdout == "ring of 2 closed\n"


def test_show_names_the_command_and_makes_nothing(tmp_path):
    shown = plait("cc", "--show", PROGRAMS / "ring.c", "-o", tmp_path / "ring").stdout
    assert "ring.c" in shown and "-lmpi" in shown
    assert not (tmp_path / "ring").exists()


def test_program_is_linked_to_the_chosen_mpi(built):
    """Also where another MPI is first on the PATH."""
    if MPI.folder is None:
        pytest.skip("the system's MPI lies where it likes")
    linked = subprocess.run(["ldd", built / "ring"], capture_output=True, text=True, check=True, timeout=20).stdout
    assert f"{MPI.folder}/lib/libmpi.so" in linked


# ---- running


@pytest.mark.parametrize("processes", [1, 2, 7])
def test_ring_closes_with_any_number_of_processes(built, processes):
    done = plait("run", "-n", processes, built / "ring", "--flag", "two words", "-n")
    assert done.stdout == f"ring of {processes} closed\nargument --flag\nargument two words\nargument -n\n"
    assert done.stderr == ""


@pytest.mark.parametrize(("processes", "threads"), [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_threads_cores_and_environment(built, processes, threads):
    cores = launch.usable_cores()[0]
    done = plait("run", "-n", processes, "--threads", threads, "--env", "PLAIT_TEST_WORD=seen", built / "threads")
    lines = sorted(done.stdout.splitlines())
    assert len(lines) == processes
    for rank, line in enumerate(lines):
        found = re.fullmatch(rf"rank {rank} node \S+ threads {threads} cpus (\d+) word seen stdin empty", line)
        assert found, line
        # Its own share of them where they suffice, else all.
        assert threads <= int(found[1]) <= cores // processes if processes * threads <= cores else int(found[1]) == cores


def test_threads_come_from_the_environment(built):
    """1 x 3"""
    done = plait("run", built / "threads", env={**os.environ, "OMP_NUM_THREADS": "3"})
    assert "threads 3 " in done.stdout


def test_a_list_of_threads_in_the_environment_stays_as_it_is(built):
    """1 x 3"""
    env = {**os.environ, "OMP_NUM_THREADS": "3, 2"}
    assert "threads 3 " in plait("run", built / "threads", env=env).stdout
    say = ["sh", "-c", "echo $OMP_NUM_THREADS"]
    assert plait("run", *say, env=env).stdout == "3, 2\n"
    assert plait("run", "--threads", 2, *say, env=env).stdout == "2\n"
    assert plait("run", "--env", "OMP_NUM_THREADS=2,2", *say).stdout == "2,2\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_make_no_difference(built, closed):
    """2 x 1"""
    for words, status in (["--version"], 0), (["run", "-n", 2, "sh", "-c", "echo some words"], 0), (["run", "sh", "-c", "exit 3"], 3):
        line = shlex.join([str(ROOT / "plait"), "--mpi", MPI.name, *map(str, words)])
        done = subprocess.run(["bash", "-c", f"{line} {closed}"], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
        if closed == "2>&-" and words[1:2] == ["-n"]:
            assert done.stdout == "some words\n" * 2


def test_standard_input_is_handed_on_when_asked(built):
    assert "stdin filled" in plait("run", "--stdin", built / "threads", input="x").stdout


def test_nodes_share_the_processes_evenly(built, hosts):
    """5 x 1"""
    done = plait("run", "-n", 5, "--hosts", hosts, "--env", "PLAIT_TEST_WORD=seen", built / "threads")
    found = sorted(re.findall(r"node (\S+) threads 1 cpus \d+ word seen", done.stdout))
    assert found == (["n0"] * 3 + ["n1"] * 2 if hosts == 2 else [os.uname().nodename] * 5)
    assert plait("run", "-n", 5, "--hosts", hosts, built / "ring").stdout == "ring of 5 closed\n"
    if hosts == 2:
        done = plait("run", "-n", 2, "--hosts", 2, built / "threads")
        assert sorted(re.findall(r"node (\S+)", done.stdout)) == ["n0", "n1"]


def test_job_goes_on_when_its_reader_has_seen_enough(built):
    """2 x 1"""
    line = f"{ROOT / 'plait'} --mpi {MPI.name} run -n 2 --timeout 60 /bin/sh -c 'seq 100000'"
    done = subprocess.run(
        ["bash", "-c", f"{line} | head -n 1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=90, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


# ---- ending


@pytest.mark.parametrize(("how", "status"), [("all", 3), ("one", 4)])
def test_status_is_the_programs_and_its_words_stand_alone(built, how, status, hosts):
    """3 x 1; a program that ends with one clear line leaves the user with this line only."""
    done = plait("run", "-n", 3, "--hosts", hosts, built / "ends", how, 1, status=status)
    assert done.stdout == ""
    one_line(done, "ends: all is lost" if how == "all" else "ended with status 4")


def test_output_without_an_end_of_line_and_ruled_lines_come_through(built):
    """2 x 1"""
    done = plait("run", "-n", 2, built / "ends", "prompt")
    assert done.stdout == "-" * 72 + "\n=====\n\nname? "


def test_abort_has_its_code(built, hosts):
    """3 x 1"""
    said = plait("run", "-n", 3, "--hosts", hosts, built / "ends", "abort", 2, status=7).stderr
    # MPICH's launcher now and then ends the job before the last words of MPI_Abort are through; then plait has some.
    assert "MPI_A" in said or "ended with status 7" in said


@pytest.mark.thorough_where(hosts=2)
def test_timeout_ends_every_process(built, hosts):
    """3 x 1"""
    done = plait("run", "-n", 3, "--hosts", hosts, "--timeout", 4, built / "ends", "hang", status=124)
    one_line(done, "took longer than 4 s and was ended")
    assert not running(built / "ends")


@pytest.mark.once
@pytest.mark.thorough_where(hosts=2)
def test_timeout_tells_where_the_threads_are(built, hosts):
    """3 x 1"""
    if not shutil.which("gdb"):
        pytest.skip("gdb, which shows the stacks, is not installed")
    said = plait("run", "-n", 3, "--hosts", hosts, "--timeout", 4, "--stacks", built / "ends", "hang", status=124).stderr
    assert re.search(r"^plait run: ranks 0, 1, 2: .*\bmain\b.* > \S*pause\b", said, re.MULTILINE), said
    assert re.search(r"^plait run: seconds of CPU time by rank: \d+\.\d, \d+\.\d, \d+\.\d$", said, re.MULTILINE), said
    assert not running(built / "ends")


def test_stacks_need_a_timeout(built):
    one_line(plait("run", "--stacks", built / "ends", status=2), "give one, like --timeout 60")


def test_timeout_without_gdb_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    stacks.tell(b"PLAIT_JOB=none", "ends", said.append)
    assert said == ["plait run: gdb, which shows the stacks, is not installed"]


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_ends_the_job(built, sent, status):
    """3 x 1"""
    line = [ROOT / "plait", "--mpi", MPI.name, "run", "-n", "3", "--timeout", "60", built / "ends", "hang"]
    job = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert job.stdout.readline() == b"hanging\n"
        job.send_signal(sent)
        _, errors = job.communicate(timeout=60)
        assert job.returncode == status
        assert errors == b""
        assert not running(built / "ends")
    finally:
        job.kill()


def running(program: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "exe") == str(program):
                found.append(process.name)
        except OSError:
            pass
    return found


# ---- what the user may get wrong


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-n", "0", "ring"], "processes must be at least 1, not 0"),
        (["-n", "2", "--threads", "0", "ring"], "threads must be at least 1, not 0"),
        (["-n", "2", "--hosts", "0", "ring"], "hosts must be at least 1, not 0"),
        (["-n", "2", "--hosts", "3", "ring"], "3 hosts need at least 3 processes, there are only 2"),
        (["-n", "2", "--timeout", "0", "ring"], "the timeout must be more than 0 s, not 0"),
        (["-n", "2", "--env", "WORD", "ring"], "--env wants NAME=VALUE, not 'WORD'"),
        (["-n", "2", "ring"], "there is no program 'ring'; did you mean ./ring?"),
        (["-n", "2", "./nowhere"], "there is no program './nowhere'"),
        (["-n", "2", "./notes.txt"], "'./notes.txt' is not an executable program"),
        (["-n", "2", "."], "there is no program '.'"),
        (["-n", "2", "./"], "'./' is not an executable program"),
    ],
)
def test_mistakes_get_one_clear_line(built, words, text):
    (built / "notes.txt").touch()
    one_line(plait("run", *words, status=2, cwd=built), f"plait: {text}")


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "missing command"),
        (["--bogus"], "there is no option '--bogus'"),
        (["bogus"], "no such command 'bogus'"),
        (["run"], "missing argument 'PROGRAM"),
        (["run", "--bogus", "true"], "there is no option '--bogus'"),
        (["run", "--procesess=3", "true"], "there is no option '--procesess'; did you mean --processes?"),
        (["run", "-n", "many", "true"], "invalid value for '-n'"),
        (["bench", "--bogus"], "there is no option '--bogus'\n"),
        (["bench", "--qick"], "there is no option '--qick'; did you mean --quick?"),
        (["bench", "--repetitions", "0"], "invalid value for '--repetitions'"),
        (["bench", "nothing-of-the-kind"], "there is no benchmark 'nothing-of-the-kind' (plait bench --list"),
        (["compare"], "missing argument 'deck'"),
        (["compare", "nowhere.toml"], "there is no deck nowhere.toml\n"),
        (["compare", "decks/dukt.toml"], "there is no deck decks/dukt.toml; did you mean decks/duct.toml?"),
        (["compare", "decks/duct.toml", "--model", "reduce"], "plait-lbm has no model 'reduce' (it has"),
        (["compare", "decks/duct.toml", "--minutes", "-1"], "minutes must be more than 0"),
        (["report", "a", "b", "c"], "a report is of one folder or of two, not 3"),
    ],
)
def test_wrong_words_get_one_clear_line(words, text):
    done = plait(*words, status=2, cwd=ROOT)
    assert text in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "", done.stderr


def test_mpich_says_that_a_folder_with_a_space_is_not_for_it():
    with pytest.raises(mpis.MpiError, match="move the checkout, or take --mpi openmpi"):
        mpis.Mpich("mpich", Path("/home/a user/.mpi/mpich")).compiler("c", ["ring.c"])


def test_version_of_plait_and_of_libplait():
    release = re.search(r"project\(plait VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    ours, library = plait("--version").stdout.splitlines()
    assert re.fullmatch(rf"plait {release} \(\S+\)", ours)
    assert library == f"libplait {release} for {MPI.title} {MPI.version}"


@pytest.mark.parametrize("words", [["bench", "--list"], ["--version"], ["info", "--settings"], ["run", "echo", "x"]])
def test_a_full_disk_is_one_line(words):
    line = [ROOT / "plait", "--mpi", MPI.name, *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    one_line(done, "No space left on device")


def test_unknown_mpi_gets_the_nearest_name():
    done = subprocess.run([ROOT / "plait", "--mpi", "opnmpi", "info"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    one_line(done, "there is no MPI 'opnmpi'; did you mean openmpi?")


def test_setup_refuses_an_unknown_mpi():
    done = subprocess.run([ROOT / "scripts/setup", "lam"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    one_line(done, "there is no MPI 'lam'")


# ---- plait info


def test_info_tells_what_was_tried():
    """2 x 1"""
    facts = json.loads(plait("info", "--json").stdout)
    assert facts["mpi"]["name"] == MPI.name
    assert facts["mpi"]["version"] in facts["mpi"]["library"]
    assert facts["mpi"]["thread_level"] in ("single", "funneled", "serialized", "multiple")
    assert facts["mpi"]["abi"] is (MPI.family != "openmpi" and MPI.version.startswith(("5", "2021")))
    assert facts["machine"]["usable_threads"] == len(os.sched_getaffinity(0))
    assert facts["works"]["shared_windows"] == "yes"
    assert "thread level" in plait("info").stdout


# ---- the launcher's noise


def filtered(kind, *chunks):
    noise = launch._Filter(kind.noise)
    return b"".join([*map(noise.feed, chunks), noise.flush()])


BANNER = (
    b"\n" + b"=" * 83 + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 7 RUNNING AT n0\n=   EXIT CODE: 9\n"
    b"=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" + b"=" * 83 + b"\n"
    b"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
)


@pytest.mark.parametrize("size", [1, 7, 10000])
def test_filter_takes_the_banner_out_however_it_is_cut(size):
    data = b"first\n" + BANNER + b"last without end"
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    assert filtered(mpis.Mpich, *chunks) == b"first\nlast without end"


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\n\n\n", b"=" * 83 + b"\n", b"\n" + b"=" * 83 + b"\nresults\n", b"\0\n", b"YOUR\n", b"a\0b", b"=", b"\xff\xfe\n"]
)
@pytest.mark.parametrize("kind", [mpis.Mpich, mpis.OpenMpi, mpis.IntelMpi])
def test_filter_lets_everything_else_through(kind, data):
    assert filtered(kind, *(data[i : i + 1] for i in range(len(data)))) == data


def test_filter_takes_out_a_line_in_the_midst_of_a_banner():
    banner = b"-" * 74 + b"\n"
    cut = banner + b"[vm:1] PMIX ERROR: PMIX_ERR_UNREACH in file server.c at line 1\n"
    cut += b"prterun detected that one or more processes exited with non-zero status,\nthus causing ...\n" + banner
    assert filtered(mpis.OpenMpi, b"ours\n", cut, b"more\n") == b"ours\nmore\n"


@pytest.mark.parametrize("size", [1, 7, 10000])
def test_filter_takes_out_what_a_launcher_that_was_killed_had_begun(size):
    data = b"ours\n[proxy:1@n1] [proxy:2@n2] HYD_x (a.c:1): demux engine error waiting for event\n[proxy:1@n1] "
    assert filtered(mpis.Mpich, *(data[i : i + size] for i in range(0, len(data), size))) == b"ours\n"


def test_filter_hands_a_progress_bar_on_at_once():
    noise = launch._Filter(mpis.OpenMpi.noise)
    assert noise.feed(b"\r[--- 10 %") == b"\r[--- 10 %"
    assert noise.feed(b"\r[=== 20 %") == b"\r[=== 20 %"
