package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"hogwild/bench/live"
	"hogwild/hogwild/run"
)

func init() { companions = append(companions, (*trainOptions).watched) }

// watched lets the run be watched in a browser while it goes on, if --dashboard is
// given, until the function that it returns is called. The address is listened on
// before anything else is made, so that a wrong one costs nothing.
func (o *trainOptions) watched(stderr io.Writer) (end func(), err error) {
	if o.dashboard == "" {
		return func() {}, nil
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l, err := listen(o.dashboard)
	if err != nil {
		return nil, err
	}
	o.Run = run.FreshRun(o.Config) // the server must know it before the run does
	o.Dashboard = "http://" + l.Addr().String() + "/"
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func(run string) { served <- live.Serve(ctx, l, run) }(o.Run)
	return func() {
		cancel()
		if err := <-served; err != nil { // the run is what counts
			fmt.Fprintf(stderr, "hogwild: %v\n", err)
		}
	}, nil
}

// listen opens the address of the dashboard. All who reach it see the run, so it takes connections from this machine
// only.
func listen(address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, usagef(
			"--dashboard %q: %s; want an address and a port, e.g. 127.0.0.1:8080 (port 0: any free port)",
			address, refusal(err))
	}
	if !at.IP.IsLoopback() {
		return nil, usagef("--dashboard %q: others on the network could see the run: use 127.0.0.1:%d, and from "+
			"another machine `ssh -L %[2]d:127.0.0.1:%[2]d` to this one", address, cmp.Or(at.Port, 8080))
	}
	l, err := net.ListenTCP("tcp", at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, usagef("--dashboard %q: the port is in use: give another one, or 0 for any free port", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, usagef("--dashboard %q: this machine has no such address; `ip address` lists those it has", address)
	case errors.Is(err, syscall.EACCES):
		return nil, usagef("--dashboard %q: only root may use this port: give 1024 or higher", address)
	case err != nil:
		return nil, usagef("--dashboard %q: %s", address, refusal(err))
	}
	return l, nil
}

// refusal returns an error of package net without the address, which the user knows.
func refusal(err error) string {
	var parse *net.AddrError
	var name *net.DNSError
	var call *os.SyscallError
	switch {
	case errors.As(err, &parse):
		return parse.Err
	case errors.As(err, &name):
		return name.Err
	case errors.As(err, &call):
		return call.Err.Error()
	}
	return err.Error()
}
