package control

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// TestAsyncHasNoLocks: the weights' segment of an async run has the weights, the states of
// optimizers and the workers' counts, and no word on which one could wait for another; segments of modes that wait have
// more.
func TestAsyncHasNoLocks(t *testing.T) {
	const p, workers = 5000, 3
	job := func(mode string) *tuning.Job {
		c := config.Default()
		c.Mode, c.Workers = config.MustMode(mode), workers
		return &tuning.Job{Asked: c, Used: tuning.Tuning{Center: true, MergeEvery: 8}}
	}
	table := func(c *tuning.Job) uint64 {
		m, err := CreateWeights(c, p)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Seg.Close()
		sum, err := m.Seg.Checksum()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"locks", "tickets", "sleeping"} {
			if _, err := shm.View[uint32](m.Seg, name); err == nil && c.Asked.Mode.Kind == config.Async {
				t.Errorf("an async run's segment has %s", name)
			}
		}
		return sum
	}
	var l shm.Layout
	l.Add("weights", shm.F32, p)
	ranks := job("async").Asked.Ranks()
	l.Add("state", shm.F32, 1, 0, p)
	l.Add("steps", shm.U64, 1, RankWords)
	l.Add("counts", shm.U64, ranks, RankWords)
	l.Add("records", shm.U64, ranks, RecordWords)
	seg, err := l.Create("weights")
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Close()
	want, err := seg.Checksum()
	if err != nil {
		t.Fatal(err)
	}
	if table(job("async")) != want {
		t.Error("an async run's segment has other arrays than weights, state, steps, counts and records")
	}
	for _, mode := range []string{"locked", "ordered"} {
		if table(job(mode)) == want {
			t.Errorf("mode %s has the segment of async: the test sees no difference", mode)
		}
	}
}
