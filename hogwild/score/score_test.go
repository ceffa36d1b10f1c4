package score

import (
	"testing"

	"hogwild/hogwild/model"
)

// TestNoR2OfOneRow: where all values are the same there is no variance to explain, and no R2.
func TestNoR2OfOneRow(t *testing.T) {
	for _, y := range []float64{3, 0.1, -12345.678, 1e-30} {
		for n := 1.0; n < 4; n++ {
			s := Of("test", model.Score{N: int(n), SqErr: 1, Y: n * y, Y2: n * y * y}, false)
			if s.R2 != nil || s.RMSE == nil {
				t.Errorf("%g rows of %g: R2 %v, RMSE %v", n, y, s.R2, s.RMSE)
			}
		}
	}
}
