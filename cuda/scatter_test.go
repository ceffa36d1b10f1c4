//go:build cuda

package cuda

import (
	"fmt"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
)

// TestScatter: each place is one column's, and the two directions undo each other, for any number of columns.
func TestScatter(t *testing.T) {
	sizes := []int{47236, 50000, 1 << 16, 99991}
	for d := range 300 {
		sizes = append(sizes, d+1)
	}
	for _, d := range sizes {
		c, taken := scatterOf(d, 1), make([]bool, d)
		for j := range uint32(d) {
			at := c.column(j)
			if int(at) >= d || taken[at] {
				t.Fatalf("of %d columns %d goes to %d, which is outside or taken", d, j, at)
			}
			taken[at] = true
			if was := c.columnAt(at); was != j {
				t.Fatalf("of %d columns %d goes to %d, which comes from %d", d, j, at, was)
			}
		}
	}
}

// TestScatterWeights: vectors go where their columns go, output by output, and come back; biases stay.
func TestScatterWeights(t *testing.T) {
	for _, k := range []int{1, 3, 40} {
		for _, d := range []int{1, 31, 100, 2049} {
			c, size := scatterOf(d, k), d*k+k
			v := make([]float32, 2*size) // two vectors, one behind the other
			for i := range v {
				v[i] = float32(i)
			}
			gpu, back := c.there(v, size), make([]float32, len(v))
			for i, got := range gpu {
				in := i % size
				want := in
				if in < d*k {
					want = int(c.columnAt(uint32(in/k)))*k + in%k
				}
				if got != float32(i-in+want) || c.weightAt(in) != want {
					t.Fatalf("%d columns of %d: place %d has %g, and weight %d; want %d", d, k, i, got,
						c.weightAt(in), i-in+want)
				}
			}
			err := c.back(back, size, func(w []float32) error { copy(w, gpu); return nil })
			if err != nil || !slices.Equal(back, v) {
				t.Errorf("%d columns of %d come back otherwise, %v", d, k, err)
			}
		}
	}
}

// TestScatterLines: the most frequent columns are in lines of their own, whether they come first or are the first of
// groups of equal size.
func TestScatterLines(t *testing.T) {
	for _, d := range []int{1 << 14, 47236, 50000, 1 << 20} {
		for groups := 1; groups <= 32; groups *= 2 {
			c, lines := scatterOf(d, 1), map[uint32]string{}
			each := d / lineFloats
			if groups > 1 {
				each /= 72 // as 32 beginnings are apart
			}
			for g := range groups {
				for i := range each {
					name := fmt.Sprintf("%d of group %d", i, g)
					line := c.column(uint32(g*(d/groups)+i)) / lineFloats
					if other, ok := lines[line]; ok {
						t.Fatalf("%d columns, %d groups: column %s shares a line with %s", d, groups, name, other)
					}
					lines[line] = name
				}
			}
		}
	}
}

// ranked is a short run on sparse rows whose columns are in order of frequency, with one step in flight.
func ranked(t *testing.T, edit func(*config.Config)) config.Config {
	return digits(t, func(c *config.Config) {
		c.Model, c.Data, c.Batch, c.InFlight, c.LR = "logistic", "synth:ranked:500x1003x12", 1, 1, .5
		edit(c)
	})
}

