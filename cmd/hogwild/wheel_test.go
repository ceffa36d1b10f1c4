package main

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// processors are Go's names of those that have a wheel, and Python's.
var processors = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

const (
	wheelTools = "../../build/tools/wheel" // where packaging/wheel.sh installs what it needs
	ofPython   = "../../hogwild/program/python/"
)

// TestWheel builds the wheels and the source distribution as make wheel does, and installs them without network.
func TestWheel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no wheels, which take half a minute")
	}
	complain := t.Skipf
	if os.Getenv("CI") == "true" {
		complain = t.Fatalf
	}
	if out, err := exec.Command("python3", "-c", "import venv, ensurepip").CombinedOutput(); err != nil {
		complain("python3 with venv is missing (Debian: python3-venv): %v\n%s", err, out)
	}
	dist := t.TempDir()
	if out, err := exec.Command("../../packaging/wheel.sh", dist).CombinedOutput(); err != nil {
		if _, e := os.Stat(wheelTools + "/wheel.txt"); e != nil {
			complain("pip cannot install packaging/wheel.txt: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("contents", func(t *testing.T) {
		for arch := range processors {
			wheelContents(t, dist, arch)
		}
	})
	t.Run("installed", func(t *testing.T) { wheelInstalled(t, dist) })
	t.Run("source", func(t *testing.T) { wheelOfSource(t, dist) })
}

// wheelFile returns the name of the wheel for a processor.
func wheelFile(arch string) string {
	return strings.ReplaceAll("hogwild-"+config.Version+
		"-py3-none-manylinux_2_17_M.manylinux2014_M.musllinux_1_1_M.whl", "M", processors[arch])
}

// unzipped has the files of a wheel by their names.
func unzipped(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if program := strings.HasSuffix(f.Name, "/scripts/hogwild"); program != (f.Mode().Perm()&0o111 != 0) {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	return files
}

// wheelContents: the package as it is here, a static binary for the processor, and the licences of all that it links.
func wheelContents(t *testing.T, dist, arch string) {
	files := unzipped(t, filepath.Join(dist, wheelFile(arch)))
	info, program := "hogwild-"+config.Version+".dist-info/", "hogwild-"+config.Version+".data/scripts/hogwild"
	want := []string{program, "hogwild/py.typed", info + "METADATA", info + "RECORD", info + "WHEEL",
		info + "licenses/LICENSE", info + "licenses/LICENSES-of-others"}
	modules, _ := filepath.Glob(ofPython + "hogwild/*.py")
	for _, name := range modules {
		want = append(want, "hogwild/"+filepath.Base(name))
	}
	for _, name := range want {
		there, err := os.ReadFile(ofPython + name)
		if text, ok := files[name]; !ok || err == nil && !bytes.Equal(text, there) {
			t.Errorf("%s: %s is missing, or differs", arch, name)
		}
	}
	if len(files) != len(want) || len(modules) == 0 {
		t.Errorf("%s: there are %d files, want %d", arch, len(files), len(want))
	}
	for _, tag := range []string{"manylinux_2_17_", "manylinux2014_", "musllinux_1_1_"} {
		line := "\nTag: py3-none-" + tag + processors[arch] + "\n"
		if !bytes.Contains(files[info+"WHEEL"], []byte(line)) {
			t.Errorf("%s: WHEEL has no line %q:\n%s", arch, line, files[info+"WHEEL"])
		}
	}
	binary, err := elf.NewFile(bytes.NewReader(files[program]))
	if err != nil {
		t.Fatal(err)
	}
	if m := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; binary.Machine != m ||
		slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s: the program is for %v, or dynamically linked", arch, binary.Machine)
	}
	linked, err := buildinfo.Read(bytes.NewReader(files[program]))
	if err != nil {
		t.Fatal(err)
	}
	licences := string(files[info+"licenses/LICENSES-of-others"])
	for _, name := range append([]string{"Go " + linked.GoVersion}, deps(linked)...) {
		if !strings.Contains(licences, "\n"+name+"\n") {
			t.Errorf("%s: LICENSES-of-others has no %s", arch, name)
		}
	}
	emulator, err := exec.LookPath("qemu-aarch64")
	if arch != "arm64" || err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "hogwild")
	if err := os.WriteFile(path, files[program], 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(emulator, path, "version").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "loops neon") {
		t.Errorf("the program for arm64: %v\n%s", err, out)
	}
}

