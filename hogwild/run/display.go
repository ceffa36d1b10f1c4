package run

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// display shows a running job on stderr. On a terminal it keeps a live
// block at the bottom, a line for each worker and two for the run, and lets
// epochs and events scroll away above it. Elsewhere it writes the epochs and
// events and nothing else. Its methods may be called from several goroutines. A
// terminal that cannot be written to is no reason to stop a run: errors are dropped.
type display struct {
	mu    sync.Mutex
	live  human.Live
	quiet bool
	from  string         // whose lines these are, where several programs write to one terminal
	doing string         // what is shown while there is no live block; "": nothing
	shown time.Time      // when the last line of an epoch was
	held  string         // that of the last epoch, if it is not shown yet
	now   *rundir.Status // what the live block shows, nil for no block
}

// newDisplay writes to w: os.Stderr, a buffer, or nil for nowhere. A quiet one writes
// warnings only.
func newDisplay(w io.Writer, quiet bool) *display {
	return &display{live: human.NewLive(w), quiet: quiet}
}

// during shows on a terminal what is being done before the run starts, until the function that it returns is called.
func (d *display) during(doing string) (done func()) {
	show := func(doing string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.live.Size != nil && !d.quiet {
			d.doing = doing
			d.print()
		}
	}
	show(doing)
	return func() { show("") }
}

// start shows what is about to be trained, on a terminal.
func (d *display) start(header ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live.Size != nil && !d.quiet {
		d.print(header...)
	}
}

// status renews the live block.
func (d *display) status(s rundir.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live.Size != nil && !d.quiet {
		d.now = &s
		d.print()
	}
}

// betweenEpochs is the least time between two lines of epochs: short ones would push the header off the screen.
const betweenEpochs = time.Second

// epoch shows the results of an epoch: those of the first, of the last, and of others if some time has passed.
func (d *display) epoch(e rundir.EpochResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet {
		return
	}
	d.held = fmt.Sprintf("epoch %3d  %7.1f s  train loss %-6s  %s", e.Epoch, e.Seconds, human.Loss(e.TrainLoss), e.Judged().Text("  "))
	if time.Since(d.shown) >= betweenEpochs {
		d.showHeld()
	}
}

// showHeld shows the last epoch, unless that was done.
func (d *display) showHeld() {
	if d.held != "" {
		d.print(d.held)
		d.held, d.shown = "", time.Now()
	}
}

// event shows something that happened and is in order: a worker joined, a snapshot was saved.
func (d *display) event(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.quiet {
		d.print(line)
	}
}

// warn shows something that happened and should not have, quiet or not: a worker died.
func (d *display) warn(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.print(line)
}

// close removes the live block. What is shown afterwards is plain lines.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = nil
	d.print()
	d.showHeld()
	d.live.Size = nil
}

// print writes lines above the live block and draws the block again.
func (d *display) print(lines ...string) {
	for i := range lines {
		lines[i] = d.from + lines[i]
	}
	var live []string
	if d.now != nil {
		live = block(*d.now, d.live.Size)
	} else if d.doing != "" {
		live = []string{d.doing}
	}
	_ = d.live.Draw(lines, live...)
}

// block is the live lines: as many workers as fit, then the run. One line stays free.
func block(s rundir.Status, size func() (columns, rows int)) []string {
	columns, rows := size()
	run := ProgressLines(s, columns-1)
	if rows < 4 {
		run = run[:1]
	}
	room := max(rows-1-len(run), 0) // lines for workers
	shown, fastest := len(s.Workers), 0.0
	if shown > room {
		shown = max(room-1, 0)
	}
	for _, w := range s.Workers {
		fastest = max(fastest, w.Rate)
	}
	var lines []string
	for _, w := range s.Workers[:shown] {
		lines = append(lines, workerLine(w, fastest))
	}
	if more := len(s.Workers) - shown; more > 0 && room > 0 {
		lines = append(lines, "... "+human.Plural(more, "more worker"))
	}
	return append(lines, run...)
}

