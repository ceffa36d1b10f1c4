package ability_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/internal/check"
)

// TestInitFromRun: a run starts from the weights of another, whether they are centred, merged or on other nodes; it
// says so, and so does the run that continues it.
func TestInitFromRun(t *testing.T) {
	from := runtest.AsGiven(t, "mlp:8", "", 1)
	from.LR = 0.1
	_, want := runtest.RanAs(t, from)
	for name, change := range map[string]func(*config.Config){
		"plain":  func(c *config.Config) { c.Center = "off" },
		"local":  func(c *config.Config) { c.Center = "on" },
		"merged": func(c *config.Config) { c.Center, c.Workers, c.MergeEvery = "on", 2, "4" },
		"sync, by file": func(c *config.Config) {
			c.Mode.Kind, c.Workers, c.Init = config.Sync, 2, filepath.Join(from.Run, rundir.WeightsFile)
		},
		"the snapshot": func(c *config.Config) { c.Init = filepath.Join(from.Run, rundir.SnapshotFile) },
		"momentum, l1": func(c *config.Config) { c.Optimizer, c.L1 = config.Momentum, 1e-9 },
	} {
		t.Run(name, func(t *testing.T) {
			c := runtest.AsGiven(t, "mlp:8", from.Run, 1)
			change(&c)
			r, got := runtest.RanAs(t, c)
			if d := runtest.Furthest(want, got); d > 1e-6 {
				t.Errorf("the weights differ by %g", d)
			}
			if r.Init == nil || r.Init.Tensors != 4 || r.Init.Of != 4 || !strings.HasPrefix(r.Init.From, from.Run) {
				t.Errorf("it says that it started from %+v", r.Init)
			}
			again, err := rundir.SavedConfig(c.Run)
			if err != nil {
				t.Fatal(err)
			}
			again.Epochs = 2
			if resumed, _ := runtest.RanAs(t, again); resumed.Init == nil || *resumed.Init != *r.Init {
				t.Errorf("resumed, it says that it started from %+v", resumed.Init)
			}
		})
	}
}

