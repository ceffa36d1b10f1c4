"""Puts the static binary and the licences of the code in it into the wheel. It needs Go, for linux on amd64 or arm64."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Go's names of processors, and Python's. The tags of a static binary are those of the first installers that know them.
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
TAG = "py3-none-manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


def architecture():
    """Go's name of the one that the wheel is for: GOARCH, else that of this Python."""
    platform = sysconfig.get_platform()
    arch = os.environ.get("GOARCH") or {"linux-" + name: arch for arch, name in MACHINES.items()}.get(platform)
    if not platform.startswith("linux-") or arch not in MACHINES:
        stop(f"hogwild runs on Linux on x86-64 and arm64 only, and this is {os.environ.get('GOARCH') or platform}")
    return arch


def check_go(root):
    with open(os.path.join(root, "go.mod")) as file:
        want = re.search(r"(?m)^go (\d+)\.(\d+)", file.read())
    need = f"hogwild is built with Go {want[1]}.{want[2]} or later"
    how = "install it from https://go.dev/dl/, or a wheel of hogwild, which needs no Go"
    if not shutil.which("go"):
        stop(f"{need}, and there is no go on PATH: {how}")
    # In this folder, where a Go since 1.21 may fetch the one that it asks for.
    said = subprocess.run(["go", "version"], cwd=root, capture_output=True, text=True)
    have = re.search(r"go version \D*(\d+)\.(\d+)", said.stdout)
    if said.returncode or not have or [int(n) for n in have.groups()] < [int(n) for n in want.groups()]:
        stop(f"{need}, and go version says {' '.join((said.stdout + said.stderr).split())!r}: {how}")


def stop(why):
    sys.exit(f"\n  {why}\n")  # no exception, of which pip would show the stack


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        arch = architecture()
        check_go(self.root)
        self.folder = tempfile.TemporaryDirectory()
        binary = [os.path.join(self.root, "packaging", "binary.sh"), arch, self.folder.name]
        if subprocess.run(["sh", *binary], stdout=sys.stderr).returncode:
            stop("hogwild: building the program failed, as Go says above")
        build_data["pure_python"] = False
        build_data["tag"] = TAG.format(MACHINES[arch])
        build_data["shared_scripts"] = {os.path.join(self.folder.name, "hogwild"): "hogwild"}
        licences = f"{self.build_config.builder.artifact_project_id}.dist-info/licenses/LICENSES-of-others"
        build_data["force_include"][os.path.join(self.folder.name, "LICENSES-of-others")] = licences
