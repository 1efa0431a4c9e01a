"""The catalogue of benchmarks: what each answers, which jobs it is made of on a machine, and what of it can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from plait import applications, launch, plan
from plait.error import PlaitError
from plait.guess import did_you_mean

# What plait carries, and where the sides are jobs of their own: the MPI without libplait, and an unchanged program that it carries.
COMMUNICATORS, ALONE, CARRIED = "PLAIT_COMMUNICATORS", "mpi", "carried"
LBM = "plait-lbm"
HEAT, HEAT_CLUSTER = "plait-heat", "plait-heat-cluster"


class BenchError(PlaitError):
    """Something the user can mend; its text is one clear line."""


@dataclass(frozen=True)
class Choice:
    """What the user asked for; None is the benchmark's own choice."""

    quick: bool = False
    sizes: tuple[int, ...] | None = None
    threads: tuple[int, ...] | None = None
    processes: tuple[int, ...] | None = None
    hosts: tuple[int, ...] | None = None
    repetitions: int | None = None
    seconds: float | None = None  # of one measurement


@dataclass(frozen=True)
class Shape:
    processes: int
    threads: int
    hosts: int = 1
    model: str = ""  # of plait-lbm and plait-heat
    side: str = ""  # ALONE or CARRIED, where these are jobs of their own
    schedule: str = ""  # of plait-heat
    delay: float = 0  # microseconds, one way, of what goes between nodes

    @property
    def busy(self) -> int:
        return self.processes * self.threads


@dataclass(frozen=True)
class Job:
    """One launch of a program; several with the same benchmark are its sides or turns."""

    benchmark: Benchmark
    shape: Shape
    arguments: tuple[str, ...]
    turn: int
    expected: float  # seconds, roughly
    size: int = 0  # of plait-lbm's lattice, plait-heat's plate
    sample: int = 1  # steps of plait-heat in one

    @property
    def key(self) -> str:
        """The name of its file, without the ending."""
        shape = self.shape
        words = [self.benchmark.name, shape.model, shape.schedule.replace(",", "-"), shape.side]
        words += [f"{shape.processes}x{shape.threads}", f"h{shape.hosts}"]
        words += [f"d{launch.microseconds(shape.delay)}"] if shape.delay else []
        words += [str(self.size)] if self.size else []
        return "-".join(filter(None, [*words, f"turn{self.turn}"]))

    @property
    def program(self) -> str:
        if self.benchmark.is_heat and self.shape.model == "cluster":
            return HEAT_CLUSTER
        return self.benchmark.program or f"bench-{self.benchmark.name}"

    @property
    def preloads(self) -> bool:
        return self.shape.side == CARRIED

    @property
    def environment(self) -> dict[str, str]:
        return {COMMUNICATORS: "all" if self.preloads else "none"} if self.shape.side else self.benchmark.environment


