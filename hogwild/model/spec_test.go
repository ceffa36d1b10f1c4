package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/data"
)

func setOf(classes int) data.Meta {
	return data.Meta{Name: "iris.csv", Features: 4, Classes: make([]string, classes)}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name, loss string
		classes    int
		task       string
		want       Spec
	}{
		{"", "", 0, "", Spec{Name: "linear", Loss: Squared, Outputs: 1}},
		{"", "", 2, "", Spec{Name: "logistic", Loss: Logistic, Outputs: 1}},
		{"", "", 3, "", Spec{Name: "softmax", Loss: CrossEntropy, Outputs: 3}},
		{"", "hinge", 3, "classes", Spec{Name: "hinge", Loss: Hinge, Outputs: 3}},
		{"", "l1", 0, "values", Spec{Name: "l1", Loss: L1, Outputs: 1}},
		{"softmax", "", 2, "classes", Spec{Name: "softmax", Loss: CrossEntropy, Outputs: 2}},
		{"linear", "squared", 0, "values", Spec{Name: "linear", Loss: Squared, Outputs: 1}},
		{"mlp:8", "", 0, "", Spec{Name: "mlp:8", Loss: Squared, Widths: []int{8}, Outputs: 1}},
		{"mlp:8", "", 2, "", Spec{Name: "mlp:8", Loss: CrossEntropy, Widths: []int{8}, Outputs: 2}},
		{"mlp:8,6", "logistic", 2, "classes", Spec{Name: "mlp:8,6", Loss: Logistic, Widths: []int{8, 6}, Outputs: 1}},
		{"mlp:8,6", "logistic", 4, "classes", Spec{Name: "mlp:8,6", Loss: Logistic, Widths: []int{8, 6}, Outputs: 4}},
	} {
		task, err := Task(c.name, c.loss)
		if err != nil || task != c.task {
			t.Errorf("Task(%q, %q) = %q, %v, want %q", c.name, c.loss, task, err, c.task)
		}
		c.want.Features, c.want.Classes, c.want.Bias = 4, c.classes, true
		got, err := Resolve(Options{Name: c.name, Loss: c.loss, Bias: true}, setOf(c.classes))
		got.Options = Options{}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("Resolve(%q, %q) of %d classes: %v\n%s", c.name, c.loss, c.classes, err, d)
		}
	}
}

// TestRefusals has what each error must say. Errors of the names come from Task
// already, before any data is read.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, loss string
		classes    int
		early      bool
		want       string
	}{
		{"sofmax", "", 3, true,
			`unknown model "sofmax": the models are softmax, logistic, hinge, squared-hinge, linear, l1, mlp:WIDTHS`},
		{"softmax", "mse", 3, true, `unknown loss "mse": the losses are cross-entropy, logistic, hinge, squared-hinge, squared, l1`},
		{"softmax", "squared", 3, true,
			`softmax is the linear model with the cross-entropy loss; with the squared loss it is called linear`},
		{"mlp", "", 3, true, `width "" is not a number from 1`},
		{"mlp:12,x", "", 3, true, `width "x" is not a number from 1 to 1048576 (write mlp:128, or mlp:256,128)`},
		{"mlp:0", "", 3, true, `width "0"`},
		{"mlp:99999999", "", 3, true, `width "99999999"`},
		{"softmax", "", 0, false,
			`the cross-entropy loss needs classes, but the labels of iris.csv are values: use squared or l1`},
		{"linear", "", 3, false,
			`the squared loss predicts values, but iris.csv has 3 classes: use cross-entropy, logistic or hinge`},
		{"", "", 1, false, `all labels of iris.csv are the same`},
	} {
		if _, err := Task(c.name, c.loss); (err != nil) != c.early {
			t.Errorf("Task(%q, %q): %v", c.name, c.loss, err)
		}
		_, err := New(Options{Name: c.name, Loss: c.loss, Bias: true}, setOf(c.classes))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%q, %q) of %d classes: %v\nwant %s", c.name, c.loss, c.classes, err, c.want)
		}
	}
	if _, err := New(Options{Name: "", Bias: true}, data.Meta{Name: "empty.csv"}); err == nil ||
		!strings.Contains(err.Error(), "empty.csv has no features") {
		t.Errorf("no features: %v", err)
	}
}

// constant predicts one number, whatever the inputs: the simplest model of one's own.
type constant struct{ g [1]float32 }

func (c *constant) Params() []Param               { return []Param{{Name: "value", Shape: []int{1}}} }
func (c *constant) Init(w []float32, seed uint64) { w[0] = 0 }
func (c *constant) Eval(w []float32, b *data.Batch) Score {
	return Score{N: len(b.Y), Loss: c.Grad(w, b, &Gradient{})}
}
func (c *constant) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	c.g[0] = 0
	for _, y := range b.Y {
		loss += float64((w[0] - y) * (w[0] - y))
		c.g[0] += 2 * (w[0] - y) / float32(len(b.Y))
	}
	g.Parts = []Part{{Bias: -1, G: c.g[:]}}
	return loss
}

func TestRegister(t *testing.T) {
	Register("constant", func(m data.Meta) (Model, error) {
		if len(m.Classes) > 0 {
			return nil, fmt.Errorf("constant predicts values")
		}
		return &constant{}, nil
	})
	if task, err := Task("constant", ""); task != "" || err != nil {
		t.Errorf("task %q, %v", task, err)
	}
	m, err := New(Options{Name: "constant", Bias: true}, setOf(0))
	if err != nil {
		t.Fatal(err)
	}
	w, b, g := make([]float32, 1), &data.Batch{Rows: make([]data.Row, 3), Y: []float32{1, 2, 6}}, Gradient{}
	for range 100 {
		m.Grad(w, b, &g)
		w[0] -= 0.1 * materialise(&g, 1)[0]
	}
	if w[0] < 2.999 || w[0] > 3.001 {
		t.Errorf("the constant is %v, want the mean of 1, 2 and 6", w[0])
	}

	for what, err := range map[string]error{
		"its own error": second(New(Options{Name: "constant", Bias: true}, setOf(2))),
		"a loss":        second(New(Options{Name: "constant", Loss: "l1", Bias: true}, setOf(0))),
		"a loss early":  second(Task("constant", "l1")),
		"no bias":       second(New(Options{Name: "constant", Bias: false}, setOf(0))),
		"a spec":        second(Resolve(Options{Name: "constant", Loss: "l1", Bias: true}, setOf(0))),
	} {
		if err == nil || !strings.Contains(err.Error(), "constant") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := second(Task("unknown", "")); !strings.Contains(err.Error(), "constant") {
		t.Errorf("the registered model is not listed: %v", err)
	}
	if err := RegisterError(); err != nil {
		t.Error(err)
	}
	defer func() { badNames = nil }()
	for _, name := range []string{"", "constant", "softmax", "l1", "mlp", "mlp:7"} {
		badNames = nil
		Register(name, nil)
		if err := RegisterError(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Register(%q) leaves the error %v", name, err)
		}
	}
	if _, err := New(Options{Name: "constant", Bias: true}, setOf(0)); err != nil {
		t.Errorf("the first registration must stay: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
