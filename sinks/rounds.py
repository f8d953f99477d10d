"""One progress out of several: a pure count in which a silent feed is not hidden by a busy one."""

from collections.abc import Mapping

from infra.stage import Progress


class Rounds:
    """Counts the rounds in which every store that had work got some of it done."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}
        self._finished = 0

    def look(self, found: Mapping[str, Progress]) -> Progress:
        """The progress of all, by that of each store. A store that is new or has no work holds up no round."""
        behind = {
            name for name, progress in found.items() if progress.waiting and self._before.get(name) == progress.finished
        }
        if not behind:
            self._finished += 1
            self._before = {name: progress.finished for name, progress in found.items()}
        return Progress(self._finished, any(progress.waiting for progress in found.values()))
