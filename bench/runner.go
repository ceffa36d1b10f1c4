package bench

import (
	"context"
	"io"
)

// Runner carries out a plan in a folder: every run is a fresh process, and the cases take
// turns, so that what the machine does meanwhile falls on all alike.
type Runner struct {
	Folder   string    // results.json, and runs/CASE.SEED
	Program  []string  // that trains, with the arguments in front of the flags: hogwild train
	Progress io.Writer // nil: nowhere
	Fresh    bool      // measure again what is there
}

// Run measures what the folder does not hold yet and writes results.json, also when ctx
// is cancelled in between. A run counts as done if its folder has a result of the same
// settings; one that failed is tried again by the next Run.
func (r *Runner) Run(ctx context.Context, p Plan) (*Experiment, error) { panic("not yet") }

// ReadExperiment reads the results.json of a folder, or such a file.
func ReadExperiment(path string) (*Experiment, error) { panic("not yet") }
