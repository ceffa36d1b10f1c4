// Package programtest is a program, for tests only, that speaks the protocol of docs/designs/programs.md without
// package program. It trains a linear model with squared loss, whose best weights a test can compute.
//
//	program.go  the process
//	tricks.go   what it does wrong, if a test wants that
//	linear.go   the model
//	message.go  what it is told
package programtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hogwild/shm"
)

// IsProgram reports whether this process was started as a program: a test's main then calls Main.
func IsProgram() bool { return os.Getenv("HOGWILD_SOCKET") != "" }

// Main runs the program. Its arguments are tricks that it plays: see tricks.
func Main(args []string) int {
	fd, err := strconv.Atoi(os.Getenv("HOGWILD_SOCKET"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p := &program{socket: os.NewFile(uintptr(fd), "socket"), trick: func(*program, string) error { return nil }}
	p.lines = bufio.NewReader(p.socket)
	features := Features
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch n, _ := strconv.Atoi(value); name {
		case "features":
			features = n
		case "own":
			p.own = n
		case "measures":
			p.measures = true
		case "noevaluate":
			p.scoreless = true
		default:
			if p.trick = tricks(name, value); p.trick == nil {
				fmt.Fprintf(os.Stderr, "%s is no trick\n", arg)
				return 2
			}
		}
	}
	err = p.run(features)
	var status exit
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		return 1
	}
	return 0
}

// answer sends a message, unless a trick at this place has sent another.
func (p *program) answer(at string, message func() object) error {
	err := p.trick(p, at)
	if err == nil {
		err = p.send(message())
	}
	if errors.Is(err, errAnswered) {
		err = nil
	}
	return err
}

func (p *program) run(features int) error {
	if err := p.trick(p, "start"); err != nil {
		return err
	}
	hello := object{"hello": 1, "language": "Go", "tensors": []object{
		{"name": "weight", "shape": []int{1, features}, "kind": "parameter"},
		{"name": "bias", "shape": []int{1}, "kind": "parameter"},
		{"name": "steps", "shape": []int{}, "kind": "integer"},
	}}
	if p.own > 0 {
		hello["rows"], hello["test_rows"] = p.own, p.own/4
	}
	if err := p.answer("hello", func() object { return hello }); err != nil {
		return err
	}
	if err := p.welcome(features); err != nil {
		return err
	}
	if err := p.answer("welcome",
		func() object { return object{"ready": true, "evaluates": !p.scoreless, "ends": p.measures} }); err != nil {
		return err
	}
	return p.serve()
}

func (p *program) send(message object) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = p.socket.Write(append(text, '\n'))
	return err
}

// welcome reads the welcome, and maps the files that come with it.
func (p *program) welcome(features int) error {
	first, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*8))
	_, n, _, _, err := unix.Recvmsg(int(p.socket.Fd()), first, rights, 0)
	if err != nil {
		return err
	}
	text, err := p.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(append(first, text...), &p.m); err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	for i, fd := range fds {
		access := unix.PROT_READ
		if i == p.m.Weights.File {
			access |= unix.PROT_WRITE
		}
		var info unix.Stat_t
		if err := unix.Fstat(fd, &info); err != nil {
			return err
		}
		kind := unix.MAP_PRIVATE // Linux before 6.7 refuses a shared mapping of a sealed file
		if access != unix.PROT_READ {
			kind = unix.MAP_SHARED
		}
		mem, err := unix.Mmap(fd, 0, int(info.Size), access, kind)
		if err != nil {
			return err
		}
		p.files = append(p.files, mem)
	}
	p.w = p.floats(p.m.Weights, features+2)
	if p.m.Gradients != nil {
		p.g = p.floats(*p.m.Gradients, features+2)
	}
	if p.m.Init {
		for j := range p.w[:features+1] {
			p.w[j] = 0.01 * float32(j+1)
		}
	}
	return err
}

func (p *program) floats(at place, n int) []float32 {
	return shm.Numbers[float32](p.files[at.File][at.Offset:][:4*n])
}

// serve answers until it is told to leave.
func (p *program) serve() error {
	for {
		text, err := p.lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return errors.New("nobody is there any more")
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		switch {
		case m.Leave:
			return p.trick(p, "leave")
		case m.Train != nil:
			p.chunks++
			err = p.answer("train", func() object { return p.train(m.Train.Rows, m.Train.LR) })
		case m.End != nil:
			err = p.answer("end", func() object { return p.end(m.End.Set, m.End.Rows) })
		case m.Score != nil:
			err = p.answer("score", func() object { return p.score(m.Score.Set, m.Score.From, m.Score.To) })
		}
		if err != nil {
			return err
		}
	}
}
