package clock

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
)

// durations are how long the gradients of workers take: see config.SpeedsHelp. Those that are drawn depend on the seed,
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

func newDurations(s config.Speeds, seed uint64) (d *durations, err error) {
	d = &durations{Speeds: s, seed: seed}
	if s.Kind == config.Trace {
		if d.traces, err = readTrace(s.File); err != nil {
			return nil, config.Usage("mode clock:trace:%s: %w", s.File, err)
		}
		d.N = len(d.traces)
	}
	return d, nil
}

// TraceSum is the checksum of what a trace says, by which a resumed run knows that it is the same; "" of other speeds.
func TraceSum(s config.Speeds) (string, error) {
	d, err := newDurations(s, 0)
	if err != nil || d.traces == nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, d.traces))), nil
}

// Workers is how many workers speeds are of; 0: their trace cannot be read.
func Workers(s config.Speeds) int {
	d, err := newDurations(s, 0)
	if err != nil {
		return 0
	}
	return d.N
}

// mostTrace is how many bytes a report may have: more than one of as many workers as can be played.
const mostTrace = 64 << 20

// readTrace reads how long the steps of a run's workers took, from its report.
func readTrace(folder string) (all [][]bar, err error) {
	text, err := atomicfile.Read(filepath.Join(folder, "result.json"), mostTrace)
	if err != nil {
		return nil, err
	}
	var report struct {
		PerWorker []struct {
			Steps [][2]uint64 `json:"step_ns_histogram"`
		} `json:"per_worker"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	for _, w := range report.PerWorker {
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

// next is how long a worker takes for its next local step of a gradient.
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

// draws are random numbers of a local step of a gradient, which was begun after so many others of its epoch.
func (d *durations) draws(epoch, begun, step int) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed+uint64(step)<<32, uint64(epoch)<<32|uint64(begun)))
}
