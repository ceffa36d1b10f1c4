//go:build cuda

package cuda

import (
	"errors"
	"os"

	"hogwild/hogwild/config"
)

// attached is an error if the run has asked for a Multi-Process Service and this
// process's context is not its client.
func (c *gpu) attached(cfg *config.Config) error {
	if !cfg.MPS {
		return nil
	}
	if v, err := c.device.Attribute(mpsEnabled); err == nil && v != 0 {
		return nil
	}
	return errors.New("mps: the service was started in " + os.Getenv("CUDA_MPS_PIPE_DIRECTORY") +
		", but this GPU's driver does not use it: it needs compute capability 7.0, no MIG, and no other service of another user on the GPU (see its control.log, and hogwild doctor)")
}