// ProgressLines are how far a run is, and how fast and how well it does.
func ProgressLines(s rundir.Status, columns int) []string {
	return []string{progressLine(s, columns), resultLine(s)}
}

// workerLine has a bar that compares the worker with the fastest one.
func workerLine(w rundir.WorkerStatus, fastest float64) string {
	bar := 0
	if share := w.Rate / fastest; share > 0 && share <= 1 { // neither 0/0 nor infinite
		bar = int(math.Round(10 * share))
	}
	line := fmt.Sprintf("worker %2d  pid %-7d  %9s  %-10s  %s", w.Rank, w.PID, human.Rate(w.Rate)+"/s", strings.Repeat("#", bar), w.State)
	if w.Restarts > 0 {
		line += ", " + human.Plural(w.Restarts, "restart")
	}
	return line
}

// progressLine is how far the run is, with a bar that takes what room the rest leaves.
func progressLine(s rundir.Status, columns int) string {
	text := fmt.Sprintf("epoch %d/%d", s.Epoch, s.Epochs)
	if s.Total > 0 {
		text = fmt.Sprintf("%3.0f%%  ", math.Floor(100*s.Done())) + text
	}
	if left, ok := s.Left(); ok {
		text += "  " + human.Clock(left) + " left"
	}
	width := min(columns-len(text)-len("[]  "), maxBar)
	if width < minBar {
		return text
	}
	full := int(s.Done() * float64(width))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]  " + text
}

// The columns of the progress bar. It is left out where there is no room for the least.
const minBar, maxBar = 10, 60

// resultLine is the speed, the training loss of the epoch under way, and how well the
// test set was predicted after the last.
func resultLine(s rundir.Status) string {
	parts := []string{human.Rate(s.Rate) + "/s"}
	if s.TrainLoss != nil {
		parts = append(parts, "train loss "+human.Loss(*s.TrainLoss))
	}
	if s.Last != nil {
		parts = append(parts, s.Last.Judged().Text("  "))
	}
	return strings.Join(parts, "  ")
}

// speed is a worker's rate in examples per second, smoothed exponentially: workers wait
// between epochs, and count their examples a chunk at a time.
type speed struct {
	examples int64 // at the last look
	rate     float64
	weight   float64 // of what rate has seen, from 0 to 1: before the first look it has seen nothing
}

// smoothing is the time constant of the rates in seconds.
const smoothing = 2.0

// next takes in how many examples there are now, so many seconds after the last look.
func (v *speed) next(examples int64, passed float64) float64 {
	keep := math.Exp(-passed / smoothing)
	v.rate = keep*v.rate + (1-keep)*float64(examples-v.examples)/passed
	v.weight = keep*v.weight + 1 - keep
	v.examples = examples
	return v.rate / v.weight
}

// reporter is what people are told.
type reporter struct {
	display  *display
	behind   bool       // metrics could not be written
	mu       sync.Mutex // for events: those of the evaluator come from other goroutines
	events   []string
	latest   rundir.Status // as it was shown
	rates    []speed       // of each worker
	looked   time.Time
	second   time.Time // when the last second was written
	loadTime time.Duration
	started  uint64    // monotonic: the first worker's exec
	first    int       // workers that the run began with
	watched  time.Time // since when they are watched
	printed  sync.Once // people are told where programs print to
}

// wrote takes in the outcome of a line of metrics or an event. A run does not end because one fails.
func (r *reporter) wrote(err error) {
	was := r.behind
	r.behind = err != nil
	switch {
	case err != nil && !was:
		r.event("%v; training continues, and the lines of epochs are written later", err)
	case err == nil && was:
		r.event("metrics are written again")
	}
}

func (r *reporter) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.note(line)
	r.display.warn(line)
}

// note keeps a line for the report.
func (r *reporter) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, line)
}
