//go:build cuda

package main

import (
	"fmt"

	"gorgonia.org/cu"

	"hogwild/cuda"
	"hogwild/hogwild"
)

// Before main, because a worker process is one before it is anything else.
func init() { cuda.Register() }

// toGPU has nothing to do: this is hogwild-cuda.
func toGPU(hogwild.Config) error { return nil }

// cudaVersion is the line of `hogwild --version` that tells which driver runs, and
// that one does: without it no line of this program is reached.
func cudaVersion() string {
	v := cu.Version()
	n, err := cu.NumDevices()
	if err != nil {
		return fmt.Sprintf("CUDA driver %d.%d, devices: %v\n", v/1000, v%1000/10, err)
	}
	return fmt.Sprintf("CUDA driver %d.%d, devices: %d\n", v/1000, v%1000/10, n)
}
