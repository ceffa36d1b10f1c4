package config

import (
	"os"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// ReadSets reads the training, validation and test sets, or makes the sets of a program that has its own examples. The
// settings decide how; o has the rest: data in memory, and whether the test set judges a model.
func (c *Config) ReadSets(o data.Options) (data.Sets, error) {
	if c.Layout != nil && c.Layout.Rows > 0 {
		s, err := data.LoadIndices(c.Layout.Rows, c.Layout.TestRows, c.Limit, c.Seed, c.MemoryLimit())
		if err != nil {
			err = Usage("%w", err)
		}
		return s, err
	}
	var err error
	if o.Task, err = model.Task(c.Model, c.Loss); err != nil {
		return data.Sets{}, Usage("%w", err)
	}
	c.Validation = data.ValidationOf(o.Task, c.Validation, c.Data)
	if o.Validation = c.Validation; o.Validation == NoValidation {
		o.Validation = ""
	}
	o.Path, o.Test, o.HoldOut, o.Format, o.Target, o.Ignore = c.Data, c.Test, c.HoldsOut(), c.Format, c.Target, c.Ignore
	o.Columns, o.Weight, o.Positive = c.Columns, c.Weight, float32(c.Positive)
	o.Missing, o.Scale, o.Limit, o.Seed, o.MaxMemory = c.Missing, c.Scale, c.Limit, c.Seed, c.MemoryLimit()
	o.Text, o.Grid = c.TextOptions(), c.Mode.Grid
	sets, err := data.LoadKept(o, os.Getenv(data.KeptVariable))
	if err != nil {
		return data.Sets{}, Usage("%w", err)
	}
	return sets, nil
}
