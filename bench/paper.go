package bench

import (
	"embed"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"hogwild/internal/machine"
)

// The experiment files of the program: for hogwild reproduce, and small-sets, which hogwild bench runs without flags.
//
//go:embed plans
var plans embed.FS

// BuiltInPlan reads one of the program's own experiment files, a template with some values.
func BuiltInPlan(name string, values any, flags Flags) (Plan, error) {
	t, err := template.ParseFS(plans, "plans/"+name+".yaml")
	if err != nil {
		return Plan{}, err
	}
	var text strings.Builder
	if err := t.Execute(&text, values); err != nil {
		return Plan{}, err
	}
	p, err := ReadPlan(name+".yaml", []byte(text.String()), flags)
	p.Kind = "reproduce"
	if name == asgdName {
		p.Clock, p.AtOnce = true, 2
	}
	return p, err
}

// PaperOptions say how much of the paper to repeat.
type PaperOptions struct {
	Quick   bool
	Size    float64 // times the plan's own number of examples
	Workers []int   // ascending, from 1; nil: 1, 2, 4 ... to the number of cores, at most 10, the paper's
}

const (
	paperPasses = 20
	paperDecay  = 0.9 // of the step, after each pass
	delayGroup  = "delay-"
	meanGroup   = "averaging"
)

// PaperPlan is the paper's experiments on this machine, on made sets of the same shapes,
// smaller ones: each set by the three methods and by growing numbers of workers, then
// gradients that take longer and longer, then averages of models. See plans/paper.yaml.
func PaperPlan(o PaperOptions, flags Flags) (Plan, error) {
	if !(o.Size > 0 && o.Size <= 1000) {
		return Plan{}, usage("--size %g: want more than 0 and at most 1,000", o.Size)
	}
	if o.Workers == nil {
		o.Workers = paperWorkers(machine.Cores())
	}
	return BuiltInPlan("paper", &paperValues{o}, flags)
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

// paperValues are what plans/paper.yaml asks for.
type paperValues struct{ PaperOptions }

// Several are the numbers of workers but one.
func (o *paperValues) Several() []int { return o.Workers[1:] }

// Most is the largest number of workers.
func (o *paperValues) Most() int { return slices.Max(o.Workers) }

// List is numbers as YAML has them.
func (o *paperValues) List(numbers []int) (string, error) {
	text, err := json.Marshal(numbers)
	return string(text), err
}

// Fraction is the part of the paper's examples that a set has here, by --quick, but not less
// than the least.
func (o *paperValues) Fraction(full, quick, least float64) string {
	f := full
	if o.Quick {
		f = quick
	}
	return sixDigits(min(1, max(least, f*o.Size)))
}

// Passes are as many as the paper's, or with --quick those given.
func (o *paperValues) Passes(quick int) int {
	if o.Quick {
		return quick
	}
	return paperPasses
}

// tenth is the fraction of RCV1's shape in the experiments on delays and averages.
func (o *paperValues) tenth() float64 { return max(1e-3, 0.1*min(1, o.Size)) }

// Tenth returns tenth as text.
func (o *paperValues) Tenth() string { return sixDigits(o.tenth()) }

func sixDigits(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// delayed is how RCV1's shape is learned with gradients that take longer by a delay.
type delayed struct {
	Name          string // the delay as a flag has it: 10us, where Go writes 10µs
	Epochs, Limit int    // 0: all examples
}

// Delays are runs with as many examples as take one worker about as long, and at least the
// chunks that all need to have equal shares.
func (o *paperValues) Delays() (list []delayed) {
	seconds := 2.0
	if o.Quick {
		seconds = 0.4
	}
	const alone = 200e-9 // seconds that an example takes, about
	rows := 781265 * o.tenth()
	for _, d := range []time.Duration{100, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
		time.Millisecond} {
		examples := seconds * o.Size / (alone + d.Seconds())
		r := delayed{Name: strings.Replace(d.String(), "µ", "u", 1),
			Epochs: max(1, min(paperPasses, int(examples/rows)))}
		if examples < rows {
			chunk := float64(64 * o.Most()) // see package plan
			r.Limit = int(math.Ceil(examples/chunk) * chunk)
		}
		list = append(list, r)
	}
	return list
}

// Averaged are the numbers of workers of the averaging experiment.
func (o *paperValues) Averaged() []int { return []int{1, 3, 10} }

// Epochs returns in how many epochs each of n workers goes over as many examples as one alone does.
func (o *paperValues) Epochs(n int) int { return n * o.Passes(5) }

// Decay returns the factor of the step after each of those epochs.
func (o *paperValues) Decay(n int) string { return sixDigits(math.Pow(paperDecay, 1/float64(n))) }
