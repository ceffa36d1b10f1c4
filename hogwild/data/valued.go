package data

// valued is what layouts of rows with inputs have in common. All inputs are there, unless a layout says otherwise.
type valued struct{ bare }

func (valued) hasInputs() bool { return true }

func (valued) values(s *Set) float64 { return float64(s.Features) }

// count takes the inputs as batches have them, in one pass.
func (valued) count(s *Set) {
	seen, sum, r := make([]int32, s.Features), make([]float64, s.Features), s.NewReader()
	for i := range s.Rows {
		row := r.Batch([]int32{int32(i)}).Rows[0]
		for k, v := range row.Val {
			if v == 0 {
				continue
			}
			j := k
			if row.Idx != nil {
				j = int(row.Idx[k])
			}
			if k == 0 || row.Idx == nil || row.Idx[k-1] != row.Idx[k] { // a word may be there twice
				seen[j]++
			}
			sum[j] += float64(v)
		}
	}
	s.setCounts(seen)
	s.setMeans(sum)
}

// bare is what layouts of rows without inputs have in common.
type bare struct{}

func (bare) hasInputs() bool { return false }

func (bare) values(*Set) float64 { return 1 }

func (bare) former(*Set) former { return func(*Batch, []int32, []int32) {} }

func (bare) count(*Set) {}

func (bare) damage(*Set) string { return "" }
