package rundir

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// torchFiles is Python that writes files of torch.save, and prints what is in those that can be read.
const torchFiles = `
import json, os, pickle, sys, torch, zipfile
from torch import nn
torch.manual_seed(1)
dir, want = sys.argv[1], {}
def save(name, what, tensors, **options):
    torch.save(what, f"{dir}/{name}.pt", **options)
    want[name] = {k: [list(v.shape), v.detach().float().flatten().tolist()] for k, v in tensors.items()}
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
net(torch.randn(5, 3))
sd = net.state_dict()
save("legacy", sd, sd, _use_new_zipfile_serialization=False)
x = torch.tensor([[0.1, -2.5, 3e-8], [65504., 1e-3, 0.]])
types = {str(d): (x * (1 if d.is_floating_point else 0.001)).to(d) for d in
    (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool)}
types["torch.uint8"] = torch.arange(250, 256, dtype=torch.uint8)
save("types", types, types)
views = {"transposed": x.t(), "part": x[1, 1:], "expanded": x[:1, :1].expand(3, 4), "number": x[0, 0], "empty": torch.zeros(0, 3), "again": x, "channels": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)}
save("views", views, views)
optimizer = torch.optim.Adam(net.parameters(), betas=(0.9, 0.95))
net(torch.randn(5, 3)).sum().backward()
optimizer.step()
sd = net.state_dict()
save("checkpoint", {"epoch": 3, "loss": [0.5, 1e300, 1 << 70], "name": "n", "ema": dict(sd), "model": sd, "optimizer": optimizer.state_dict(), "device": torch.device("cuda:0"), "size": torch.Size([3])}, sd)

torch.save(net, f"{dir}/module.pt")
torch.save({"w": x, "epoch": 1}, f"{dir}/mixed.pt")
torch.save({"w": x[:1, :1].expand(1 << 16, 1 << 16)}, f"{dir}/huge.pt")
class Touch:
    def __reduce__(self):
        return os.system, (f"touch {dir}/carried-out",)
torch.save({"w": x, "v": Touch()}, f"{dir}/hostile.pt")
pickle.dump(Touch(), open(f"{dir}/pickle.pt", "wb"))
whole = open(f"{dir}/types.pt", "rb").read()
open(f"{dir}/cut.pt", "wb").write(whole[:-99])
with zipfile.ZipFile(f"{dir}/packed.pt", "w", zipfile.ZIP_DEFLATED) as to, zipfile.ZipFile(f"{dir}/types.pt") as of:
    for entry in of.infolist():
        to.writestr(entry.filename, of.read(entry))
print(json.dumps(want))
`

// TestPyTorchsFiles: what torch.save writes is read, of every type and in every form; what is more or less than a
// state_dict is refused in a line, and nothing in it is executed.
func TestPyTorchsFiles(t *testing.T) {
	t.Setenv(Python, check.Interpreter(t, "torch"))
	dir := t.TempDir()
	var want map[string]map[string][2]any
	if err := json.Unmarshal(check.Python(t, "torch", torchFiles, dir), &want); err != nil {
		t.Fatal(err)
	}
	for name, tensors := range want {
		f, err := ReadWeights(filepath.Join(dir, name+".pt"), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string][2]any{}
		for _, x := range f.Tensors() {
			v, err := x.Floats()
			if err != nil {
				t.Error(err)
			}
			shape, wide := []any{}, []any{}
			for _, n := range x.Shape {
				shape = append(shape, float64(n))
			}
			for _, n := range v {
				wide = append(wide, float64(n))
			}
			got[x.Name] = [2]any{shape, wide}
		}
		if d := cmp.Diff(tensors, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, says := range map[string]string{"module": "names torch.nn.modules", "mixed": "has epoch, of type int",
		"huge": "the limit of memory is 1024", "hostile": "names posix.system, which is not carried out",
		"pickle": "is damaged, or holds more than tensors", "cut": "is damaged", "packed": "it is compressed"} {
		path := filepath.Join(dir, name+".pt")
		_, err := ReadWeights(path, 1<<30)
		check.Error(t, err, path+" ", says)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than a line", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "carried-out")); err == nil {
		t.Error("a pickle was carried out")
	}
}

// TestOtherPythons: without PyTorch the error has the line that converts the file elsewhere; a Python that dies or
// prints more than the file is told from one that reads it.
func TestOtherPythons(t *testing.T) {
	dir := t.TempDir()
	path, python := filepath.Join(dir, "net's.pt"), filepath.Join(dir, "python")
	if err := os.WriteFile(path, []byte("PK\x03\x04"), 0o666); err != nil {
		t.Fatal(err)
	}
	for script, says := range map[string][]string{
		"":                           {"cannot be started", Python, "weights_only=True", `net'\''s.pt'`},
		"echo No module >&2\nexit 3": {"has no PyTorch", Python, "weights_only=True"},
		"kill -9 $$":                 {"cannot be read", "signal: killed"},
		"echo Traceback >&2\nexit 2": {"cannot be read", "exit status 2"},
		"echo; echo greetings":       {"is damaged or not a safetensors file"},
	} {
		_ = os.Remove(python)
		if script != "" {
			if err := os.WriteFile(python, []byte("#!/bin/sh\n"+script+"\n"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(Python, python)
		_, err := ReadWeights(path, 0)
		check.Error(t, err, says...)
		if !errors.Is(err, config.ErrUsage) {
			t.Errorf("%v: not the user's", err)
		}
	}
}
