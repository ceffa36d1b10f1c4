package bench

import "math"

// PaperSource is where the figures of the paper come from. The figures of its tables are printed
// there; the figures of its curves are the corners of the lines in the file of that report (arXiv
// 1106.5730, November 2011), whose drawings are not pictures but paths.
const PaperSource = "Feng Niu, Benjamin Recht, Christopher Ré, Stephen J. Wright: Hogwild!: A Lock-Free Approach to " +
	"Parallelizing Stochastic Gradient Descent. Technical report, June 2011, arXiv:1106.5730, section 7"

// PublishedSet is a row of the paper's figure 2, and the curves of the same set: 20 passes,
// on 10 cores of two Xeons of six cores each. NaN: not there.
type PublishedSet struct {
	Name       string
	Examples   float64 // of one pass; NaN where the paper does not say it
	Hogwild    PublishedRun
	RoundRobin PublishedRun
	// SpeedUp over the serial version, by method, for 1, 2 ... 10 threads.
	SpeedUp map[string][]float64
}

// PublishedRun is what figure 2 says of a method. Which error it is the paper does not say.
type PublishedRun struct{ Seconds, Train, Test float64 }

// The methods of the paper, by our names of them.
const (
	methodHogwild = "async"
	methodAIG     = "locked"
	methodRR      = "ordered"
)

// paperMethods are the paper's names.
var paperMethods = map[string]string{methodHogwild: "Hogwild!", methodAIG: "AIG", methodRR: "RR"}

var none = math.NaN()

// PublishedSets are the sets of the paper that are made here too, which are all but KDD Cup 2011.
var PublishedSets = []PublishedSet{
	// figure 3a
	{"rcv1", 781265, PublishedRun{9.5, 0.297, 0.339}, PublishedRun{61.8, 0.297, 0.339}, map[string][]float64{
		methodHogwild: {1.00, 1.06, 1.63, 2.14, 2.71, 3.16, 3.47, 3.89, 4.14, 4.47},
		methodAIG:     {0.80, 0.77, 1.11, 1.43, 1.74, 2.16, 2.42, 2.74, 2.99, 3.17},
		methodRR:      {1.04, 0.76, 0.82, 0.79, 0.81, 0.79, 0.76, 0.73, 0.71, 0.69},
	}},
	// 4a
	{"netflix", 100198805, PublishedRun{301.0, 0.754, 0.928}, PublishedRun{2569.1, 0.754, 0.927}, map[string][]float64{
		methodHogwild: {1.00, 1.29, 1.74, 2.47, 2.70, 3.58, 4.10, 4.28, 5.01, 5.29},
		methodAIG:     {0.97, 1.25, 1.67, 2.29, 2.92, 3.25, 3.85, 4.01, 4.63, 5.00},
		methodRR:      {none, 0.74, 0.75, 0.76, 0.71, 0.69, 0.65, 0.63, 0.61, 0.62},
	}},
	{"jumbo", 2e9, PublishedRun{9453.5, 0.031, 0.013}, PublishedRun{none, none, none}, map[string][]float64{ // 4c
		methodHogwild: {1.00, 1.50, 2.48, 3.36, 4.29, 5.04, 5.77, 6.17, 7.16, 6.77},
		methodAIG:     {0.92, 1.44, 2.30, 3.14, 4.09, 4.73, 5.41, 5.74, 6.83, 6.86},
	}},
	{"abdomen", none, PublishedRun{1181.4, 3.99, none}, PublishedRun{7467.25, 3.99, none}, map[string][]float64{ // 3b
		methodHogwild: {1.00, 1.93, 2.74, 3.59, 3.82, 3.89, 3.98, 4.03, 4.07, 4.08},
		methodAIG:     {0.59, 1.08, 1.47, 1.79, 2.06, 2.23, 2.24, 2.28, 2.29, 2.32},
		methodRR:      {0.81, 1.01, 0.88, 0.83, 0.82, 0.78, 0.75, 0.69, 0.68, 0.65},
	}},
	{"dblife", none, PublishedRun{230.0, 10.6, none}, PublishedRun{413.5, 10.5, none}, map[string][]float64{ // 3c
		methodHogwild: {1.00, 1.62, 2.64, 3.68, 4.61, 5.47, 6.48, 7.03, 8.11, 8.80},
		methodAIG:     {0.88, 1.58, 2.68, 3.61, 4.46, 5.42, 6.18, 7.12, 8.01, 8.90},
		methodRR:      {0.85, 1.37, 2.11, 2.56, 3.22, 3.61, 3.99, 4.34, 4.61, 4.90},
	}},
}

// PublishedDelays are the seconds by which a gradient of RCV1 was made to take longer, and
// PublishedByDelay the speed-up over the serial method at each of them: figure 5c. Its number
// of threads is not said; ten it must be, since it ends at a speed-up of 10.
var (
	PublishedDelays  = []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3}
	PublishedByDelay = map[string][]float64{
		methodHogwild: {3.46, 3.72, 3.67, 5.09, 7.96, 9.49, 9.97},
		methodAIG:     {2.64, 2.66, 2.91, 3.87, 7.12, 9.33, 9.95},
		methodRR:      {0.56, 0.55, 0.61, 0.87, 3.27, 7.96, 9.74},
	}
)

// at is the speed-up that the paper has with some threads; NaN: none.
func (s *PublishedSet) at(method string, threads int) float64 {
	if list := s.SpeedUp[method]; threads >= 1 && threads <= len(list) {
		return list[threads-1]
	}
	return none
}
