package cpu

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// What others write is counted from read to wrote, and what they wrote before is not.
func TestSamplerCountsOthers(t *testing.T) {
	c := config.Config{Workers: 3, Mode: config.MustMode("async"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 100)
	mine, other, third := newSampler(m, tuning.AsAsked(c), 1), newSampler(m, tuning.AsAsked(c), 0),
		newSampler(m, tuning.AsAsked(c), 2)
	other.wrote(5)
	mine.read()
	other.wrote(2)
	third.wrote(300)
	mine.wrote(1)
	in := m.Records[1].Instruments(0)
	if in.StalenessSamples != 1 || in.StalenessMean != 302 || in.StalenessMax != 302 || in.StalenessP50 != 288 {
		t.Errorf("%+v, want one sample of 302, in the bucket from 288", in)
	}
	if again := newSampler(m, tuning.AsAsked(c), 1); again.written != 1 {
		t.Errorf("a new process goes on from %d updates, want 1", again.written)
	}
}

func newTestWeights(t *testing.T, c *config.Config, p int) *control.Weights {
	t.Helper()
	m, err := control.CreateWeights(tuning.AsAsked(*c), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Seg.Close() })
	return m
}

// A coordinate that another changes between read and write is a conflict.
func TestSamplerSeesConflicts(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("async"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 100)
	s, w := newSampler(m, tuning.AsAsked(c), 0), newShared(m.W, false)
	s.read()
	for at := range 30 { // it notes 16 of them
		s.mark(&w, at)
	}
	m.W[3], m.W[7], m.W[20] = 1, 2, 3
	s.look(&w)
	s.wrote(1)
	r := m.Records[0]
	if r[control.RecordLooked] != maxNotes || r[control.RecordConflicts] != 2 || r[control.RecordTried] != maxNotes ||
		r[control.RecordLost] != 0 {
		t.Errorf("%d of %d in conflict, %d of %d lost", r[control.RecordConflicts], r[control.RecordLooked],
			r[control.RecordLost], r[control.RecordTried])
	}
	if m.W[3] != 1 || m.W[7] != 2 {
		t.Error("looking has changed what the other wrote")
	}
}

// TestNotesWhatStepsWrite: the coordinates of a sample are those that a step changes, the bias among them, and each is
// as likely as the others.
func TestNotesWhatStepsWrite(t *testing.T) {
	for _, c := range []struct {
		model string
		set   *data.Set
		batch int
	}{
		{"linear", countedRows(1), 1}, {"linear", countedRows(1), 2}, {"factor:3", countedPairs(1), 1},
		{"factor:3", countedPairs(1), 2},
		{"linear", randomSet(data.Floats, 1, 5, 0), 1},
	} {
		cfg := configtest.Dense()
		cfg.Data, cfg.Workers, cfg.Model, cfg.Batch, cfg.Biases, cfg.LR, cfg.MergeEvery = "none", 1, c.model, c.batch,
			c.model == "factor:3", 1e3, "1"
		all, m := devices(t, &cfg, c.set)
		d := all[0]
		fillRandom(m.W)
		before := slices.Clone(m.W)
		if _, err := d.Train([]plan.Chunk{d.plan.At(0, 0)}); err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i, v := range m.W {
			if v != before[i] {
				changed++
			}
		}
		const samples = 1000
		seen := make([]int, len(m.W))
		for range samples {
			d.sample.noted = 0
			d.fused = false // it would look at once
			d.markSample(0)
			for _, n := range d.sample.notes[:d.sample.noted] {
				seen[n.at]++
			}
		}
		for i, n := range seen {
			want := 0.0
			if m.W[i] != before[i] {
				want = samples * maxNotes / float64(changed)
			}
			if float64(n) < 0.7*want || float64(n) > 1.3*want {
				t.Errorf("%s, batch %d: weight %d of %d is in %d samples, want %.0f", c.model, c.batch, i,
					len(seen), n, want)
			}
		}
	}
}

// Against a writer that never rests losses are found, and what they took is given
// back; under a lock there are none.
func TestSamplerSeesLosses(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("locked"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	w := newShared(m.W, false)
	bits := w.bits
	for _, locked := range []bool{false, true} {
		clear(m.Records[0])
		s := newSampler(m, tuning.AsAsked(c), 0)
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
				with(1, func() { vec.AxpyAtomic(a, one[:], bits) })
			}
		})
		r := m.Records[0]
		// Other programs may keep the two from running at the same time for a while.
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && r[control.RecordLost] == 0 && (!locked ||
			r[control.RecordTried] < 200000); {
			with(0, func() {
				s.noted = 0
				s.mark(&w, 0)
				s.look(&w)
			})
		}
		stop.Store(true)
		busy.Wait()
		if lost := r[control.RecordLost]; r[control.RecordTried] == 0 || locked && lost > 0 || !locked && lost == 0 {
			t.Errorf("locked %v: %d of %d lost", locked, lost, r[control.RecordTried])
		}
	}
}

