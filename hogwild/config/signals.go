package config

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// StopSignals returns the signals on which a run ends and is saved. SIGHUP is not one of them where it
// is ignored when the program starts, as under nohup.
func StopSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// SignalError returns the error of what a stop signal ended.
func SignalError(s os.Signal) error {
	switch s {
	case syscall.SIGTERM:
		return ErrTerminated
	case syscall.SIGHUP:
		return ErrHangup
	}
	return ErrInterrupted
}

// OnSignal has the first stop signal call do. The next one does what it does by default, and so do all after stop is
// called.
func OnSignal(do func(os.Signal)) (stop func()) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, StopSignals()...)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			do(s)
		case <-over:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
	})
}

// UntilSignal returns a context that the first stop signal ends: its cause is a SignalError.
func UntilSignal(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	ignore := OnSignal(func(s os.Signal) { cancel(SignalError(s)) })
	return until, func() {
		ignore()
		cancel(nil)
	}
}

// CauseOf returns why ctx is done: a signal, or the caller, which is ErrInterrupted.
func CauseOf(ctx context.Context) error {
	err := context.Cause(ctx)
	if Interruption(err) == nil {
		err = fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return err
}

// OutlivePipes lets this process outlive those who read its stdout and stderr: until stop is called,
// a write to a closed pipe is an error and no SIGPIPE. Likewise a write beyond the largest size of files
// (ulimit -f) is an error and no SIGXFSZ. Unlike signals that are ignored, this is not inherited by other programs.
func OutlivePipes() (stop func()) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE, syscall.SIGXFSZ)
	return func() { signal.Stop(pipes) }
}
