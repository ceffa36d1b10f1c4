//go:build !cuda

package main

import "io"

// microbenchHere is never reached: toGPU has failed, or hogwild-cuda runs.
func microbenchHere(io.Writer, int, bool, bool) error { panic("only hogwild-cuda can measure GPUs") }
