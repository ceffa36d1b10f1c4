package control

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
	"hogwild/shm"
)

// freshBlock returns the control block of a job on n rows, with its first epoch open.
func freshBlock(t *testing.T, n int, edit func(*config.Config)) *Block {
	t.Helper()
	c := configtest.Dense()
	c.Workers, c.Batch = 4, 1
	edit(&c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	w, err := Create(Header{Version: config.Version, Job: *tuning.AsAsked(c), Rows: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Seg.Close() })
	w.Open(1)
	return w
}

// view returns the same control block as another worker sees it.
func (w *Block) view(t *testing.T) *Block {
	t.Helper()
	other, _, err := Open(w.Seg)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func shares(c *config.Config) { c.Partition = "contiguous" }

func sync4(c *config.Config) { c.Mode = config.MustMode("sync") }

func async4(*config.Config) {}

// mayTrain reports whether a rank may train chunk i.
func (w *Block) mayTrain(rank, i int) bool {
	from, to := w.Plan.Owned(rank)
	return from <= i && i < to
}

func TestEveryChunkGoesToOne(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){"dynamic": async4, "contiguous": shares} {
		t.Run(name, func(t *testing.T) {
			w := freshBlock(t, 64*500, edit)
			takers := make([]atomic.Int32, w.Plan.Chunks())
			var group sync.WaitGroup
			for k := range 8 { // two processes a rank, as after a death that was none
				v, rank := w.view(t), k%4
				group.Go(func() {
					for i := v.Find(rank, 1); i >= 0; i = v.Find(rank, 1) {
						takers[i].Add(1)
						if !v.mayTrain(rank, i) {
							t.Errorf("rank %d has chunk %d of another", rank, i)
						}
						v.Finish(rank, v.Plan.At(0, i),
							plan.ChunkResult{Examples: v.Plan.At(0, i).Count, Steps: 1, Loss: 0.5})
					}
				})
			}
			group.Wait()
			for i := range takers {
				if n := takers[i].Load(); n != 1 {
					t.Errorf("chunk %d was taken %d times", i, n)
				}
			}
			left, done, lost, loss := w.Progress()
			if want := 0.5 * float64(w.Plan.Chunks()); left != 0 || done != 64*500 || lost != 0 || loss != want {
				t.Errorf("at the end %d are left, %d done, %d lost, loss %v, want loss %v", left, done,
					lost, loss, want)
			}
		})
	}
}

func TestReleasedChunkIsFoundAgain(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){"dynamic": async4, "contiguous": shares} {
		t.Run(name, func(t *testing.T) {
			w := freshBlock(t, 64*40, edit)
			dead := w.view(t)
			held := dead.Find(2, 1)
			for i := w.Find(2, 1); i >= 0; i = w.Find(2, 1) {
				w.Finish(2, w.Plan.At(0, i), plan.ChunkResult{})
			}
			w.Release(1)
			if i := w.Find(2, 1); i >= 0 {
				t.Fatalf("chunk %d was given back by a rank that did not have it", i)
			}
			w.Release(2)
			if i := w.Find(2, 1); i != held {
				t.Errorf("found %d, want the dead worker's chunk %d", i, held)
			}
			if i := w.Find(2, 1); i >= 0 {
				t.Errorf("found %d as well: a chunk that was done is done again", i)
			}
		})
	}
}

// A worker that dies between its ticket and its claim takes the ticket with it, not
// the chunk.
func TestLostTickets(t *testing.T) {
	w := freshBlock(t, 64*40, async4)
	n := w.Plan.Chunks()
	for i := 0; i < n; i++ {
		if i%3 == 0 {
			atomic.AddUint64(&w.control[wordNext], 1)
		}
		if w.Find(i%4, 1) < 0 {
			t.Fatalf("after %d chunks nothing is found, there are %d", i, n)
		}
	}
	if i := w.Find(0, 1); i >= 0 {
		t.Errorf("chunk %d was free after all %d were taken", i, n)
	}
}

