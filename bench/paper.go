package bench

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PaperOptions say how much of the paper to repeat.
type PaperOptions struct {
	Quick   bool
	Size    float64 // so many times as many examples: 1 is the plan's own number
	Workers []int   // ascending, from 1; nil: 1, 2, 4 ... to the number of cores, at most 10, the paper's
	Repeat  int     // 0: three
	Command string  // that repeats it
}

// paperJob is a set of the paper and how it is learned here. The learning rates are the
// best of a few that were tried with one worker.
type paperJob struct {
	name, model string
	lr          string
	full, quick float64 // fraction of the paper's examples
	least       float64
	epochs      int // quick; the full one has the paper's 20
	flags       []Setting
}

// The paper's SVM has no bias. Its steps on dblife are slow, since they project onto a
// simplex with 18,167 corners; a thousand corners make them slow enough, and fit in memory.
var paperJobs = []paperJob{
	{"rcv1", "hinge", "0.5", 1, 0.1, 1e-3, 5, []Setting{{"no-bias", "true"}}},
	{"netflix", "factor:10", "0.02", 0.02, 0.005, 1e-5, 8, nil},
	{"jumbo", "factor:10", "0.05", 0.002, 0.0005, 1e-6, 4, nil},
	{"abdomen", "cut", "0.02", 0.005, 0.002, 1e-5, 4, nil},
	{"dblife", "cut:1000", "0.1", 0.2, 0.05, 0.006, 3, nil},
}

const (
	reproduction = "reproduce" // the kind of the experiments

	paperPasses = 20
	paperDecay  = 0.9 // of the step, after each pass
	delayGroup  = "delay-"
	meanGroup   = "averaging"
)

// PaperPlan is the paper's experiments on this machine, on made sets of the same shapes,
// smaller ones: each set by the three methods and by growing numbers of workers, then
// gradients that take longer and longer, then averages of models.
func PaperPlan(o PaperOptions) (Plan, error) {
	if !(o.Size > 0 && o.Size <= 1000) {
		return Plan{}, fmt.Errorf("size %g: want more than 0, and 1,000 at most", o.Size)
	}
	if o.Workers == nil {
		o.Workers = paperWorkers(runtime.NumCPU())
	}
	p := Plan{Kind: reproduction, Name: "paper", Command: o.Command, Seeds: FirstSeeds(cmp.Or(o.Repeat, 3)),
		About: "The experiments of the Hogwild! paper (Niu, Recht, Ré, Wright 2011) on this machine, on synthetic data of the same shapes."}
	if o.Quick {
		p.Name = "paper-quick"
	}
	for _, j := range paperJobs {
		p.Cases = append(p.Cases, j.cases(o)...)
	}
	p.Cases = append(p.Cases, o.delays()...)
	p.Cases = append(p.Cases, o.averages()...)
	return p, nil
}

// paperWorkers is 1, 2, 4 and so on, and as many as there are cores, but not more than the
// paper's ten. One core has two workers too, which take turns.
func paperWorkers(cores int) []int {
	most := min(10, max(2, cores))
	var list []int
	for n := 1; n < most; n *= 2 {
		list = append(list, n)
	}
	return append(list, most)
}

// fraction of the paper's examples that a set has here.
func (j *paperJob) fraction(o PaperOptions) float64 {
	f := j.full
	if o.Quick {
		f = j.quick
	}
	return min(1, max(j.least, f*o.Size))
}

func (j *paperJob) passes(o PaperOptions) int {
	if o.Quick {
		return j.epochs
	}
	return paperPasses
}

// base is the settings that all methods of a set share. The step falls by a tenth after
// each pass, as in the paper.
func (j *paperJob) base(o PaperOptions, fraction float64, epochs int, decay float64) []Setting {
	return append([]Setting{
		{"data", "synth:" + j.name + ":" + strconv.FormatFloat(fraction, 'g', 6, 64)},
		{"model", j.model},
		{"lr", j.lr},
		{"schedule", "exp"},
		{"decay", strconv.FormatFloat(decay, 'g', 6, 64)},
		{"epochs", strconv.Itoa(epochs)},
	}, j.flags...)
}

// cases is the three methods on a set. Hogwild! as the paper has it holds no update back;
// as it is here it does, where the model is small.
func (j *paperJob) cases(o PaperOptions) (list []Case) {
	base := j.base(o, j.fraction(o), j.passes(o), paperDecay)
	for _, mode := range []string{methodHogwild, methodAIG, methodRR} {
		for _, n := range o.Workers {
			list = append(list, paperCase(j.name, mode, n, base, Setting{"merge-every", "1"}))
		}
	}
	if j.name == "rcv1" {
		for _, n := range o.Workers[1:] {
			c := paperCase(j.name, methodHogwild, n, base)
			c.Name = fmt.Sprintf("%s-held-%d", j.name, n)
			list = append(list, c)
		}
	}
	return list
}

// paperCase is a case of a group, named after its mode and number of workers.
func paperCase(group, mode string, workers int, base []Setting, more ...Setting) Case {
	settings := append(slices.Clone(base), Setting{"mode", mode}, Setting{"workers", strconv.Itoa(workers)})
	return Case{Name: fmt.Sprintf("%s-%s-%d", group, mode, workers), Group: group, Settings: append(settings, more...)}
}

// delays is RCV1's shape with gradients that take longer by a delay. Each has as many
// examples as take one worker about as long, and at least the chunks that all need to
// have equal shares.
func (o PaperOptions) delays() (list []Case) {
	j, most := paperJobs[0], slices.Max(o.Workers)
	seconds := 2.0
	if o.Quick {
		seconds = 0.4
	}
	const alone = 200e-9 // seconds that an example takes, about
	fraction := max(j.least, 0.1*min(1, o.Size))
	rows := 781265 * fraction
	for _, d := range []time.Duration{100, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
		examples := seconds * o.Size / (alone + d.Seconds())
		base := j.base(o, fraction, max(1, min(paperPasses, int(examples/rows))), paperDecay)
		if examples < rows {
			chunk := float64(64 * most) // see package plan
			base = append(base, Setting{"limit", strconv.Itoa(int(math.Ceil(examples/chunk) * chunk))})
		}
		base = append(base, Setting{"merge-every", "1"}, Setting{"gradient-delay", delayText(d)})
		group := delayGroup + delayText(d)
		list = append(list, paperCase(group, methodHogwild, 1, base))
		for _, mode := range []string{methodHogwild, methodAIG, methodRR} {
			list = append(list, paperCase(group, mode, most, base))
		}
	}
	return list
}

// delayText is a delay as a flag and in names: 10us, where Go writes 10µs.
func delayText(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

// averages is the averaging that the paper tries on RCV1: as many passes of each worker as
// of one alone. A worker has 1/n of an epoch, so that n epochs are a pass of each. Unlike the
// paper's, whose models meet at the end only, these go on from their mean after every epoch.
func (o PaperOptions) averages() (list []Case) {
	j := paperJobs[0]
	passes, fraction := j.passes(o), max(j.least, 0.1*min(1, o.Size))
	for _, n := range []int{1, 3, 10} {
		base := j.base(o, fraction, n*passes, math.Pow(paperDecay, 1/float64(n)))
		list = append(list, paperCase(meanGroup, "sync", n, base, Setting{"average-every", "epoch"}))
	}
	base := j.base(o, fraction, passes, paperDecay)
	return append(list, paperCase(meanGroup, methodHogwild, slices.Max(o.Workers), base, Setting{"merge-every", "1"}))
}

// value is a setting of a case; "": it is not set.
func (c *Case) value(flag string) string {
	for _, s := range c.Settings {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}
