"""Progress of long work."""

from __future__ import annotations

from typing import Callable, Optional, Union

Progress = Union[None, bool, Callable[[float], object]]


class Bar:
    """A tqdm bar of the finished share."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=100, unit="%")
        self._done = 0

    def __call__(self, share: float) -> None:
        percent = int(share * 100)
        if percent > self._done:
            self._bar.update(percent - self._done)
            self._done = percent
        if share >= 1.0:
            self._bar.close()


def reporter(progress: Progress) -> Optional[Callable[[float], object]]:
    """Returns the function that receives the finished share, from 0 to 1; None for no progress."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    return progress
