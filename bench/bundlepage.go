package bench

import (
	_ "embed"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"hogwild/internal/human"
)

// bundlePage is a page of Markdown; a table without rows is left out.
//
//go:embed bundle/page.md
var bundlePage string

// near is how close to the loss of one step in flight a run must come.
const near = 1.05

// WriteText writes the results as a page of Markdown.
func (r *Results) WriteText(w io.Writer) error {
	timed := func(text string) string { // of a figure that means something on a GPU only
		if r.StandIn {
			return "–"
		}
		return text
	}
	ifThere := func(format string, times float64, v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, times**v)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"join":    strings.Join,
		"most":    func(n int, text string) string { return text[:min(len(text), n)] },
		"number":  human.Short,
		"loss":    func(v *float64) string { return ifThere("%.4f", 1, v) },
		"lr":      func(v *float64) string { return ifThere("%.3g", 1, v) },
		"percent": func(v *float64) string { return ifThere("%.2f %%", 100, v) },
		"busy":    func(v *float64) string { return timed(ifThere("%.2f", 1, v)) },
		"timed":   func(format string, v float64) string { return timed(fmt.Sprintf(format, v)) },
		"short":   func(v float64) string { return timed(human.Short(v)) },
		"rate":    func(v float64) string { return timed(human.Rate(v)) },
		"wall": func(v float64) string {
			if v == 0 {
				return "–"
			}
			return timed(human.Rate(v))
		},
	}).Parse(bundlePage)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// Of is the runs of a group.
func (r *Results) Of(group string) (all []Run) {
	for _, v := range r.Runs {
		if v.Group == group {
			all = append(all, v)
		}
	}
	return all
}

// Ended is how a part ended.
func (s Part) Ended() string {
	switch s.Status {
	case "0":
		return "finished"
	case "124", "137":
		return "cut off: out of time"
	case "running":
		return "running when this was written"
	}
	if _, err := strconv.Atoi(s.Status); err == nil {
		return "status " + s.Status
	}
	return s.Status
}

// Kind is the model or the workload: names of runs are KIND.HOW, of the group mps SHARING-WORKERS.
func (r Run) Kind() string {
	kind, _, _ := strings.Cut(r.Name, ".")
	return kind
}

// How is the rest of the name: of the group rates STEPS, of the group flight CAP-STEPS.
func (r Run) How() string {
	_, how, _ := strings.Cut(r.Name, ".")
	return how
}

// ctas finds the CTAs in the note of a run on what is in flight.
var ctas = regexp.MustCompile(`in flight: (\d+ CTAs?(?: of \d+ teams)?)`)

// CTAs are those that trained, at most one of which is on a multiprocessor until each has one.
func (r Run) CTAs() string {
	for _, note := range r.Notes {
		if m := ctas.FindStringSubmatch(note); m != nil {
			return m[1]
		}
	}
	return "–"
}

// Cap is whether the rate was free or capped.
func (r Run) Cap() string {
	limit, _, _ := strings.Cut(r.How(), "-")
	return limit
}

// InFlight is how many steps were.
func (r Run) InFlight() string {
	_, steps, _ := strings.Cut(r.How(), "-")
	return steps
}

// Sharing is how workers shared a GPU.
func (r Run) Sharing() string {
	sharing, _, _ := strings.Cut(r.Name, "-")
	return sharing
}

// Undelayed is the share of the sampled delays that are 0, in percent.
func (r Run) Undelayed() string {
	zeros, all := uint64(0), uint64(0)
	for _, b := range r.Histogram {
		all += b[1]
		if b[0] == 0 {
			zeros += b[1]
		}
	}
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(zeros)/float64(all))
}

// Near is what a run's target is of the test loss with which that of one step in flight ends.
func (r *Results) Near() float64 { return near }

// Reached says when, in seconds, a run's test loss was first within the target: that with
// which the run of the same model with one step in flight ends, or near it.
func (r *Results) Reached(v Run) string {
	target := 0.0 // a model without such a run has none
	for _, one := range r.Of("flight") {
		if one.Kind() == modelOf(v.Kind()) && one.InFlight() == "1" && one.TestLoss != nil {
			target = near * *one.TestLoss
		}
	}
	if target == 0 || len(v.Passes) == 0 {
		return "–"
	}
	for _, pass := range v.Passes {
		switch {
		case pass.TestLoss == nil || *pass.TestLoss > target:
		case r.StandIn:
			return "–"
		default:
			return fmt.Sprintf("%.3g", pass.Seconds)
		}
	}
	return "not reached"
}

// modelOf is a kind without its batch, as in convnet-b1.
func modelOf(kind string) string {
	model, _, _ := strings.Cut(kind, "-b")
	return model
}

// Delays are the histograms of the delays by powers of two, in percent of the samples, under
// a line of heads. A rate changes no delay: capped runs are left out.
func (r *Results) Delays() (rows [][]string) {
	most := 0
	for _, v := range r.Of("flight") {
		for _, b := range v.Histogram {
			most = max(most, bits.Len64(b[0])+1)
		}
	}
	for _, v := range r.Of("flight") {
		counts, total := make([]uint64, most), uint64(0)
		for _, b := range v.Histogram {
			counts[bits.Len64(b[0])] += b[1]
			total += b[1]
		}
		if total == 0 || v.Cap() == "capped" {
			continue
		}
		row := []string{v.Kind(), v.InFlight(), fmt.Sprint(total)}
		for _, n := range counts {
			row = append(row, fmt.Sprintf("%.0f", 100*float64(n)/float64(total)))
		}
		rows = append(rows, row)
	}
	if rows == nil {
		return nil
	}
	heads := []string{"model", "in flight", "samples"}
	for i := range most {
		heads = append(heads, fmt.Sprint(uint64(1)<<i>>1))
	}
	return append([][]string{heads}, rows...)
}
