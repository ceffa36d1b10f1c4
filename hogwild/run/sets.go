package run

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// readData reads the training, validation and test sets.
func readData(c *config.Config, o *Options) (data.Sets, error) {
	if c.Layout != nil && c.Layout.Rows > 0 {
		return programData(c)
	}
	task, err := model.Task(c.Model, c.Loss)
	if err != nil {
		return data.Sets{}, config.Usage("%w", err)
	}
	sets, err := data.LoadSets(data.Options{Path: c.Data, Test: c.Test, Validation: c.Validation, Format: c.Format,
		Target: c.Target, Missing: c.Missing, Scale: c.Scale, Limit: c.Limit, Task: task, Seed: c.Seed,
		Unjudged: o.unjudged, MaxMemory: c.MemoryLimit(), Memory: o.TrainData, TestMemory: o.TestData})
	if err != nil {
		return data.Sets{}, config.Usage("%w", err)
	}
	return sets, nil
}

// programData are the sets of a program that has its own examples.
func programData(c *config.Config) (data.Sets, error) {
	s, err := data.LoadIndices(c.Layout.Rows, c.Layout.TestRows, c.Limit, c.Seed, c.MemoryLimit())
	if err != nil {
		return s, config.Usage("%w", err)
	}
	return s, nil
}
