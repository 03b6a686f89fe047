"""Exceptions. Each names the file, the line or the setting, and the fix."""

from __future__ import annotations

import functools
from typing import Any, Optional, Sequence, Tuple


class FullpipeError(Exception):
    """Base of all exceptions of this package."""


class ScenarioError(FullpipeError):
    """A scenario was refused.

    file: name of the file. line and column: place of the mistake, from 1; 0 if the mistake has no place.
    key: the key with the mistake. fix: the mistake and its fix. others: further mistakes as text.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        key: str = "",
        fix: str = "",
        others: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.fix = fix
        self.others = list(others)


class SettingError(FullpipeError, ValueError):
    """A setting or an argument was refused.

    setting: the setting as given. fix: the mistake and its fix.
    """

    def __init__(self, message: str, *, setting: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.setting = setting
        self.fix = fix


class CaptureError(FullpipeError):
    """A file is no capture, or no experiment behaves like the connection of the capture.

    file: name of the capture. fix: the reason.
    """

    def __init__(self, message: str, *, file: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.fix = fix


class ReadError(CaptureError, OSError):
    """A capture could not be opened or read. The capture itself may be valid.

    errno: number of the operating system's error, such as `errno.ENOENT`; None without one.
    """

    def __init__(
        self, message: str, *, file: str = "", fix: str = "", errno: Optional[int] = None
    ) -> None:
        super().__init__(message, file=file, fix=fix)
        self.errno = errno

    def __reduce__(self) -> Tuple[Any, ...]:
        # OSError would pickle itself without these attributes.
        made = functools.partial(type(self), file=self.file, fix=self.fix, errno=self.errno)
        return made, (str(self),)

    def __str__(self) -> str:
        # OSError with an errno would return a text of its own.
        return str(self.args[0])


class SimulationError(FullpipeError):
    """A checker of the simulator found a violation: a mistake of fullpipe, not of the caller."""
