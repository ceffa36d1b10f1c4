package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// ownerOf returns the owner of a device's weights. It adds with cores goroutines.
func ownerOf(t *testing.T, d *cpu, m *control.Weights, cores int) *hostOwner {
	t.Helper()
	s, err := device.NewSetup(d.cfg, m, d.set)
	if err != nil {
		t.Fatal(err)
	}
	return &hostOwner{s: s, scorers: slices.Repeat([]model.Model{s.Plain}, cores)}
}

// However many goroutines add, each weight becomes the sum, and nothing else is written.
func TestAdd(t *testing.T) {
	c := stepConfig("linear", 1)
	all, m := devices(t, &c, randomSet(data.Floats, 5, 37, 0))
	for _, cores := range []int{1, 2, 3, 100} {
		fillRandom(m.W)
		delta, want := make([]float32, len(m.W)), slices.Clone(m.W)
		for i := range delta {
			if rand.IntN(4) > 0 {
				delta[i] = float32(rand.NormFloat64())
			}
			want[i] += delta[i]
		}
		if err := ownerOf(t, all[0], m, cores).Add(delta); err != nil || !slices.Equal(m.W, want) {
			t.Errorf("%d cores: %v\n%v, want\n%v", cores, err, m.W, want)
		}
	}
}

// Each step of a worker adds 1 to the weights of its row, and each Add a number that is larger than
// all steps together: what is left of the weights shows both. No step is lost to Add. In atomic
// mode nothing of Add is lost either; the plain stores of async mode may overtake a part of it.
func TestAddWhileWorkersTrain(t *testing.T) {
	const adds, each, epochs = 12, 1 << 19, 20
	for _, mode := range []string{"atomic", "async"} {
		set := countedRows(20_000)
		c := stepConfig("l1", 2)
		if mode == "async" {
			c.Workers = 1 // two would lose each other's steps
		}
		c.Mode, c.Bias, c.LR = config.MustMode(mode), false, 1
		steps := make([]float64, set.Features)
		for _, j := range set.Idx {
			steps[j] += epochs
		}
		all, m := devices(t, &c, set)
		clear(m.W)
		delta := slices.Repeat([]float32{each}, len(m.W))
		delta[4] = 0
		owner := ownerOf(t, all[0], m, 2)
		var parts sync.WaitGroup
		began := make(chan struct{}, len(all))
		for w, d := range all {
			parts.Go(func() {
				for i := w; i < epochs*d.plan.Chunks(); i += len(all) {
					if _, err := d.Train([]plan.Chunk{d.plan.At(0, i%d.plan.Chunks())}); err != nil {
						t.Error(err)
					}
					select {
					case began <- struct{}{}:
					default:
					}
				}
			})
		}
		parts.Go(func() {
			<-began
			for range adds {
				if err := owner.Add(delta); err != nil {
					t.Error(err)
				}
			}
		})
		parts.Wait()
		for j, v := range m.W {
			added, left := math.Modf(float64(v) / each)
			if left*each != steps[j] || added > adds || delta[j] == 0 && added != 0 ||
				mode == "atomic" && added*each != adds*float64(delta[j]) {
				t.Errorf("%s: weight %d is %v: %v additions of %d, and %v steps of %v", mode, j, v, added, adds,
					left*each, steps[j])
			}
		}
	}
}
