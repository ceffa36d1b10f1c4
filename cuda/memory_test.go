//go:build cuda

package cuda

import (
	"math"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// TestDataInMemory: a regression on data in memory, whose columns need scaling and whose values lie
// far from 0, takes the CPU's steps at the rate that was chosen for it. Predictions are as good.
func TestDataInMemory(t *testing.T) {
	m := &data.Memory{Columns: []string{"narrow", "wide", "far"}}
	for i := range 240 {
		a, b, c := float32(i%13)/100, float32(i*7%101)*10, 1e4+float32(i*5%17)
		m.Rows = append(m.Rows, data.Row{Val: []float32{a, b, c}})
		m.Y = append(m.Y, 1000+500*a-.05*b+3*(c-1e4))
	}
	gpu := digits(t, func(c *config.Config) {
		c.Data, c.LR, c.Epochs, c.InFlight, c.Validation, c.LRCap = "", 0, 6, 1, "0.2", "auto"
	})
	cpu := gpu
	cpu.GPU, cpu.InFlight, cpu.Run = "", 0, t.TempDir()
	got, want := trainOn(t, m, gpu), trainOn(t, m, cpu)
	if !strings.HasPrefix(got.Device, "cuda:0") || got.LRUsed != want.LRUsed || got.Auto != want.Auto {
		t.Errorf("on %s the rate is %g of %v, want %g of %v", got.Device, got.LRUsed, got.Auto, want.LRUsed, want.Auto)
	}
	for i, w := range want.History {
		g := got.History[i]
		if near := 1e-3 * w.TrainLoss; math.Abs(g.TrainLoss-w.TrainLoss) > near ||
			math.Abs(g.Judged().Loss-w.Judged().Loss) > near {
			t.Errorf("epoch %d: train and validation loss %.6g, %.6g; the CPU's %.6g, %.6g", i+1, g.TrainLoss,
				g.Judged().Loss, w.TrainLoss, w.Judged().Loss)
		}
	}
	if *got.TestR2 < .95 || math.Abs(*got.TestR2-*want.TestR2) > 1e-3 {
		t.Errorf("R2 %.4f, the CPU's %.4f", *got.TestR2, *want.TestR2)
	}
	s, err := saved.Open(gpu.Run)
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := s.PredictData(m)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, y := range m.Y {
		sum += math.Pow(float64(predicted[i]-y), 2) / float64(len(m.Y))
	}
	if rmse := math.Sqrt(sum); !(rmse < 2**got.TestRMSE) {
		t.Errorf("RMSE of all rows %.3g, of the test rows %.3g", rmse, *got.TestRMSE)
	}
}

func trainOn(t *testing.T, m *data.Memory, c config.Config) rundir.Result {
	t.Helper()
	r, err := run.Run(t.Context(), c, run.Options{TrainData: m})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
