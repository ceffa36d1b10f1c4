package clock

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
)

// durations are how long the gradients of workers take: see config.SpeedsHelp. Drawn durations depend on the seed,
// the epoch and the number of the gradient in it alone.
type durations struct {
	config.Speeds
	seed   uint64
	traces [][]bar // of each worker of a trace
}

// bar is how often a duration was measured, with all shorter ones.
type bar struct {
	seconds float64
	upTo    uint64
}

func newDurations(c *config.Config) (d *durations, err error) {
	d = &durations{Speeds: c.Mode.Speeds, seed: c.Seed}
	if d.Kind == config.Trace {
		if d.traces, err = parseTrace([]byte(c.Traced)); err != nil {
			return nil, config.Usage("mode %s: %w", c.Mode, err)
		}
		d.N = len(d.traces)
	}
	return d, nil
}

// Workers returns how many workers the speeds of c are for; 0: their trace is not known.
func Workers(c *config.Config) int {
	if d, err := newDurations(c); err == nil {
		return d.N
	}
	return 0
}

// KeepTrace makes the trace of c, if its speeds are one, part of c: with c the same clock can be played, whatever
// becomes of the traced run.
func KeepTrace(c *config.Config) error {
	if c.Mode.Speeds.Kind != config.Trace || c.Traced != "" {
		return nil
	}
	var r report
	text, err := atomicfile.Read(filepath.Join(c.Mode.Speeds.File, "result.json"), mostTrace)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return config.Usage("mode %s: %w", c.Mode, err)
	}
	text, _ = json.Marshal(r)
	c.Traced = string(text)
	_, err = newDurations(c)
	return err
}

// mostTrace is how many bytes a report may have: more than one of as many workers as can be played.
const mostTrace = 64 << 20

// report is the part of a run's report on how long the steps of its workers took.
type report struct {
	PerWorker []struct {
		Steps [][2]uint64 `json:"step_ns_histogram"`
	} `json:"per_worker"`
}

// parseTrace makes bars of a report.
func parseTrace(text []byte) (all [][]bar, err error) {
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	for _, w := range r.PerWorker {
		var bars []bar
		total := uint64(0)
		for _, b := range w.Steps {
			total += b[1]
			bars = append(bars, bar{float64(b[0]) / 1e9, total})
		}
		if total > 0 {
			all = append(all, bars)
		}
	}
	if len(all) > config.MostVirtual {
		return nil, fmt.Errorf("its report has %d workers, and at most %d can be played", len(all), config.MostVirtual)
	}
	if len(all) == 0 {
		return nil, errors.New("its report does not say how long steps took: name a run of mode async, atomic, " +
			"locked or ordered on cores that has trained for some milliseconds")
	}
	return all, nil
}

// next returns how long a worker takes for its next local step of a gradient.
func (d *durations) next(rank, epoch, begun, step int) float64 {
	switch d.Kind {
	case config.Slow:
		if rank >= d.N-d.M {
			return d.X
		}
	case config.Sqrt:
		return math.Sqrt(float64(rank + 1))
	case config.LogNormal:
		return math.Exp(d.X*d.draws(epoch, begun, step).NormFloat64() - d.X*d.X/2)
	case config.Exponential:
		return d.draws(epoch, begun, step).ExpFloat64()
	case config.Outage:
		if d.draws(epoch, begun, step).Float64() < d.X {
			return 1 + d.Y
		}
	case config.Trace:
		bars := d.traces[rank]
		at := d.draws(epoch, begun, step).Uint64N(bars[len(bars)-1].upTo)
		for _, b := range bars {
			if at < b.upTo {
				return b.seconds
			}
		}
	}
	return 1
}

// draws returns random numbers for a local step of a gradient that was begun after begun others of its epoch.
func (d *durations) draws(epoch, begun, step int) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed+uint64(step)<<32, uint64(epoch)<<32|uint64(begun)))
}
