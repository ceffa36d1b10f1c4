"""python -m hogwild: the program that was installed with this package."""

import os
import sys
import sysconfig
from typing import List


def places() -> List[str]:
    """Where it may be: as pip --target puts it, in the environment with this package (or --user's), in Python's."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [os.path.join(packages, "bin"), sysconfig.get_path("scripts")]
    if packages.endswith("-packages"):  # PREFIX/lib/python3.x/site-packages
        folders.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(packages))), "bin"))
    return [os.path.join(folder, "hogwild") for folder in folders]


def main() -> None:
    os.environ.setdefault("HOGWILD_PYTHON", sys.executable)  # which reads files of torch.save for hogwild
    for path in places():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            os.execv(path, [path, *sys.argv[1:]])
    sys.exit("python -m hogwild: no program hogwild in " + ", ".join(map(os.path.dirname, places())) +
             ": install the package with pip, or call hogwild itself")


if __name__ == "__main__":
    main()
