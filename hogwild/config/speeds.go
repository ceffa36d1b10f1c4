package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// SpeedKind is how long the gradients of virtual workers take.
type SpeedKind int

// The kinds of speeds: see SpeedsHelp.
const (
	Equal SpeedKind = iota
	Slow
	Sqrt
	LogNormal
	Exponential
	Trace
	Outage
	RandomOrder // a random one of the gradients in flight lands next: of delayed:geometric:K
)

// SpeedsHelp says what they are, a line each.
const SpeedsHelp = `  equal:N                 N workers, each gradient takes 1
  slow:N,M,D              M of N workers take D, the others 1
  sqrt:N                  the i-th worker takes the square root of i
  lognormal:N,S           each gradient takes exp(S z - S^2/2), z standard normal: 1 on average
  exp:N                   each gradient takes an exponential time, 1 on average
  trace:RUN               as the workers of a run took, measured: its folder
  outage:N,P,T            each gradient takes 1, and with probability P as long as T more
`

// Speeds are how many virtual workers there are, and how long their gradients take.
type Speeds struct {
	Kind SpeedKind
	N    int     // workers
	M    int     // Slow: how many are
	X    float64 // Slow: how much; LogNormal: sigma; Outage: the probability
	Y    float64 // Outage: its duration
	File string  // Trace: the run's folder
}

// speedForms are the kinds with the names of their numbers, but for Trace.
var speedForms = map[SpeedKind]string{Equal: "equal:N", Slow: "slow:N,M,D", Sqrt: "sqrt:N",
	LogNormal: "lognormal:N,S", Exponential: "exp:N", Outage: "outage:N,P,T"}

var errSpeeds = errors.New("choose equal:N, slow:N,M,D, sqrt:N, lognormal:N,S, exp:N, outage:N,P,T or trace:RUN")

// MostVirtual is how many virtual workers there are at most: each holds a gradient.
const MostVirtual = 1 << 16

// parseSpeeds reads speeds.
func parseSpeeds(text string) (s Speeds, err error) {
	name, list, _ := strings.Cut(text, ":")
	if name == "trace" && list != "" {
		return Speeds{Kind: Trace, File: list}, nil
	}
	for kind, form := range speedForms {
		is, names, _ := strings.Cut(form, ":")
		if is != name {
			continue
		}
		s.Kind = kind
		values := strings.Split(list, ",")
		if len(values) != strings.Count(names, ",")+1 {
			return s, fmt.Errorf("write %s", form)
		}
		numbers := make([]float64, 3)
		for i, v := range values {
			if numbers[i], err = strconv.ParseFloat(v, 64); err != nil {
				return s, fmt.Errorf("write %s, with numbers", form)
			}
		}
		return s.with(numbers)
	}
	return s, errSpeeds
}

// with returns s with its numbers.
func (s Speeds) with(x []float64) (Speeds, error) {
	if s.N = int(x[0]); float64(s.N) != x[0] || s.N < 1 || s.N > MostVirtual {
		return s, fmt.Errorf("%g virtual workers: give a number from 1 to %d", x[0], MostVirtual)
	}
	const most = 1e6
	switch s.Kind {
	case Slow:
		if s.M, s.X = int(x[1]), x[2]; float64(s.M) != x[1] || s.M < 0 || s.M > s.N {
			return s, fmt.Errorf("%g slow workers of %d", x[1], s.N)
		} else if !(s.X >= 1/most && s.X <= most) {
			return s, fmt.Errorf("workers that take %g: give a time above 0 and up to %g", s.X, most)
		}
	case LogNormal:
		if s.X = x[1]; !(s.X >= 0 && s.X <= 5) {
			return s, fmt.Errorf("sigma %g: give one from 0 to 5", s.X)
		}
	case Outage:
		if s.X, s.Y = x[1], x[2]; !(s.X >= 0 && s.X <= 1) || !(s.Y >= 0 && s.Y <= most) {
			return s, fmt.Errorf("outages with probability %g of %g: give one from 0 to 1, and a time up to %g", s.X,
				s.Y, most)
		}
	}
	return s, nil
}

// String returns the text that parseSpeeds reads.
func (s Speeds) String() string {
	g := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	name, _, _ := strings.Cut(speedForms[s.Kind], ":")
	text := name + ":" + strconv.Itoa(s.N)
	switch s.Kind {
	case Trace:
		return "trace:" + s.File
	case Slow:
		return text + "," + strconv.Itoa(s.M) + "," + g(s.X)
	case LogNormal:
		return text + "," + g(s.X)
	case Outage:
		return text + "," + g(s.X) + "," + g(s.Y)
	}
	return text
}
