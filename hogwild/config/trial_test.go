package config

// defaults are the defaults, with the batch that dense data have.
func defaults() Config {
	c := Default()
	c.Batch = 64
	return c
}
