package tuning

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// TestFrequent: the lines that are merged every time have the frequent columns and the bias, and the others may wait as
// much longer as their largest eigenvalue is smaller, by 500 rounds on the matrix itself.
func TestFrequent(t *testing.T) {
	const n, d = 400, 256 // sixteen lines, and the bias's
	r := rand.New(rand.NewPCG(5, 5))
	set := &data.Set{Meta: data.Meta{Kind: data.Sparse, Rows: n, Features: d}, Y: make([]float32, n), Ptr: []int64{0}}
	all, rest := make([][]float64, n), make([][]float64, n)
	for i := range n {
		all[i], rest[i] = make([]float64, d), make([]float64, d)
		for j := range d {
			v := r.Float64() + .5
			if line := j / LineWeights; r.Float64() > .8 && line == 7 {
				all[i][j] = v
			} else if r.Float64() > .98 {
				all[i][j], rest[i][j] = v, v
				if line == 7 {
					rest[i][j] = 0
				}
			}
			if all[i][j] != 0 {
				set.Idx, set.Val = append(set.Idx, uint32(j)), append(set.Val, float32(v))
				set.Nonzeros++
			}
		}
		set.Ptr = append(set.Ptr, int64(len(set.Idx)))
	}
	lambda, of := rounds(moments(all, nil, 0)), rounds(moments(rest, nil, 0))
	lines, times := Frequent(set, lambda)
	if !slices.Equal(lines, []int{7 * LineWeights, d}) || times != int(lambda/of) || times < 2 {
		t.Errorf("lines %v, %d times; want those of column %d and of the bias, %g times", lines, times, 7*LineWeights,
			lambda/of)
	}
}

// rounds returns the largest eigenvalue of a matrix of positive numbers, by power iteration: the sum of each product
// when the vector's is 1.
func rounds(m [][]float64) (sum float64) {
	v := slices.Repeat([]float64{1 / float64(len(m))}, len(m))
	for range 500 {
		next := make([]float64, len(m))
		sum = 0
		for j, row := range m {
			for k, a := range row {
				next[j] += a * v[k]
			}
			sum += next[j]
		}
		for j := range v {
			v[j] = next[j] / sum
		}
	}
	return sum
}
