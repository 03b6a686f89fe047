"""Contents of datasets, to compare them."""

import pathlib


def contents(dataset):
    """Returns the bytes of every file by its name."""
    files = [path for path in pathlib.Path(dataset).rglob("*") if path.is_file()]
    return {str(path.relative_to(dataset)): path.read_bytes() for path in files}
