// Package configtest has a configuration for tests. Only tests import it.
package configtest

import "hogwild/hogwild/config"

// Dense is the default, with the batch that dense data have.
func Dense() config.Config {
	c := config.Default()
	c.Batch = 64
	return c
}
