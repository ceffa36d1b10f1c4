package rundir

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hogwild/internal/check"
	"hogwild/internal/human"
)

// TestClassesByHand: ten examples of three classes, one never predicted.
func TestClassesByHand(t *testing.T) {
	d := DetailOf([]string{"cat", "dog", "eel"}, []float32{0, 0, 0, 0, 1, 1, 1, 1, 2, 2},
		[]float32{0, 0, 0, 1, 1, 1, 0, 1, 1, 0})
	want := &Detail{
		Confusion: [][]int{{3, 1, 0}, {1, 3, 0}, {1, 1, 0}},
		Classes: []ClassFigures{
			{"cat", 4, 3. / 5, 3. / 4, 2. / 3},
			{"dog", 4, 3. / 5, 3. / 4, 2. / 3},
			{"eel", 2, 0, 0, 0},
		},
	}
	if d := cmp.Diff(want, d, cmpopts.EquateApprox(0, 1e-15)); d != "" {
		t.Error(d)
	}
	check.Golden(t, "detail-classes.golden", d.Text(20)+d.Text(2))
	for what, x := range map[string]*Detail{
		"NaN":      DetailOf([]string{"a", "b"}, []float32{0}, []float32{float32(math.NaN())}),
		"no class": DetailOf([]string{"a", "b"}, []float32{0}, []float32{2}),
		"nothing":  DetailOf(nil, nil, nil),
	} {
		if x != nil {
			t.Errorf("%s: %+v", what, x)
		}
	}
}

// TestResidualsByHand: five residuals, 1 to 5 and in no order.
func TestResidualsByHand(t *testing.T) {
	d := DetailOf(nil, []float32{1, 2, 3, 4, 5}, []float32{-2, -3, 2, 2, 1})
	r2 := 1 - 55./10
	want := &Residuals{Mean: 3, SD: math.Sqrt2, MAE: 3, RMSE: math.Sqrt(11), R2: &r2, Min: 1, P5: 1.2, P25: 2,
		Median: 3, P75: 4, P95: 4.8, Max: 5,
		Bands: []Band{{0, 1.4, 3, 4.6}}}
	if d := cmp.Diff(want, d.Residuals, cmpopts.EquateApprox(0, 1e-14)); d != "" {
		t.Error(d)
	}
	check.Golden(t, "detail-values.golden", d.Text(5))
	if flat := DetailOf(nil, []float32{2, 2}, []float32{1, 3}); flat.Residuals.R2 != nil {
		t.Errorf("of equal targets R2 is %v", *flat.Residuals.R2)
	}
}

// TestManyClasses: of more than a hundred classes there is no matrix; a table too wide for the
// terminal is without it.
func TestManyClasses(t *testing.T) {
	var classes []string
	var y, predicted []float32
	for i := range 150 {
		classes = append(classes, fmt.Sprint("a class with a long name, number ", i))
		y, predicted = append(y, float32(i), float32(i)), append(predicted, float32(i), float32(i/2))
	}
	d := DetailOf(classes, y, predicted)
	if d.Confusion != nil || len(d.Classes) != 150 || d.Classes[149].Recall != .5 {
		t.Errorf("%d classes, %d rows of the matrix, the last %+v", len(d.Classes), len(d.Confusion), d.Classes[149])
	}
	if text := d.Text(20); strings.Count(text, "\n") != 1 {
		t.Errorf("%q: want a line", text)
	}
	d = DetailOf(classes[:12], y[:24], predicted[:24])
	if text := d.Text(20); strings.Count(text, "\n") != 14 || human.Widest(text) > textWidth {
		t.Errorf("%d columns:\n%s", human.Widest(text), text)
	}
}

