package programtest

import (
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

// tricks is a way to misbehave at a place: start, hello, welcome, train, score, leave.
func tricks(name, value string) func(*program, string) bool {
	text, at, _ := strings.Cut(value, "@")
	return map[string]func(p *program, at string) bool{
		"line": func(p *program, here string) bool { // sends it
			if here == at {
				_, _ = io.WriteString(p.socket, text+"\n")
			}
			return here == at
		},
		"exit": func(_ *program, here string) bool {
			if here == at {
				status, _ := strconv.Atoi(text)
				fmt.Fprintln(os.Stderr, "the last line before the exit")
				os.Exit(status)
			}
			return false
		},
		"kill": func(_ *program, here string) bool {
			if here == value {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return false
		},
		"once": func(_ *program, here string) bool { // dies unless the file is there
			if here != at {
				return false
			}
			if f, err := os.OpenFile(text, os.O_CREATE|os.O_EXCL, 0o666); err == nil {
				f.Close()
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return false
		},
		"busy": func(_ *program, here string) bool { // computes without end
			for here == value {
				continue
			}
			return false
		},
		"sleep": func(_ *program, here string) bool {
			if here == value {
				time.Sleep(time.Hour)
			}
			return false
		},
		"sleeponce": func(_ *program, here string) bool { // sleeps unless the file is there
			if here != at {
				return false
			}
			if f, err := os.OpenFile(text, os.O_CREATE|os.O_EXCL, 0o666); err == nil {
				f.Close()
				time.Sleep(time.Hour)
			}
			return false
		},
		"slow": func(_ *program, here string) bool { // takes so long for each chunk
			if pause, _ := time.ParseDuration(value); here == "train" {
				time.Sleep(pause)
			}
			return false
		},
		"close": func(p *program, here string) bool {
			if here == value {
				_ = unix.Shutdown(int(p.socket.Fd()), unix.SHUT_RDWR)
				time.Sleep(time.Hour)
			}
			return false
		},
		"child": func(p *program, here string) bool { // leaves a process behind that holds the socket and stderr
			if here == value {
				c := exec.Command("sleep", "20")
				c.Stderr, c.ExtraFiles = os.Stderr, []*os.File{p.socket}
				_ = c.Start()
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return false
		},
		"nan": func(p *program, here string) bool { // in the third chunk
			if here == "train" && p.chunks == 3 {
				_ = p.send(object{"not_finite": object{"step": 2, "loss": "nan"}})
				return true
			}
			return false
		},
		"env": func(_ *program, here string) bool { // prints variables
			if here == "start" {
				for _, s := range os.Environ() {
					fmt.Println(s)
				}
				os.Exit(0)
			}
			return false
		},
	}[name]
}
