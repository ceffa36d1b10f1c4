package tuning

import "hogwild/hogwild/data"

// Facts are what is known of the training data and of the model on them. Where the inputs'
// spectrum says nothing of a model, the numbers of it are 0.
type Facts struct {
	Kind     data.Kind
	Rows     int
	Features int
	Shape    []int

	// in how many rows those features of a sparse table occur, on average, that less than one of a hundred has; 0: none
	Often float64

	Weights      int  // of the model without centring
	HasStepper   bool // the model takes its steps on single rows by itself: see model.Stepper
	SupportsCopy bool // and a worker may do so on a copy
	HotRowsFirst bool // its first rows are those that most steps write: see model.Ranked
	Rare         int  // how many times as long as others rare features may stay unmerged: see Frequent; 0: not known

	FeaturesLambda float64 // largest eigenvalue of E[x x'] of sparse inputs; 0: the bias has no step of its own
	RawLambda      float64 // of inputs with the bias's column
	CenteredLambda float64 // and less their means; 0: the run cannot centre them

	// Of the inputs as the run learns on them, centred or not:
	RowNorm   float64 // R2, see rowNorm
	Trace     float64 // see trace
	Squares   float64 // see squaredNorm
	Curvature float64 // see lossCurvature
	Heavy     float64 // of the rows' weights, see data.Set.Heavy; 0: they have none
	Newton    float64 // see Rehearse; 0: not known
}

// MaxCopied is the largest sparse linear model that is copied whole, a megabyte of it: copy
// and base then stay in a core's cache. In a larger one most weights are rare, and two workers
// seldom meet at one: at its bias alone, which is copied by itself.
const MaxCopied = 1 << 18

// Machine is what a run has to run on.
type Machine struct {
	Cores int // that this process may use
	// share of the workers beyond them that hold a step while another has their core; 0 until it is measured
	Oversubscribed float64
	GPUs           GPUs // those that the run is on
}

// GPUs are the GPUs of a run, as far as the steps in flight depend on them.
type GPUs struct {
	Count int  // 0: it is on cores
	SMs   int  // multiprocessors of the smallest
	Turns bool // without a Multi-Process Service, the processes on one take turns
	Fit   int  // steps that run at once, on all of them; 0: not known yet
}
