package vec

import (
	"slices"
	"testing"
)

func TestMerge(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range lengths {
			shared, mine, base := fresh(t, n), fresh(t, n+n%3), fresh(t, n+n%2)
			s, m, b := slices.Clone(shared), slices.Clone(mine), slices.Clone(base)
			Merge(shared, mine, base)
			for i := range shared {
				near(t, "Merge", 1, shared[i], float64(s[i])+float64(m[i])-float64(b[i]))
				if mine[i] != shared[i] || base[i] != shared[i] {
					t.Errorf("length %d: shared, mine and base [%d] are %v, %v, %v, not the same", n, i, shared[i], mine[i], base[i])
				}
			}
			if !slices.Equal(mine[n:], m[n:]) || !slices.Equal(base[n:], b[n:]) {
				t.Errorf("length %d: written beyond the end", n)
			}
		}
		for _, c := range []struct{ mine, base int }{{9, 10}, {10, 9}} {
			shared := fresh(t, 10)
			before := slices.Clone(shared)
			panics(t, "Merge of a short slice", func() { Merge(shared, fresh(t, c.mine), fresh(t, c.base)) })
			if !slices.Equal(shared, before) {
				t.Error("written before the check")
			}
		}
	})
}

// panics fails unless f does.
func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}
