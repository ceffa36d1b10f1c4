package control

import (
	"hogwild/hogwild/config"
)

// defaults are the defaults, with the batch that dense data have.
func defaults() config.Config {
	c := config.Default()
	c.Batch = 64
	return c
}
