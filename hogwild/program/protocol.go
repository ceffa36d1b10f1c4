package program

import (
	"fmt"
	"math"
	"strconv"

	"hogwild/hogwild/model"
)

// The protocol: one JSON object a line, over a Unix stream socket. docs/designs/programs.md describes it for
// those who write programs in another language.
const protocol = 1

// hello is the program's first line.
type hello struct {
	Hello    int    `json:"hello"`
	Language string `json:"language"` // for the report: "Python 3.11.7, PyTorch 2.15.0"
	PID      int    `json:"pid"`      // of the process that computes; 0: the one that was started
	model.Layout
}

// welcome answers hello. The files of the arrays come with it (SCM_RIGHTS).
type welcome struct {
	Welcome   int            `json:"welcome"`
	Role      string         `json:"role"` // worker, evaluator
	Rank      int            `json:"rank"` // Coordinator of the evaluator
	Workers   int            `json:"workers"`
	Seed      uint64         `json:"seed"`
	Batch     int            `json:"batch"`
	Steps     int            `json:"steps"` // an equal share of the run's
	Mode      string         `json:"mode"`  // async, weights, gradients
	L2        float64        `json:"l2"`
	GPU       *gpu           `json:"gpu,omitempty"`
	Weights   place          `json:"weights"`
	Gradients *place         `json:"gradients,omitempty"`
	Clocks    *clocks        `json:"clocks,omitempty"`
	Init      bool           `json:"init"`
	Data      map[string]set `json:"data"`
}

// place is where an array begins.
type place struct {
	File   *int  `json:"file,omitempty"` // which of those that came with welcome; nil: it is in the GPU memory
	Offset int64 `json:"offset"`         // bytes from its start
}

// gpu is the GPU on which the program computes. A worker's has the weights there.
type gpu struct {
	UUID   string `json:"uuid"`
	Handle []byte `json:"handle,omitempty"` // of the memory: CUDA's, by which another process opens it
	Size   int64  `json:"size,omitempty"`   // bytes
}

// clocks are the steps taken by each worker: a number of 64 bits each.
type clocks struct {
	place
	Count  int `json:"count"`
	Stride int `json:"stride"` // bytes from one to the next
}

// set is a data set.
type set struct {
	File     int              `json:"file"`
	Kind     string           `json:"kind"`
	Rows     int              `json:"rows"`
	Features int              `json:"features"`
	Shape    []int            `json:"shape,omitempty"`
	Classes  int              `json:"classes,omitempty"` // 0: values are predicted
	Mul      []float32        `json:"mul,omitempty"`     // of bytes: x' = x*mul + add
	Add      []float32        `json:"add,omitempty"`
	Arrays   map[string]array `json:"arrays"`
}

// array is an array of a data set.
type array struct {
	Offset int64 `json:"offset"` // bytes from the start of the set's file
}

// request is a line to a program that has been welcomed. It has one of its parts.
type request struct {
	Train *train `json:"train,omitempty"`
	Score *score `json:"score,omitempty"`
	End   *end   `json:"end,omitempty"`
	Leave bool   `json:"leave,omitempty"`
}

// train asks for steps on rows, each on as many as the batch has; the last may have fewer.
type train struct {
	Epoch int       `json:"epoch"` // from 1
	Rows  []int32   `json:"rows"`
	LR    []float64 `json:"lr"` // of each step

	Progress [2]float64 `json:"progress"` // the part of the run that is over, 0 to 1: at the first step; more with each
}

// score asks for the loss of the rows [From, To).
type score struct {
	Set  string `json:"set"` // train, validation, test
	From int    `json:"from"`
	To   int    `json:"to"`
}

// end reports an epoch's end, after its scores, on Rows rows of a set.
type end struct {
	Epoch int    `json:"epoch"` // from 1
	Set   string `json:"set"`   // validation, test
	Rows  int    `json:"rows"`
}

// reply is a line of a program that has said hello. It has one of its parts.
type reply struct {
	Ready     bool       `json:"ready"`
	Evaluates bool       `json:"evaluates"` // with Ready
	Ends      bool       `json:"ends"`      // with Ready: it wants to hear of the ends of epochs
	Trained   *trained   `json:"trained"`
	NotFinite *notFinite `json:"not_finite"`
	Scored    *scored    `json:"scored"`
	Ended     *ended     `json:"ended"`
}

// trained answers train.
type trained struct {
	Examples  int      `json:"examples"`
	Steps     int      `json:"steps"`
	Loss      number   `json:"loss"` // summed over the examples
	Staleness []uint64 `json:"staleness"`

	// of its own: the sum over the examples that have it, and their number
	Metrics map[string][2]number `json:"metrics"`
	OwnRate bool                 `json:"own_rate"` // its optimizer takes steps at a rate of its own
}

// notFinite answers train, where a loss was NaN or infinite.
type notFinite struct {
	Step int    `json:"step"` // of these, from 1
	Loss number `json:"loss"`
}

// scored answers score: sums over the examples.
type scored struct {
	Examples int               `json:"examples"`
	Loss     number            `json:"loss"`
	Metrics  map[string]number `json:"metrics"`
}

// ended answers end: metrics of the whole set.
type ended struct {
	Metrics map[string]number `json:"metrics"`
}

// number is a JSON number, or one of the texts nan, inf and -inf, for which JSON has no numbers.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"nan"`:
		*n = number(math.NaN())
		return nil
	case `"inf"`:
		*n = number(math.Inf(1))
		return nil
	case `"-inf"`:
		*n = number(math.Inf(-1))
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%.60s is not a number", text)
	}
	*n = number(v)
	return nil
}
