package bench

import (
	"math"

	"hogwild/internal/human"
)

// Finding is a statement of a publication beside what was measured here.
type Finding struct {
	About   string    `json:"about"`  // the set or the experiment
	Theirs  string    `json:"theirs"` // what is published, and where
	Here    string    `json:"here"`
	Verdict Agreement `json:"verdict"`
	Why     string    `json:"why,omitempty"` // where it is not so, what was measured that bears on it
}

// Agreement is how a statement of a publication and what was measured go together.
type Agreement string

// The agreements.
const (
	Agrees    Agreement = "as in the paper"
	Differs   Agreement = "not as in the paper"
	Undecided Agreement = "cannot be told" // the ranges of the repeats overlap
	Missing   Agreement = "not measured"   // runs failed, or have not been made yet
)

// Findings compares an experiment of PaperPlan or TutorialPlan with what is published.
func (e *Experiment) Findings() []Finding {
	if e.Name == tutorialName {
		return e.tutorialFindings()
	}
	return e.paperFindings()
}

// single is how far two figures of one run each must lie apart to be told apart at all.
const single = 0.05

// larger is how two lists compare: 1 if a is larger beyond the ranges of the repeats, -1
// if it is smaller, 0 if they overlap. ok: both have figures.
func larger(a, b []Number) (way int, ok bool) {
	v := Compare(a, b)
	switch {
	case !finite(v.Ratio):
		return 0, false
	case v.Equal || Summarize(a).N == 1 && math.Abs(v.Ratio-1) < single:
		return 0, true
	case v.Ratio > 1:
		return 1, true
	}
	return -1, true
}

// agreement is that of a statement which holds if way is 1, and fails if it is -1.
func agreement(way int, ok bool) Agreement {
	switch {
	case !ok:
		return Missing
	case way > 0:
		return Agrees
	case way < 0:
		return Differs
	}
	return Undecided
}

// times is a list's median as a factor; "not measured" of nothing.
func times(list []Number) string {
	if s := Summarize(list); s.N > 0 {
		return s.Text(human.Factor)
	}
	return string(Missing)
}
