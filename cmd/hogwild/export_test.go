package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// exported is a run whose weights other programs load.
type exported struct {
	Folder string  `json:"folder"`
	Data   string  `json:"data"` // the test rows
	Model  string  `json:"model"`
	Kind   string  `json:"kind"` // the loss
	Loss   float64 `json:"loss"` // what eval says of those rows

	train []string
}

// TestOtherProgramsLoadWeights: PyTorch's modules take weights.safetensors, and ONNX Runtime and NumPy what export
// writes. All of them predict what hogwild predicts, from inputs as they are.
func TestOtherProgramsLoadWeights(t *testing.T) {
	check.Interpreter(t, "torch, safetensors, onnx, onnxruntime")
	dir := t.TempDir()
	mnist, a9a := check.Data(t, "mnist"), check.Data(t, "a9a")
	kinds, kindsTest := predictionData(t, dir, "kind")
	if err := os.Mkdir(filepath.Join(dir, "values"), 0o777); err != nil {
		t.Fatal(err)
	}
	values, valuesTest := predictionData(t, filepath.Join(dir, "values"), "value")
	images := []string{"--data", mnist, "--limit", "4000"}
	sparse := []string{"--data", a9a + "/a9a", "--test", a9a + "/a9a.t", "--limit", "8000"}
	table := func(train, test string) []string {
		return []string{"--data", train, "--test", test, "--scale", "standard", "--lr", "0.05", "--batch", "8"}
	}
	cases := []exported{
		{Data: mnist, Model: "softmax", Kind: "cross-entropy", train: append(images, "--center", "on")},
		{Data: mnist, Model: "softmax", Kind: "cross-entropy",
			train: append(images, "--mode", "sync", "--center", "off", "--no-bias")},
		{Data: mnist, Model: "mlp:32", Kind: "cross-entropy", train: append(images, "--center", "off")},
		{Data: mnist, Model: "mlp:24,16", Kind: "cross-entropy",
			train: append(images, "--mode", "sync", "--center", "on")},
		{Data: mnist, Model: "convnet", Kind: "cross-entropy", train: images},
		{Data: mnist, Model: "convnet", Kind: "cross-entropy",
			train: append(images, "--mode", "sync", "--scale", "0.1307,0.3081")},
		{Data: a9a + "/a9a.t", Model: "logistic", Kind: "logistic", train: sparse},
		{Data: a9a + "/a9a.t", Model: "hinge", Kind: "hinge",
			train: append(sparse, "--mode", "sync", "--scale", "unit")},
		{Data: kindsTest, Model: "mlp:12", Kind: "logistic",
			train: append(table(kinds, kindsTest), "--loss", "logistic")},
		{Data: kindsTest, Model: "hinge", Kind: "hinge", train: table(kinds, kindsTest)},
		{Data: valuesTest, Model: "linear", Kind: "squared",
			train: append(table(values, valuesTest), "--center", "on")},
		{Data: valuesTest, Model: "l1", Kind: "l1", train: append(table(values, valuesTest), "--mode", "sync")},
		{Data: valuesTest, Model: "mlp:12", Kind: "squared", train: append(table(values, valuesTest), "--no-bias")},
		{Data: mnist, Model: "logistic", Kind: "logistic", train: images},
	}
	for i := range cases {
		cases[i].Folder = filepath.Join(dir, fmt.Sprintf("%d-%s", i, strings.ReplaceAll(cases[i].Model, ":", "-")))
		cases[i].write(t)
	}
	page, err := filepath.Abs("../../docs/runs.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/weights.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	call(t, "train", "--data", "digits:1000", "--run", "runs/export", "--quiet", "--json")
	call(t, "export", "runs/export", "--to", "onnx")
	call(t, "train", "--data", "synth:lowrank:40x50x900x3", "--model", "factor:4", "--run", "runs/factors", "--quiet",
		"--json")
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if said := check.Python(t, "torch", string(script), string(text), page); strings.TrimSpace(string(said)) != "same" {
		t.Errorf("%s", said)
	}
}

// write trains, predicts and exports.
func (c *exported) write(t *testing.T) {
	t.Helper()
	in := func(name string) string { return filepath.Join(c.Folder, name) }
	call(t, append([]string{"train", "--model", c.Model, "--run", c.Folder, "--workers", "2", "--epochs", "1",
		"--quiet", "--json"}, c.train...)...)
	predict := []string{"predict", c.Folder, "--data", c.Data, "--out", in("predictions.csv")}
	if c.Kind == "cross-entropy" || c.Kind == "logistic" {
		predict = append(predict, "--proba")
	}
	call(t, predict...)
	call(t, "export", c.Folder, "--to", "onnx")
	var eval struct{ Loss float64 }
	if err := json.Unmarshal([]byte(call(t, "eval", c.Folder, "--data", c.Data, "--json")), &eval); err != nil {
		t.Fatal(err)
	}
	c.Loss = eval.Loss
}
