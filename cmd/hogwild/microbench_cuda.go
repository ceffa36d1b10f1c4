//go:build cuda

package main

import (
	"io"

	"hogwild/cuda"
)

func microbenchHere(stdout io.Writer, index int, quick, asJSON bool) error {
	p, err := cuda.MeasureGPU(index, quick)
	if err != nil {
		return err
	}
	return report(stdout, p, asJSON)
}
