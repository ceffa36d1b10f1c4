package vec

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestPeakCountsItsInstructions: the operations that a round is said to do are those
// in its loop.
func TestPeakCountsItsInstructions(t *testing.T) {
	text, err := os.ReadFile("peak_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"plain Go": 2 * 8}
	for function := range strings.SplitSeq(string(text), "TEXT ·peak") {
		name, body, _ := strings.Cut(function, "(SB)")
		n := float64(strings.Count(body, "VFMADD213PS"))
		switch name {
		case "AVX2":
			want["AVX2"] = 2 * 8 * n
		case "AVX512":
			want["AVX-512"] = 2 * 16 * n
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
	if last := peaks[len(peaks)-1].Name; last != "plain Go" || runtime.GOARCH != "amd64" && len(peaks) > 1 {
		t.Errorf("%d loops on %s, the last in %s", len(peaks), runtime.GOARCH, last)
	}
}
