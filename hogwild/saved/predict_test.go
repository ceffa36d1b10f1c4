package saved_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// TestPredict: predictions of raw rows have the accuracy, or the error, that eval finds on the file.
func TestPredict(t *testing.T) {
	for _, x := range []struct {
		name string
		edit func(c *config.Config)
	}{
		{"softmax", func(c *config.Config) { c.Model = "softmax" }},
		{"perceptron", func(c *config.Config) { c.Model = "mlp:16" }},
		{"hinge, scaled", func(c *config.Config) { c.Model, c.Scale = "hinge", "standard" }},
		{"convnet", func(c *config.Config) { c.Model, c.Data, c.Epochs = "conv:4@5p2,10", "digits:300", 1 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := configtest.Quick(t)
			x.edit(&c)
			c.Run = t.TempDir()
			epochs := 0
			count := func(rundir.EpochResult) { epochs++ }
			if _, err := run.Run(t.Context(), c, run.Options{OnEpoch: count}); err != nil ||
				epochs != c.Epochs {
				t.Fatalf("%d epochs told, %v", epochs, err)
			}
			s, err := saved.Open(c.Run)
			if err != nil {
				t.Fatal(err)
			}
			want, err := saved.Eval(c.Run, c.Data, "auto", "")
			if err != nil {
				t.Fatal(err)
			}
			set, err := data.LoadLike(c.Data, "auto", "", s.Meta())
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			right := 0
			for i := range set.Rows {
				row := make([]float32, set.Features)
				for j, v := range set.X8[i*set.Features:][:set.Features] {
					row[j] = float32(v)
				}
				got, err := s.Predict(row, row)
				if err != nil || len(got) != 2 || got[0] != got[1] {
					t.Fatal(got, err)
				}
				if got[0] == set.Y[i] {
					right++
				}
			}
			if got := float64(right) / float64(set.Rows); math.Abs(got-*want.Accuracy) > 1e-9 ||
				len(s.Classes()) != 10 {
				t.Errorf("%.4f of the predictions are right, of %d classes; eval says %.4f", got, len(s.Classes()),
					*want.Accuracy)
			}
			if _, err := s.Predict(make([]float32, 3)); !errors.Is(err, config.ErrUsage) {
				t.Errorf("a row of three inputs: %v", err)
			}
		})
	}
}

// TestPredictValues: predictions of the rows of a CSV file have the RMSE that eval finds.
func TestPredictValues(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,y\n")
	var rows [][]float32
	var y []float64
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		a, b := float32(r.IntN(100)), float32(r.IntN(10))
		rows, y = append(rows, []float32{a, b}), append(y, float64(3*a-b)+r.NormFloat64())
		fmt.Fprintf(&text, "%g,%g,%g\n", a, b, y[len(y)-1])
	}
	c := configtest.Quick(t)
	c.Data, c.Target, c.Model, c.Scale, c.LR = filepath.Join(t.TempDir(), "lines.csv"), "y", "linear", "standard", .01
	if err := os.WriteFile(c.Data, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	runtest.Train(t, c)
	want, err := saved.Eval(c.Run, c.Data, "auto", "y")
	if err != nil {
		t.Fatal(err)
	}
	s, err := saved.Open(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Predict(rows...)
	if err != nil {
		t.Fatal(err)
	}
	square := 0.0
	for i, v := range got {
		square += (float64(v) - y[i]) * (float64(v) - y[i])
	}
	if rmse := math.Sqrt(square / float64(len(y))); math.Abs(rmse-*want.RMSE) > 1e-4**want.RMSE || s.Classes() != nil {
		t.Errorf("RMSE %g, eval says %g", rmse, *want.RMSE)
	}
}
