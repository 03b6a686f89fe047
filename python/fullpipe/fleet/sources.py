"""Names of captures: paths, URIs of pyarrow.fs, and patterns of both.

A pattern has `*` (within a folder), `**` (any folders), `[…]`, and in paths `?`. In a URI, `?` begins
the options of the file system, which every file of the pattern gets.
"""

from __future__ import annotations

import contextlib
import glob
import os
import posixpath
import re
import shutil
import tempfile
import urllib.parse
from typing import Iterable, Iterator, List, Tuple, Union

import pyarrow
import pyarrow.fs

import fullpipe

Path = Union[str, "os.PathLike[str]"]


def absolute(name: Path) -> str:
    """Returns a name that means the same file in every folder; a URI as it is given."""
    name = os.fspath(name)
    return name if "://" in name else os.path.abspath(name)


def shown(name: str) -> str:
    """Returns a name for people: a URI without its options and credentials."""
    return re.sub(r"://[^/@]*@", "://", name.partition("?")[0]) if "://" in name else name


def endpoint_of(source: str) -> str:
    """Returns the server that a URI names; empty for paths and for the usual server."""
    options = urllib.parse.parse_qs(source.partition("?")[2]) if "://" in source else {}
    return ",".join(options.get("endpoint_override", []))


def place_of(source: str) -> Tuple[str, ...]:
    """Returns the file system of a path or URI and the path in it: the same for every spelling."""
    filesystem, path = filesystem_of(source)
    return filesystem.type_name, path, endpoint_of(source)


def is_inside(name: str, folder: str) -> bool:
    """Returns true if a path or URI is the folder or a place in it."""
    (kind, path, server), (other_kind, other, other_server) = place_of(name), place_of(folder)
    is_below = f"{path}/".startswith(f"{other.rstrip('/')}/")
    return is_below and (kind, server) == (other_kind, other_server)


def filesystem_of(source: str) -> Tuple[pyarrow.fs.FileSystem, str]:
    """Returns the file system of a path or URI, and the path in it."""
    if "://" in source:
        try:
            filesystem, path = pyarrow.fs.FileSystem.from_uri(source)
        except pyarrow.ArrowInvalid as error:
            name, fix = shown(source), str(error).replace(source, shown(source))
            raise fullpipe.SettingError(f"{name}: {fix}", setting=name, fix=fix) from None
        return filesystem, path
    return pyarrow.fs.LocalFileSystem(), os.path.abspath(source)


def facts_of(source: str) -> Tuple[pyarrow.fs.FileType, int, int]:
    """Returns the kind of a file, its size in bytes and its time of change in nanoseconds.

    A file whose facts cannot be read counts as missing. Its task later fails with the reason.
    """
    filesystem, path = filesystem_of(source)
    try:
        info = filesystem.get_file_info(path)
    except (OSError, ValueError):  # A name that is not UTF-8 is a ValueError.
        return pyarrow.fs.FileType.NotFound, 0, 0
    if info.type != pyarrow.fs.FileType.File:
        return info.type, 0, 0
    return info.type, info.size or 0, info.mtime_ns or 0


def printable(name: str) -> str:
    """Returns a name with the bytes that are not UTF-8 as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _refuse_unreadable(path: str) -> None:
    """Raises ReadError for a path that no table can hold, or that would block its reader."""
    name, fix = printable(path), ""
    if name != path:
        fix = "the name of the file is not UTF-8; rename the file"
    elif os.path.exists(path) and not os.path.isfile(path):
        fix = "this is not a regular file; copy the capture to one"
    if fix:
        raise fullpipe.ReadError(f"{name}: {fix}", file=name, fix=fix)


@contextlib.contextmanager
def local(source: str) -> Iterator[str]:
    """Gives the path of a file on this machine's disk: the file itself, or a copy for this block.

    A file in an object store is copied, because a capture is read in one pass from disk.
    """
    filesystem, path = filesystem_of(source)
    if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        _refuse_unreadable(path)
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copied = os.path.join(folder, posixpath.basename(path))
        with filesystem.open_input_stream(path) as remote, open(copied, "wb") as copy:
            shutil.copyfileobj(remote, copy, 1 << 20)
        yield copied


def expand(sources: Union[Path, Iterable[Path]]) -> List[str]:
    """Returns the absolute names of the captures, each once, in a fixed order."""
    if not isinstance(sources, (str, os.PathLike)):
        return sorted({name for source in sources for name in expand(source)})
    pattern = os.fspath(sources)
    if "://" in pattern:
        names = _files_of_uri(pattern)
    elif glob.has_magic(pattern) and not os.path.exists(pattern):
        names = [name for name in glob.glob(pattern, recursive=True) if not os.path.isdir(name)]
    else:
        names = [pattern]
    if not names:
        fix = "no file matches this pattern"
        raise fullpipe.SettingError(f"{shown(pattern)}: {fix}", setting="sources", fix=fix)
    return sorted(absolute(name) for name in names)


def _files_of_uri(uri: str) -> List[str]:
    """Returns the URIs of the files that match a URI with a pattern; a URI without one as it is."""
    name, mark, options = uri.partition("?")
    begin = name.index("://") + 3
    parts = name[begin:].split("/")
    fixed = next((place for place, part in enumerate(parts) if re.search(r"[*\[]", part)), None)
    if fixed is None:
        return [uri]
    if fixed == 0 and parts[0]:
        fix = "the bucket or host of a URI cannot be a pattern; write its full name"
        raise fullpipe.SettingError(f"{shown(uri)}: {fix}", setting="sources", fix=fix)
    base = name[:begin] + "/".join(parts[:fixed])
    filesystem, folder = filesystem_of((base or "/") + mark + options)
    rest = parts[fixed:]
    is_deep = len(rest) > 1 or "**" in rest
    selector = pyarrow.fs.FileSelector(folder, allow_not_found=True, recursive=is_deep)
    wanted = re.compile(_expression([urllib.parse.unquote(part) for part in rest]))
    found = []
    for info in filesystem.get_file_info(selector):
        below = posixpath.relpath(info.path, folder)
        if info.type == pyarrow.fs.FileType.File and wanted.fullmatch(below):
            found.append(f"{base}/{urllib.parse.quote(below)}{mark}{options}")
    return found


def _expression(parts: List[str]) -> str:
    """Returns the regular expression of a pattern: `*` ends at a slash, the part `**` does not."""
    text = ""
    for place, part in enumerate(parts):
        is_last = place + 1 == len(parts)
        if part == "**":
            text += ".*" if is_last else "(?:[^/]+/)*"
            continue
        text += "".join(_piece(piece) for piece in re.findall(r"\*|\[!?\]?[^]]*\]|.", part))
        text += "" if is_last else "/"
    return text


def _piece(piece: str) -> str:
    """Returns the regular expression of `*`, of a set such as `[!0-9]`, or of one character."""
    if piece == "*":
        return "[^/]*"
    if len(piece) == 1:
        return re.escape(piece)
    inside = piece[1:-1].replace("\\", "\\\\")
    return f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
