//go:build cuda

package main

import (
	"fmt"
	"os"
	"os/exec"

	"gorgonia.org/cu"

	"hogwild/cuda"
	"hogwild/hogwild/config"
)

// Before main, because a worker process is one before it is anything else.
func init() { cuda.Register() }

// toGPU has nothing to do, as this is hogwild-cuda, but to refuse an old driver.
func toGPU(c config.Config) error {
	if err := handOver(); err != nil && c.GPU != "" {
		return usagef("gpu %s: %v", c.GPU, err)
	}
	return nil
}

// findCUDA returns the path of this program.
func findCUDA() (string, error) { return os.Executable() }

// handOver has nothing to do: this is hogwild-cuda. An old driver may lack what others would call.
func handOver() error { return cuda.TooOld(cu.Version()) }

func listGPUs() (*cuda.Listing, error) {
	l, err := cuda.Devices()
	return &l, err
}

func examineGPUs(child func() *exec.Cmd) ([]cuda.Finding, error) { return cuda.Examine(child) }

func answerGPUs(text []byte) error { return cuda.Echo(text) }

// cudaVersion returns the line of `hogwild --version` that tells which driver runs, and that one does: without it no
// line of this program is reached.
func cudaVersion() string {
	v := cu.Version()
	n, err := cu.NumDevices()
	if err != nil {
		return fmt.Sprintf("CUDA driver %d.%d, devices: %v\n", v/1000, v%1000/10, err)
	}
	return fmt.Sprintf("CUDA driver %d.%d, devices: %d\n", v/1000, v%1000/10, n)
}
