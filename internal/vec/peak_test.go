package vec

import (
	"os"
	"strings"
	"testing"
)

// TestPeakCountsItsInstructions: the operations that a round is said to do are those
// in its loop.
func TestPeakCountsItsInstructions(t *testing.T) {
	want := map[string]float64{"plain Go": 2 * 8}
	for _, file := range []string{"peak_amd64.s", "peak_arm64.s"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for function := range strings.SplitSeq(string(text), "TEXT ·peak") {
			name, body, _ := strings.Cut(function, "(SB)")
			switch name {
			case "AVX2":
				want["AVX2"] = 2 * 8 * float64(strings.Count(body, "VFMADD213PS"))
			case "AVX512":
				want["AVX-512"] = 2 * 16 * float64(strings.Count(body, "VFMADD213PS"))
			case "NEON":
				want["NEON"] = 2 * 4 * float64(strings.Count(body, "fmla"))
			}
		}
	}
	peaks := Peaks()
	for _, p := range peaks {
		if p.Flops != want[p.Name] {
			t.Errorf("%s: %v operations a round, its loop has %v", p.Name, p.Flops, want[p.Name])
		}
		p.Run(1)
		p.Run(1000)
	}
	if last := peaks[len(peaks)-1].Name; last != "plain Go" || (set == Plain) != (len(peaks) == 1) {
		t.Errorf("%d loops with %v, the last in %s", len(peaks), set, last)
	}
}
