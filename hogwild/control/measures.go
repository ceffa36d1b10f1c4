package control

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync/atomic"
)

// Measures are what a program reports of training besides its loss: means of its own in the open epoch. One worker
// writes them, and the coordinator reads them, and clears them when no worker trains.
type Measures []uint64

// MostMeasures is the most names there may be, and MeasureName the longest in bytes.
const (
	MostMeasures = 16
	MeasureName  = 32
)

// A measure is its name, the sum over examples, and their number. One word more is about the program's rate.
const (
	nameWords     = MeasureName / 8
	measureSum    = nameWords
	measureCount  = nameWords + 1
	measureWords  = nameWords + 2
	measuresWords = 1 + MostMeasures*measureWords
)

// SetOwnRate notes that the program's optimizer takes steps at a rate which is not the run's.
func (m Measures) SetOwnRate(own bool) {
	v := uint64(0)
	if own {
		v = 1
	}
	atomic.StoreUint64(&m[0], v)
}

// OwnRate reports whether it does.
func (m Measures) OwnRate() bool { return atomic.LoadUint64(&m[0]) != 0 }

// The measures of a virtual clock, since the run's first epoch.
const (
	VirtualTime = "virtual_time"
	Computed    = "gradients_computed"
	Applied     = "gradients_applied"
	Dropped     = "gradients_dropped"
)

// Add adds to a measure. It is false if there is no place for the name.
func (m Measures) Add(name string, sum float64, n uint64) bool {
	at := m.find(name)
	if at == nil {
		return false
	}
	atomic.StoreUint64(&at[measureSum], math.Float64bits(math.Float64frombits(at[measureSum])+sum))
	atomic.StoreUint64(&at[measureCount], at[measureCount]+n)
	return true
}

// Set has a measure be a value, whatever was added to it.
func (m Measures) Set(name string, value float64) {
	if at := m.find(name); at != nil {
		atomic.StoreUint64(&at[measureSum], math.Float64bits(value))
		atomic.StoreUint64(&at[measureCount], 1)
	}
}

// find returns the words of a measure, which may be a new one; nil: there is no place for the name.
func (m Measures) find(name string) []uint64 {
	if len(name) > MeasureName || name == "" {
		return nil
	}
	for at := m[1:]; len(at) > 0; at = at[measureWords:] {
		switch at.name() {
		case "":
			var words [MeasureName]byte
			copy(words[:], name)
			for i := range nameWords {
				atomic.StoreUint64(&at[i], binary.LittleEndian.Uint64(words[8*i:]))
			}
		case name:
		default:
			continue
		}
		return at
	}
	return nil
}

func (m Measures) name() string {
	var text []byte
	for i := range nameWords {
		text = binary.LittleEndian.AppendUint64(text, atomic.LoadUint64(&m[i]))
	}
	return string(bytes.TrimRight(text, "\x00"))
}

// Clear begins a new epoch.
func (m Measures) Clear() {
	for i := range m[1:] {
		atomic.StoreUint64(&m[1+i], 0)
	}
}

// Means returns the means over all workers, but for what is not finite; nil if there are none.
func Means(all []Measures) (means map[string]float64) {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, m := range all {
		for at := m[1:]; len(at) > 0; at = at[measureWords:] {
			if n := atomic.LoadUint64(&at[measureCount]); n > 0 {
				sums[at.name()] += math.Float64frombits(atomic.LoadUint64(&at[measureSum]))
				counts[at.name()] += float64(n)
			}
		}
	}
	for name, n := range counts {
		if mean := sums[name] / n; !math.IsNaN(mean) && !math.IsInf(mean, 0) {
			if means == nil {
				means = map[string]float64{}
			}
			means[name] = mean
		}
	}
	return means
}
