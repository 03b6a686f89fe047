"""A self-contained HTML page."""

from __future__ import annotations

import html
import os
import pathlib
from typing import Union


class Page:
    """A page with graphs. A notebook shows it in a frame; `save` writes it to a file."""

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to the file `path`."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        source = html.escape(self.html, quote=True)
        style = "width:100%;height:760px;border:0"
        return f'<iframe srcdoc="{source}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<fullpipe.Page of {len(self.html)} characters>"
