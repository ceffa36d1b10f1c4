package hogwild

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/data"
	"hogwild/shm"
)

// What others write is counted from read to wrote, and what they wrote before is not.
func TestSamplerCountsOthers(t *testing.T) {
	c := Config{Workers: 3, Mode: "async", Optimizer: "sgd"}
	m := newTestWeights(t, &c, 100)
	mine, other, third := newSampler(m, &Job{Config: c}, 1), newSampler(m, &Job{Config: c}, 0), newSampler(m, &Job{Config: c}, 2)
	other.wrote(5)
	mine.read()
	other.wrote(2)
	third.wrote(300)
	mine.wrote(1)
	in := m.records[1].instruments(0)
	if in.StalenessSamples != 1 || in.StalenessMean != 302 || in.StalenessMax != 302 || in.StalenessP50 != 288 {
		t.Errorf("%+v, want one sample of 302, in the bucket from 288", in)
	}
	if again := newSampler(m, &Job{Config: c}, 1); again.written != 1 {
		t.Errorf("a new process goes on from %d updates, want 1", again.written)
	}
}

func newTestWeights(t *testing.T, c *Config, p int) *weights {
	t.Helper()
	m, err := createWeights(&Job{Config: *c}, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.seg.Close() })
	return m
}

// A coordinate that another changes between read and write is a conflict.
func TestSamplerSeesConflicts(t *testing.T) {
	c := Config{Workers: 2, Mode: "async", Optimizer: "sgd"}
	m := newTestWeights(t, &c, 100)
	s, bits := newSampler(m, &Job{Config: c}, 0), shm.Bits(m.w)
	s.read()
	for at := range 30 { // of which it notes 16
		s.note(bits, at)
	}
	m.w[3], m.w[7], m.w[20] = 1, 2, 3
	s.look(bits)
	s.wrote(1)
	r := m.records[0]
	if r[recordLooked] != maxNotes || r[recordConflicts] != 2 || r[recordTried] != maxNotes || r[recordLost] != 0 {
		t.Errorf("%d of %d in conflict, %d of %d lost", r[recordConflicts], r[recordLooked], r[recordLost], r[recordTried])
	}
	if m.w[3] != 1 || m.w[7] != 2 {
		t.Error("looking has changed what the other wrote")
	}
}

