package main

import (
	"io"
)

// answer is what a command comes to.
type answer interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

// report writes an answer to stdout: for people, or as one JSON object.
func report(stdout io.Writer, a answer, asJSON bool) error {
	if asJSON {
		return a.WriteJSON(stdout)
	}
	return a.WriteText(stdout)
}
