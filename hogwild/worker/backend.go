package worker

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/device"
)

// Backend returns the one that the configuration asks for.
func Backend(c *config.Config) (device.Backend, error) {
	if c.GPU == "" {
		return cpu.Backend{}, nil
	}
	if b := device.Registered("cuda"); b != nil {
		return b, nil
	}
	return nil, config.Usage("gpu %s: this program was built without CUDA; build bin/hogwild-cuda with make cuda",
		c.GPU)
}