// A worker that slept through the boundary holds the number of an epoch that is over.
func TestOldEpochsAreClosed(t *testing.T) {
	w := freshBlock(t, 64*10, async4)
	w.Open(2)
	for i := range w.Plan.Chunks() {
		if w.Claim(0, 1, i) || w.Claim(0, 3, i) {
			t.Fatalf("chunk %d was claimed for another epoch than the open one", i)
		}
	}
	if i := w.Find(0, 1); i >= 0 {
		t.Errorf("chunk %d was found for an epoch that is over", i)
	}
	for range w.Plan.Chunks() { // and its ticket is not missed
		if c, err := w.Take(0); err != nil || c.Epoch != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	w.Set(WordEpoch, 1)
	w.Release(0) // by a coordinator that thinks of another epoch: nothing
	w.Set(WordEpoch, 2)
	if left, _, _, _ := w.Progress(); left != w.Plan.Chunks() || w.Find(0, 2) >= 0 {
		t.Errorf("%d chunks are left, all were to be taken", left)
	}
}

func TestGiveUp(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){"dynamic": async4, "contiguous": shares, "sync": sync4} {
		t.Run(name, func(t *testing.T) {
			w := freshBlock(t, 64*80, edit)
			from, _ := w.Plan.Owned(1)
			if !w.Claim(1, 1, from) {
				t.Fatal("the first chunk is not free")
			}
			w.Finish(1, w.Plan.At(0, from), plan.ChunkResult{Examples: w.Plan.At(0, from).Count, Loss: 3})
			if !w.Claim(1, 1, from+1) {
				t.Fatal("the second chunk is not free")
			}
			w.Release(1)
			w.GiveUp(1)
			own := 0
			for i := range w.Plan.Chunks() {
				if w.mayTrain(1, i) {
					own += w.Plan.At(0, i).Count
				}
			}
			if name == "dynamic" { // the others take them
				own = w.Plan.At(0, from).Count
			}
			first := w.Plan.At(0, from).Count
			left, done, lost, loss := w.Progress()
			if done != first || lost != own-first || loss != 3 || left == 0 {
				t.Errorf("%d chunks left, %d done, %d lost, loss %v; want %d done and %d lost", left, done, lost, loss,
					first, own-first)
			}
			if i := w.Find(2, 1); i >= 0 && !w.mayTrain(2, i) {
				t.Errorf("rank 2 found chunk %d of the one that was given up", i)
			}
		})
	}
}

// soon fails a test whose goroutine does not end. Workers look up once a second
// whatever happens, so that sooner means: it was woken.
func soon(t *testing.T, what string, done <-chan error, want error) {
	t.Helper()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	case <-time.After(700 * time.Millisecond):
		t.Errorf("%s: not within 0.7 s", what)
	}
}

func waitForState(t *testing.T, w *Block, rank, state int) {
	t.Helper()
	for start := time.Now(); w.Rank(rank, RankState) != uint64(state); time.Sleep(100 * time.Microsecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("rank %d is %s, not %s", rank, StateNames[w.Rank(rank, RankState)], StateNames[state])
		}
	}
}

func TestStopWakesWhoWaits(t *testing.T) {
	w := freshBlock(t, 64, shares)
	w.Set(WordEpoch, 0) // no epoch is open yet
	call := atomic.LoadUint32(&w.Futexes[FutexCall])
	done := make(chan error, 1)
	v := w.view(t)
	go func() { _, err := v.Take(3); done <- err }()
	waitForState(t, w, 3, StateWaiting)
	if atomic.LoadUint32(&w.Futexes[FutexCall]) == call {
		t.Error("the coordinator was not called")
	}
	time.Sleep(5 * time.Millisecond)
	w.Stop()
	soon(t, "take after stop", done, ErrStopped)
	if _, err := w.Take(0); !errors.Is(err, ErrStopped) {
		t.Errorf("a chunk is handed out after the stop (%v)", err)
	}
	if w.Rank(3, RankWaited) < uint64(5*time.Millisecond) {
		t.Errorf("%d ns of waiting are on record", w.Rank(3, RankWaited))
	}
}

func TestNextEpochWakesWhoWaits(t *testing.T) {
	w := freshBlock(t, 64, async4)
	if _, err := w.Take(0); err != nil { // the only chunk
		t.Fatal(err)
	}
	done := make(chan error, 1)
	v := w.view(t)
	go func() {
		c, err := v.Take(1)
		if c.Epoch != 1 {
			err = errors.New("not of the epoch that was opened")
		}
		done <- err
	}()
	waitForState(t, w, 1, StateWaiting)
	w.Open(2)
	soon(t, "take in the next epoch", done, nil)
}