// deps returns the modules of a binary, with their versions.
func deps(linked *buildinfo.BuildInfo) (names []string) {
	for _, d := range linked.Deps {
		names = append(names, d.Path+" "+d.Version)
	}
	return names
}

// virtual is a virtual environment: its folder, and the variables of a shell in it.
type virtual struct {
	folder    string
	variables []string
}

// run returns what a command of the environment prints, which exits with the status.
func (v virtual) run(t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(v.folder, "bin", args[0]), args[1:]...)
	cmd.Dir, cmd.Env = filepath.Dir(v.folder), v.variables
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%v: %v, want status %d\n%s", args, cmd.ProcessState, status, out)
	}
	return string(out)
}

// files returns the paths of all that is in the environment.
func (v virtual) files(t *testing.T) (paths []string) {
	t.Helper()
	if err := filepath.WalkDir(v.folder, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return paths
}

// wheelInstalled: in an empty environment, first without PyTorch.
func wheelInstalled(t *testing.T, dist string) {
	python, home := check.Interpreter(t, "venv, ensurepip"), t.TempDir()
	v := virtual{filepath.Join(home, "venv"), []string{"HOME=" + home, "PYTHONDONTWRITEBYTECODE=1",
		"PIP_CONFIG_FILE=/dev/null", "PATH=" + home + "/venv/bin:/usr/bin:/bin"}}
	if out, err := exec.Command(python, "-m", "venv", v.folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := v.files(t)
	v.run(t, 0, "pip", "install", "--no-index", "--find-links", dist, "hogwild=="+config.Version)
	for _, args := range [][]string{{"hogwild", "version"}, {"python", "-m", "hogwild", "version"}} {
		if text := v.run(t, 0, args...); !strings.HasPrefix(text, "hogwild "+config.Version) {
			t.Errorf("%v prints %s", args, text)
		}
	}
	v.run(t, 2, "python", "-m", "hogwild", "train", "--no-such-flag")
	if loss := testLoss(t, v.run(t, 0, "python", "-m", "hogwild", "train", "--workers", "2", "--quiet",
		"--json")); !(loss < 0.5) {
		t.Errorf("two workers on digits come to a test loss of %v", loss)
	}
	const module = "import hogwild, importlib.metadata as m, sys; assert 'torch' not in sys.modules; " +
		"assert m.version('hogwild') == hogwild.__version__ == sys.argv[1]; hogwild.join"
	const says = "\nImportError: hogwild.join needs PyTorch, which is not installed: pip install torch\n"
	if text := v.run(t, 1, "python", "-c", module, config.Version); !strings.HasSuffix(text, says) ||
		strings.Contains(text, "No module") {
		t.Errorf("without PyTorch: %s", text)
	}
	if text := v.run(t, 2, "hogwild", "train", "--gpu", "0"); !strings.Contains(text, "cannot find hogwild-cuda") ||
		!strings.Contains(text, "`make cuda` in hogwild's source") {
		t.Errorf("train --gpu says: %s", text)
	}
	t.Run("torch", func(t *testing.T) { wheelWithTorch(t, v) })
	v.run(t, 0, "pip", "install", "--no-index", "--find-links", dist, "--target", home+"/target", "hogwild")
	v.run(t, 0, "pip", "uninstall", "--yes", "hogwild")
	if after := v.files(t); !slices.Equal(before, after) {
		t.Errorf("there were %d files, and when the package is uninstalled there are %d", len(before), len(after))
	}
	v.variables = append(v.variables, "PYTHONPATH="+home+"/target")
	v.run(t, 0, "python", "-m", "hogwild", "version")
	if err := os.Remove(home + "/target/bin/hogwild"); err != nil {
		t.Fatal(err)
	}
	if text := v.run(t, 1, "python", "-m", "hogwild", "version"); !strings.HasPrefix(text, "python -m hogwild: no "+
		"program hogwild in "+home+"/target/bin, ") || strings.Count(text, "\n") != 1 {
		t.Errorf("without the program: %s", text)
	}
}

// testLoss returns the test loss in a run's --json.
func testLoss(t *testing.T, text string) float64 {
	t.Helper()
	var result struct {
		TestLoss float64 `json:"test_loss"`
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return result.TestLoss
}

// wheelWithTorch: a script runs in the environment, to which those with PyTorch are added, in a run and alone.
func wheelWithTorch(t *testing.T, v virtual) {
	const folders = "import os, sys, torch; print(os.path.dirname(os.path.dirname(torch.__file__)), end='')"
	link := strings.TrimSpace(v.run(t, 0, "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
	link = filepath.Join(link, "torch.pth")
	if err := os.WriteFile(link, check.Python(t, "torch, numpy, safetensors", folders), 0o666); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	script, err := filepath.Abs(examples + "/pytorch/ddp.py")
	if err != nil {
		t.Fatal(err)
	}
	if loss := testLoss(t, v.run(t, 0, "hogwild", "train", "--program", "python "+script+" --rows 2000", "--workers",
		"2", "--epochs", "2", "--batch", "32", "--lr", "0.002", "--schedule", "cosine", "--quiet",
		"--json")); !(loss < 0.25) { // as in TestPyTorchExamples
		t.Errorf("ddp.py comes to a test loss of %v", loss)
	}
	text := v.run(t, 0, "python", script, "--rows", "64")
	if !strings.Contains(text, "hogwild: ddp.py runs alone") ||
		!strings.Contains(text, "hogwild: epoch 1  train loss ") {
		t.Errorf("alone: %s", text)
	}
}

// wheelOfSource: pip builds the same wheel from the source distribution, and says in one line why it cannot.
func wheelOfSource(t *testing.T, dist string) {
	built := t.TempDir()
	pip := func(variables ...string) (string, error) {
		cmd := exec.Command(wheelTools+"/bin/python", "-m", "pip", "wheel", "--no-index", "--no-build-isolation",
			"--wheel-dir", built, filepath.Join(dist, "hogwild-"+config.Version+".tar.gz"))
		cmd.Env = append(os.Environ(), variables...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := pip("GOARCH=amd64"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := unzipped(t, filepath.Join(dist, wheelFile("amd64")))
	got := unzipped(t, filepath.Join(built, wheelFile("amd64")))
	for name, text := range want { // the binary knows the commit, if it was built in a repository
		if same := bytes.Equal(text, got[name]); !same && !strings.HasSuffix(name, "/scripts/hogwild") &&
			!strings.HasSuffix(name, "/RECORD") || len(got) != len(want) {
			t.Errorf("%s of the source's wheel differs", name)
		}
	}
	old := t.TempDir()
	if err := os.WriteFile(old+"/go", []byte("#!/bin/sh\necho go version go1.25.3 linux/amd64\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, says string }{
		{"PATH=/nowhere", " or later, and there is no go on PATH: install it from "},
		{"PATH=" + old, " or later, and go version says 'go version go1.25.3 linux/amd64': install it"},
		{"GOARCH=386", "hogwild runs on Linux on x86-64 and arm64 only, and this is 386\n"},
	} {
		out, err := pip(c.variable)
		if err == nil || strings.Count(out, "hogwild is ")+strings.Count(out, "hogwild runs ") != 1 ||
			!strings.Contains(out, c.says) || strings.Contains(out, "Traceback") {
			t.Errorf("%s: %v\n%s", c.variable, err, out)
		}
	}
}
