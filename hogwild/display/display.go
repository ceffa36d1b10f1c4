// Package display shows a running job on a terminal, or as lines in a pipe. It also keeps what happened, for the
// report.
//
//	reporter.go   Reporter: what people are told
//	display.go    Display: lines and progress on a terminal
package display

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

// Display shows a running job on stderr. On a terminal it keeps a live
// block at the bottom, a line for each worker and two for the run, and lets
// epochs and events scroll away above it. Elsewhere it writes the epochs and
// events and nothing else. Its methods may be called from several goroutines. A
// terminal that cannot be written to is no reason to stop a run: errors are dropped.
type Display struct {
	mu    sync.Mutex
	live  human.Live
	quiet bool
	from  string         // whose lines these are, where several programs write to one terminal
	doing string         // what is shown while there is no live block; "": nothing
	shown time.Time      // when the last line of an epoch was
	held  string         // the line of the last epoch, if it is not shown yet
	now   *rundir.Status // what the live block shows, nil for no block
}

// New writes to w: os.Stderr, a buffer, or nil for nowhere. A quiet one writes
// warnings only.
func New(w io.Writer, quiet bool) *Display {
	return &Display{live: human.NewLive(w), quiet: quiet}
}

// OfNode has a display write warnings only, with the name of the node before each.
func (d *Display) OfNode(name string) { d.quiet, d.from = true, name+": " }

// During shows on a terminal what is being done before the run starts, until the function that it returns is called.
func (d *Display) During(doing string) (done func()) {
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

// Start shows what is about to be trained, on a terminal.
func (d *Display) Start(header ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live.Size != nil && !d.quiet {
		d.print(header...)
	}
}

// Status renews the live block.
func (d *Display) Status(s rundir.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live.Size != nil && !d.quiet {
		d.now = &s
		d.print()
	}
}

// betweenEpochs is the least time between two lines of epochs: short ones would push the header off the screen.
const betweenEpochs = time.Second

// Epoch shows the results of an epoch: of the first, of the last, and of others if some time has passed.
func (d *Display) Epoch(e rundir.EpochResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet {
		return
	}
	d.held = fmt.Sprintf("epoch %3d  %7.1f s  train loss %-6s  %s", e.Epoch, e.Seconds, human.Loss(e.TrainLoss),
		e.Judged().Text("  "))
	if gap, ok := e.TrainMetrics["relative_gap"]; ok {
		d.held += fmt.Sprintf("  gap %.2g", gap)
	}
	if time.Since(d.shown) >= betweenEpochs {
		d.showHeld()
	}
}

// showHeld shows the last epoch, unless that was done.
func (d *Display) showHeld() {
	if d.held != "" {
		d.print(d.held)
		d.held, d.shown = "", time.Now()
	}
}

// Say shows something that happened and is in order: a worker joined, a snapshot was saved.
func (d *Display) Say(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.quiet {
		d.print(line)
	}
}

// Warn shows something that happened and should not have, quiet or not: a worker died.
func (d *Display) Warn(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.print(line)
}

// Close removes the live block. What is shown afterwards is plain lines.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = nil
	d.print()
	d.showHeld()
	d.live.Size = nil
}

// print writes lines above the live block and draws the block again.
func (d *Display) print(lines ...string) {
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

// block returns the live lines: as many workers as fit, then the run. One line stays free.
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

// ProgressLines returns two lines: how far a run is, and how fast and how well it does.
func ProgressLines(s rundir.Status, columns int) []string {
	return []string{progressLine(s, columns), resultLine(s)}
}

// workerLine has a bar that compares the worker with the fastest one.
func workerLine(w rundir.WorkerStatus, fastest float64) string {
	bar := 0
	if share := w.Rate / fastest; share > 0 && share <= 1 { // neither 0/0 nor infinite
		bar = int(math.Round(10 * share))
	}
	line := fmt.Sprintf("worker %2d  pid %-7d  %9s  %-10s  %s", w.Rank, w.PID, human.Rate(w.Rate)+"/s",
		strings.Repeat("#", bar), w.State)
	if w.Restarts > 0 {
		line += ", " + human.Plural(w.Restarts, "restart")
	}
	return line
}

// progressLine returns how far the run is, with a bar that takes what room the rest leaves.
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

// resultLine returns the speed, the training loss of the epoch under way, and how well the
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

// Speed is a worker's rate in examples per second, smoothed exponentially: workers wait
// between epochs, and count their examples a chunk at a time.
type Speed struct {
	examples int64 // at the last look
	rate     float64
	weight   float64 // of what rate has seen, from 0 to 1: before the first look it has seen nothing
}

// smoothing is the time constant of the rates in seconds.
const smoothing = 2.0

// Next takes in how many examples there are now, passed seconds after the last look, and returns the rate.
func (v *Speed) Next(examples int64, passed float64) float64 {
	keep := math.Exp(-passed / smoothing)
	v.rate = keep*v.rate + (1-keep)*float64(examples-v.examples)/passed
	v.weight = keep*v.weight + 1 - keep
	v.examples = examples
	return v.rate / v.weight
}
