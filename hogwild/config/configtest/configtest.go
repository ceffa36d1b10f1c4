// Package configtest has a configuration for tests. Only tests import it.
package configtest

import "hogwild/hogwild/config"

// Dense is the default, with the batch of large dense sets, and a rate and epochs for which no data is
// needed.
func Dense() config.Config {
	c := config.Default()
	c.Batch, c.LR, c.Epochs = 64, 0.01, 10
	return c
}
