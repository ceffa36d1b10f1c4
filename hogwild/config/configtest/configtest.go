// Package configtest has a configuration for tests. Only tests import it.
package configtest

import (
	"testing"

	"hogwild/hogwild/config"
)

// Dense returns the default, with the batch of large dense sets, and a rate and epochs for which no data is
// needed.
func Dense() config.Config {
	c := config.Default()
	c.Batch, c.LR, c.Epochs = 64, 0.01, 10
	return c
}

// Quick returns a run of half a second at most, with the steps of the textbook.
func Quick(t *testing.T) config.Config {
	c := Dense()
	c.Data, c.Workers, c.Epochs, c.LR, c.Run = "digits:2000", 1, 3, 0.1, t.TempDir()
	c.Center, c.BiasStep, c.LRCap, c.AverageLR, c.SaveEvery = "off", "off", "off", "same", "1"
	return c
}
