package bench

import (
	"fmt"
	"math/bits"
	"strings"

	"hogwild/internal/human"
)

// The part of the page that decides how many steps a run has in flight.

// near is how close to the loss of one step in flight a run must come.
const near = 1.05

// targets are the test losses to reach, by model: near times that with which the run of
// one step in flight ends. A model without such a run has none.
func targets(runs []Run) map[string]float64 {
	of := map[string]float64{}
	for _, v := range runs {
		if model, _, c := parts(v.Name); c == "1" && v.TestLoss != nil {
			of[model] = near * *v.TestLoss
		}
	}
	return of
}

// parts takes the name of a run of the group flight apart: MODEL.CAP-STEPS.
func parts(name string) (model, limit, c string) {
	model, rest, _ := strings.Cut(name, ".")
	limit, c, _ = strings.Cut(rest, "-")
	return model, limit, c
}

// reached says when, in seconds, the test loss was first within the target.
func (p *page) reached(v Run, target float64) string {
	if target == 0 || len(v.Passes) == 0 {
		return "–"
	}
	for _, pass := range v.Passes {
		if pass.TestLoss != nil && *pass.TestLoss <= target {
			return p.timed(fmt.Sprintf("%.3g", pass.Seconds))
		}
	}
	return "not reached"
}

// none is the share of the sampled delays that are 0, in percent.
func (r Run) none() string {
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

func (p *page) flight(r *Results) {
	var rows [][]string
	runs := r.group("flight")
	goal := targets(runs)
	for _, v := range runs {
		model, limit, c := parts(v.Name)
		if v.Stopped == "diverged" {
			rows = append(rows, []string{model, c, limit, "", "diverged", "", "", "", "not reached", "", "", ""})
			continue
		}
		rows = append(rows, []string{model, c, limit, fmt.Sprintf("%.3g", v.LR), number4(v.TrainLoss), number4(v.TestLoss), percent(v.TestAccuracy),
			p.rate(v.ExamplesPerSecond), p.reached(v, goal[model]), human.Short(v.StalenessMean), fmt.Sprint(v.StalenessP99), v.none()})
	}
	p.table("Steps in flight", fmt.Sprintf(`The same learning rate and as many passes in each run of a model. Free: the rate stays as it is (--lr-cap off), so
the loss shows what the steps in flight do. Capped: hogwild lowers it when they are too many (--lr-cap auto); where the rate
is the same in both, the cap does nothing. The target is %g times the test loss that one step in flight ends with, looked at
after each pass. The best default is the row with the least time to it. Delays are updates that others write between a
step's reading of the weights and its writing, in a sample of the steps.`, near),
		[]string{"model", "in flight", "rate", "lr", "train loss", "test loss", "accuracy", "examples/s", "seconds to target", "delay, mean", "99 %", "delay 0"}, rows)
}

// delays shows the histograms by powers of two, in percent of the samples.
func (p *page) delays(r *Results) {
	var rows [][]string
	most := 0
	counts := map[string][]uint64{}
	runs := r.group("flight")
	for _, v := range runs {
		all := make([]uint64, 65)
		for _, b := range v.Histogram {
			at := bits.Len64(b[0])
			all[at] += b[1]
			most = max(most, at+1)
		}
		counts[v.Name] = all
	}
	heads := []string{"model", "in flight", "samples"}
	for i := range most {
		heads = append(heads, fmt.Sprint(uint64(1)<<i>>1))
	}
	for _, v := range runs {
		model, limit, c := parts(v.Name)
		total := uint64(0)
		for _, n := range counts[v.Name] {
			total += n
		}
		if total == 0 || limit == "capped" { // a rate changes no delay
			continue
		}
		row := []string{model, c, fmt.Sprint(total)}
		for _, n := range counts[v.Name][:most] {
			row = append(row, fmt.Sprintf("%.0f", 100*float64(n)/float64(total)))
		}
		rows = append(rows, row)
	}
	p.table("Delays", `Percent of the samples with a delay from the number on top up to the next. If the steps took turns, all delays would be
one less than the steps in flight; if any may come next, they spread from 0 to several times that, which bears a larger rate.`, heads, rows)
}
