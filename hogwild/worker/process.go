// Package worker is the life of a worker: a process, or a part of the coordinator's, which takes chunks until the run
// stops.
//
//	process.go    the main function of a worker process
//	join.go       how a process joins a run
//	life.go       the life of a worker, and async mode
//	rounds.go     barrier mode
//	worker.go     Worker: how it trains chunks, and reports
package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"runtime/trace"
	"syscall"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// Main is the main function of a worker process. It returns the exit status.
func Main() int {
	// Ctrl-C on a terminal, and its end, reach the whole process group; the coordinator decides.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	w, header, err := joinRun()
	if err == nil && header.Job.Asked.Nodes > 1 { // a launcher sends it to the whole process group, too
		signal.Ignore(syscall.SIGTERM)
	}
	if errors.Is(err, errLeft) {
		return 0
	}
	if err == nil {
		live := func() error { return w.live(&header.Job.Asked) }
		if w.rank == 0 {
			err = Profile(header, live)
		} else {
			err = live()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hogwild worker %s: %v\n", os.Getenv(workers.RankVariable), err)
		return 1
	}
	return 0
}

// Profile runs f with the profiles that were asked for. One worker is like another:
// worker 0 stands for all.
func Profile(h *control.Header, f func() error) error {
	for _, p := range []struct {
		path  string
		start func(io.Writer) error
		stop  func()
	}{{h.CPUProfile, pprof.StartCPUProfile, pprof.StopCPUProfile}, {h.Trace, trace.Start, trace.Stop}} {
		if p.path == "" {
			continue
		}
		file, err := os.Create(p.path)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := p.start(file); err != nil {
			return err
		}
		defer p.stop()
	}
	return f()
}

// live carries out a worker process's life.
func (w *Worker) live(c *config.Config) error {
	cpu.Pin(c, w.rank)
	err := w.Run()
	if err == nil {
		err = fault.Point("worker.end")
	}
	if w.device == nil { // it could not be made anew: see rejoin
		return err
	}
	if e := w.device.Close(); err == nil { // of a device that failed the first error counts
		err = e
	}
	return err
}
