package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"hogwild/internal/human"
)

// answer is the result of a command. As JSON it is one object, unless it has a WriteJSON of its own.
type answer interface{ WriteText(io.Writer) error }

// report writes an answer to stdout: for people, or as one JSON object.
func report(stdout io.Writer, a answer, asJSON bool) error {
	if asJSON {
		if own, ok := a.(interface{ WriteJSON(io.Writer) error }); ok {
			return own.WriteJSON(stdout)
		}
		return human.WriteJSON(stdout, a)
	}
	var text bytes.Buffer
	if err := a.WriteText(&text); err != nil {
		return err
	}
	return show(stdout, text.String())
}

// facts are the rows of a table: a name, and what is known.
type facts [][]string

func (f *facts) add(name, format string, a ...any) {
	*f = append(*f, []string{name, fmt.Sprintf(format, a...)})
}

func (f facts) write(out io.Writer) error {
	_, err := io.WriteString(out, human.Aligned(f))
	return err
}

// show writes text for people to stdout, within the width of a terminal.
func show(stdout io.Writer, text string) error {
	if o, ok := stdout.(*output); ok {
		return o.write(human.Shown(o.Writer, human.Visible(text)))
	}
	_, err := io.WriteString(stdout, text)
	return err
}

// output is stdout for commands that go on when no process reads it any more: behind head, or on a terminal that was
// closed. What they write then is dropped. Other errors, as of a full disk, remain. It is for text and JSON, in which
// names from files must not be escape sequences.
type output struct {
	io.Writer
	terminal, gone bool
}

func outputTo(f *os.File) *output {
	info, err := f.Stat()
	return &output{Writer: f, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Write writes whole lines to stdout, as long as somebody reads.
func (o *output) Write(p []byte) (int, error) {
	if err := o.write(human.Visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (o *output) write(text string) error {
	if o.gone {
		return nil
	}
	_, err := io.WriteString(o.Writer, text)
	if errors.Is(err, syscall.EPIPE) || o.terminal && errors.Is(err, syscall.EIO) {
		o.gone, err = true, nil
	}
	return err
}

// directly returns stdout itself.
func directly(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

// forPrograms returns stdout for data: to the byte, unless it is a terminal, and with an error once no process reads
// it, or a command might write for ever.
func forPrograms(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok && o.terminal {
		return o
	}
	return directly(w)
}
