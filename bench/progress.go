package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// progress says how far a plan has come: on a terminal by one live line about the run
// that is under way, elsewhere by a line for each run that has ended.
type progress struct {
	live        human.Live
	total, done int
	took        [][]float64 // seconds, of the runs of each case that have ended
	left        []int       // runs of each case that have not
	search      bool        // of this step there may be others
	atOnce      int         // runs at a time

	mu   sync.Mutex
	now  []*running    // the one begun last is shown
	stop chan struct{} // of the goroutine that renews the line
	gone sync.WaitGroup
}

// running is a run that is under way.
type running struct {
	index  int // of its case
	what   string
	folder string
	since  time.Time
}

// newProgress knows the trials that are there, of a part of the folder. Without a terminal it draws nothing.
func newProgress(w io.Writer, part string, trials [][]*trial) *progress {
	p := &progress{live: human.NewLive(w), search: part == searches, atOnce: 1, took: make([][]float64, len(trials)),
		left: make([]int, len(trials)), stop: make(chan struct{})}
	for i, repeats := range trials {
		for _, t := range repeats {
			p.total++
			if !t.done() {
				p.left[i]++
				continue
			}
			p.done++
			p.took[i] = append(p.took[i], t.Took)
		}
	}
	if p.done > 0 && !(p.search && p.done == p.total) {
		p.keep(fmt.Sprintf("%d of %d runs already done", p.done, p.total))
	}
	if p.live.Size != nil {
		p.gone.Go(p.renew)
	}
	return p
}

// start takes in that a run of the case of an index begins, in a folder.
func (p *progress) start(i int, c Case, seed uint64, folder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &running{i, fmt.Sprintf("%s, seed %d", c.Name, seed), folder, time.Now()}
	if p.search {
		r.what = "searching rates: " + r.what
	}
	p.now = append(p.now, r)
	p.draw()
}

// finish takes in that it has ended.
func (p *progress) finish(i int, t *trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.left[i]--
	p.took[i] = append(p.took[i], t.Took)
	at := slices.IndexFunc(p.now, func(r *running) bool { return r.index == i })
	what, folder := p.now[at].what, p.now[at].folder
	p.now = slices.Delete(p.now, at, at+1)
	switch {
	case t.Failed != "": // worth a line that stays
		p.keep(p.line(p.done, what, "failed: "+t.Failed, p.remaining(0)))
	case p.live.Size == nil:
		loss := t.Result.TestLoss
		if p.search {
			_, loss = latest(folder)
		}
		p.keep(p.line(p.done, what, figures(t.Result.ExamplesPerSecond, loss), p.remaining(0)))
	}
}

// close takes the live line away.
func (p *progress) close() {
	close(p.stop)
	p.gone.Wait()
	_ = p.live.Draw(nil)
}

// keep writes a line that stays. A terminal that cannot be written to is no reason to stop.
func (p *progress) keep(line string) { _ = p.live.Draw([]string{line}) }

// renew draws the live line once a second.
func (p *progress) renew() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// draw draws the live line.
func (p *progress) draw() {
	if n := len(p.now); p.live.Size != nil && n > 0 {
		r := p.now[n-1]
		rate, loss := latest(r.folder)
		_ = p.live.Draw(nil,
			p.line(p.done+n, r.what, figures(rate, loss), p.remaining(time.Since(r.since).Seconds())))
	}
}

// line says how far it is with the n-th run.
func (p *progress) line(n int, what, figures string, left float64) string {
	parts := []string{fmt.Sprintf("%*d of %d  %s", len(fmt.Sprint(p.total)), n, p.total, what)}
	if figures != "" {
		parts = append(parts, figures)
	}
	if left > 0 {
		parts = append(parts, human.Clock(left)+" left")
	}
	return strings.Join(parts, "   ")
}

// remaining is the time left, in seconds, when the run that is shown has taken so long: each
// case takes as long as it did, and one that has not run yet as long as the others on
// average. 0: not known.
func (p *progress) remaining(elapsed float64) float64 {
	all := slices.Concat(p.took...)
	if len(all) == 0 || p.search {
		return 0
	}
	expected := func(i int) float64 {
		if len(p.took[i]) > 0 {
			return mean(p.took[i])
		}
		return mean(all)
	}
	left := 0.0
	for i, n := range p.left {
		left += float64(n) * expected(i)
	}
	if n := len(p.now); n > 0 {
		left -= min(elapsed, expected(p.now[n-1].index))
	}
	return left / float64(p.atOnce)
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// latest is the speed and the test loss that a run has written of itself last; NaN: none.
func latest(folder string) (rate, loss float64) {
	rate, loss = math.NaN(), math.NaN()
	f, err := atomicfile.Open(filepath.Join(folder, "metrics.jsonl"))
	if err != nil {
		return rate, loss
	}
	defer f.Close()
	const tail = 1 << 14
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size > tail {
		_, _ = f.Seek(-tail, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(f)
	for line := range bytes.Lines(text) {
		switch e, s, _ := rundir.ReadMetric(line); { // none of the first or the last, cut off
		case e != nil:
			loss = e.Judged().Loss
		case s != nil:
			rate = s.Rate
		}
	}
	return rate, loss
}

// figures are a speed and a loss in a line; what is not known is left out.
func figures(rate, testLoss float64) string {
	var parts []string
	if human.Finite(rate) {
		parts = append(parts, human.Rate(rate)+"/s")
	}
	if human.Finite(testLoss) {
		parts = append(parts, "loss "+human.Loss(testLoss))
	}
	return strings.Join(parts, "  ")
}
