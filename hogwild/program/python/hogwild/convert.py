"""python -m hogwild.convert SRC --out FILE [--target COLUMN ...]: a data cache of what the program itself does not read.

SRC is a file, folder or URL (s3://, https:// and what else fsspec knows) of Parquet, Arrow IPC, JSONL or CSV, by the ending of
its name, or hf:NAME[:SPLIT], a data set of Hugging Face. Further flags are those of hogwild data convert. Neither SRC nor FILE
has to fit in memory: the rows go through a CSV file in FILE's folder, and texts, holes and dates are the table reader's."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from typing import Any, Iterator, List, Optional, Tuple

import hogwild
from hogwild import _check

from ._session import command, need

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc", ".jsonl": "json",
           ".ndjson": "json", ".csv": "csv"}


def batches(source: str) -> Tuple[Any, Iterator[Any]]:
    """The schema of a source, and its batches of Arrow."""
    if source.startswith("hf:"):
        name, _, split = source[3:].partition(":")
        tables = need("datasets", "arrow").load_dataset(name, split=split or "train", streaming=True).with_format("arrow")
        parts = (batch for table in tables.iter(batch_size=1 << 14) for batch in table.to_batches())
        for first in parts:
            return first.schema, itertools.chain([first], parts)
        raise hogwild.Error(f"{source}: no rows")
    need("pyarrow", "arrow")
    import pyarrow.dataset  # type: ignore[import-not-found,import-untyped,unused-ignore]
    path = source.rstrip("/")
    ending = os.path.splitext(path)[1].lower()
    files, away = None, "://" in path
    _check(ending in FORMATS or away and not ending or os.path.isdir(path),
           f"{source}: want one of {', '.join(FORMATS)}, a folder of Parquet files, or hf:NAME")
    _check(away or os.path.exists(path), f"{source}: no such file or folder")
    if away:
        files, path = need("fsspec", "arrow").core.url_to_fs(path)
    data = pyarrow.dataset.dataset(path, format=FORMATS.get(ending, "parquet"), filesystem=files)
    return data.schema, data.to_batches(batch_size=1 << 14)


def convert(source: str, out: str, *flags: str) -> None:
    """Writes the data cache out. flags: of hogwild data convert."""
    schema, parts = batches(source)
    for field in schema:
        _check(not field.type.num_fields,  # of lists and structures
               f"{source}: column {field.name!r} has the type {field.type}: want numbers, texts or dates")
    import pyarrow.csv  # type: ignore[import-not-found,import-untyped,unused-ignore]
    with tempfile.TemporaryDirectory(prefix=".hogwild-", dir=os.path.dirname(os.path.abspath(out))) as folder:
        name = os.path.splitext(os.path.basename(source.rstrip("/")))[0].replace(":", "-")
        table = os.path.join(folder, name + ".csv")
        with pyarrow.csv.CSVWriter(table, schema) as writer:
            for part in parts:
                writer.write(part)
        said = command("data", "convert", table, "--format", "csv", "--out", out, *flags, names={table: source})
    print(said, end="")


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser("python -m hogwild.convert", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("--out", required=True, metavar="FILE")
    known, flags = parser.parse_known_args(arguments)
    try:
        convert(known.source, known.out, *flags)
    except (ImportError, OSError, ValueError) as e:
        away = isinstance(e, FileNotFoundError) and "://" in known.source  # fsspec says no more
        sys.exit(f"python -m hogwild.convert: {known.source + ': no such file, or it cannot be reached' if away else e}")


if __name__ == "__main__":
    main()
