package display

import (
	"fmt"
	"slices"
	"sync"
)

// Reporter tells people what happens, and keeps it for the report. Its methods may be called from several goroutines,
// but for Wrote.
type Reporter struct {
	*Display
	behind bool // metrics could not be written
	mu     sync.Mutex
	events []string
}

// Wrote takes in the outcome of a line of metrics or an event. A run does not end because one fails.
func (r *Reporter) Wrote(err error) {
	was := r.behind
	r.behind = err != nil
	switch {
	case err != nil && !was:
		r.Event("%v; training continues, and the lines of epochs are written later", err)
	case err == nil && was:
		r.Event("metrics are written again")
	}
}

// Event keeps a line for the report, and shows it, quiet or not.
func (r *Reporter) Event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.Keep(line)
	r.Warn(line)
}

// Tell keeps a line for the report, and shows it unless the run is quiet.
func (r *Reporter) Tell(line string) {
	r.Keep(line)
	r.Say(line)
}

// Keep keeps lines for the report.
func (r *Reporter) Keep(lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, lines...)
}

// Events returns the lines for the report.
func (r *Reporter) Events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
