package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"hogwild/cuda"
	"hogwild/hogwild/config"
	"hogwild/internal/self"
)

// NVIDIA's Multi-Process Service lets kernels of several processes run on one GPU at
// the same time, where they would take turns else. --mps starts a daemon of it for this
// run alone, and stops it at the end.
//
// A guard, which is this program started as `hogwild mps-guard`, owns the daemon. Its
// stdin is a pipe that the run holds open: however the run ends, the pipe is closed then,
// and the guard stops the daemon. The daemon must be there before a process starts the
// driver, as its folder is found in the environment then: so the program that starts the
// run starts the guard first, and then lets hogwild-cuda take its place.

const (
	mpsControl  = "nvidia-cuda-mps-control"
	mpsPipes    = "CUDA_MPS_PIPE_DIRECTORY"
	mpsLogs     = "CUDA_MPS_LOG_DIRECTORY"
	mpsVariable = "HOGWILD_MPS_GUARD" // the pipe's descriptor and the guard's process, for hogwild-cuda
	mpsClients  = 48                  // contexts that one GPU's server takes (NVIDIA's MPS guide; 60 from CUDA 13.1)
	mpsPatience = 10 * time.Second    // for the daemon to start, and for its clients to leave
)

// startMPS starts the daemon if the run wants one, and sets the environment by which
// this process's clients find it. It reports whether it did: then a program that has
// started the driver already must start anew.
func startMPS(c config.Config) (started bool, err error) {
	if !c.MPS {
		return false, nil
	}
	if c, err = c.Resolve(); err != nil {
		return false, err
	}
	clients := c.Workers - c.CPUWorkers + 1
	switch {
	case os.Getenv(mpsVariable) != "":
		return false, nil // by the program whose place this one has taken
	case os.Getenv(mpsPipes) != "":
		return false, usagef("--mps: %s is set, so a service is in use already: leave --mps out, or unset it", mpsPipes)
	case clients > mpsClients:
		return false, usagef("--mps: %d workers and the coordinator exceed the %d processes that the service supports",
			clients-1, mpsClients)
	}
	if _, err := exec.LookPath(mpsControl); err != nil {
		return false, usagef("--mps: %s is not on PATH: it comes with the NVIDIA driver (on Debian and Ubuntu in "+
			"nvidia-compute-utils)", mpsControl)
	}
	folder, err := os.MkdirTemp("/tmp", "hogwild-mps-") // a short path: it becomes a socket's
	if err != nil {
		return false, fmt.Errorf("--mps: %w", err)
	}
	if err := nameByUUID(); err != nil {
		return false, fmt.Errorf("--mps: %w", err)
	}
	if err := startGuard(folder); err != nil {
		return false, usagef("--mps: %v", err)
	}
	return true, nil
}

// nameByUUID replaces the indices in CUDA_VISIBLE_DEVICES, which Slurm sets, by UUIDs. The daemon
// numbers anew the GPUs that it shows, and its clients would apply indices a second time, to its
// numbers: so NVIDIA advises UUIDs for both (Multi-Process Service, "CUDA_VISIBLE_DEVICES").
func nameByUUID() error {
	const variable = "CUDA_VISIBLE_DEVICES"
	isIndex := func(entry string) bool { return !strings.HasPrefix(entry, "GPU-") && !strings.HasPrefix(entry, "MIG-") }
	if list := os.Getenv(variable); list == "" || !slices.ContainsFunc(strings.Split(list, ","), isIndex) {
		return nil
	}
	out, err := self.Command(context.Background(), "devices", "--json").Output()
	if err != nil {
		return fmt.Errorf("hogwild devices: %w", err)
	}
	var visible cuda.Listing
	if err := json.Unmarshal(out, &visible); err != nil {
		return fmt.Errorf("hogwild devices: %w", err)
	}
	var ids []string
	for _, g := range visible.GPUs {
		ids = append(ids, g.UUID)
	}
	if len(ids) == 0 { // no GPU, or no driver: the run says so itself
		return nil
	}
	return os.Setenv(variable, strings.Join(ids, ","))
}

// startGuard starts the guard, which answers when the daemon runs.
func startGuard(folder string) error {
	var held [2]int // what the run holds open; no child of it must
	if err := unix.Pipe2(held[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	guard := self.Command(context.Background(), "mps-guard", folder)
	guard.Env = append(os.Environ(), mpsPipes+"="+folder, mpsLogs+"="+folder)
	guard.Stdin = os.NewFile(uintptr(held[0]), "guard")
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is the run's
	answer, err := guard.StdoutPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(answer).ReadString('\n')
	if line = strings.TrimSpace(line); line != "ready" {
		return errors.Join(errors.New(line), err)
	}
	for name, value := range map[string]string{mpsPipes: folder, mpsLogs: folder,
		mpsVariable: fmt.Sprintf("%d:%d", held[1], guard.Process.Pid)} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	_, err = unix.FcntlInt(uintptr(held[1]), unix.F_SETFD, 0) // to the program that takes this one's place
	return err
}

// holdMPS keeps the guard's pipe from the children of this process. stop closes it, and
// waits until the guard has stopped the daemon.
func holdMPS() (stop func()) {
	var pipe, pid int
	if _, err := fmt.Sscanf(os.Getenv(mpsVariable), "%d:%d", &pipe, &pid); err != nil {
		return func() {}
	}
	unix.CloseOnExec(pipe)
	return func() {
		_ = unix.Close(pipe) // of this process alone: at the latest its end closes it
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}
}

// guardCommand is `hogwild mps-guard FOLDER`, which startGuard starts.
func guardCommand() *cli.Command {
	return &cli.Command{Name: "mps-guard", Hidden: true, Action: func(c *cli.Context) error {
		folder := c.Args().First()
		if folder == "" || os.Getenv(mpsPipes) != folder {
			return usagef("mps-guard is started by `hogwild train --mps`; run that instead")
		}
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer os.RemoveAll(folder)
		if err := daemon(folder); err != nil {
			fmt.Fprintln(c.App.Writer, err)
			return err
		}
		fmt.Fprintln(c.App.Writer, "ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the run ends
		return quitMPS(folder)
	}}
}

// daemon starts the service, which is there when this returns. What it says goes to a
// file: it may keep the descriptor.
func daemon(folder string) error {
	said, err := os.Create(filepath.Join(folder, "start.log"))
	if err != nil {
		return err
	}
	defer said.Close()
	start := exec.Command(mpsControl, "-d")
	start.Stdout, start.Stderr = said, said
	if err := start.Run(); err != nil {
		text, _ := os.ReadFile(said.Name()) // best effort: what it said is a help
		return fmt.Errorf("%s -d: %v: %s", mpsControl, err, strings.Join(strings.Fields(string(text)), " "))
	}
	return nil
}

// quitMPS stops the service: when its clients have left, or else after a while with what
// they have in flight.
func quitMPS(folder string) error {
	pid, _ := os.ReadFile(filepath.Join(folder, mpsControl+".pid")) // if it is there, that is who must end
	quit := exec.Command(mpsControl)
	quit.Stdin = strings.NewReader(fmt.Sprintf("quit -t %d\n", int(mpsPatience/time.Second)))
	out, err := quit.CombinedOutput()
	if err == nil {
		return nil
	}
	var daemon int
	if n, _ := fmt.Sscan(string(pid), &daemon); n == 1 && daemon > 1 {
		_ = unix.Kill(daemon, unix.SIGTERM)
	}
	return fmt.Errorf("%s quit: %v: %s", mpsControl, err, out)
}