@dataclass(frozen=True)
class Benchmark:
    name: str
    what: str
    group: str
    sizes: tuple[int, ...]  # in full
    quick_sizes: tuple[int, ...]
    shapes: Callable[[int, bool], list[Shape]]  # of so many cores; whether quickly
    size_means: str = "bytes"
    size_option: str = "--sizes"
    multiple_of: int = 8
    seconds: float = 0.02  # of one measurement
    turns: int = 1  # launches of each job in turn with the others
    sides: int = 6
    processes: tuple[int, int] = (2, 1 << 20)  # least, most
    even: bool = False
    program: str = ""  # without: bench- and the name
    steps: int = 2  # of plait-lbm in a sample, of which it has two at least
    extra: Callable[[Shape], list[str]] = field(default=lambda shape: ["-t", str(shape.threads)])
    also: Callable[[Shape], list[Shape]] = lambda shape: []  # shapes that this one is compared with
    environment: dict[str, str] = field(default_factory=dict)

    def jobs(self, cores: int, choice: Choice) -> list[Job]:
        sizes = choice.sizes or (self.quick_sizes if choice.quick else self.sizes)
        if self.sizes and (bad := [n for n in sizes if n < self.least_size or n % self.multiple_of]):
            wanted = f"multiples of {self.multiple_of}" if self.multiple_of > 1 else "numbers"
            raise BenchError(f"{self.name} has no size {bad[0]}: its sizes are {wanted} from {self.least_size} on ({self.size_means})")
        shapes = self._shapes(cores, choice)
        seconds = choice.seconds or self.seconds
        rounds = choice.repetitions or (7 if choice.quick else 9)
        turns = min(rounds, self.turns, 2 if choice.quick else self.turns)
        found = [job for turn in range(1, turns + 1) for shape in shapes for job in self._of_shape(shape, sizes, turn, rounds, seconds)]
        return sorted(found, key=lambda job: (job.turn, job.size))  # jobs that are compared follow upon each other

    @property
    def is_lbm(self) -> bool:
        return self.program == LBM

    @property
    def is_heat(self) -> bool:
        return self.program == HEAT

    @property
    def is_application(self) -> bool:
        return self.is_lbm or self.is_heat

    @property
    def least_size(self) -> int:
        least = {"bytes": self.multiple_of if self.multiple_of > 1 else 0, "sites along a side": 8, POINTS: LEAST_POINTS}
        return least.get(self.size_means, 1)

    def _of_shape(self, shape: Shape, sizes: tuple[int, ...], turn: int, rounds: int, seconds: float) -> Iterable[Job]:
        if self.is_lbm:
            for size in sizes:
                steps = self.steps * rounds + 2
                arguments = (
                    "decks/box.toml",
                    "--model",
                    shape.model,
                    "--set",
                    f"lattice.size=[{size},{size},{size}]",
                    "--steps",
                    str(steps),
                    "--no-output",
                    "--no-limit",
                    "--quiet",
                )
                yield Job(self, shape, arguments, turn, 1.5 + steps * size**3 * 1.5e-8 * (1 + shape.hosts), size)
            return
        if self.is_heat:
            yield from (_of_plate(self, shape, size, turn, rounds) for size in sizes if shape.schedule == STATIC or size <= MOST_SCATTERED)
            return
        sized = [self.size_option, ",".join(map(str, sizes))] if self.sizes else []
        arguments = (*self.extra(shape), *sized, "--rounds", str(rounds), "--time", f"{seconds:g}")
        measurements = self.sides * max(1, len(sizes) if self.sizes else 1) * (rounds + 3)
        yield Job(self, shape, arguments, turn, 1.0 + shape.hosts + measurements * seconds)

    def _shapes(self, cores: int, choice: Choice) -> list[Shape]:
        usual = self.shapes(cores, choice.quick)
        for count in choice.processes or ():
            self._check_processes(count, cores)
        chosen = []
        for shape in usual:
            if shape.model == "openmp" and self.processes != (1, 1):  # what the others are held against
                chosen.append(shape)
                continue
            for processes in choice.processes or (shape.processes,):
                for threads in (1,) if shape.model in ("pure-mpi", "mpi") else choice.threads or (shape.threads,):
                    for hosts in choice.hosts or (shape.hosts,):
                        delay = shape.delay if hosts > 1 else 0
                        one = replace(shape, processes=processes, threads=threads, hosts=hosts, delay=delay)
                        chosen += [one, *self.also(one)]
        chosen = [shape for shape in dict.fromkeys(chosen) if applications.LBM.can_run(shape.model, shape.threads)]
        for shape in chosen:
            if shape.hosts > shape.processes:
                raise BenchError(f"{self.name}: {shape.hosts} hosts need at least {shape.hosts} processes, not {shape.processes}")
            if shape.busy > (most := plan.MOST_THREADS_A_CORE * cores):
                raise BenchError(
                    f"{self.name}: {shape.processes} × {shape.threads} are too many for {cores} cores; at most {most} threads in all"
                )
        return chosen

    def _check_processes(self, count: int, cores: int) -> None:
        least, most = self.processes
        if not least <= count <= most:
            wanted = str(least) if least == most else f"{least} or more"
            raise BenchError(f"{self.name} takes {wanted} process{'es' if most > 1 else ''}, not {count}")
        if self.even and count % 2:
            raise BenchError(f"{self.name} takes an even number of processes, not {count}")
        if count > plan.MOST_THREADS_A_CORE * cores:
            raise BenchError(f"{count} processes are too many for {cores} cores; at most {plan.MOST_THREADS_A_CORE * cores}")


# ---- plait-heat

POINTS, LEAST_POINTS = "points along a side", 20
STATIC, SCHEDULES = "static", ("static,1", "static,10", "static,50", "dynamic")
# Schedules that give processes rows here and there let most of the plate travel in each step: a larger one takes minutes.
MOST_SCATTERED = 1000


