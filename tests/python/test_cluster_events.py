"""The three examples that Intel explained the protocol of Cluster OpenMP by, event by event, against what the engine does.

Nothing is sent without asking here. Numbers are barriers, as in the examples: the engine numbers a process's intervals that have changes,
and their notices say at which barrier they ended. It differs from the examples in two things, both meant:

- Where others have changed a page too, its diff is made at the barrier and not when it is asked for: else it might contain what depends on
  notices that its reader does not know yet (src/cluster/pages.hpp).
- A request names the barrier of the last notice, (0:1) for (0:2) in the second example. Diffs of what was written behind that notice do not
  go along where others have changed the page too: in the third example, to process 2.

The first example has a read at its end here, which shows that the values are right. Each test says its processes.
"""

import collections
import itertools

import pytest
from programs import needs_cluster, run

pytestmark = needs_cluster()

EXAMPLES = {
    1: [
        """
        write 1, trap, twin, written 1, write 2, written 2, notice, diff (0:1), barrier 1
        write 5, trap, ask 1 (0:1), apply 1 (0:1), twin, written 5, notice, barrier 2
        diff (1:2), barrier 3
        """,
        """
        write 5, trap, twin, written 5, write 5, written 5, notice, diff (0:1), barrier 1
        barrier 2
        read 5, trap, ask 0 (0:2), apply 0 (0:2), right 5, barrier 3
        """,
    ],
    2: [
        """
        write 1, trap, twin, written 1, notice, barrier 1
        write 2, written 2, barrier 2
        write 3, written 3, diff (0:1), barrier 3
        write 1, trap, twin, written 1, notice, barrier 4
        diff (1:4), barrier 5
        """,
        """
        barrier 1, barrier 2
        read 1, trap, ask 0 (0:1), apply 0 (0:1), right 1, barrier 3
        barrier 4, barrier 5
        """,
        """
        barrier 1, barrier 2, barrier 3, barrier 4
        read 1, trap, ask 0 (0:4), apply 0 (0:4), right 1, barrier 5
        """,
    ],
    3: [
        """
        write 1, trap, twin, written 1, notice, diff (0:1), barrier 1
        write 2, trap, ask 1 (0:1), apply 1 (0:1), twin, written 2, notice, diff (1:2), barrier 2
        write 3, trap, ask 1 (1:2), apply 1 (1:2), twin, written 3, notice, diff (2:3), barrier 3
        write 1, trap, ask 1 (2:3), apply 1 (2:3), twin, written 1, notice, barrier 4
        diff (3:4), barrier 5
        """,
        """
        write 5, trap, twin, written 5, notice, diff (0:1), barrier 1
        write 1, trap, ask 0 (0:1), apply 0 (0:1), twin, written 1, notice, diff (1:2), barrier 2
        write 6, trap, ask 0 (1:2), apply 0 (1:2), twin, written 6, notice, diff (2:3), barrier 3
        barrier 4, barrier 5
        """,
        """
        barrier 1, barrier 2
        read 1, trap, ask 0 (0:2), ask 1 (0:2), apply 0 (0:2), apply 1 (0:2), right 1, barrier 3
        barrier 4, barrier 5
        """,
        """
        barrier 1, barrier 2, barrier 3, barrier 4
        read 1, trap, ask 0 (0:4), ask 1 (0:3), apply 0 (0:4), apply 1 (0:3), right 1, barrier 5
        """,
    ],
}


def actions(text):
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]


def barriers_of(lines, page):
    """Of one process: the barrier at which it gave notice of an interval's changes of the page."""
    found = collections.defaultdict(int)  # those from before the example
    open_ = []
    for line in lines:
        match line.split():
            case [number, "notice", _, _, interval] if number == page:
                open_.append(int(interval))
            case [".", "barrier", number]:
                found.update(dict.fromkeys(open_, int(number)))
                open_ = []
    return found


def in_order(actions):
    """Answers come in any order."""
    for answers, group in itertools.groupby(actions, lambda action: action.startswith("apply ")):
        found = list(group)
        yield from sorted(found) if answers else found


def as_in_the_examples(lines, process, page, barriers):
    for line in lines:
        place, what, *numbers = line.split()
        if place == ".":
            yield f"{what} {numbers[0]}"
        elif place == page:
            other = int(numbers[0])
            of = barriers[process if other < 0 else other]
            whom = "" if other < 0 else f" {other}"
            yield what if what in ("trap", "twin", "notice") else f"{what}{whom} ({of[int(numbers[1])]}:{of[int(numbers[2])]})"


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_the_engine_does_is_what_the_example_says(tmp_path, example):
    """2, 3 and 4"""
    expected = [actions(text) for text in EXAMPLES[example]]
    run("cluster-events", example, tmp_path, processes=len(expected))
    said = [(tmp_path / str(process)).read_text().splitlines() for process in range(len(expected))]
    # Process 0 alone has other pages than A that anything happens to: the stack of main.
    (page,) = {line.split()[0] for lines in said[1:] for line in lines} - {"."}
    barriers = [barriers_of(lines, page) for lines in said]
    for process, lines in enumerate(said):
        assert list(in_order(as_in_the_examples(lines, process, page, barriers))) == expected[process], f"process {process}"
