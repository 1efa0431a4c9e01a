"""What `plait bench overlap` has measured, beside theory: docs/benchmarks.md derives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plait.report.curves import Curve, Data, Figure, Line, Point, Shape, Stat, count, shapes

BENCHMARK, BASE = "overlap", "masteronly"
WITHIN = 0.10  # of the theory


def threads_that_communicate(model: str, n: int, m: int) -> int:
    """Of n threads, of which reserved models keep m for it."""
    if model.startswith("funneled"):
        return 1
    return m if model.endswith("reserved") else n


def expected(model: str, n: int, m: int, communication: float, inner: float, rest: float) -> float:
    """How long an iteration takes of which these are masteronly's parts; as bench/overlap.cpp has it."""
    beside = inner * n / (n - m) if model.endswith("reserved") else inner + communication / n
    return max(communication / threads_that_communicate(model, n, m), beside) + rest


def expected_here(model: str, n: int, m: int, communication: float, inner: float, rest: float, fewer: float) -> float | None:
    """The same where n - m threads multiply `fewer` times as long as n, not n / (n - m) times. None: it takes others' speed."""
    if model.endswith("reserved"):
        beside = inner * fewer
    elif model == "funneled-balanced" and m == 1:
        beside = inner + communication * (1 - 1 / max(fewer, 1))
    else:
        return None
    return max(communication / threads_that_communicate(model, n, m), beside) + rest


@dataclass(frozen=True)
class Place:
    """One nk: what masteronly's share of communication is there, and what the other models bring."""

    nk: int
    share: Stat
    epsilon: dict[str, Stat]  # by model
    theory: dict[str, Stat]
    here: dict[str, Stat]  # theory with the speed that the threads which are not reserved have on this machine
    fewer: float | None  # how much longer these take to multiply alone than all do
    oversubscribed: bool

    def deviation(self, model: str) -> float:
        return self.epsilon[model].median / self.theory[model].median - 1

    def is_near(self, model: str) -> bool:
        return abs(self.deviation(model)) <= WITHIN

    def is_near_here(self, model: str) -> bool:
        return abs(self.epsilon[model].median / self.here[model].median - 1) <= WITHIN

    def is_apart(self, model: str) -> bool:
        """Beyond the noise as well."""
        return not self.is_near(model) and self.epsilon[model].differs(self.theory[model])


@dataclass(frozen=True)
class Experiment:
    shape: Shape
    reserved: int
    places: list[Place]  # by share

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(model for place in self.places for model in place.epsilon))

    @property
    def is_shared(self) -> bool:
        """Fewer threads multiply faster than theory has it: they share cores, or memory's bandwidth, with the others."""
        n, m = self.shape.threads, self.reserved
        return any(place.fewer is not None and place.fewer < (1 - WITHIN) * n / (n - m) for place in self.places)


def experiments(data: Data) -> Iterator[Experiment]:
    for shape in shapes(data.of(BENCHMARK)):
        points = [p for p in data.of(BENCHMARK) if p.shape == shape]
        for m in sorted({p.x("reserved") for p in points}):
            here = [p for p in points if p.x("reserved") == m]
            found = [_place(nk, shape.threads, m, [p for p in here if p.x("planes") == nk]) for nk in sorted({p.x("planes") for p in here})]
            if places := sorted((place for place in found if place), key=lambda place: place.share.median):
                yield Experiment(shape, m, places)


def _place(nk: int, n: int, m: int, points: list[Point]) -> Place | None:
    of = {(p.quantity, p.side): p.stat for p in points}
    base, communication, inner = (of.get((quantity, BASE)) for quantity in ("iteration", "communication", "inner"))
    models = [side for quantity, side in of if quantity == "iteration" and side != BASE and ("expected", side) in of]
    if not (base and communication and inner and models):
        return None
    every, unreserved = of.get(("multiply", "all")), of.get(("multiply", "unreserved"))
    fewer = _quotient(unreserved, every).median if every and unreserved else None
    parts = [(c, i, max(0.0, t - c - i)) for t, c, i in zip(base.samples, communication.samples, inner.samples, strict=True)]
    here = {}
    for model in models if fewer else ():
        times = [expected_here(model, n, m, *part, fewer) for part in parts]
        if None not in times:
            here[model] = _quotient(base, Stat(tuple(times)))
    return Place(
        nk,
        _quotient(communication, base),
        {model: _quotient(base, of["iteration", model]) for model in models},
        {model: _quotient(base, of["expected", model]) for model in models},
        here,
        fewer,
        any(p.oversubscribed for p in points),
    )


def _quotient(above: Stat, below: Stat) -> Stat:
    """Round by round: what both have met then cancels."""
    return Stat(tuple(a / b for a, b in zip(above.samples, below.samples, strict=True)))


# ---- the figure