// TestInitPartial: what fits is taken, the rest is the seed's.
func TestInitPartial(t *testing.T) {
	_, own := runtest.RanAs(t, runtest.AsGiven(t, "mlp:8", "", 1))
	from := runtest.AsGiven(t, "mlp:8,6", "", 1)
	from.Seed = 2
	_, given := runtest.RanAs(t, from)
	c := runtest.AsGiven(t, "mlp:8", from.Run, 1)
	_, err := run.Run(context.Background(), c, run.Options{})
	if !errors.Is(err, config.ErrUsage) || len(config.TableOf(err)) != 5 {
		t.Fatalf("%v", err)
	}
	check.Error(t, err, "2 of the 4 tensors of model mlp:8", "2 of another shape", "2.weight", "6x8", "10x8", "4.bias",
		"surplus", "--init-partial")
	c.InitPartial = true
	var said strings.Builder
	r, err := run.Run(context.Background(), c, run.Options{Progress: &said})
	if err != nil {
		t.Fatal(err)
	}
	if r.Init == nil || r.Init.Tensors != 2 || !strings.Contains(said.String(), "2 of 4 tensors") ||
		!strings.Contains(said.String(), "other shape") {
		t.Errorf("%+v\n%s", r.Init, said.String())
	}
	s, err := saved.Open(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	if d := runtest.Furthest(s.Tensors(), slices.Concat(given[:2], own[2:])); d > 1e-6 {
		t.Errorf("the weights differ by %g", d)
	}
}

// torchModels is Python that saves weights of PyTorch, and prints what they make of the images in a file.
const torchModels = `
import json, safetensors.torch, sys, torch, torch.nn as nn, torch.nn.functional as F
dir, torch.backends.mkldnn.enabled = sys.argv[1], False
torch.manual_seed(7)
x = torch.frombuffer(bytearray(open(f"{dir}/x", "rb").read()), dtype=torch.float32).reshape(-1, 784)
y = torch.frombuffer(bytearray(open(f"{dir}/y", "rb").read()), dtype=torch.float32).long()

class Net(nn.Module):  # of the example mnist_hogwild
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)
    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x.view(-1, 1, 28, 28)), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2)).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))

out = {}
small = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
large = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 10))
for name, net in [("softmax", nn.Sequential(nn.Linear(784, 10))), ("mlp:32", small),
        ("mlp:32,16", nn.DataParallel(large)), ("convnet", Net())]:
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(3)  # far from uniform probabilities
        z = (net.module if name == "mlp:32,16" else net)(x)
    out[name] = {"loss": F.cross_entropy(z, y).item(), "probabilities": F.softmax(z, 1).tolist()}
    torch.save(net.state_dict(), f"{dir}/{name}.pt")
    safetensors.torch.save_file(net.state_dict(), f"{dir}/{name}.safetensors")
print(json.dumps(out))
`

// TestInitFromPyTorch: weights that were made there predict here what they predict there, to 1e-5: as they are, and
// after a run that has started from them and has not moved.
func TestInitFromPyTorch(t *testing.T) {
	t.Setenv(rundir.Python, check.Interpreter(t, "torch"))
	dir := t.TempDir()
	sets, err := data.LoadSets(data.Options{Path: "digits:100", Test: "digits:100:5", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Close()
	set := sets.Test
	memory := &data.Memory{Rows: make([]data.Row, set.Rows)}
	var x []float32
	for i := range set.Rows {
		for j := range set.Features {
			v := float32(set.X8[i*set.Features+j])
			memory.Rows[i].Val = append(memory.Rows[i].Val, v)
			x = append(x, v/255)
		}
	}
	for name, v := range map[string][]float32{"x": x, "y": set.Y} {
		if err := os.WriteFile(filepath.Join(dir, name), rundir.FloatTensor("", nil, v).Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var want map[string]struct {
		Loss          float64
		Probabilities [][]float32
	}
	if err := json.Unmarshal(check.Python(t, "torch, safetensors", torchModels, dir), &want); err != nil {
		t.Fatal(err)
	}
	near := func(what string, s *saved.Saved, result saved.EvalResult, model string) {
		t.Helper()
		got, err := s.Probabilities(memory)
		if err != nil {
			t.Fatal(err)
		}
		apart := 0.0
		for i, row := range want[model].Probabilities {
			for j, p := range row {
				apart = max(apart, math.Abs(float64(p-got[i][j])))
			}
		}
		if loss := want[model].Loss; apart > 1e-5 || math.Abs(result.Loss-loss) > 1e-5*max(1, loss) {
			t.Errorf("%s: the probabilities differ by %g, the loss is %v, PyTorch's %v", what, apart, result.Loss, loss)
		}
	}
	for model := range want {
		path := filepath.Join(dir, model+".pt")
		d := saved.Description{Model: model, Train: "digits:100"}
		s, err := saved.OpenAs(path, d)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, model+".safetensors") // PyTorch takes seconds to start
		result, err := saved.EvalAs(path, d, "digits:100:5", "", "")
		if err != nil {
			t.Fatal(err)
		}
		near(model, s, result, model)
		for _, workers := range []int{1, 2} {
			c := runtest.AsGiven(t, model, path, workers)
			runtest.RanAs(t, c)
			if s, err = saved.Open(c.Run); err != nil {
				t.Fatal(err)
			}
			if result, err = saved.Eval(c.Run, "digits:100:5", "", ""); err != nil {
				t.Fatal(err)
			}
			near(model+", trained", s, result, model)
		}
	}
}

// TestDescription: weights without a description need one, those with one take none.
func TestDescription(t *testing.T) {
	c := runtest.AsGiven(t, "softmax", "", 1)
	runtest.RanAs(t, c)
	plain := filepath.Join(t.TempDir(), "net.safetensors")
	_, ts, err := rundir.ReadTensors(filepath.Join(c.Run, rundir.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := rundir.WriteTensors(plain, nil, ts); err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		path, data string
		d          saved.Description
		says       []string
	}{
		{plain, "digits:100", saved.Description{}, []string{plain, "add --model", "--train"}},
		{plain, "", saved.Description{Model: "softmax"}, []string{plain, "--train"}},
		{plain, "digits:100", saved.Description{Model: "mlp:8"},
			[]string{"give the --model", "4 tensors of model mlp:8"}},
		{plain, "digits:100", saved.Description{Model: "soft"}, []string{`unknown model "soft"`}},
		{plain, "digits:100", saved.Description{Model: "softmax", NoBias: true}, []string{"1 surplus", "0.bias"}},
		{c.Run, "", saved.Description{Model: "softmax"}, []string{c.Run, "leave model"}},
	} {
		_, err := saved.EvalAs(e.path, e.d, e.data, "", "")
		check.Error(t, err, e.says...)
		if !errors.Is(err, config.ErrUsage) {
			t.Errorf("%v: not the user's", err)
		}
	}
	want, err := saved.Eval(c.Run, "digits:100", "", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := saved.EvalAs(plain, saved.Description{Model: "softmax"}, "digits:100", "", "")
	got.Weights = want.Weights
	if d := cmp.Diff(want, got, cmp.AllowUnexported(saved.EvalResult{})); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}
