package programtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errAnswered is a trick's that has sent what the program was to send.
var errAnswered = errors.New("the answer is sent")

// exit ends the program with a status.
type exit int

// Error implements error.
func (e exit) Error() string { return "the last line before the exit" }

// tricks finds the trick of a name. Value is where it misbehaves, or WHAT@WHERE: start, hello, welcome, train, score,
// leave. Elsewhere it returns nil.
func tricks(name, value string) func(p *program, here string) error {
	what, at, _ := strings.Cut(value, "@")
	switch {
	case at == "" && name == "slow":
		at = "train"
	case at == "":
		what, at = "", value
	}
	do := map[string]func(p *program) error{
		"line": func(p *program) error {
			_, _ = io.WriteString(p.socket, what+"\n")
			return errAnswered
		},
		"exit": func(*program) error {
			status, _ := strconv.Atoi(what)
			return exit(status)
		},
		"kill":      func(*program) error { return die() },
		"once":      func(*program) error { return once(what, die) },
		"sleeponce": func(*program) error { return once(what, rest) },
		"slow": func(*program) error { // so long
			pause, err := time.ParseDuration(what)
			time.Sleep(pause)
			return err
		},
		"busy": func(*program) error { // computes without end
			for {
				continue
			}
		},
		"sleep": func(*program) error { return rest() },
		"close": func(p *program) error {
			_ = unix.Shutdown(int(p.socket.Fd()), unix.SHUT_RDWR)
			return rest()
		},
		"child": func(p *program) error { // leaves a process behind that holds the socket and stderr
			c := exec.Command("sleep", "20")
			c.Stderr, c.ExtraFiles = os.Stderr, []*os.File{p.socket}
			_ = c.Start()
			return die()
		},
		"nan": func(p *program) error { // from the third chunk on
			if p.chunks < 3 {
				return nil
			}
			_ = p.send(object{"not_finite": object{"step": 2, "loss": "nan"}})
			return errAnswered
		},
		"env": func(*program) error { // prints its variables
			fmt.Println(strings.Join(os.Environ(), "\n"))
			return exit(0)
		},
	}[name]
	if do == nil {
		return nil
	}
	return func(p *program, here string) error {
		if here != at {
			return nil
		}
		return do(p)
	}
}

// once does something unless the file is there.
func once(file string, do func() error) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil
	}
	f.Close()
	return do()
}

func die() error {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // not one step further
}

func rest() error {
	time.Sleep(time.Hour)
	return nil
}