// Against a writer that never rests losses are found, and what they took is given
// back; under a lock there are none.
func TestSamplerSeesLosses(t *testing.T) {
	c := Config{Workers: 2, Mode: "locked", Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	bits := shm.Bits(m.w)
	for _, locked := range []bool{false, true} {
		clear(m.records[0])
		s := newSampler(m, &Job{Config: c}, 0)
		var stop atomic.Bool
		var busy sync.WaitGroup
		with := func(rank int, f func()) {
			if !locked {
				f()
				return
			}
			l := newLocks(m, rank)
			l.mark(0, 1)
			l.acquire()
			f()
			l.release()
		}
		busy.Go(func() {
			for a := float32(1); !stop.Load(); a = -a { // from 2^24 on, adding 1 would change nothing
				with(1, func() { addAtomic(bits, a, one[:]) })
			}
		})
		r := m.records[0]
		// Other programs may keep the two from running at the same time for a while.
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && r[recordLost] == 0 && (!locked || r[recordTried] < 200000); {
			with(0, func() {
				s.noted = 0
				s.note(bits, 0)
				s.look(bits)
			})
		}
		stop.Store(true)
		busy.Wait()
		if lost := r[recordLost]; r[recordTried] == 0 || locked && lost > 0 || !locked && lost == 0 {
			t.Errorf("locked %v: %d of %d lost", locked, lost, r[recordTried])
		}
	}
}

func TestBuckets(t *testing.T) {
	last := -1
	for _, n := range []uint64{0, 1, 255, 256, 287, 288, 511, 512, 575, 576, 1 << 20, 1<<63 + 1, math.MaxUint64} {
		i := bucket(n)
		if from := bucketFrom(i); i < last || i >= buckets || from > n || n >= 256 && float64(n-from) > float64(n)/8 || n < 256 && from != n {
			t.Errorf("%d is in bucket %d from %d", n, i, from)
		}
		last = i
	}
}

// Workers that do nothing but wait are as many updates late as there are others; one
// alone, and the replica of a barrier mode, are never late.
func TestStalenessOfRuns(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		mode     string
		workers  int
		from, to float64
	}{
		{"async", 1, 0, 0}, {"sync", 4, 0, 0}, {"async", 4, 2, 4}, {"ordered", 4, 2, 4}, {"locked", 4, 2, 4}, {"atomic", 4, 2, 4},
	} {
		config := quick(t)
		config.Model, config.Mode, config.Workers, config.Batch, config.SaveEvery = "slow", c.mode, c.workers, 8, "0"
		r := train(t, config)
		if !(r.StalenessMean >= c.from && r.StalenessMean <= c.to) || r.StalenessSamples < 100 {
			t.Errorf("%s, %d workers: mean staleness %v in %d samples, want %v to %v", c.mode, c.workers, r.StalenessMean, r.StalenessSamples, c.from, c.to)
		}
		if free := c.mode == "async"; !free && r.LostUpdates != 0 || c.workers == 1 && r.Conflicts != 0 || c.mode == "sync" && r.Conflicts != 0 {
			t.Errorf("%s, %d workers: %v lost, %v in conflict", c.mode, c.workers, r.LostUpdates, r.Conflicts)
		}
		if free := c.mode != "sync" && c.workers > 1; free && r.Conflicts == 0 {
			t.Errorf("%s, %d workers: nothing in conflict, on weights that all write", c.mode, c.workers)
		}
		if len(r.PerWorker) != c.workers || r.PerWorker[0].Instruments == nil {
			t.Errorf("%s: %d workers in the report", c.mode, len(r.PerWorker))
		}
	}
}

// What a step pays for the instruments: each of them, and one that is sampled.
func BenchmarkSampler(b *testing.B) {
	c := Config{Workers: 8, Mode: "async", Optimizer: "sgd"}
	m, err := createWeights(&Job{Config: c}, 100000)
	if err != nil {
		b.Fatal(err)
	}
	defer m.seg.Close()
	s, bits := newSampler(m, &Job{Config: c}, 0), shm.Bits(m.w)
	b.Run("step", func(b *testing.B) {
		for b.Loop() {
			s.left = math.MaxInt
			s.read()
			s.wrote(1)
		}
	})
	b.Run("sample", func(b *testing.B) {
		for b.Loop() {
			s.left = 1
			s.read()
			for range maxNotes {
				s.note(bits, s.random(len(bits)))
			}
			s.look(bits)
			s.wrote(1)
		}
	})
}

// What sampling costs a training worker: two devices take the same chunks in turn, one
// of them without samples, and the quarter of the times that others disturbed least is
// compared.
func BenchmarkSampledTraining(b *testing.B) {
	t := &testing.T{}
	for _, name := range []string{"softmax", "mlp:64"} {
		b.Run(name, func(b *testing.B) {
			c := defaults()
			c.Model, c.Workers, c.Batch, c.LR = name, 2, 4, 1e-3
			all, _ := devices(t, &c, randomSet(data.Sparse, 4096, 784, 10))
			all[1].sample.left = math.MaxInt
			var times [2][]float64
			for b.Loop() {
				for rank, d := range all {
					start := time.Now()
					for i := range 2 {
						if _, err := d.train(d.plan.at(0, i)); err != nil {
							b.Fatal(err)
						}
					}
					times[rank] = append(times[rank], float64(time.Since(start)))
				}
			}
			for _, v := range times {
				slices.Sort(v)
			}
			q := len(times[0]) / 4
			b.ReportMetric(100*(times[0][q]/times[1][q]-1), "%cost")
		})
	}
}
