//go:build cuda

package cuda

import (
	"slices"
	"testing"

	"gorgonia.org/cu"
)

// TestMicrobenchLoad: a chain is followed to its end, and each thread loads as many floats as are counted, at any
// scope.
func TestMicrobenchLoad(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		const n, turns, ctas = 1000, 321, 2
		chain := make([]uint32, n)
		for i := range chain {
			chain[i] = uint32(i*7+3) % n
		}
		end := uint32(0)
		for range turns {
			end = chain[end]
		}
		for _, kernel := range []string{"micro_chase", "micro_chase_gpu", "micro_chase_weak"} {
			out := put(g, make([]uint64, sumsAt))
			j := microJob{Base: put(g, chain), Out: out, Times: turns}
			if err := g.kernels[kernel].run(ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
				t.Fatal(err)
			}
			if got := get[uint64](g, 3, out)[2]; got != uint64(end) {
				t.Errorf("%s ends with %d, want %d", kernel, got, end)
			}
		}
		for kernel, width := range map[string]int{"micro_load": 1, "micro_load_gpu": 1, "micro_load_weak": 1,
			"micro_load_vector": 4, "micro_read": 1} {
			j := packed(40)
			j.Base = put(g, slices.Repeat([]float32{.25}, 40*32*width))
			j.Times = 3
			want := .25 * float32(3*accesses*width)
			if sums := sumsOf(t, g, kernel, ctas, j); slices.Min(sums) != want || slices.Max(sums) != want {
				t.Errorf("%s: sums of %v to %v, want %v", kernel, slices.Min(sums), slices.Max(sums), want)
			}
		}
	}, "micro")
}

// sumsOf runs a kernel of loads and returns each thread's sum.
func sumsOf(t *testing.T, g *gpuUnderTest, kernel string, ctas int, j microJob) []float32 {
	t.Helper()
	j.Out = put(g, make([]uint64, sumsAt+ctas*threads/2))
	if err := g.kernels[kernel].run(ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	return get[float32](g, ctas*threads, j.Out+8*sumsAt)
}

// TestMicrobenchTurns: additions of a warp are there when it loads next.
func TestMicrobenchTurns(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		const ctas, turns, n = 3, 5, 5 * accesses
		w := put(g, make([]float32, 32))
		sums := sumsOf(t, g, "micro_read_add", ctas,
			microJob{Base: w, Times: turns, Pieces: 1, Per: 32, Width: 1, Lanes: 1})
		all := get[float32](g, 1, w)[0]
		if all != n*ctas*warpsOfCTA {
			t.Errorf("%v added, want %d", all, n*ctas*warpsOfCTA)
		}
		for i := 0; i < len(sums); i += 32 {
			if least := float32(n * (n - 1) / 2); sums[i] < least || sums[i] > n*all {
				t.Errorf("warp %d has loaded %v in all, want %v to %v", i/32, sums[i], least, n*all)
			}
		}
	}, "micro")
}

// TestMicrobenchAdd holds the kernels of additions to what they say they do: they add to a number
// of weights, equally often.
func TestMicrobenchAdd(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		const size = 4096
		for _, c := range []struct {
			kernel  string
			j       microJob
			touched int
		}{
			{"micro_add", microJob{Pieces: 1, Per: 32, Width: 1, Lanes: 1}, 1},
			{"micro_add", packed(25), 800},
			{"micro_add_gpu", packed(25), 800},
			{"micro_read_add", packed(25), 800},
			{"micro_add_vector", microJob{Pieces: 5, Step: 128, Per: 32, Width: 4, Lanes: 32}, 160},
			{"micro_add", microJob{Pieces: 20, Step: 128, Per: 8, Apart: 32, Width: 1, Lanes: 32}, 640},
		} {
			w := put(g, make([]float32, size))
			const ctas = 5
			c.j.Base, c.j.Out, c.j.Times = w, put(g, make([]uint64, sumsAt+ctas*threads/2)), 5
			if err := g.kernels[c.kernel].run(ctas, cu.DevicePtr(put(g, encode(c.j)))); err != nil {
				t.Fatal(err)
			}
			sum, touched := 0.0, 0
			for _, v := range get[float32](g, size, w) {
				sum += float64(v)
				if v != 0 {
					touched++
				}
			}
			adds, each := float64(ctas*8*5*accesses)*float64(c.j.Lanes), 1
			if c.kernel == "micro_add_vector" {
				each = 4 // floats a lane
			}
			if sum != adds*float64(each) || touched != c.touched*each {
				t.Errorf("%s %+v: %g added to %d weights, want %g to %d", c.kernel, c.j, sum, touched,
					adds*float64(each), c.touched*each)
			}
		}
	}, "micro")
}
