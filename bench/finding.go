package bench

import (
	"cmp"

	"hogwild/internal/human"
)

// Finding is a statement of a publication with its figures and ours: a row of the table of
// verdicts.
type Finding struct {
	About     string       `json:"about"`     // the set or the experiment
	Statement string       `json:"statement"` // that one thing is above another, for instance
	Published string       `json:"published"` // the figures of both, in the order of the statement
	Measured  string       `json:"measured"`  // ours of both
	Verdict   Agreement    `json:"verdict"`
	P         human.Number `json:"p"` // of the verdict, Holm's adjusted p-value; null: there was no test
}

// FindingHeads are the heads of FindingRows.
var FindingHeads = []string{"experiment", "claim", "published", "measured", "verdict"}

// AboutFindings says what the figures of FindingRows are, and when a statement holds.
const AboutFindings = "Speed-ups are relative to the serial version (Hogwild! with one worker): published for 10 " +
	"threads, measured with the most workers. Losses are test losses, or training losses for model averaging. All " +
	"figures are medians of the repeats, in the order of the claim. " + aboutVerdicts

const aboutVerdicts = "≥ and ≈ allow 5%. A claim agrees if paired t-tests over the repeats show it (for ≈ an " +
	"equivalence test), differs if they show the opposite, and is undecided otherwise, or with fewer than 5 " +
	"repeats. The probability of any wrong verdict in the table is at most 5% (Holm's step-down)."

// relation is what a publication says of two quantities.
type relation string

const (
	above    relation = ">"
	notBelow relation = "≥"
	closeTo  relation = "≈"
)

// finding returns what was measured of two figures, and the verdict on what is said of them.
func (is relation) finding(a, b []float64, format func(float64) string) Finding {
	verdict, p := is.judge(pair(a, b))
	return Finding{Measured: cmp.Or(median(a, format), "-") + ", " + cmp.Or(median(b, format), "-"),
		Verdict: verdict, P: p}
}

// judge is the verdict that the repeats speak for, and its p-value. Of what the two verdicts have to reject one is
// true: each statement can be wrong in one way, so Holm's step-down counts statements.
func (is relation) judge(d paired) (Agreement, human.Number) {
	agrees, differs := d.over(-d.margin), d.under(-d.margin) // non-inferiority, which is one-sided
	switch {
	case d.n == 0:
		return Missing, human.NumberOf(nil)
	case is == above:
		agrees, differs = min(1, 2*d.over(0)), min(1, 2*d.under(0))
	case is == closeTo:
		agrees, differs = d.within(), d.beyond(d.margin)
	}
	if differs < agrees {
		return Differs, human.Number(differs)
	}
	return Agrees, human.Number(agrees)
}