def _of_plate(benchmark: Benchmark, shape: Shape, size: int, turn: int, rounds: int) -> Job:
    """Small plates take more steps a sample, as a step may be near the clock's resolution."""
    scattered = shape.schedule != STATIC
    sample = 1 if scattered else max(3, min(500, 4_000_000 // size**2))
    steps = sample * rounds + 2
    # Most of a scattered plate travels.
    each = size**2 * (3e-8 if scattered else 1e-9) + 1e-4 * shape.hosts
    words = ["--model", shape.model, "--set", f"plate.size={size}", "--set", f'run.schedule="{shape.schedule}"']
    arguments = ("decks/heat-1000.toml", *words, "--steps", str(steps), "--quiet")
    return Job(benchmark, shape, arguments, turn, 0.2 + 0.2 * shape.hosts + steps * each, size, sample)


# ---- shapes: which processes x threads, on how many simulated nodes


def _pair(cores: int, quick: bool) -> list[Shape]:
    threads = max(2, cores // 2)
    return [Shape(2, threads)] if quick else [Shape(2, threads), Shape(2, threads, 2)]


def _pairs(cores: int, quick: bool) -> list[Shape]:
    threads = max(2, cores // 4)
    return [Shape(4, threads)] if quick else [Shape(4, threads), Shape(4, threads, 2)]


def _doubling(most: int) -> list[int]:
    return [*(2**k for k in range(most.bit_length()) if 2**k < most), most]


def _by_threads(cores: int, quick: bool) -> list[Shape]:
    most = max(2, cores // 2)
    return [Shape(2, t) for t in _doubling(most if quick else 2 * most)] + ([] if quick else [Shape(2, t, 2) for t in _doubling(most)])


def _one_process(cores: int, _: bool) -> list[Shape]:
    return [Shape(1, t) for t in _doubling(2 * cores)]


def _orthogonal(cores: int, _: bool) -> list[Shape]:
    return [Shape(2, max(2, cores // 2), 2)]


def _overlap(cores: int, quick: bool) -> list[Shape]:
    threads = max(2, cores // 2)
    # With a delay communication waits, and needs no core for that.
    apart = Shape(2, threads, 2, delay=500)
    return [apart] if quick else [apart, Shape(2, threads, 2), Shape(2, threads)]


def _as_processes(shape: Shape) -> list[Shape]:
    return [Shape(shape.busy, 1, shape.hosts, delay=shape.delay)]


def _preloaded(shape: Shape) -> list[Shape]:
    return [replace(shape, side=CARRIED)]


def _models(cores: int, _: bool) -> list[Shape]:
    return [Shape(row.processes, row.threads, 1, row.model) for row in plan.shapes(cores)]


def _scaling(cores: int, quick: bool) -> list[Shape]:
    each = max(2, cores // 4)
    models = ("masteronly", "multiple") if quick else [model for model in plan.MODELS if model != "pure-mpi"]
    return [
        shape
        for hosts in (1, 2, 4)
        for shape in (Shape(each * hosts, 1, hosts, "pure-mpi"), *(Shape(hosts, each, hosts, model) for model in models))
        if applications.LBM.tells_something(shape.model, shape.processes, shape.threads)
    ]


def _strong_halo(_: int, quick: bool) -> list[Shape]:
    return [
        Shape(processes, 1, hosts, model)
        for processes, hosts in ((1, 1), (2, 2), (4, 2), *(() if quick else ((8, 4),)))
        for model in ("masteronly", "multiple", "partitioned", "gaspi", "gaspi-shared")
    ]


def _plate_by_threads(cores: int, _: bool) -> list[Shape]:
    return [Shape(1, t, 1, "openmp", schedule=STATIC) for t in _doubling(max(2, cores))]


def _plate_by_nodes(_: int, quick: bool) -> list[Shape]:
    found = [Shape(1, 1, 1, "openmp", schedule=STATIC)]
    for hosts in (2,) if quick else (2, 4):
        found.append(Shape(hosts, 1, hosts, "mpi", schedule=STATIC))
        found += [Shape(hosts, 1, hosts, "cluster", schedule=schedule) for schedule in (STATIC, *SCHEDULES)]
    return found


def _only(*sides: str) -> list[str]:
    return [word for side in sides for word in ("--only", side)]


SIZES, QUICK_SIZES = (8, 64, 512, 4096, 16384, 65536, 262144, 1048576), (8, 1024, 16384, 262144)
MIXED = "mixed-mode"
COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")


def _mixed(name: str, what: str, shapes=_pair, **more) -> Benchmark:
    return Benchmark(name, what, MIXED, more.pop("sizes", SIZES), more.pop("quick_sizes", QUICK_SIZES), shapes, **more)


ALL = (
    _mixed("pingpong", "round trip between the threads of two processes", processes=(2, 2)),
    _mixed("pingping", "two processes' threads send to each other at once", processes=(2, 2)),
    _mixed("multipingpong", "round trips of several pairs of processes at once", _pairs, even=True),
    _mixed("multipingping", "several pairs of processes send to each other at once", _pairs, even=True),
    _mixed("halo", "processes in a ring exchange messages with both neighbours"),
    _mixed("barrier", "all threads of all processes wait for each other", sizes=(), quick_sizes=()),
    _mixed("reduce", "sums over all threads, at one process", sides=4),
    _mixed("allreduce", "sums over all threads, for every thread", sides=4),
    _mixed("bcast", "from one process to every thread", sides=4),
    _mixed("scatter", "from one process to every thread its own", sides=4),
    _mixed("gather", "from every thread to one process", sides=4),
    _mixed("alltoall", "from every thread to every thread", sides=4, sizes=SIZES[:-1], quick_sizes=(8, 1024, 16384)),
    Benchmark(
        "msgrate",
        "messages a second by number of threads: one communicator, one for each thread, streams",
        "messages",
        (8,),
        (8,),
        _by_threads,
        processes=(2, 2),
        multiple_of=1,
        seconds=0.1,
    ),
    Benchmark(
        "latency",
        "latency and bandwidth between two processes, beside the machine's limits",
        "messages",
        (8, 64, 512, 4096, 32768, 262144, 1048576, 4194304, 16777216),
        (8, 1024, 65536, 1048576),
        lambda cores, quick: [Shape(2, 1)] if quick else [Shape(2, 1), Shape(2, 1, 2)],
        processes=(2, 2),
        multiple_of=1,
        extra=lambda shape: [],
    ),
    Benchmark(
        "partitioned",
        "one message filled by several threads: masteronly, multiple, the MPI's own partitioned calls, plait's",
        "messages",
        tuple(1024 << k for k in range(0, 15, 2)),
        (1024, 16384, 262144),
        lambda cores, quick: [Shape(2, t) for t in ([2] if quick else _doubling(max(2, cores)))],
        processes=(2, 2),
        sides=5,
    ),
    Benchmark(
        "partitioned-heap",
        "the same from and to malloc's memory",
        "messages",
        tuple(1024 << k for k in range(0, 15, 2)),
        (1024, 16384, 262144),
        lambda cores, quick: [Shape(2, t) for t in ([2] if quick else [1, 2])],
        processes=(2, 2),
        sides=5,
        program="bench-partitioned",
        extra=lambda shape: ["-t", str(shape.threads), "--heap"],
    ),
    Benchmark(
        "threadcomm",
        "latency, bandwidth and collective calls of threads as ranks against processes",
        "messages",
        (8, 64, 1024, 8192, 65536, 524288, 2097152),
        (8, 1024, 65536, 524288),
        lambda cores, quick: [Shape(1, 2)],
        also=_as_processes,
        processes=(1, 1 << 20),
        extra=lambda shape: ["-t", str(shape.threads if shape.threads > 1 else 0)],
        turns=3,
    ),
    Benchmark(
        "collectives",
        "collective calls of unchanged programs: the MPI's own, and carried by plait",
        "unchanged",
        (8, 1024, 8192, 65536, 524288, 4194304),
        (8, 8192, 262144),
        lambda cores, quick: [Shape(2, 1), Shape(4 * cores, 1)],
        sides=12,
        extra=lambda shape: [],
        environment={COMMUNICATORS: "all"},
    ),
    Benchmark(
        "carried-rate",
        "messages a second of unchanged programs, by number of threads: the MPI's own, and carried by plait",
        "unchanged",
        (8,),
        (8,),
        lambda cores, quick: [*_by_threads(cores, quick), *([Shape(2, 1, 2)] if quick else [])],
        processes=(2, 2),
        multiple_of=1,
        seconds=0.03,
        sides=7,
        program="bench-msgrate",
        extra=lambda shape: ["-t", str(shape.threads), *_only("mpi", "plait-single", "plait-per-thread", "plait-hints", "raw-ring")],
        environment={COMMUNICATORS: "all"},
    ),
    Benchmark(
        "carried-latency",
        "latency and bandwidth of unchanged programs: the MPI's own, and carried by plait",
        "unchanged",
        (8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216),
        (8, 1024, 65536, 1048576),
        lambda cores, quick: [Shape(2, 1), Shape(2, 1, 2)],
        processes=(2, 2),
        multiple_of=1,
        sides=5,
        program="bench-latency",
        extra=lambda shape: _only("mpi", "plait-ordinary", "hand-over", "memcpy"),
        environment={COMMUNICATORS: "all"},
    ),
    Benchmark(
        "none",
        "messages a second of a program that plait carries nothing for: past libplait, and through it",
        "unchanged",
        (8,),
        (8,),
        lambda cores, quick: [Shape(2, 1), Shape(2, 2)],
        processes=(2, 2),
        multiple_of=1,
        seconds=0.05,
        sides=4,
        program="bench-msgrate",
        extra=lambda shape: ["-t", str(shape.threads), *_only("single", "per-thread")],
        environment={COMMUNICATORS: "none"},
    ),
    Benchmark(
        "carried-halo",
        "plait-lbm in pure MPI: time of the halo exchange, with plait preloaded and without",
        "unchanged",
        (32, 64, 128),
        (24, 48),
        lambda cores, quick: [Shape(max(2, cores), 1, 1, "pure-mpi", ALONE)],
        size_means="sites along a side",
        multiple_of=1,
        processes=(1, 1 << 20),
        program=LBM,
        also=_preloaded,
        # A program has sent some dozens of messages before memory of plait's that they go through is there.
        steps=40,
        turns=3,
    ),
    Benchmark(
        "polling",
        "what a process that computes loses while another polls by MPI_Test: the MPI's own, and carried by plait",
        "unchanged",
        (),
        (),
        lambda cores, quick: [Shape(2, 1), Shape(2 * cores, 1)],
        seconds=0.05,
        sides=3,
        even=True,
        extra=lambda shape: [],
        environment={COMMUNICATORS: "all"},
    ),
    Benchmark(
        "neighbours",
        "start-up, memory and messages of many processes that have six neighbours each, with plait preloaded and without",
        "unchanged",
        (8, 4096, 65536),
        (8,),
        lambda cores, quick: [Shape(min(16 if quick else 64, plan.MOST_THREADS_A_CORE * cores), 1, side=ALONE)],
        processes=(1, 1 << 20),
        sides=1,
        extra=lambda shape: [],
        also=_preloaded,
        turns=3,
    ),
    Benchmark(
        "passive",
        "gets from a process that computes, without and with a progress thread",
        "progress",
        (100, 1000, 10000, 100000),
        (100, 1000, 10000),
        lambda cores, quick: [Shape(2, 2)],
        size_means="microseconds",
        multiple_of=1,
        processes=(2, 2),
        sides=2,
        extra=lambda shape: [],
    ),
    Benchmark(
        "gaspi",
        "GASPI inside a node and between two: notified writes, copies, rates, collective calls, against the MPI and the machine",
        "one-sided",
        SIZES,
        QUICK_SIZES,
        lambda cores, quick: [Shape(2, t, hosts) for hosts in ((1,) if quick else (1, 2)) for t in ((1, 2) if quick else (1, 2, 4))],
        processes=(2, 2),
        sides=4,
    ),
    Benchmark(
        "queue",
        "operations on a queue of the host's, between two processes: messages put there, against streams and the queue's own hand-over",
        "queues",
        SIZES,
        QUICK_SIZES,
        lambda cores, quick: [Shape(2, 1, hosts) for hosts in ((1,) if quick else (1, 2))],
        processes=(2, 2),
        sides=7,
        extra=lambda shape: [],
    ),
    Benchmark(
        "orthogonal",
        "threads against pure MPI between nodes, by message size",
        "nodes",
        SIZES,
        QUICK_SIZES,
        _orthogonal,
        also=_as_processes,
        extra=lambda shape: ["-t", str(shape.threads), "--nodes", str(max(2, shape.hosts))],
        turns=3,
        sides=3,
        even=True,
    ),
    Benchmark(
        "saturation",
        "how many communicating threads fill the link between two nodes",
        "nodes",
        (4096, 65536, 1048576),
        (4096, 262144),
        lambda cores, quick: [Shape(2, max(2 if quick else 4, cores // 2), 2)],
        processes=(2, 2),
        multiple_of=1,
        sides=4,
    ),
    Benchmark(
        "overlap",
        "threads that multiply while others communicate, between nodes, by share of communication, beside theory",
        "nodes",
        (4, 8, 16, 32, 64),
        (8, 32, 64),
        _overlap,
        size_means="planes of each process",
        size_option="--nk",
        multiple_of=1,
        extra=lambda shape: ["-t", str(shape.threads), "--grid", "64x64"],
        seconds=0.1,
        sides=7,
    ),
    Benchmark(
        "reorder",
        "exchange with six neighbours over four simulated nodes, with ranks dealt to these one by one, and reordered",
        "nodes",
        (8, 4096, 65536, 1048576),
        (4096, 65536),
        lambda cores, quick: [Shape(16, 1, 4)],
        processes=(1, 1 << 20),
        sides=2,
        extra=lambda shape: [],
        turns=3,
    ),
    Benchmark(
        "forkjoin",
        "fork and join, barrier and reduction of OpenMP's threads",
        "threads",
        (),
        (),
        _one_process,
        processes=(1, 1),
        sides=4,
    ),
    Benchmark(
        "lending",
        "an uneven decomposition on one node, and an even one, without and with the cores of processes that wait lent to the others",
        "threads",
        (),
        (),
        lambda cores, quick: [Shape(2, max(1, cores // 2))],
        sides=4,
        seconds=0.2,
        extra=lambda shape: [],
        environment={"PLAIT_LEND": "1"},
    ),
    Benchmark(
        "lbm-halo",
        "plait-lbm: time of the halo exchange by lattice size, models and processes × threads",
        "application",
        (32, 64, 128),
        (24, 48),
        _models,
        size_means="sites along a side",
        multiple_of=1,
        processes=(1, 1 << 20),
        program=LBM,
        turns=3,
    ),
    Benchmark(
        "lbm-scaling",
        "plait-lbm: strong scaling over 1, 2 and 4 simulated nodes",
        "application",
        (96,),
        (48,),
        _scaling,
        size_means="sites along a side",
        multiple_of=1,
        processes=(1, 1 << 20),
        program=LBM,
        turns=3,
    ),
    Benchmark(
        "lbm-strong-halo",
        "plait-lbm: time of the halo exchange at strong scaling, by MPI and by GASPI, 1 to 8 processes on up to 4 simulated nodes",
        "application",
        (192,),
        (48,),
        _strong_halo,
        size_means="sites along a side",
        multiple_of=1,
        processes=(1, 1 << 20),
        program=LBM,
        turns=3,
    ),
    Benchmark(
        "heat-threads",
        "plait-heat by OpenMP: speed-up over threads in one process, by size",
        "application",
        (20, 80, 250, 1000),
        (20, 250, 1000),
        _plate_by_threads,
        size_means=POINTS,
        multiple_of=1,
        processes=(1, 1),
        program=HEAT,
        turns=3,
    ),
    Benchmark(
        "heat-nodes",
        "plait-heat: efficiency over simulated nodes, by size and schedule, by OpenMP over all of them and by MPI",
        "application",
        (20, 250, 1000, 3000, 6000),
        (250, 1000),
        _plate_by_nodes,
        size_means=POINTS,
        multiple_of=1,
        processes=(1, 1 << 20),
        program=HEAT,
        turns=2,
    ),
)
BY_NAME = {benchmark.name: benchmark for benchmark in ALL}


def find(names: Iterable[str]) -> list[Benchmark]:
    """Those named, by their own names or their groups'; all without a name."""
    found: list[Benchmark] = []
    for name in names:
        chosen = [b for b in ALL if name in (b.name, b.group)]
        if not chosen:
            raise BenchError(f"there is no benchmark '{name}'{did_you_mean(name, BY_NAME)} (plait bench --list has them all)")
        found += [b for b in chosen if b not in found]
    return found or list(ALL)
