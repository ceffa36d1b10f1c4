package config

import (
	"hogwild/internal/machine"
)

// Resolve returns the configuration with its number of workers: 0 is as many as there are cores, or GPUs, which one
// worker fills each. It refuses what cannot be meant. The error matches ErrUsage and says field, value and cure.
func (c Config) Resolve() (Config, error) {
	if c.Workers == 0 {
		c.Workers = machine.Cores()
		if c.Mode.Traits().Simulated {
			c.Workers = 1
		}
		if named, auto, err := ReadGPUs(c.GPU); err == nil && (c.Program == "" || c.severalGPUs()) {
			c.Workers = max(1, len(named), auto)
		}
	}
	return c, c.check()
}

// Validate returns the error of Resolve.
func (c Config) Validate() error {
	_, err := c.Resolve()
	return err
}

func (c *Config) check() error {
	for _, check := range []func(*Config) error{(*Config).checkMode, (*Config).checkSettings, (*Config).checkTogether} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// checkTogether refuses fields that contradict each other.
func (c *Config) checkTogether() error {
	if err := c.refuse(together); err != nil {
		return err
	}
	if err := c.CheckIdle(nil); err != nil {
		return err
	}
	if n := c.AllWorkers(); c.GlobalBatch%n != 0 {
		return Usage("global-batch %d cannot be split over %d workers: choose a multiple of %d", c.GlobalBatch, n, n)
	}
	return nil
}
