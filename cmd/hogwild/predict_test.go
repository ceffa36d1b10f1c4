package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/saved"
	"hogwild/internal/check"
)

// predictionData writes a table with numbers, a column of texts and a target, two sets of them: what
// is trained on, and what is predicted.
func predictionData(t *testing.T, dir, target string) (train, test string) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for _, file := range []struct {
		name string
		rows int
	}{{"train", 400}, {"test", 300}} {
		text := "size,colour,weight," + target + "\n"
		for range file.rows {
			size, weight, colour := 50*r.NormFloat64(), r.ExpFloat64(), []string{"red", "green", "blue"}[r.IntN(3)]
			v := size/50 - weight + float64(len(colour))/2 + r.NormFloat64()/2
			y := strconv.FormatFloat(v, 'g', 6, 64)
			if target == "kind" {
				y = []string{"low", "middle", "high"}[min(2, max(0, int(v+.5)))]
			}
			text += fmt.Sprintf("%.4g,%s,%.4g,%s\n", size, colour, weight, y)
		}
		if err := os.WriteFile(filepath.Join(dir, file.name+".csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "train.csv"), filepath.Join(dir, "test.csv")
}

// call runs the program, which must succeed, and returns what it prints.
func call(t *testing.T, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	if status := execute(args, &out, &said); status != 0 {
		t.Fatalf("hogwild %s: status %d\n%s", strings.Join(args, " "), status, &said)
	}
	return out.String()
}

// chainScript computes a chain of linear layers by NumPy in float64 from weights.safetensors and the text
// of a CSV file, scaled as the file's metadata says, and prints the outputs of each row.
const chainScript = `
import csv, json, sys
import numpy as np
from safetensors import safe_open
f = safe_open(sys.argv[1], "np")
m = json.loads(f.metadata()["hogwild.data"])
rows = list(csv.DictReader(open(sys.argv[2])))
def cell(r, name):
    if name in r: return float(r[name])
    column, text = name.split("=")
    return float(r[column] == text)
x = np.array([[cell(r, c) for c in m["columns"]] for r in rows])
x = x * np.array(m.get("mul") or [1.0]) + np.array(m.get("add") or [0.0])
i = 0
while f"{i}.weight" in f.keys():
    if i: x = np.maximum(x, 0)
    x = x @ f.get_tensor(f"{i}.weight").astype(float).T + f.get_tensor(f"{i}.bias").astype(float)
    i += 2
print(json.dumps({"z": x.tolist(), "classes": m.get("classes")}))
`

// TestPredictAsNumPy: predictions and probabilities are what NumPy makes of the weights, and the
// share of right ones is the accuracy that eval gives.
func TestPredictAsNumPy(t *testing.T) {
	for _, c := range []struct{ target, model, loss string }{
		{"kind", "softmax", ""}, {"kind", "hinge", ""}, {"kind", "logistic", ""}, {"kind", "mlp:12,5", ""},
		{"value", "linear", ""}, {"value", "l1", ""}, {"value", "mlp:12", ""},
	} {
		t.Run(c.target+" "+c.model, func(t *testing.T) {
			dir := t.TempDir()
			train, test := predictionData(t, dir, c.target)
			weights := filepath.Join(dir, "run")
			call(t, "train", "--data", train, "--test", test, "--model", c.model, "--scale", "standard", "--lr", "0.05",
				"--batch", "8", "--epochs", "3", "--workers", "1", "--run", weights, "--quiet", "--json")
			proba := c.target == "kind" && c.model != "hinge"
			args := []string{"predict", weights, "--data", test}
			if proba {
				args = append(args, "--proba")
			}
			got := readCSV(t, call(t, args...))
			var want struct {
				Z       [][]float64
				Classes []string
			}
			text := check.Python(t, "numpy, safetensors", chainScript, filepath.Join(weights, "weights.safetensors"),
				test)
			if err := json.Unmarshal(text, &want); err != nil || len(want.Z) != 300 || len(got) != 301 {
				t.Fatal(len(want.Z), len(got), err)
			}
			right := 0
			labels := readCSV(t, fileText(t, test))
			for i, z := range want.Z {
				row := got[i+1]
				if want.Classes == nil {
					if v := number(t, row[0]); math.Abs(v-z[0]) > 1e-5*(1+math.Abs(z[0])) {
						t.Fatalf("row %d: %s, NumPy has %g", i, row[0], z[0])
					}
					continue
				}
				best := argmax(z)
				if row[0] != want.Classes[best] && !close(z, want.Classes, row[0]) {
					t.Fatalf("row %d: %s, NumPy has %v of %q", i, row[0], z, want.Classes)
				}
				if row[0] == labels[i+1][3] {
					right++
				}
				if proba {
					checkProbabilities(t, row, z, want.Classes, c.model == "logistic")
				}
			}
			var eval struct{ Accuracy *float64 }
			if err := json.Unmarshal([]byte(call(t, "eval", weights, "--data", test, "--json")), &eval); err != nil {
				t.Fatal(err)
			}
			if eval.Accuracy != nil && *eval.Accuracy != float64(right)/300 {
				t.Errorf("%d of 300 predictions are right, eval says %g", right, *eval.Accuracy)
			}
		})
	}
}

// checkProbabilities compares a row of predictions with NumPy's outputs.
func checkProbabilities(t *testing.T, row []string, z []float64, classes []string, logistic bool) {
	t.Helper()
	var p, want []float64
	sum := 0.0
	for c, v := range z {
		p = append(p, number(t, row[c+1]))
		e := math.Exp(v)
		if logistic {
			e = 1 / (1 + math.Exp(-v))
		}
		want, sum = append(want, e), sum+e
	}
	for c := range p {
		if math.Abs(p[c]-want[c]/sum) > 1e-5 {
			t.Fatalf("probabilities %v, NumPy has %v by %g", p, want, sum)
		}
	}
	if classes[argmax(p)] != row[0] {
		t.Fatalf("%s, but the probabilities are %v of %q", row[0], p, classes)
	}
}

// close reports whether the output of the class is the largest but for rounding.
func close(z []float64, classes []string, name string) bool {
	for c, class := range classes {
		if class == name {
			return z[argmax(z)]-z[c] < 1e-5
		}
	}
	return false
}

func argmax(v []float64) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

func readCSV(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// filesScript reads predictions of a convolutional network and of a factor model with NumPy, and
// compares them with its own arithmetic.
const filesScript = `
import json, sys
import numpy as np
from safetensors import safe_open
from numpy.lib.stride_tricks import sliding_window_view
conv, proba, labels, x, factor, pairs = sys.argv[1:]

f = safe_open(conv, "np")
m = json.loads(f.metadata()["hogwild.data"])
get = lambda n: f.get_tensor(n).astype(float)
x = np.load(x) * m["mul"][0] + (m.get("add") or [0])[0]
def convolve(x, name):
    w = get(name + ".weight")
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w) + get(name + ".bias")[None, :, None, None]
z = convolve(x[:, None], "conv1")
n, c, h, w = z.shape
z = np.maximum(z.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5)), 0).reshape(n, -1)
z = np.maximum(z @ get("fc1.weight").T + get("fc1.bias"), 0)
z = z @ get("fc2.weight").T + get("fc2.bias")
p = np.exp(z - z.max(1, keepdims=True))
p /= p.sum(1, keepdims=True)
table = lambda path: np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
got, names = table(proba), table(labels)[:, 0]
assert (got[:, 0] == names).all() and (got[:, 1:].argmax(1) == names).all()
assert got[:, 1:].shape == p.shape and np.abs(got[:, 1:] - p).max() < 1e-4, np.abs(got[:, 1:] - p).max()

f = safe_open(factor, "np")
ids = json.loads(f.metadata()["hogwild.data"])["ids"]
row, column = [np.concatenate([np.arange(a, a + n) for a, n in zip(r[::2], r[1::2])]) for r in ids]
got = table(pairs)
u, i = np.searchsorted(row, got[:, 0]), np.searchsorted(column, got[:, 1])
want = get("mean")[0] + (get("user.weight")[u] * get("item.weight")[i]).sum(1) + get("user.bias")[u] + get("item.bias")[i]
assert len(got) > 100 and np.abs(got[:, 2] - want).max() < 1e-4, np.abs(got[:, 2] - want).max()
print("same")
`

// TestPredictFilesAsNumPy: NumPy predicts the same with a convolutional network and a factor model.
func TestPredictFilesAsNumPy(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	check.Python(t, "numpy", `
import sys, numpy as np
r = np.random.default_rng(1)
for name, n in ("train", 300), ("test", 90):
    y = r.integers(0, 3, n)
    x = r.integers(0, 60, (n, 10, 10)); x[np.arange(n), 3 * y, 2:8] += 150
    np.save(f"{sys.argv[1]}/X_{name}.npy", x.astype("u1")); np.save(f"{sys.argv[1]}/y_{name}.npy", y)
`, dir)
	call(t, "train", "--data", dir, "--model", "conv:3@3p2,7", "--epochs", "3", "--lr", "0.1", "--workers", "1",
		"--run", in("conv"), "--quiet", "--json")
	call(t, "predict", in("conv"), "--data", dir, "--proba", "--out", in("proba.csv"))
	call(t, "predict", in("conv"), "--data", in("X_test.npy"), "--out", in("labels.csv"))
	call(t, "train", "--data", "synth:lowrank:40x50x900x3", "--model", "factor:3", "--biases", "--epochs", "2",
		"--workers", "1", "--run", in("factor"), "--quiet", "--json")
	call(t, "predict", in("factor"), "--data", "synth:lowrank:40x50x900x3", "--out", in("pairs.csv"))
	weights := "/weights.safetensors"
	said := check.Python(t, "numpy, safetensors", filesScript, in("conv")+weights, in("proba.csv"), in("labels.csv"),
		in("X_test.npy"), in("factor")+weights, in("pairs.csv"))
	if strings.TrimSpace(string(said)) != "same" {
		t.Errorf("%s", said)
	}
}

// TestPredictionsWithoutNumbers: a row without a prediction, or whose value overflowed, is a row to every
// reader all the same.
func TestPredictionsWithoutNumbers(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		table predictions
		p     *saved.Predictions
		want  [][]string
	}{
		{predictions{}, &saved.Predictions{Values: []float32{1.5, nan, inf, 2}},
			[][]string{{"prediction"}, {"1.5"}, {""}, {"+Inf"}, {"2"}}},
		{predictions{proba: true, classes: []string{"a", "b,c"}, names: []string{"a", `"b,c"`}},
			&saved.Predictions{Values: []float32{1, nan}, Probabilities: []float32{nan, 1, nan, nan}},
			[][]string{{"prediction", "p_a", "p_b,c"}, {"b,c", "", "1"}, {"", "", ""}}},
	} {
		var b bytes.Buffer
		c.table.w = bufio.NewWriter(&b)
		if err := errors.Join(c.table.begin([2]string{}), c.table.add(c.p)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if diff := cmp.Diff(c.want, rows); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
	}
}

// TestInterruptedPredict: a signal leaves no half of a file.
func TestInterruptedPredict(t *testing.T) {
	dir := t.TempDir()
	train, _ := predictionData(t, dir, "value")
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "out.csv")
	call(t, "train", "--data", train, "--epochs", "1", "--workers", "1", "--run", run, "--quiet", "--json")
	cmd := exec.Command("/proc/self/exe", "predict", run, "--data", "-", "--out", out)
	cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
	rows, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	fmt.Fprint(rows, "size,colour,weight\n1,red,2\n")
	waitForLine(t, out+".*.tmp")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("%v, want an end by SIGTERM", cmd.ProcessState)
	}
	if files, _ := filepath.Glob(out + "*"); len(files) > 0 {
		t.Errorf("it has left %v", files)
	}
}
