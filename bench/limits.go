package bench

import (
	"io"
	"slices"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Options say how to measure.
type Options struct {
	Seconds float64  // for all limits together
	Idle    []string // arguments with which this program ends at once: how long a process takes to start
}

// Limits is the peak rates of a machine.
type Limits struct {
	CPU    string    `json:"cpu"`
	Cores  int       `json:"cores"` // that this program may use
	Kernel string    `json:"kernel"`
	Go     string    `json:"go"`
	Time   time.Time `json:"time"`
	Limits []Limit   `json:"limits"`
}

// Limit is one figure, of repeats that together take part of a second: where other
// programs share the machine, the best of them is the machine's.
type Limit struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Cores  int     `json:"cores"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Means  string  `json:"means"` // what it bounds in training
}

// repeats is the number of measurements of which a limit is the median: odd.
const repeats = 9

// meter measures for a slot of time at a go.
type meter struct {
	*pinnedThreads
	slot   time.Duration
	limits []Limit
}

// Measure takes all limits. It uses 200 MB of memory and every core.
func Measure(o Options) (*Limits, error) {
	c, err := newPinnedThreads()
	if err != nil {
		return nil, err
	}
	defer c.close()
	a, err := newArena()
	if err != nil {
		return nil, err
	}
	defer a.close()
	m := &meter{pinnedThreads: c}
	parts := []func(){
		m.arithmetic,
		func() { m.streams(a) },
		func() { m.random(a) },
		func() { m.oneWord(a) },
		func() { m.cacheLine(a) },
		func() { m.wake(a) },
	}
	const loops = 19 // or so
	m.slot = time.Duration(o.Seconds / loops / repeats * float64(time.Second))
	for _, part := range parts {
		part()
	}
	if err := m.start(o.Idle); err != nil {
		return nil, err
	}
	here := rundir.ThisMachine()
	return &Limits{
		CPU: here.CPU, Cores: len(c.cores), Kernel: here.Kernel, Go: here.Go,
		Time: time.Now().UTC().Truncate(time.Second), Limits: m.limits,
	}, nil
}

// add appends a limit of the values measured.
func (m *meter) add(f Limit, values []float64) {
	slices.Sort(values)
	f.Min, f.Median, f.Max = values[0], values[len(values)/2], values[len(values)-1]
	m.limits = append(m.limits, f)
}

// together are the threads that measure together: one, then all.
func (m *meter) together() [][]int {
	all := make([]int, len(m.cores))
	for i := range all {
		all[i] = i
	}
	if len(all) == 1 {
		return [][]int{all}
	}
	return [][]int{all[:1], all}
}

// rate measures a loop on one core and on all: f(i, n) is n rounds of member i, and
// per what a round does, in the limit's unit.
func (m *meter) rate(f Limit, per float64, loop func(i, n int)) {
	for _, members := range m.together() {
		f.Cores = len(members)
		work := per * float64(len(members))
		m.add(f, m.repeat(members, loop, func(n int, d time.Duration) float64 {
			return work * float64(n) / d.Seconds()
		}))
	}
}

// repeat runs a loop for about a slot, several times, and returns the figure of each:
// a function of the rounds and the time they took.
func (m *meter) repeat(members []int, loop func(i, n int), figure func(n int, d time.Duration) float64) []float64 {
	rounds := 1
	run := func() time.Duration { return m.run(members, func(i int) { loop(i, rounds) }) }
	for run() < m.slot/2 {
		rounds *= 2
	}
	values := make([]float64, repeats)
	for i := range values {
		values[i] = figure(rounds, run())
	}
	return values
}

// nanoseconds is the figure of a loop whose rounds are counted in time.
func nanoseconds(n int, d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) }

// WriteJSON writes the limits as one JSON object.
func (f *Limits) WriteJSON(w io.Writer) error { return human.WriteJSON(w, f) }
