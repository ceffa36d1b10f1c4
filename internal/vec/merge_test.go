package vec

import (
	"fmt"
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
					t.Errorf("length %d: shared, mine and base [%d] are %v, %v, %v, not the same", n, i, shared[i],
						mine[i], base[i])
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

// TestMergeCentered: against float64, at odd sizes, with nothing written beyond the ends.
func TestMergeCentered(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, rows := range []int{1, 2, 7, 8, 9, 17, 24} {
			for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 31, 33, 67} {
				n := rows * k
				all := make(map[string][]float32)
				for name, size := range map[string]int{"shared": n, "mine": n, "base": n, "mu": rows, "s": k,
					"learned": k, "merged": k} {
					all[name] = fresh(t, size)
				}
				was := make(map[string][]float32)
				for name, v := range all {
					was[name] = slices.Clone(v)
				}
				MergeCentered(all["shared"], all["mine"], all["base"], all["mu"], all["s"],
					all["learned"], all["merged"])
				for c := range k {
					learned, merged := float64(was["learned"][c]), float64(was["merged"][c])
					for j := range rows {
						mu, at := float64(was["mu"][j]), j*k+c
						w := float64(was["mine"][at]) - mu*float64(was["s"][c])
						learned += mu * w
						w += float64(was["shared"][at]) - float64(was["base"][at])
						merged += mu * w
						near(t, "MergeCentered", 2, all["shared"][at], w)
						if all["mine"][at] != all["shared"][at] || all["base"][at] != all["shared"][at] {
							t.Fatalf("%d x %d: shared, mine and base [%d] are not the same", rows, k, at)
						}
					}
					near(t, "learned", 4*rows, all["learned"][c], learned)
					near(t, "merged", 4*rows, all["merged"][c], merged)
				}
				if !slices.Equal(all["mu"], was["mu"]) || !slices.Equal(all["s"], was["s"]) {
					t.Errorf("%d x %d: the means or s were written", rows, k)
				}
			}
		}
		v := func(n int) []float32 { return fresh(t, n) }
		panics(t, "MergeCentered of a short row", func() { MergeCentered(v(19), v(20), v(20), v(4), v(5), v(5), v(5)) })
		panics(t, "MergeCentered of short sums", func() { MergeCentered(v(20), v(20), v(20), v(4), v(5), v(4), v(5)) })
	})
}

// BenchmarkMergeCentered measures a merge of a first layer of MNIST's width, and the plain one.
func BenchmarkMergeCentered(b *testing.B) {
	for _, k := range []int{10, 128} {
		n := 784 * k
		shared, mine, base, mu := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, 784)
		s, learned, merged := make([]float32, k), make([]float32, k), make([]float32, k)
		for j := range mu {
			mu[j] = float32(j%8) / 8
		}
		b.Run(fmt.Sprintf("784x%d", k), func(b *testing.B) {
			for b.Loop() {
				MergeCentered(shared, mine, base, mu, s, learned, merged)
			}
		})
		b.Run(fmt.Sprintf("784x%d-plain", k), func(b *testing.B) {
			for b.Loop() {
				Merge(shared, mine, base)
			}
		})
	}
}
