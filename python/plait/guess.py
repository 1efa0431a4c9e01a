"""What a user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Below, words have little more in common than some letters.
ALIKE = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name that is near, where one is."""
    # The dashes that options begin with make none of them alike.
    names = {name.lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lstrip("-"), list(names), 1, ALIKE)
    return names[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean X?', or nothing."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""