// TestScatterKeepsWeights: with scattered columns a run ends with the weights and the losses that it has without, bit
// for bit; but for rounding, where it is chance when a copy is merged: local columns as a launch ends, a replica in an
// exchange. Wherever weights go from a GPU or come there, they are in the order of host memory: a run that is begun
// without is resumed with them.
func TestScatterKeepsWeights(t *testing.T) {
	needStandIn(t)
	away := func(p2p string) []string { return []string{"HOGWILD_FAKE_P2P=" + p2p, shiftVariable + "=1"} }
	two := func(c *config.Config) { c.GPU = "0,1" }
	for _, x := range []struct {
		name     string
		edit     func(*config.Config)
		switches []string
	}{
		{"plain", func(*config.Config) {}, nil},
		{"local columns", func(c *config.Config) { c.MergeEvery = "16" }, nil},
		{"l1 l2 batch 8", func(c *config.Config) { c.L1, c.L2, c.Batch = 1e-3, 1e-2, 8 }, nil},
		{"two outputs", func(c *config.Config) { c.Model = "softmax" }, nil},
		{"values", func(c *config.Config) { c.Model, c.Loss, c.LR = "linear", "squared", .1 }, nil},
		{"momentum", func(c *config.Config) { c.Optimizer, c.Batch, c.LR = "momentum", 8, .1 }, nil},
		{"adagrad l1", func(c *config.Config) { c.Optimizer, c.Batch, c.L1 = "adagrad", 8, 1e-3 }, nil},
		{"adam", func(c *config.Config) { c.Optimizer, c.Batch, c.LR = "adam", 8, .01 }, nil},
		{"sync", func(c *config.Config) {
			c.Mode, c.Workers, c.AverageEvery, c.InFlight, c.L2 = config.MustMode("sync"), 2, 5, 0, 1e-3
		}, nil},
		{"sync gradients", func(c *config.Config) {
			c.Mode, c.Average, c.Workers, c.Batch, c.InFlight = config.MustMode("sync"), "gradients", 2, 8, 0
			c.Optimizer = "momentum"
		}, nil},
		{"streams", func(*config.Config) {}, cramped},
		{"another GPU, on", two, away("on")},
		{"another GPU, off", two, away("off")},
		{"another GPU, no atomics", two, away("no-atomics")},
		{"another GPU, adam", func(c *config.Config) {
			c.GPU, c.Optimizer, c.Batch, c.LR = "0,1", "adam", 8, .01
		}, away("on")},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := ranked(t, x.edit)
			off := append(slices.Clone(x.switches), device.ScatterVariable+"=off")
			near := 0.0
			if merges := c.MergeEvery == "16" || slices.ContainsFunc(x.switches, func(s string) bool {
				return slices.Contains([]string{"HOGWILD_FAKE_P2P=off", "HOGWILD_FAKE_P2P=no-atomics"}, s)
			}); merges {
				near = 1e-5
			}
			want := trainTwo(t, c, off...)
			weights := numbers[float32](weightsIn(t, c.Run))
			same := func(how string, got rundir.Result) {
				t.Helper()
				if d := abs(got.TestLoss - want.TestLoss); d > near || abs(got.TrainLoss-want.TrainLoss) > near {
					t.Errorf("%s: train and test loss %v, %v; without %v, %v", how, got.TrainLoss, got.TestLoss,
						want.TrainLoss, want.TestLoss)
				}
				if most, d := apartBy(weights, numbers[float32](weightsIn(t, c.Run))); d > near*most {
					t.Errorf("%s: weights are up to %g apart, of %g at most", how, d, most)
				}
			}
			c.Run = t.TempDir()
			same("in one go", trainTwo(t, c, x.switches...))
			c.Run, c.Epochs = t.TempDir(), 1
			trainTwo(t, c, off...)
			c.Resume, c.Epochs = c.Run, 2
			same("resumed", trainTwo(t, c, x.switches...))
		})
	}
}

// apartBy is the largest of some weights, and how much others are apart from them.
func apartBy(want, got []float32) (most, apart float64) {
	for i, w := range want {
		most, apart = max(most, abs(float64(w))), max(apart, abs(float64(got[i]-w)))
	}
	return most, apart
}

// TestScatterAsCPU: each weight is the CPU's, but for sums in another order.
func TestScatterAsCPU(t *testing.T) {
	for _, model := range []string{"logistic", "softmax"} {
		c := ranked(t, func(c *config.Config) { c.Model = model })
		train(t, c)
		got := numbers[float32](weightsIn(t, c.Run))
		c.GPU, c.InFlight, c.Run = "", 0, t.TempDir()
		train(t, c)
		if most, d := apartBy(numbers[float32](weightsIn(t, c.Run)), got); !(d < 1e-5*most) {
			t.Errorf("%s: weights are up to %g apart from the CPU's, of %g at most", model, d, most)
		}
	}
}

// TestScatterNodes: two nodes add to each other's weights what they add without; in sync mode bit for bit.
func TestScatterNodes(t *testing.T) {
	needStandIn(t)
	for _, mode := range []string{"sync", "async"} {
		var all [2][]float32
		for i, value := range []string{"off", ""} {
			t.Setenv(device.ScatterVariable, value)
			c := ranked(t, func(c *config.Config) { c.Mode, c.Rounds = config.MustMode(mode), "3" })
			if mode == "sync" {
				c.InFlight, c.AverageEvery = 0, 8
			}
			_, weights := together(t, 2, c)
			if all[i] = weights[0]; !slices.Equal(weights[1], all[i]) {
				t.Errorf("%s, %q: the nodes end with different weights", mode, value)
			}
		}
		// When rounds of async fall is chance.
		if most, d := apartBy(all[0], all[1]); mode == "sync" && d != 0 || d > .5*most {
			t.Errorf("%s: weights are up to %g apart, of %g at most", mode, d, most)
		}
	}
}

// BenchmarkScatter is what a copy of 10 million weights takes longer, and numbers of a set that streams.
func BenchmarkScatter(b *testing.B) {
	const d = 10_000_000
	c, v := scatterOf(d, 1), make([]float32, d+1)
	b.Run("weights", func(b *testing.B) {
		b.SetBytes(4 * d)
		for range b.N {
			c.there(v, d+1)
		}
	})
	b.Run("back", func(b *testing.B) {
		b.SetBytes(4 * d)
		for range b.N {
			_ = c.back(v, d+1, func([]float32) error { return nil })
		}
	})
	b.Run("numbers", func(b *testing.B) {
		from := make([]uint32, 1<<16)
		for i := range from {
			from[i] = uint32(i) * 2654435761 % d
		}
		to := make([]uint32, len(from))
		b.SetBytes(int64(4 * len(from)))
		for range b.N {
			c.renumber(to, from, nil)
		}
	})
}
