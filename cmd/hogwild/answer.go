package main

import (
	"errors"
	"io"
	"os"
	"syscall"
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

// output is stdout for commands that do not end when nobody reads it any more: behind head, or on a
// terminal that was closed. What they write then is dropped. Other errors, as of a full disk, remain.
type output struct {
	io.Writer
	terminal, gone bool
}

func outputTo(f *os.File) *output {
	info, err := f.Stat()
	return &output{Writer: f, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Write writes to stdout, as long as somebody reads.
func (o *output) Write(p []byte) (int, error) {
	if o.gone {
		return len(p), nil
	}
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) || o.terminal && errors.Is(err, syscall.EIO) {
		o.gone = true
		return len(p), nil
	}
	return n, err
}

// directly is the writer itself, for a command that would otherwise write for ever to nobody.
func directly(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}
