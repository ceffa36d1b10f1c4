package run

import (
	"cmp"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// ownPatience is the Patience of a network that stops by itself. The best weights are kept, so that much of it costs time
// and little of it a model: with 5 to 10, convnet on 2,000 digits stopped at 1.3 to 1.6 times the test loss that it reached with 20.
const ownPatience = 20

// settleStop makes settings of what follows for a run that holds out rows by itself from the share that was, "" for none:
// its config.yaml has them, and a resumed run holds out the same rows. It reports whether the run holds out rows by itself.
func (r *task) settleStop(share string) bool {
	c := &r.job.Config
	switch {
	case !c.HoldsOut():
		return false
	case share == "":
		c.Validation = config.NoValidation
		return false
	}
	c.Validation, c.Patience = share, cmp.Or(c.Patience, ownPatience)
	return true
}

// stopNote says what a run does with the rows that it holds out by itself.
func (r *task) stopNote() string {
	note := fmt.Sprintf("keeps the best epoch by %s rows held out (--validation none trains on all)", human.Count(int64(r.validation.Rows)))
	if r.job.Epochs > r.job.Patience {
		note = fmt.Sprintf("stops after %d without a better loss, ", r.job.Patience) + note
	}
	return note
}

// readData reads the training, validation and test sets, or makes those of a program that has its own examples.
func readData(c *config.Config, o *Options) (data.Sets, error) {
	if c.Layout != nil && c.Layout.Rows > 0 {
		s, err := data.LoadIndices(c.Layout.Rows, c.Layout.TestRows, c.Limit, c.Seed, c.MemoryLimit())
		if err != nil {
			err = config.Usage("%w", err)
		}
		return s, err
	}
	task, err := model.Task(c.Model, c.Loss)
	if err != nil {
		return data.Sets{}, config.Usage("%w", err)
	}
	validation := c.Validation
	if validation == config.NoValidation {
		validation = ""
	}
	sets, err := data.LoadSets(data.Options{Path: c.Data, Test: c.Test, Validation: validation, HoldOut: c.HoldsOut(), Format: c.Format,
		Target: c.Target, Ignore: c.Ignore, Missing: c.Missing, Scale: c.Scale, Limit: c.Limit, Task: task, Seed: c.Seed,
		Unjudged: o.unjudged, MaxMemory: c.MemoryLimit(), Memory: o.TrainData, TestMemory: o.TestData})
	if err != nil {
		return data.Sets{}, config.Usage("%w", err)
	}
	return sets, nil
}
