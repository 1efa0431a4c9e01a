"""soak.py BUILD [SECONDS]: random tests with fresh seeds until one fails, or for so long. Run by scripts/soak."""

import atexit
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from plait import cluster, launch, mpis
from programs import MPI, WITHOUT, has_cluster, run

draw = random.SystemRandom()


class Failure(Exception):
    pass


def launched(pattern, name, *words, processes, hosts, env=()):
    """The numbers that `pattern` finds in what a program under MPI prints at its end."""
    done = run(name, *words, processes=processes, hosts=hosts, timeout=300, status=None, env=env)
    found = re.search(pattern, done.stdout)
    if done.returncode != 0 or not found:
        command = f"-n {processes} --hosts {hosts} {' '.join(env)} {name} {' '.join(map(str, words))}"
        raise Failure(f"{command}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [int(n) for n in found.groups()]


def seed():
    return draw.randrange(1 << 32)


def messages(hosts):
    processes = hosts if hosts > 1 else draw.randint(1, 4)
    bytes_, count = draw.choice([(100, 100_000), (4000, 50_000), (50_000, 20_000), (1 << 22, 3000)])
    if hosts > 1:
        count //= 4
    words = ["--seed", seed(), "--messages", count, "--max-bytes", bytes_]
    if draw.random() < 0.4:
        words += ["--ranks", draw.randint(2, 4), "--streams", draw.randint(1, 2)]
    else:
        words += ["--streams", draw.randint(1, 4), *draw.choice([[], ["--threads"]])]
    without = WITHOUT.get((MPI.name, hosts > 1))
    words += ["--without", without] if without else []
    env = [f"PLAIT_CHANNELS={draw.randint(2, 3)}"] if hosts > 1 and draw.random() < 0.3 else []
    return launched(r"(\d+) messages, \d+ endpoints, all as", "random_p2p", *words, processes=processes, hosts=hosts, env=env)[0]


def collectives(hosts):
    processes = hosts if hosts > 1 else draw.randint(1, 3)
    threads, more = draw.randint(1, 4), draw.choice([0, 0, 1])
    words = ["--seed", seed(), "--calls", 200 if hosts > 1 else 500, "--threads", threads, "--more", more]
    (calls,) = launched(r"(\d+) calls by .*, all as", "random_collectives", *words, processes=processes, hosts=hosts)
    return calls * sum(threads + more * p for p in range(processes))


def meetings(hosts):
    processes, threads = draw.choice([(p, t) for p in (1, 2, 3) for t in (1, 2, 3, 4) if p * t > 1])
    found = launched(r"(\d+) calls by (\d+) ranks: right", "threadcomm_meetings", threads, 1000, processes=processes, hosts=1)
    return found[0] * found[1]


def partitioned(hosts):
    processes = hosts if hosts > 1 else draw.randint(1, 3)
    rounds, most = draw.choice([(1000, 2000), (100, 1 << 16), (20, 1 << 20), (5, 1 << 22)])
    if hosts > 1:
        rounds = max(rounds // 10, 5)
    found = launched(r"(\d+) rounds on (\d+) channels, .*: right", "partitioned", rounds, seed(), most, processes=processes, hosts=hosts)
    return found[0] * found[1]


def completions(hosts):
    chosen = seed()
    env = [f"PLAIT_SEED={chosen}", "GTEST_COLOR=no"]  # Open MPI gives programs a terminal
    launched(r"\[  PASSED  \] (\d+) test", "mpi_grequest", "--gtest_filter=Random.*", processes=1, hosts=1, env=env)
    return 20_000  # calls, tests/mpi/random_test.cpp


class OpenMP:
    """tests/programs/cluster/random.c, compiled for several processes and for one."""

    def __init__(self, folder):
        source = mpis.ROOT / "tests/programs/cluster/random.c"
        self.plain, self.program = folder / "plain", folder / "random"
        compiler = os.environ.get("CC", "gcc").split()
        subprocess.run([*compiler, "-O2", "-fopenmp", str(source), "-o", str(self.plain)], check=True, timeout=120)
        subprocess.run(cluster.line(MPI, "c", ["-O2", str(source), "-o", str(self.program)], False), check=True, timeout=120)

    def expected(self, first, seeds, threads=1):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(
            [self.plain, str(first), str(seeds)], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode != 0:
            raise Failure(f"{self.plain} {first} {seeds}\nexit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def compare(self, first, seeds, processes, threads, hosts=1, env=None):
        expected = self.expected(first, seeds)
        words = [str(self.program), str(first), str(seeds)]
        done = launch.run(MPI, words, processes, threads, hosts, env or {}, 300, capture=True, show_stacks=True)
        if done.returncode != 0 or done.stdout != expected:
            said = done.stdout.splitlines()
            at = next((line for line, right in zip(said, expected.splitlines(), strict=False) if line != right), f"{len(said)} lines")
            settings = " ".join(f"{name}={value}" for name, value in (env or {}).items())
            command = f"{settings} -n {processes} --threads {threads} --hosts {hosts} cluster/random {first} {seeds}"
            raise Failure(f"{command}\nexit status {done.returncode}, differs at: {at}\n{done.stderr}")


@functools.cache
def openmp_programs():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return OpenMP(Path(folder))


def openmp(hosts):
    processes, threads = (hosts, 1) if hosts > 1 else draw.choice([(2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)])
    seeds = 30 if hosts > 1 else 100
    env = {"PLAIT_CLUSTER_MEMORY": "0"} if draw.random() < 0.1 else {}
    openmp_programs().compare(seed(), seeds, processes, threads, hosts, env)
    return seeds


def alone(name):
    """A test that starts no MPI, and says its seed when it fails. Its operations are not counted."""

    def go(hosts):
        env = {**os.environ, "PLAIT_SEED": str(seed())}
        done = subprocess.run([MPI.build / "bin" / name], env=env, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise Failure(f"{name}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
        return 0

    return go


# Test, how often beside the others, may it run on several nodes.
TESTS = {
    "messages": (messages, 8, True),
    "collectives": (collectives, 4, True),
    "meetings": (meetings, 2, False),
    "partitioned": (partitioned, 4, True),
    "completions": (completions, 1, False),
    "openmp": (openmp, 3, True),
    **{
        name: (alone(name), 1, False)
        for name in ("base", "lane_endpoint", "lane_processes", "partitioned_channel", "subteam_random", "transport_ring")
    },
}


def main():
    mpis.Mpi.build = Path(sys.argv[1]).resolve()
    if not has_cluster():
        print("soak: without openmp: libplait_cluster is not built", flush=True)
        del TESTS["openmp"]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    reason = launch.why_no_nodes(MPI)
    print(f"soak: {MPI.name}, {'one node only: ' + reason if reason else 'one to four nodes'}", flush=True)
    runs, operations = Counter(), Counter()
    began = said = time.monotonic()
    failed = None
    try:
        while not failed and time.monotonic() - began < seconds:
            name = draw.choices(list(TESTS), [often for _, often, _ in TESTS.values()])[0]
            test, _, several = TESTS[name]
            hosts = draw.choice([1, 1, 1, 2, 4]) if several and not reason else 1
            try:
                done = test(hosts)
            except Failure as failure:
                failed = failure
                break
            kind = name if hosts == 1 else name + " between nodes"
            runs[kind] += 1
            operations[kind] += done
            if time.monotonic() - said > 60:
                said = time.monotonic()
                print(f"{said - began:8.0f} s  {sum(runs.values()):6d} runs  {sum(operations.values()):12,d} operations", flush=True)
    except KeyboardInterrupt:
        pass
    for kind, n in sorted(operations.items(), key=lambda item: -item[1]):
        print(f"{kind:28} {runs[kind]:6d} runs  {n:14,d} operations")
    failures = 1 if failed else 0
    print(f"in {time.monotonic() - began:.0f} s  {sum(runs.values())} runs, {sum(operations.values()):,d} operations, {failures} failures")
    if failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    os.chdir(mpis.ROOT)
    main()