// TestDetailByNumPy: figures of random predictions are what NumPy computes of them.
// TestLongNames: different names stay different in tables, whole up to 40 letters; JSON has them whole.
func TestLongNames(t *testing.T) {
	long := "Iris setosa, of the northern provinces in spring, "
	for name, c := range map[string]struct {
		classes, want []string
		matrix        bool
	}{
		"whole": {[]string{"gradient boosting, 200 trees, depth 4", "gradient boosting, 200 trees, depth 6"},
			[]string{"gradient boosting, 200 trees, depth 4 ", "gradient boosting, 200 trees, depth 6 "}, false},
		"whole beside the matrix": {[]string{"Iris versicolor, 1", "b", "c"}, []string{"Iris versicolor, 1 "}, true},
		"cut in the middle": {[]string{long + "first sample", long + "second sample"},
			[]string{"Iris setosa, of the...ring, first sample ", "Iris setosa, of the...ing, second sample "}, false},
		"cut the same": {[]string{"a" + long + long, "a" + long + "other" + long},
			[]string{"in spring, ", "...#2 "}, false},
		"short beside the matrix": {[]string{strings.Repeat("Ä", 60), "b"},
			[]string{strings.Repeat("Ä", 7) + "...ÄÄÄÄÄÄ "}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var y []float32
			for i := range 12 {
				y = append(y, float32(i%len(c.classes)))
			}
			d := DetailOf(c.classes, y, y)
			text := d.Text(20)
			seen := map[string]bool{}
			for i, line := range strings.Split(strings.TrimSpace(text), "\n")[2:] {
				name, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
				if i < len(c.want) && !strings.Contains(line, c.want[i]) || seen[name] {
					t.Errorf("%q: want %q", line, c.want)
				}
				seen[name] = true
			}
			if len(seen) != len(c.classes) || strings.Contains(text, "confusion") != c.matrix ||
				human.Widest(text) > textWidth {
				t.Errorf("%s", text)
			}
			for i, name := range c.classes {
				if d.Classes[i].Class != name {
					t.Errorf("JSON has %q", d.Classes[i].Class)
				}
			}
		})
	}
}

func TestDetailByNumPy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var y, predicted, values, guesses []float32
	for range 500 {
		c := float32(r.IntN(5))
		y, predicted = append(y, c), append(predicted, float32(min(4, int(c)+r.IntN(3)/2)))
		v := float32(10 * r.NormFloat64())
		values, guesses = append(values, v), append(guesses, v+float32(r.NormFloat64())+1)
	}
	given, err := json.Marshal([][]float32{y, predicted, values, guesses})
	if err != nil {
		t.Fatal(err)
	}
	out := check.Python(t, "numpy", `
import json, sys, numpy as np
y, p, v, g = (np.array(a, "f4") for a in json.loads(sys.argv[1]))
v, g = v.astype("f8"), g.astype("f8")
m = np.zeros((5, 5), int)
np.add.at(m, (y.astype(int), p.astype(int)), 1)
right, rows, taken = np.diag(m), m.sum(1), m.sum(0)
precision, recall = right / taken, right / rows
classes = [{"class": str(i), "rows": int(rows[i]), "precision": precision[i], "recall": recall[i],
    "f1": 2 * precision[i] * recall[i] / (precision[i] + recall[i])} for i in range(5)]
e = v - g
q = np.quantile(e, [0, .05, .25, .5, .75, .95, 1])
order = np.argsort(g, kind="stable")
groups = [order[i * 25:(i + 1) * 25] for i in range(20)]
residuals = dict(zip(["min", "p5", "p25", "median", "p75", "p95", "max"], q), mean=e.mean(), sd=e.std(), mae=np.abs(e).mean(),
    rmse=np.sqrt((e * e).mean()), r2=1 - (e * e).sum() / ((v - v.mean()) ** 2).sum(),
    bands=[dict(prediction=g[i].mean(), p10=np.quantile(e[i], .1), median=np.median(e[i]), p90=np.quantile(e[i], .9)) for i in groups])
print(json.dumps([{"classes": classes, "confusion": m.tolist()}, {"residuals": residuals}]))
`, string(given))
	var want []*Detail
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := []*Detail{DetailOf([]string{"0", "1", "2", "3", "4"}, y, predicted), DetailOf(nil, values, guesses)}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-12)); d != "" {
		t.Error(d)
	}
}
