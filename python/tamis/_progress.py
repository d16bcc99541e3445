"""Progress of long work: a bar of tqdm's where it is installed, also in notebooks, else lines on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any

try:
    from tqdm.auto import tqdm
except ImportError:
    tqdm = None


class Bar:
    """Shows the stages of one piece of work. The core calls it, ten times a second at most."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage: tuple[str, int | None] | None = None
        self._done, self._since, self._said = 0, 0.0, 0.0

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins."""
        self._stage, self._done, self._since = (stage, total), 0, time.monotonic()
        self._said = self._since
        if tqdm is not None:
            self._bar = tqdm(total=total, desc=stage, leave=True)
        else:
            self._say(stage)

    def add(self, _: str, steps: int) -> None:
        """So many steps more are done."""
        if self._stage is None:
            return
        self._done += steps
        if self._bar is not None:
            self._bar.update(steps)
            return
        now = time.monotonic()
        if now - self._said < 1:
            return
        self._said = now
        stage, total = self._stage
        left = ""
        if total and self._done:
            left = f", {(now - self._since) * max(total - self._done, 0) / self._done:.0f} s left"
        self._say(f"{stage}: {self._done}" + (f" of {total}{left}" if total else ""))

    def finish(self, _: str, __: int | None) -> None:
        """The stage is over."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._stage = None

    @staticmethod
    def _say(text: str) -> None:
        sys.stderr.write(f"[tamis] {text}\n")
