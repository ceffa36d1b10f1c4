"""python -m hogwild.convert SRC --out FILE [--target COLUMN ...]: a data cache of what the program itself does not read.

SRC is a file, folder or URL (s3://, https:// and what else fsspec knows) of Parquet, Arrow IPC, JSONL or CSV, by the ending of
its name, or hf:NAME[:SPLIT], a data set of Hugging Face. Further flags are those of hogwild data convert. Neither SRC nor FILE
has to fit in memory: the rows go through a CSV file in FILE's folder, and texts, holes and dates are the table reader's."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterator, List, Optional, Tuple

import hogwild

from ._session import program
from ._tables import need

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc", ".jsonl": "json",
           ".ndjson": "json", ".csv": "csv"}


def batches(source: str) -> Tuple[Any, Iterator[Any]]:
    """The schema of a source, and its batches of Arrow."""
    if source.startswith("hf:"):
        name, _, split = source[3:].partition(":")
        tables = need("datasets").load_dataset(name, split=split or "train", streaming=True).with_format("arrow")
        parts = (batch for table in tables.iter(batch_size=1 << 14) for batch in table.to_batches())
        first = next(parts, None)
        if first is None:
            raise hogwild.Error(f"{source}: no rows")
        return first.schema, _after(first, parts)
    need("pyarrow")
    import pyarrow.dataset  # type: ignore[import-not-found,import-untyped,unused-ignore]
    path = source.rstrip("/")
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS and not os.path.isdir(path):
        raise hogwild.Error(f"{source}: want one of {', '.join(FORMATS)}, a folder of Parquet files, or hf:NAME")
    if "://" not in path and not os.path.exists(path):
        raise hogwild.Error(f"{source}: no such file or folder")
    files = None
    if "://" in path:
        files, path = need("fsspec").core.url_to_fs(path)
    data = pyarrow.dataset.dataset(path, format=FORMATS.get(ending, "parquet"), filesystem=files)
    return data.schema, data.to_batches(batch_size=1 << 14)


def _after(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def convert(source: str, out: str, *flags: str) -> None:
    """Writes the data cache out. flags: of hogwild data convert."""
    schema, parts = batches(source)
    for field in schema:
        if field.type.num_fields:  # lists and structures
            raise hogwild.Error(f"{source}: column {field.name!r} has the type {field.type}: want numbers, texts or dates")
    import pyarrow.csv  # type: ignore[import-not-found,import-untyped,unused-ignore]
    with tempfile.TemporaryDirectory(prefix=".hogwild-", dir=os.path.dirname(os.path.abspath(out))) as folder:
        name = os.path.splitext(os.path.basename(source.rstrip("/")))[0].replace(":", "-")
        table = os.path.join(folder, name + ".csv")
        with pyarrow.csv.CSVWriter(table, schema) as writer:
            for part in parts:
                writer.write(part)
        done = subprocess.run([program(), "data", "convert", table, "--format", "csv", "--out", out, *flags],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    if done.returncode:
        raise hogwild.Error(done.stderr.strip().replace(table, source).replace("hogwild: ", "", 1))


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser("python -m hogwild.convert", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("--out", required=True, metavar="FILE")
    known, flags = parser.parse_known_args(arguments)
    try:
        convert(known.source, known.out, *flags)
    except (hogwild.Error, ImportError, OSError) as e:
        sys.exit(f"python -m hogwild.convert: {e}")


if __name__ == "__main__":
    main()