func TestPause(t *testing.T) {
	w := freshBlock(t, 64*10, async4)
	pause := func(v uint64) { w.Set(WordPause, v); w.Tick() }
	pause(1)
	done := make(chan error, 2)
	for rank := range 2 {
		v := w.view(t)
		go func() { _, err := v.Take(rank); done <- err }()
		waitForState(t, w, rank, StatePaused)
	}
	w.Tick() // woken for another reason, they wait on
	time.Sleep(5 * time.Millisecond)
	if left, _, _, _ := w.Progress(); left != w.Plan.Chunks() || len(done) > 0 {
		t.Fatal("a chunk was handed out in spite of the pause")
	}
	pause(0)
	soon(t, "take after the pause", done, nil)
	soon(t, "take after the pause", done, nil)

	pause(1)
	go func() { _, err := w.Take(0); done <- err }()
	waitForState(t, w, 0, StatePaused)
	w.Stop()
	soon(t, "stop of who is paused", done, ErrStopped)
}

// However a stop falls between a paused worker's looks, it is not slept through.
func TestStopIsNotMissed(t *testing.T) {
	w := freshBlock(t, 64, async4)
	for range 200 {
		w.Set(wordStop, 0)
		w.Set(WordPause, 1)
		done := make(chan error, 1)
		go func() { _, err := w.Take(0); done <- err }()
		for range rand.IntN(3000) {
			w.Stopped() // passes the time
		}
		w.Stop()
		soon(t, "stop", done, ErrStopped)
	}
}

func TestProgressSums(t *testing.T) {
	w := freshBlock(t, 64*10+7, sync4) // each rank trains its chunks of every round
	p := &w.Plan
	wantDone, wantLost, wantLeft, wantLoss := 0, 0, 0, 0.0
	for i := range p.Chunks() {
		c := p.At(0, i)
		switch i % 3 {
		case 0:
			w.Finish(i%4, c, plan.ChunkResult{Examples: c.Count, Steps: 2, Loss: float64(i) / 8})
			wantDone += c.Count
			wantLoss += float64(i) / 8
		case 1:
			w.setChunk(i, 1, ChunkLost)
			wantLost += c.Count
		default:
			wantLeft++
		}
	}
	if left, done, lost, loss := w.Progress(); left != wantLeft || done != wantDone || lost != wantLost ||
		loss != wantLoss {
		t.Errorf("%d left, %d done, %d lost, loss %v; want %d, %d, %d, %v", left, done, lost, loss, wantLeft, wantDone,
			wantLost, wantLoss)
	}
	examples, steps := uint64(0), uint64(0)
	for rank := range 4 {
		examples += w.Rank(rank, RankExamples)
		steps += w.Rank(rank, RankSteps)
	}
	if chunks := (p.Chunks() + 2) / 3; examples != uint64(wantDone) || steps != uint64(2*chunks) {
		t.Errorf("the records say %d examples in %d steps, want %d in %d", examples, steps, wantDone, 2*chunks)
	}
}

func TestOpenWorldRefuses(t *testing.T) {
	c := configtest.Dense()
	c.Workers = 2
	_, err := Create(Header{Version: "0.0.0", Job: *tuning.AsAsked(c), Rows: 100})
	check.Error(t, err, "hogwild 0.0.0", config.Version, "start both from one binary")

	segment := func(edit func(l *shm.Layout), header string) *shm.Segment {
		var l shm.Layout
		edit(&l)
		l.Add("header", shm.U8, headers, len(header))
		s, err := l.Create("control")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		text, _ := shm.View[uint8](s, "header")
		copy(text, header)
		return s
	}
	arrays := func(ranks, chunks int) func(l *shm.Layout) {
		return func(l *shm.Layout) {
			l.Add("control", shm.U64, wordCount)
			l.Add("futexes", shm.U32, futexWords)
			l.Add("ranks", shm.U64, ranks, RankWords)
			l.Add("chunks", shm.U64, chunks, 2)
			l.AddBarrier("barrier", 2)
		}
	}
	// two chunks
	const header = `{"version":"` + config.Version +
		`","rows":100,"job":{"workers":2,"mode":"async","tuning":{"batch":64}}}`
	if _, _, err := Open(segment(arrays(2, 2), header)); err != nil {
		t.Fatal("what shall be damaged is not in order:", err)
	}
	for says, s := range map[string]*shm.Segment{
		"another layout":         segment(arrays(1, 2), header),
		"layout than":            segment(arrays(2, 1), header),
		"control block's header": segment(arrays(2, 2), "{"),
		`no array "ranks"`:       segment(func(*shm.Layout) {}, header),
		`no array "header"`:      weightsOnly(t),
	} {
		_, _, err := Open(s)
		check.Error(t, err, says)
	}
}

// weightsOnly returns a segment of another kind.
func weightsOnly(t *testing.T) *shm.Segment {
	c := configtest.Dense()
	c.Workers = 2
	m, err := CreateWeights(tuning.AsAsked(c), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Seg.Close() })
	return m.Seg
}
