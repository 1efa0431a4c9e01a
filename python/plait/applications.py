"""The applications that `plait compare` runs, and what is different between them."""

from __future__ import annotations

from dataclasses import dataclass, field

NO_CLUSTER = "OpenMP over several nodes is not built here: it wants gcc 12 or newer on x86-64"


@dataclass(frozen=True)
class Application:
    program: str
    benchmark: str  # as the results name its comparisons
    table: str  # of the deck, that only its decks have
    several: tuple[str, ...]  # models that run as processes of several threads,
    one_thread: tuple[str, ...]  # as processes of one,
    one_process: tuple[str, ...] = ()  # in one process
    programs: dict[str, str] = field(default_factory=dict)  # models that are programs of their own
    other_names: dict[str, str] = field(default_factory=dict)  # that models have
    reserved: tuple[str, ...] = ()  # models that keep a thread for communication alone
    overlapping: dict[str, int] = field(default_factory=dict)  # from how many threads a process on they are not the same as another model
    base: str = ""  # the model that the others are compared with
    base_title: str = ""
    parts: tuple[str, ...] = ()  # that a step's time is made of
    halo: bool = False  # what is exchanged has a time of its own
    limit: bool = False  # that memory sets: the program measures it
    rate: str = ""  # the key of the updates a second
    writes: tuple[str, ...] = ()  # models that write fields
    short: tuple[str, ...] = ()  # options of runs that are only measured
    not_reordered: tuple[str, ...] = ()  # options of runs whose ranks stay in the launcher's order
    least_seconds: float = 0.0  # that a run should take, where steps are short
    whole: str = ""  # what the run of the whole deck is called
    missing: str = ""  # what is not known without it

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.one_process, *self.one_thread, *self.several)))

    @property
    def times(self) -> tuple[str, ...]:
        return ("step_ms", *(("halo_ms",) if self.halo else ()), *(f"{part}_ms" for part in self.parts))

    def can_run(self, model: str, threads: int) -> bool:
        return threads > 1 or model not in self.reserved

    def tells_something(self, model: str, processes: int, threads: int) -> bool:
        """Whether a row is worth its time where nobody asks for the model: what overlaps communication needs some to overlap."""
        return model not in self.overlapping or (processes > 1 and threads >= self.overlapping[model])

    def program_of(self, model: str) -> str:
        return self.programs.get(model, self.program)


_HYBRID = (
    "masteronly",
    "funneled-reserved",
    "funneled-balanced",
    "multiple",
    "multiple-reserved",
    "multiple-balanced",
    "partitioned",
    "gaspi",
    "gaspi-shared",
    "threadcomm",
)
LBM = Application(
    "plait-lbm",
    "compare",
    "lattice",
    several=_HYBRID,
    one_thread=("pure-mpi",),
    other_names={"funneled": "funneled-balanced"},
    reserved=("funneled-reserved", "multiple-reserved"),
    # Of two or three threads multiple-reserved has one that communicates; of one, multiple-balanced.
    overlapping={"funneled-reserved": 2, "multiple-reserved": 4, "multiple-balanced": 2},
    base="pure-mpi",
    base_title="pure MPI",
    parts=("compute", "pack", "wait", "unpack"),
    halo=True,
    limit=True,
    rate="mlups",
    # Threads that are ranks cannot open a file together.
    writes=("pure-mpi", *_HYBRID[:-1]),
    short=("--no-output",),
    not_reordered=("--no-reorder",),
    whole="flow",
    missing="no permeability",
)
HEAT = Application(
    "plait-heat",
    "compare-heat",
    "plate",
    several=("hybrid", "cluster"),
    one_thread=("mpi", "cluster"),
    one_process=("openmp",),
    programs={"cluster": "plait-heat-cluster"},
    base="mpi",
    base_title="MPI",
    rate="mups",
    least_seconds=0.3,
    whole="run",
    missing="how far the plate is from its steady state is not known",
)


def of_deck(content: dict) -> Application:
    return HEAT if HEAT.table in content else LBM