// TestConflictsByTable: of the weights that a step writes another worker changes every third of a row's factors,
// and every second bias of a column. The shares are those, table by table.
func TestConflictsByTable(t *testing.T) {
	cfg := configtest.Dense()
	cfg.Data, cfg.Workers, cfg.Model, cfg.Batch, cfg.Biases, cfg.LR, cfg.GradientDelay = "none", 2, "factor:6", 1, true,
		1e-3, 1 // two halves
	all, m := devices(t, &cfg, countedPairs(300))
	d, ps := all[0], all[0].model.Params()
	at := model.Offsets(ps)
	changes := func(i int) bool {
		return i >= at[0] && i < at[1] && i%3 == 0 || i >= at[3] && i < at[4] && i%2 == 0
	}
	looked, hit := make([]int, 8), make([]int, 8)
	d.lineUp([]plan.Chunk{{Rank: -1, Count: 300, Batch: 1, Stride: 1, Weight: 1}})
	for range 300 {
		rows := d.queue[:1]
		d.sample.left = 1
		d.begin(rows)
		d.read(rows, 1e-30)
		for i := range m.W {
			if changes(i) {
				m.W[i]++
			}
		}
		for _, n := range d.sample.notes[:d.sample.noted] {
			table := 0
			for table < 3 && n.at >= at[table+1] {
				table++
			}
			looked[table]++
			if changes(n.at) {
				hit[table]++
			}
		}
		d.write(rows, 1e-30)
		d.queue = d.queue[1:]
	}
	sum := make(control.Record, control.RecordWords)
	sum.Plus(m.Records[0])
	sum.Plus(m.Records[1])
	total, hits := uint64(0), uint64(0)
	for i, p := range ps[:4] {
		got := sum.Table(i, p.Name)
		want := control.TableSamples{Table: p.Name, Samples: int64(looked[i]),
			Conflicts: float64(hit[i]) / float64(looked[i])}
		if got != want || looked[i] < 100 {
			t.Errorf("table %d: %+v, want %+v", i, got, want)
		}
		total, hits = total+uint64(looked[i]), hits+uint64(hit[i])
	}
	if c := sum.Table(0, "").Conflicts; c < .25 || c > .42 {
		t.Errorf("%v of the rows' factors in conflict, want a third", c)
	}
	if sum[control.RecordLooked] != total || sum[control.RecordConflicts] != hits {
		t.Errorf("%d of %d in all, want %d of %d", sum[control.RecordConflicts], sum[control.RecordLooked], hits, total)
	}
}

// TestLookInPlace: weights that are written at once are looked at then, a copy's when it is merged.
func TestLookInPlace(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("async"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 100)
	s, w := newSampler(m, tuning.AsAsked(c), 0), newShared(m.W, false)
	s.copied = [][2]int{{10, 20}, {40, 50}}
	s.tables = []model.Table{{Name: "a", Range: model.Range{To: 20}},
		{Name: "b", Range: model.Range{From: 20, To: 100}}}
	for _, at := range []int{9, 10, 20, 19, 45, 50} {
		s.mark(&w, at)
	}
	m.W[20]++
	s.lookInPlace(&w)
	if a, b := s.record.Table(0, "a"), s.record.Table(1, "b"); a.Samples != 1 || b.Samples != 2 || b.Conflicts != .5 {
		t.Errorf("in place %+v, %+v", a, b)
	}
	m.W[10]++
	m.W[45]++
	m.W[9]++
	s.look(&w)
	if a, b := s.record.Table(0, "a"), s.record.Table(1, "b"); a.Samples != 3 || b.Samples != 3 ||
		math.Abs(a.Conflicts-1./3) > 1e-9 || math.Abs(b.Conflicts-2./3) > 1e-9 {
		t.Errorf("at the merge %+v, %+v", a, b)
	}
}

// What a step pays for the instruments: each of them, and one that is sampled.
func BenchmarkSampler(b *testing.B) {
	c := config.Config{Workers: 8, Mode: config.MustMode("async"), Optimizer: "sgd"}
	m, err := control.CreateWeights(tuning.AsAsked(c), 100000)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Seg.Close()
	s, w := newSampler(m, tuning.AsAsked(c), 0), newShared(m.W, false)
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
				s.mark(&w, s.random(w.len()))
			}
			s.look(&w)
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
			c := configtest.Dense()
			c.Model, c.Workers, c.Batch, c.LR = name, 2, 4, 1e-3
			all, _ := devices(t, &c, randomSet(data.Sparse, 4096, 784, 10))
			all[1].sample.left = math.MaxInt
			var times [2][]float64
			for b.Loop() {
				for rank, d := range all {
					start := time.Now()
					for i := range 2 {
						if _, err := d.chunk(d.plan.At(0, i)); err != nil {
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
