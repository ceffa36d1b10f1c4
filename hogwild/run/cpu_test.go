package run

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > 2e-5*(1+math.Abs(want[i])) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
		}
	}
}
