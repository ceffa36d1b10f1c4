package arrays

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// The protocol: one JSON object a line over a Unix stream socket, with files by SCM_RIGHTS. docs/designs/python.md has
// its order.

// ask is the first line: what is wanted. Train alone makes a data set, which is sent back.
type ask struct {
	Protocol  int               `json:"protocol"`
	Settings  map[string]string `json:"settings"`  // of hogwild train, by the names of its flags; nil: no run
	Train     *rows             `json:"train"`     // nil: the run reads what the settings name
	Test      *rows             `json:"test"`      // nil: the training rows
	Keep      bool              `json:"keep"`      // send the sets back, sealed
	Waits     bool              `json:"waits"`     // after each epoch, for go or stop
	Silent    bool              `json:"silent"`    // epochs come with done, all together
	Unscored  bool              `json:"unscored"`  // see run.Options
	Validates bool              `json:"validates"` // the test rows are for validation, too
	Predict   *predict          `json:"predict"`
}

// rows are rows that the other process fills in, or a set that was sealed before.
type rows struct {
	Sealed   *int      `json:"sealed"` // which of the files that came along it is; nil: it is to be filled
	Name     string    `json:"name"`
	Kind     data.Kind `json:"kind"` // floats, sparse, pairs
	Rows     int       `json:"rows"`
	Features int       `json:"features"`
	Stored   int       `json:"stored"` // values of sparse rows
	Columns  []string  `json:"columns"`
	Classes  []string  `json:"classes"`  // nil: values are predicted
	Shape    []int     `json:"shape"`    // pairs: of the matrix
	Implicit bool      `json:"implicit"` // pairs: what users liked
	Weighted bool      `json:"weighted"` // each row has a weight, in the array of that name
	Scale    string    `json:"scale"`    // as --scale; "": auto
}

// predict asks for the predictions of weights for rows.
type predict struct {
	Weights int    `json:"weights"` // which of the files that came along they are
	Words   *int   `json:"words"`   // of a model of text: which file has its words
	Path    string `json:"path"`    // what to read; "": Rows are filled in
	Format  string `json:"format"`  // of Path
	Rows    rows   `json:"rows"`
	Proba   bool   `json:"proba"`
}

// reply is a line of ours. It has one of its parts.
type reply struct {
	Rooms  []room              `json:"rooms,omitempty"` // of train and test, where they are to be filled
	Sealed []data.Meta         `json:"sealed,omitempty"`
	Epoch  *rundir.EpochResult `json:"epoch,omitempty"`
	Epochs int                 `json:"epochs,omitempty"` // with Epoch: how many the run has at most
	Done   *done               `json:"done,omitempty"`
	Failed *failed             `json:"failed,omitempty"`
}

// room is memory to be filled. Its file comes along.
type room struct {
	Size   int              `json:"size"`   // bytes
	Arrays map[string]int64 `json:"arrays"` // where they begin
}

// answer is a line of the other process after the first. It has one of its parts.
type answer struct {
	Filled bool `json:"filled"`
	Go     bool `json:"go"`   // after an epoch
	Stop   bool `json:"stop"` // at any time: the run ends as by Ctrl-C
}

// done ends a run, or has predictions. A file comes along, of Size bytes: the weights as safetensors and behind them
// the words of a text, as rundir.WordsFile has them, or the values of all rows and then, row by row, the
// probabilities.
type done struct {
	Result *rundir.Result       `json:"result,omitempty"`
	Size   int                  `json:"size"`
	Ended  string               `json:"ended,omitempty"` // interrupted, diverged: the weights are what there is
	Why    string               `json:"why,omitempty"`
	Notes  []string             `json:"notes,omitempty"`
	Epochs []rundir.EpochResult `json:"epochs,omitempty"` // of a silent run
}

// failed says why there is nothing.
type failed struct {
	Kind string `json:"kind"` // usage, diverged, interrupted, error
	Why  string `json:"why"`
}
