// Package start limits how long the CUDA driver may take to start: it may wait for ever for a Multi-Process Service.
//
// The driver starts in the initialization of gorgonia.org/cu, before main. The limit is set in this
// package's own, which comes first: packages whose imports are done are initialized in the order of their paths, so
// this one, which imports no more than errors, time and syscall, comes before os, which cu imports.
package start

import (
	"cmp"
	"errors"
	"syscall"
	"time"
)

// Variable is the environment variable with the limit. Pipes and Logs are those by which the service's daemon and its
// clients find each other; UsualPipes is the folder without the former.
const (
	Variable    = "HOGWILD_DRIVER_TIME"
	Pipes, Logs = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
	UsualPipes  = "/tmp/nvidia-mps"
	usual       = time.Minute // on a machine with many GPUs that sleep the driver takes seconds
)

// Service are the two commands that start a Multi-Process Service for what follows in the shell.
const Service = "`export " + Pipes + "=/tmp/mps-$USER " + Logs + "=/tmp/mps-$USER` and " +
	"`mkdir -p $" + Pipes + " && nvidia-cuda-mps-control -d`"

// Late is what an error begins with when the driver has not started in time.
const Late = "the NVIDIA driver did not start within "

// Limit is how long the driver may take. It is an error if the variable says no time.
func Limit() (time.Duration, error) {
	text := variable(Variable, usual.String())
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return usual, errors.New(Variable + ": \"" + text + "\": want a time, e.g. 30s or 5m")
	}
	return limit, nil
}

// Serves reports whether a service listens for this process.
func Serves() bool {
	var info syscall.Stat_t
	return syscall.Stat(variable(Pipes, UsualPipes)+"/control", &info) == nil
}

// Message says that the driver has not started within the limit, and what to do.
func Message(limit time.Duration) string {
	text := Late + limit.String()
	if variable(Pipes, "") == "" && !Serves() {
		return text + ": check that nvidia-smi answers, and look at dmesg; " + Variable + " sets another limit"
	}
	return text + ", perhaps as it waits for the Multi-Process Service in " + variable(Pipes, UsualPipes) +
		": look at control.log and server.log in " + variable(Logs, "/var/log/nvidia-mps") +
		"; to do without the service, unset " + Pipes + ", or stop it (echo quit | nvidia-cuda-mps-control)"
}

func variable(name, otherwise string) string {
	text, _ := syscall.Getenv(name)
	return cmp.Or(text, otherwise)
}
