package rundir

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
)

// mlpParams are the parameters of a perceptron with 3 inputs, 2 hidden units and 1 output, whose first layer centres.
var mlpParams = []model.Param{{Name: "0.weight", Shape: []int{2, 3}, Transposed: true},
	{Name: "0.bias", Shape: []int{2}},
	{Name: "0.center", Shape: []int{2}}, {Name: "2.weight", Shape: []int{1, 2}, Transposed: true},
	{Name: "2.bias", Shape: []int{1}}}

// plainParams returns the parameters that leave the run.
func plainParams() []model.Param { return slices.Delete(slices.Clone(mlpParams), 2, 3) }

// written returns a file of tensors as other programs write them.
func written(t *testing.T, ts ...Tensor) *Weights {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := WriteTensors(path, map[string]string{"format": "pt"}, ts); err != nil {
		t.Fatal(err)
	}
	f, err := ReadWeights(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Path = "net.safetensors"
	return f
}

func mlpTensors(prefix string) []Tensor {
	return []Tensor{FloatTensor(prefix+"0.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}),
		FloatTensor(prefix+"0.bias", []int{2}, []float32{7, 8}),
		FloatTensor(prefix+"2.weight", []int{1, 2}, []float32{9, 10}),
		FloatTensor(prefix+"2.bias", []int{1}, []float32{11})}
}

// TestFit: with the prefixes of wrappers, into the weights of a model that centres.
func TestFit(t *testing.T) {
	for _, prefix := range []string{"", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.",
		"module.module."} {
		fit, err := written(t, mlpTensors(prefix)...).Fit("mlp:2", plainParams(), nil, false, "")
		if err != nil {
			t.Fatalf("%q: %v", prefix, err)
		}
		w := make([]float32, model.Size(mlpParams))
		if err := fit.Into(mlpParams, w); err != nil {
			t.Fatal(err)
		}
		if want := []float32{1, 4, 2, 5, 3, 6, 7, 8, 0, 0, 9, 10, 11}; !slices.Equal(w, want) {
			t.Errorf("%q: %v, want %v", prefix, w, want)
		}
		if d := cmp.Diff(InitFrom{"net.safetensors", 4, 4}, fit.InitFrom); d != "" {
			t.Error(d)
		}
	}
	// In the model itself, and in one part of it that was compiled.
	wrapped := []model.Param{{Name: "module.a.weight", Shape: []int{1}}, {Name: "b.weight", Shape: []int{1}}}
	fit, err := written(t, FloatTensor("a._orig_mod.weight", []int{1}, []float32{1}),
		FloatTensor("b.weight", []int{1}, []float32{2})).Fit("program", wrapped, nil, false, "")
	if w := make([]float32, 2); err != nil || fit.Into(wrapped, w) != nil || !slices.Equal(w, []float32{1, 2}) {
		t.Errorf("%v, %v", w, err)
	}
}

// TestMisfits: what does not fit is one table; with partial the rest is taken.
func TestMisfits(t *testing.T) {
	some := append(mlpTensors("module.")[1:3], FloatTensor("module.2.bias", nil, []float32{1}),
		FloatTensor("tail\x1b[31m\n", []int{2, 2, 2, 2, 1, 1, 1, 1}, make([]float32, 16)),
		FloatTensor(strings.Repeat("encoder.layers.", 30)+"weight", []int{1}, []float32{1}))
	var text strings.Builder
	for _, c := range []struct {
		what    string
		tensors []Tensor
	}{
		{"some", some},
		{"other names", []Tensor{FloatTensor("1.weight", []int{2, 3}, make([]float32, 6)),
			FloatTensor("1.bias", []int{2}, make([]float32, 2)),
			FloatTensor("3.weight", []int{1, 2}, make([]float32, 2)),
			FloatTensor("3.bias", []int{1}, make([]float32, 1))}},
		{"many", manyTensors(1000)}, {"nothing", nil},
	} {
		_, err := written(t, c.tensors...).Fit("mlp:2", plainParams(), nil, false, "do something else")
		if !errors.Is(err, config.ErrUsage) || len(config.TableOf(err)) == 0 || len(err.Error()) > 2500 {
			t.Errorf("%s: %v", c.what, err)
		}
		fmt.Fprintf(&text, "%s: %v\n\n", c.what, err)
	}
	check.Golden(t, "misfits.golden", text.String())

	fit, err := written(t, some...).Fit("mlp:2", plainParams(), nil, true, "")
	if err != nil {
		t.Fatal(err)
	}
	w := slices.Repeat([]float32{-1}, model.Size(mlpParams))
	if err := fit.Into(mlpParams, w); err != nil {
		t.Fatal(err)
	}
	if want := []float32{-1, -1, -1, -1, -1, -1, 7, 8, -1, -1, 9, 10, -1}; !slices.Equal(w, want) ||
		fit.Text() != "net.safetensors, 2 of 4 tensors" {
		t.Errorf("%v, want %v; %s", w, want, fit.Text())
	}
	_, err = written(t, manyTensors(3)...).Fit("mlp:2", plainParams(), nil, true, "")
	check.Error(t, err, "0 of the 4 tensors", "give a file with weights of this model")
}

func manyTensors(n int) (ts []Tensor) {
	for i := range n {
		ts = append(ts, FloatTensor(fmt.Sprintf("blocks.%d.weight", i), []int{1}, []float32{1}))
	}
	return ts
}

// TestFitRefuses: two tensors for one name, and values that no training can start from.
func TestFitRefuses(t *testing.T) {
	ts := mlpTensors("")
	_, err := written(t, append(ts, FloatTensor("module.0.bias", []int{2}, []float32{1, 2}))...).Fit("mlp:2",
		plainParams(), nil, true, "")
	check.Error(t, err, "0.bias", "module.0.bias", "both")
	for _, wide := range []Tensor{{"0.bias", "F64", []int{2},
		[]byte("\x00\x00\x00\x00\x00\x00\xf0\x7f\x00\x00\x00\x00\x00\x00\xf0\x3f")},
		{"0.bias", "F64", []int{2}, []byte("\xff\xff\xff\xff\xff\xff\xef\x7f\x00\x00\x00\x00\x00\x00\xf0\x3f")},
		{"0.bias", "BF16", []int{2}, []byte("\x81\x7f\x80\x3f")}} {
		ts[1] = wide
		_, err = written(t, ts...).Fit("mlp:2", plainParams(), nil, true, "")
		check.Error(t, err, "tensor 0.bias has the value", "finite")
	}
}

// TestTiedTensorsThatDiffer: a file with two values for one tensor is refused, whose names stand in the error.
func TestTiedTensorsThatDiffer(t *testing.T) {
	layout := &model.Layout{Tensors: []model.Tensor{{Name: "embed.weight", Shape: []int{2}, Kind: model.Parameter}},
		Same: map[string]string{"head.weight": "embed.weight"}}
	for _, c := range []struct {
		values []float32
		says   string
	}{{[]float32{1, 2}, ""}, {[]float32{1, 3}, "net.pt: embed.weight and head.weight are one tensor in the model, " +
		"and differ in the file"}} {
		f := &Weights{Path: "net.pt",
			tensors: []Tensor{FloatTensor("embed.weight", []int{2}, []float32{1, 2}),
				FloatTensor("head.weight", []int{2}, c.values)}}
		fit, err := f.Fit("program", layout.Params(), layout, true, "")
		if c.says != "" {
			check.Error(t, err, c.says)
		} else if err != nil || !slices.Equal(fit.values["embed.weight"], []float32{1, 2}) {
			t.Errorf("%v: %v", fit, err)
		}
	}
}

// TestPyTorchLoadsProgramWeights: with strict=True, a network with tied weights, BatchNorm and a mask.
func TestPyTorchLoadsProgramWeights(t *testing.T) {
	kind := func(name, kind string, shape ...int) model.Tensor {
		return model.Tensor{Name: name, Shape: shape, Kind: kind}
	}
	layout := &model.Layout{Tensors: []model.Tensor{kind("embed.weight", model.Parameter, 2, 3),
		kind("norm.weight", model.Parameter, 3), kind("norm.bias", model.Frozen, 3),
		kind("norm.running_mean", model.Buffer, 3), kind("norm.running_var", model.Buffer, 3),
		kind("norm.num_batches_tracked", model.Integer), kind("mask", model.Integer, 2)},
		Same: map[string]string{"head.weight": "embed.weight"}}
	s := &Snapshot{Job: tuning.Job{Asked: config.Default()}, Meta: data.Meta{Rows: 1, Features: 1, Kind: data.Floats}}
	s.Job.Asked.Layout, s.Job.Asked.Model = layout, model.ProgramName
	params := layout.Params()
	for i := range model.Size(params) {
		s.W = append(s.W, float32(i%7))
	}
	dir := t.TempDir()
	if err := s.SaveWeights(dir, params, params); err != nil {
		t.Fatal(err)
	}
	out := check.Python(t, "torch, safetensors", `
import sys, torch, safetensors
net = torch.nn.Module()
net.embed, net.head, net.norm = torch.nn.Embedding(2, 3), torch.nn.Linear(3, 2, bias=False), torch.nn.BatchNorm1d(3)
net.head.weight = net.embed.weight
net.register_buffer("mask", torch.zeros(2, dtype=torch.bool))
with safetensors.safe_open(sys.argv[1], "pt") as f:
    net.load_state_dict({k: f.get_tensor(k) for k in f.keys()}, strict=True)
print(*(v.double().flatten().tolist() for k, v in sorted(net.state_dict().items())), net.norm.num_batches_tracked.dtype, net.head.weight is net.embed.weight, end="")
`, filepath.Join(dir, WeightsFile))
	const want = "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] [1.0, 1.0] [2.0, 3.0, 4.0] [4.0] " +
		"[5.0, 6.0, 0.0] [1.0, 2.0, 3.0] [6.0, 0.0, 1.0] torch.int64 True"
	if string(out) != want {
		t.Errorf("%s\nwant %s", out, want)
	}
}

// TestProgramWeights: the file of a program's model has integers as such, and tied tensors under both names. It is read
// back, also if it has one of the two names only.
func TestProgramWeights(t *testing.T) {
	layout := &model.Layout{Tensors: []model.Tensor{{Name: "embed.weight", Shape: []int{2, 2}, Kind: model.Parameter},
		{Name: "norm.running_mean", Shape: []int{2}, Kind: model.Buffer},
		{Name: "norm.num_batches_tracked", Kind: model.Integer}, {Name: "mask", Shape: []int{3}, Kind: model.Integer}},
		Same: map[string]string{"head.weight": "embed.weight"}}
	s := &Snapshot{Job: tuning.Job{Asked: config.Default()}, Meta: data.Meta{Rows: 1, Features: 1, Kind: data.Floats},
		W: []float32{1, 2, 3, 4, .5, .25, 1e6 + .4, 1, 0, -7}}
	s.Job.Asked.Layout, s.Job.Asked.Model = layout, model.ProgramName
	dir, params := t.TempDir(), layout.Params()
	if err := s.SaveWeights(dir, params, params); err != nil {
		t.Fatal(err)
	}
	_, ts, err := ReadTensors(filepath.Join(dir, WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range ts {
		v, _ := x.Floats()
		got[x.Name] = fmt.Sprint(x.DType, x.Shape, v)
	}
	if d := cmp.Diff(map[string]string{"embed.weight": "F32[2 2] [1 2 3 4]", "head.weight": "F32[2 2] [1 2 3 4]",
		"norm.running_mean":        "F32[2] [0.5 0.25]",
		"norm.num_batches_tracked": "I64[] [1e+06]", "mask": "I64[3] [1 0 -7]"}, got); d != "" {
		t.Error(d)
	}
	f, err := ReadWeights(dir, 0)
	if err != nil || f.Saved == nil {
		t.Fatal(err)
	}
	want := slices.Clone(s.W)
	want[6] = 1e6
	if w, err := f.Saved.Weights(params); err != nil || !slices.Equal(w, want) {
		t.Errorf("%v, %v: want %v", w, err, want)
	}
	for _, without := range []string{"", "head.weight", "embed.weight"} {
		one := &Weights{Path: "w", tensors: slices.Clone(f.tensors)}
		for i, x := range one.tensors {
			if x.Name == without {
				one.tensors = slices.Delete(one.tensors, i, i+1)
				break
			}
		}
		fit, err := one.Fit("program", params, layout, false, "")
		w := make([]float32, len(want))
		if err != nil || fit.Into(params, w) != nil || !slices.Equal(w, want) {
			t.Errorf("without %q: %v, %v: want %v", without, w, err, want)
		}
	}
}
