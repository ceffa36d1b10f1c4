//go:build !noasm

package vec

import "testing"

// atLevels runs f at each level of instructions that this processor has, from plain
// Go to the best.
func atLevels(t *testing.T, f func(t *testing.T)) {
	a, b, c := avx2, avx512, vbmi2
	defer func() { avx2, avx512, vbmi2 = a, b, c }()
	avx2, avx512, vbmi2 = false, false, false
	t.Run("go", f)
	if avx2 = a; a {
		t.Run("avx2", f)
	}
	if avx512 = b; b {
		t.Run("avx512", f)
	}
	if vbmi2 = c; c {
		t.Run("vbmi2", f)
	}
}
