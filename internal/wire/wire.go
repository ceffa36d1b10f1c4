// Package wire moves messages between processes: one JSON object a line over a Unix stream socket, and open files with
// them.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// MaxLine is the most bytes of a line: a program's hello has a hundred for each tensor, and some models have many.
const MaxLine = 64 << 20

// Line is an end of the socket. Its system calls block: the thread of a worker sleeps in them while the
// program computes, and hang detection sees that.
type Line struct {
	FD    int
	text  []byte     // received, and not yet read
	files []*os.File // that came along
}

// Send writes one message, with files.
func (l *Line) Send(message any, files ...*os.File) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	for len(text) > 0 {
		n, err := unix.SendmsgN(l.FD, text, rights, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("writing to the other process: %w", err)
		}
		text, rights = text[n:], nil
	}
	return nil
}

// ErrTooLong is the error of a line above MaxLine.
var ErrTooLong = fmt.Errorf("a line of more than %d bytes", MaxLine)

// Receive reads one message. io.EOF: there are no more.
func (l *Line) Receive(message any) error {
	text, err := l.Next()
	if err != nil {
		return err
	}
	return ReadLine(text, message)
}

// ReadLine reads a line as a message.
func ReadLine(text []byte, message any) error {
	if err := json.Unmarshal(text, message); err != nil {
		return fmt.Errorf("%q: %w", brief(text), plain(err))
	}
	return nil
}

// Next returns the next line, without its end.
func (l *Line) Next() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(l.text[seen:], '\n'); i >= 0 {
			text := l.text[:seen+i]
			l.text = l.text[seen+i+1:]
			return text, nil
		}
		if seen = len(l.text); seen > MaxLine {
			return nil, ErrTooLong
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill waits for more.
func (l *Line) fill() error {
	const room = 4 << 10
	if cap(l.text)-len(l.text) < room {
		l.text = append(make([]byte, 0, 2*len(l.text)+2*room), l.text...)
	}
	rights := make([]byte, unix.CmsgSpace(4*mostFiles))
	for {
		n, along, _, _, err := unix.Recvmsg(l.FD, l.text[len(l.text):cap(l.text)], rights, unix.MSG_CMSG_CLOEXEC)
		if err == nil && along > 0 {
			err = l.keep(rights[:along])
		}
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET, err == nil && n == 0:
			return io.EOF
		case err != nil:
			return fmt.Errorf("reading from the other process: %w", err)
		default:
			l.text = l.text[:len(l.text)+n]
			return nil
		}
	}
}

// mostFiles come with one piece of a line at most.
const mostFiles = 16

// keep keeps the files that came along.
func (l *Line) keep(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	for i := range messages {
		fds, failed := unix.ParseUnixRights(&messages[i])
		if err == nil {
			err = failed
		}
		for _, fd := range fds {
			l.files = append(l.files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return err
}

// Files returns the files that came with the lines so far, which are the caller's from then on.
func (l *Line) Files() []*os.File {
	files := l.files
	l.files = nil
	return files
}

// brief returns the beginning of a text for an error.
func brief(text []byte) string {
	const most = 60
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}

// plain returns an error of package json in the words of the protocol: Go's types are not the program's business.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s cannot be %s", kind.Field, kind.Value)
	}
	return err
}
