//go:build cuda

package cuda

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/cu"
)

// TestMicrobenchRuns: each case comes to a number; how fast, only a GPU says.
func TestMicrobenchRuns(t *testing.T) {
	p, err := MeasureGPU(0, true)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range p.Figures {
		if !(f.Value > 0) || math.IsInf(f.Value, 0) || f.Unit == "" || f.Means == "" || seen[f.Name] {
			t.Errorf("%+v: not a positive number with a unit and a meaning, of a name of its own", f)
		}
		seen[f.Name] = true
	}
	for _, name := range []string{"launch, queued", "add: one sector, a lane of each warp", "add: 25 lines, a lane of each of 264 warps",
		"add: one sector, a lane of each of 2112 warps", "load: latency, memory", "load: latency, L2 cache, weak", "load: bandwidth, L2 cache, scope gpu",
		"load: bandwidth, memory, vectors of 4", "copy: host to GPU", "clock under load"} {
		if !seen[name] {
			t.Errorf("there is no figure %q", name)
		}
	}
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil || p.StandIn != strings.Contains(text.String(), "not measurements") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	t.Log("\n" + text.String())
}

// TestMicrobenchLoad: a chain is followed to its end, and each lane loads as many floats as are counted, at any scope.
func TestMicrobenchLoad(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		const n, turns = 1000, 321
		chain := make([]uint32, n)
		for i := range chain {
			chain[i] = uint32(i*7+3) % n
		}
		end := uint32(0)
		for range turns {
			end = chain[end]
		}
		for kernel, width := range map[string]int{"micro_load": 1, "micro_load_gpu": 1, "micro_load_weak": 1, "micro_load_vector": 4, "micro_chase": 0, "micro_chase_gpu": 0, "micro_chase_weak": 0} {
			out := put(g, make([]uint64, 8))
			j, want := microJob{Base: put(g, chain), Out: out, Times: turns}, uint64(end)
			if width > 0 { // in one turn a thread's sum is a quarter, which a kernel tells
				each := []float32{float32(.25) / float32(accesses*width)}
				j = microJob{Base: put(g, slices.Repeat(each, 40*32*width)), Out: out, Times: 1, Pieces: 40}
				want = 1
			}
			if err := g.kernels[kernel].run(2, cu.DevicePtr(put(g, encode(j)))); err != nil {
				t.Fatal(err)
			}
			if got := get[uint64](g, 3, out)[2]; got != want {
				t.Errorf("%s ends with %d, want %d", kernel, got, want)
			}
		}
	}, "micro")
}

// TestMicrobenchAdd holds the kernels of additions to what they say they do: so many weights
// are added to, equally often.
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
			{"micro_add_vector", microJob{Pieces: 5, Step: 128, Per: 32, Width: 4, Lanes: 32}, 160},
			{"micro_add", microJob{Pieces: 20, Step: 128, Per: 8, Apart: 32, Width: 1, Lanes: 32}, 640},
		} {
			w := put(g, make([]float32, size))
			c.j.Base, c.j.Out, c.j.Times = w, put(g, make([]uint64, 8)), 5
			const ctas = 5
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
				t.Errorf("%s %+v: %g added to %d weights, want %g to %d", c.kernel, c.j, sum, touched, adds*float64(each), c.touched*each)
			}
		}
	}, "micro")
}
