//go:build cuda

package cuda

import (
	"bytes"
	"math"
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
	for _, name := range []string{"launch, queued", "add: one sector, a lane of each warp", "load: latency, memory", "copy: host to GPU", "clock under load"} {
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
