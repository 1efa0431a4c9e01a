"""Which shapes a comparison runs, how many steps, and how often, within the time it has."""

from __future__ import annotations

from collections.abc import Sequence

from plait.applications import LBM, Application
from plait.launch import require_shape
from plait.machine import numa_domains
from plait.results import Row

MODELS = LBM.models
# More are a mistake rather than a measurement.
MOST_THREADS_A_CORE = 32
LEAST_STEPS, GOOD_STEPS, MOST_STEPS, MOST_SHORT_STEPS = 20, 50, 100, 1000


def shapes(
    cores: int, models: Sequence[str] = (), domains: int | None = None, application: Application = LBM, asked: bool = False
) -> list[Row]:
    """A row for every model and shape that fits `cores` cores in `domains` NUMA domains.

    On fewer than four cores a hybrid model that uses all of them in one process has no neighbour to talk to. There,
    rows with twice as many threads as cores show what its halo exchange costs; their step times compare with nothing.
    Where the user has `asked` for the models, they have every row that they can run; else those that tell something.
    """

    def chosen(some: Sequence[str]) -> list[str]:
        return [model for model in some if not models or model in models]

    hybrids = chosen(application.several)
    rows = [Row(model, 1, cores) for model in chosen(application.one_process)]
    rows += [Row(model, cores, 1) for model in chosen(application.one_thread)]
    counts = [1]
    if cores >= 4:
        counts.append(2)
        domains = domains or numa_domains()
        if 2 < domains < cores:
            counts.append(domains)
    rows += [Row(model, count, cores // count) for count in counts for model in hybrids]
    if cores < 4:
        rows += [Row(model, 2, cores, oversubscribed=True) for model in hybrids]
    for row in rows:
        row.application = application

    def fits(row: Row) -> bool:
        if asked:
            return application.can_run(row.model, row.threads)
        return application.tells_something(row.model, row.processes, row.threads)

    return list({row.name: row for row in rows if fits(row)}.values())


def on_nodes(rows: Sequence[Row], hosts: int) -> tuple[list[Row], list[Row]]:
    """The rows that have a process for each of so many nodes, and those that have too few. Raises MpiError where none has enough."""
    require_shape(max(row.processes for row in rows), 1, hosts)
    for row in rows:
        row.hosts = hosts
    return [row for row in rows if row.processes >= hosts], [row for row in rows if row.processes < hosts]


def plan(rows: Sequence[Row], seconds: float, repeats: int) -> int:
    """Sets how many rounds each row runs and returns the number of steps, the same for all.

    First fewer rounds of oversubscribed rows, then fewer of all, rather than too few steps.
    """
    # More where they are short.
    enough = max(row.application.least_seconds / max(1e-9, row.step_s) for row in rows)
    most = min(max(MOST_STEPS, enough), MOST_SHORT_STEPS)
    choices = [(repeats, few) for few in range(repeats, 0, -1)] + [(few, 1) for few in range(repeats - 1, 0, -1)]
    for least in (GOOD_STEPS, LEAST_STEPS):
        for full, oversubscribed in choices:
            steps = _steps(rows, seconds, full, oversubscribed)
            if steps >= least:
                break
        if steps >= least:
            break
    for row in rows:
        row.rounds = oversubscribed if row.oversubscribed else full
        if row.rounds < repeats:
            row.note = f"only {row.rounds} of {repeats} rounds, to keep within the time"
    # Even: two successive steps make one sample.
    return int(min(most, max(LEAST_STEPS, steps))) // 2 * 2


def _steps(rows: Sequence[Row], seconds: float, full: int, oversubscribed: int) -> float:
    weights = [(oversubscribed if row.oversubscribed else full, row) for row in rows]
    free = seconds - sum(times * row.overhead_s for times, row in weights)
    return free / max(1e-9, sum(times * row.step_s for times, row in weights))
