package config

import (
	"fmt"
	"iter"

	"hogwild/hogwild/data"
)

// Idle is a setting without an effect. As an error it matches ErrUsage and says why, and what to do.
type Idle struct {
	Setting   string
	Changed   bool   // its value is not the default; one that is matters only if the user gave it
	Why, Cure string // "momentum 0.5 has no effect with optimizer sgd", "use optimizer momentum, or leave momentum out"
}

// Error says why and what to do.
func (i Idle) Error() string { return i.Why + ": " + i.Cure }

// Is makes the error an ErrUsage.
func (i Idle) Is(target error) bool { return target == ErrUsage }

// Idle returns the settings that have no effect with the others. What depends on the model or on
// the data is left out while Model is "" or m is nil.
func (c *Config) Idle(m *data.Meta) iter.Seq[Idle] {
	return func(yield func(Idle) bool) {
		byDefault := Default()
		for s := range All() {
			changed := len(s.needs) > 0 && c.Text(s.Name) != byDefault.Text(s.Name)
			for _, n := range s.needs {
				if (changed || n.stated) && !n.met(known{c, m}) && !yield(n.idle(s.Name, c, changed)) {
					return
				}
			}
		}
	}
}

// CheckIdle refuses a setting that is not at its default and has no effect.
func (c *Config) CheckIdle(m *data.Meta) error {
	for idle := range c.Idle(m) {
		if idle.Changed {
			return idle
		}
	}
	return nil
}

// CheckData refuses a format, a target column or columns that the data has no use for: CheckIdle for commands without
// a Config.
func CheckData(in data.Options, m *data.Meta) error {
	c := Default()
	c.Data, c.Target, c.Columns = in.Path, in.Target, in.Columns
	if in.Format != "" {
		c.Format = in.Format
	}
	return c.CheckIdle(m)
}

// idle says why the setting has no effect, and what to do.
func (n need) idle(of string, c *Config, changed bool) Idle {
	setting, beside := of, "without "+n.beside
	if v := c.Text(of); v != "true" {
		setting += " " + v
	}
	if n.beside == "" {
		beside = "with one node"
	} else if v := c.Text(n.beside); v != "" {
		beside = "with " + n.beside + " " + v
	}
	cure := "leave one of them out"
	if n.cure != "" {
		cure = fmt.Sprintf("%s, or leave %s out", n.cure, of)
	}
	return Idle{of, changed, setting + " has no effect " + beside, cure}
}
