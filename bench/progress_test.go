package bench

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgressInPipe: a line for each run that has ended.
func TestProgressInPipe(t *testing.T) {
	r := aRunner(t)
	var said bytes.Buffer
	r.Progress = &said
	if _, err := r.Run(t.Context(), aPlan([]uint64{3}, "good", "diverge")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), aPlan([]uint64{3, 4}, "good")); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(said.String(), "\n"); n != 4 {
		t.Errorf("%d lines, want 4:\n%s", n, &said)
	}
	for _, want := range []string{" of 2  good, seed 3   3.00 k/s  loss 0.3000",
		" of 2  diverge, seed 3   failed: the numbers diverged",
		"1 of 2 runs already done\n", "2 of 2  good, seed 4   4.00 k/s  loss 0.4000\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, &said)
		}
	}
}