def figures(data: Data) -> Iterator[Figure]:
    for one in experiments(data):
        n, m = one.shape.threads, one.reserved
        found = {model: Curve(model) for model in one.models}
        for place in one.places:
            for model, epsilon in place.epsilon.items():
                found[model].add(_percent(place.share.median), epsilon)
        yield Figure(
            f"{BENCHMARK}/{one.shape}/{m}",
            f"Threads that multiply while {'another communicates' if m == 1 else f'{m} others communicate'}: {one.shape}",
            f"plait-spmv: masteronly's time divided by that of a model (epsilon), nk from {min(p.nk for p in one.places)} to"
            f" {max(p.nk for p in one.places)}. Theory, from masteronly's parts: n threads multiply n times as fast as one, k communicate k"
            " times as fast, and neither slows the other down. No halo: what reserved threads would bring if no row needed others' numbers;"
            f" from {1 - m / n:.3g} to {1 + m * (1 - 1 / n):.3g}.",
            "share of communication in masteronly's time (%)",
            "epsilon",
            found,
            lower_is_better=False,
            linear=True,
            theory=_theory(one),
            oversubscribed=any(place.oversubscribed for place in one.places),
            nodes=one.shape.nodes,
        )


def _theory(one: Experiment) -> list[Line]:
    n, m = one.shape.threads, one.reserved
    alike: dict[tuple, list[str]] = {}
    for model in one.models:
        line = tuple((_percent(p.share.median), p.theory[model].median) for p in one.places if model in p.theory)
        alike.setdefault(line, []).append(model)
    lines = [Line(f"theory: {', '.join(models)}", dict(line), models[0]) for line, models in alike.items()]
    for model in one.models if one.is_shared else ():
        if line := {_percent(p.share.median): p.here[model].median for p in one.places if model in p.here}:
            lines.append(Line(f"at this machine's speed: {model}", line, model))
    bound = {float(c): 1 / expected("multiple-reserved", n, m, c / 100, 1 - c / 100, 0) for c in range(101)}
    return [*lines, Line("theory: reserved, no halo", bound)]


def _percent(share: float) -> float:
    return round(100 * share, 2)


# ---- the sentence


def sentences(data: Data) -> Iterator[str]:
    for one in experiments(data):
        n, m = one.shape.threads, one.reserved
        shares = [100 * place.share.median for place in one.places]
        where = f"({one.shape}, {m} of {n} threads reserved)"
        what = f"Where communication takes {shares[0]:.0f} to {shares[-1]:.0f} % of masteronly's time {where}, epsilon of plait-spmv lies"
        points = [(place, model) for place in one.places for model in place.epsilon]
        apart = [(place, model) for place, model in points if place.is_apart(model)]
        near = sum(place.is_near(model) for place, model in points)
        noisy = len(points) - len(apart) - near
        what += f" within {100 * WITHIN:.0f} % of the theory"
        what += f" in {near} of {len(points)} points" if near < len(points) else " in all models"
        what += f", and in {noisy} no farther from it than the noise" if noisy else ""
        if one.is_shared:
            known = [(place, model) for place, model in points if model in place.here]
            near = sum(place.is_near_here(model) for place, model in known)
            who = f"{count(n - m, 'thread')} {'has' if n - m == 1 else 'have'}"
            what += f"; of the theory with the speed that {who} here, in {near} of {len(known)}"
        if not apart:
            yield f"{what}."
            continue
        reasons: dict[tuple[bool, str], list[tuple[Place, str]]] = {}
        for place, model in apart:
            reasons.setdefault((place.deviation(model) > 0, _reason(place, model, n, m)), []).append((place, model))
        said = "; ".join(_apart(above, why, which) for (above, why), which in reasons.items())
        yield f"{what}. {said[0].upper()}{said[1:]}."


def _apart(above: bool, why: str, which: list[tuple[Place, str]]) -> str:
    nks = ", ".join(str(nk) for nk in sorted({place.nk for place, _ in which}))
    most = 100 * max(abs(place.deviation(model)) for place, model in which)
    models = ", ".join(dict.fromkeys(model for _, model in which))
    return f"{'above' if above else 'below'} it, by up to {most:.0f} %, are {models} at nk {nks}: {why}"


def _reason(place: Place, model: str, n: int, m: int) -> str:
    """Why the machine leaves the theory there, as far as it was measured."""
    if place.deviation(model) > 0:
        if place.fewer is not None and place.fewer < (1 - WITHIN) * n / (n - m):
            why = "threads share cores" if place.oversubscribed else "memory bandwidth is saturated"
            return f"{why}, so that {count(n - m, 'thread')} multipl{'ies' if n - m == 1 else 'y'} nearly as fast as {n}"
        return "threads share cores" if place.oversubscribed else "no reason was measured"
    k, alone = threads_that_communicate(model, n, m), model.replace("multiple", "funneled")
    if (
        k > 1 and alone in place.theory and place.epsilon[model].median >= (1 - WITHIN) * place.theory[alone].median
    ):  # as theory has it of one that communicates
        return f"{k} threads do not communicate {k} times as fast as one"
    if place.oversubscribed:
        return "threads share cores, and messages need one themselves"
    return "the theory leaves out what messages take of a core and how long threads take to meet"
