package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// randomSet returns a small set, in private memory, of one of the kinds of inputs. Its
// targets are the numbers of its rows when classes is 0. Feature 0 occurs in every
// row, the last in none.
func randomSet(kind data.Kind, n, d, classes int) *data.Set {
	s := &data.Set{Meta: data.Meta{Name: "random", Rows: n, Features: d, Kind: kind}, Freq: make([]float32, d)}
	for k := range classes {
		s.Classes = append(s.Classes, fmt.Sprint(k))
	}
	s.Ptr = []int64{0}
	for i := range n {
		for j := range d {
			v := uint8(0)
			if j == 0 || j < d-1 && rand.IntN(d) > j {
				v = uint8(1 + rand.IntN(255))
				s.Nonzeros++
				s.Freq[j] += 1 / float32(n)
				s.Idx, s.Val = append(s.Idx, uint32(j)), append(s.Val, float32(v)/100-1.3)
			}
			s.X8, s.X = append(s.X8, v), append(s.X, float32(v)/100-1.3)
		}
		s.Ptr = append(s.Ptr, int64(len(s.Idx)))
		s.Y = append(s.Y, float32(i))
		if classes > 0 {
			s.Y[i] = float32(rand.IntN(classes))
		}
	}
	for j := range s.Freq {
		s.Freq[j] = max(s.Freq[j], 1/float32(n))
	}
	if kind == data.Bytes {
		s.Mul = []float32{1. / 255}
	}
	return s
}

const (
	guard      = 16
	guardValue = 4711.25
)

// guarded returns n numbers with guard words before and behind them. check fails the
// test when one of those has changed.
func guarded(t *testing.T, n int) (inner []float32) {
	whole := make([]float32, guard+n+guard)
	for i := range whole {
		whole[i] = guardValue
	}
	inner = whole[guard : guard+n]
	clear(inner)
	t.Cleanup(func() {
		for i, v := range whole {
			if (i < guard || i >= guard+n) && v != guardValue {
				t.Errorf("a write of %v outside the %d weights, at %d", v, n, i-guard)
			}
		}
	})
	return inner
}

// devices returns the devices of all ranks of a job, with guard words around everything
// that they share.
func devices(t *testing.T, c *config.Config, set *data.Set) ([]*cpu, *control.Weights) {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	job := tuning.AsAsked(*c)
	settleMerges(t, job, set)
	return devicesOf(t, job, set)
}

// settleMerges decides how often the workers of a job merge.
func settleMerges(t *testing.T, j *tuning.Job, set *data.Set) {
	t.Helper()
	spec, err := model.Resolve(j.Asked.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(j.Asked.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	j.Used.MergeEvery, j.Used.BiasMergeEvery = tuning.Merging(&j.Asked, spec, tuning.FactsOf(m, set), j.Used)
}

// devicesOf returns the devices of a job whose tuning is settled.
func devicesOf(t *testing.T, c *tuning.Job, set *data.Set) ([]*cpu, *control.Weights) {
	t.Helper()
	m, err := model.New(c.TrainedOptions(set), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	p := model.Size(m.Params())
	shared, err := control.CreateWeights(c, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Seg.Close() })
	shared.W = guarded(t, p)
	shared.Locks = slices.Clone(shared.Locks) // the race detector does not see mapped memory
	for r := range shared.Slots {
		shared.Slots[r] = guarded(t, p)
	}
	for i := range shared.Optimizers {
		for k := range shared.Optimizers[i].Slots {
			shared.Optimizers[i].Slots[k] = guarded(t, p)
		}
	}
	var all []*cpu
	for rank := range c.Asked.Workers {
		setup, err := device.NewSetup(c, shared, set)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, newCPU(setup, rank))
	}
	return all, shared
}

func fillRandom(w []float32) {
	for i := range w {
		w[i] = float32(rand.NormFloat64())
	}
}

// probe is a model of one weight whose gradient is always 1. It notes the targets
// that it sees.
type probe struct {
	model.Model
	y []float32
	b []int // sizes of batches
}

func (p *probe) Grad(_ []float32, b *data.Batch, g *model.Gradient) float64 {
	p.y = append(p.y, b.Y...)
	p.b = append(p.b, len(b.Y))
	g.Parts = []model.Part{{G: []float32{1}}}
	return 2 * float64(len(b.Y))
}

// Each rank trains its own chunks, or, dynamic in async mode, one trains all:
// every row once, in steps of the right sizes, and the result says so.
func TestTrainVisitsItsRows(t *testing.T) {
	for _, mode := range bothModes {
		for _, partition := range bothPartitions {
			c := configtest.Dense()
			c.Data, c.Model, c.Mode, c.Partition, c.Workers, c.Batch = "none", "linear", config.MustMode(mode),
				config.Partition(partition), 3, 7
			if mode == "sync" {
				c.AverageEvery = 4
			}
			set := randomSet(data.Floats, 500, 3, 0)
			all, _ := devices(t, &c, set)
			seen := make([]int, set.Rows)
			for rank, d := range all {
				if rank > 0 && mode == "async" && partition == "dynamic" {
					break
				}
				from, to := d.plan.Owned(rank)
				for i := from; i < to; i++ {
					p := &probe{}
					d.model = p
					chunk := d.plan.At(1, i)
					result, err := d.chunk(chunk)
					steps := stepsOf(chunk)
					if want := (plan.ChunkResult{Examples: chunk.Count, Steps: len(steps),
						Loss: 2 * float64(chunk.Count)}); err != nil || result != want {
						t.Fatalf("%s %s, %+v: %+v, %v", mode, partition, chunk, result, err)
					}
					for k, s := range steps {
						if p.b[k] != s[1] {
							t.Fatalf("step %d has %d examples, want %d", k, p.b[k], s[1])
						}
					}
					for _, y := range p.y {
						seen[int(y)]++
					}
				}
			}
			for row, n := range seen {
				if n != 1 {
					t.Fatalf("%s %s: row %d was trained %d times", mode, partition, row, n)
				}
			}
		}
	}
}
