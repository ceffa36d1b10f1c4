package rundir

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
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

// forks is Python that has imported PyTorch once: each call of its socket is python -c with the arguments and the files
// of the caller, in a process of its own. It ends with its standard input.
const forks = `
import json, os, socket, sys, threading, torch
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + "/socket")
server.listen()
print("ready", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    call = server.accept()[0]
    text, files, _, _ = socket.recv_fds(call, 1 << 20, 3)
    if pid := os.fork():
        for f in files:
            os.close(f)
        call.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        call.close()
        continue
    for to, f in enumerate(files):
        os.dup2(f, to)
    status, (script, *sys.argv[1:]) = 1, json.loads(text)
    try:
        exec(compile(script, "<string>", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as e:
        status = e.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
`

// called is the Python -SE that makes such a call.
const called = `
import json, os, socket, sys
call = socket.socket(socket.AF_UNIX)
call.connect(os.path.dirname(sys.argv[0]) + "/socket")
socket.send_fds(call, [json.dumps(sys.argv[2:]).encode()], [0, 1, 2])
sys.exit(int(call.recv(9)))
`

// forked returns a program that does for python -c SCRIPT ARGS..., and need not import PyTorch each time.
func forked(t *testing.T, python string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/python", []byte("#!"+python+" -SE"+called), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", forks, dir)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return dir + "/python"
}

// TestPyTorchsFiles: what torch.save writes is read, of every type and in every form; what is more or less than a
// state_dict is refused in a line, and nothing in it is executed.
func TestPyTorchsFiles(t *testing.T) {
	t.Setenv(Python, forked(t, check.Interpreter(t, "torch")))
	dir := t.TempDir()
	text, err := exec.Command(os.Getenv(Python), "-c", torchFiles, dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string][2]any
	if err := json.Unmarshal(text, &want); err != nil {
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
