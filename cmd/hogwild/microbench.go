package main

import (
	"io"
	"strconv"

	"hogwild/hogwild/config"
)

// microbench measures the GPU of that index: in this process if it is hogwild-cuda, which
// otherwise takes its place.
func microbench(stdout io.Writer, gpu string, quick, asJSON bool) error {
	index, err := strconv.Atoi(gpu)
	if err != nil || index < 0 {
		return usagef("--microbench needs a GPU, counted from 0: --gpu 0")
	}
	c := config.Default()
	c.GPU = gpu
	if err := toGPU(c, false); err != nil {
		return err
	}
	return microbenchHere(stdout, index, quick, asJSON)
}
