//go:build cuda

package start

import (
	"syscall"
	"time"
)

var watch *time.Timer

func init() {
	limit, _ := Limit() // main refuses what is wrong
	watch = time.AfterFunc(limit, func() {
		_, _ = syscall.Write(syscall.Stderr, []byte("hogwild: "+Message(limit)+"\n"))
		syscall.Exit(2) // nothing has begun that could be saved
	})
}

// Done says that the driver has started.
func Done() { watch.Stop() }

// Again limits what a service may hold up too: the making of a context, until Done.
func Again() {
	limit, _ := Limit()
	watch.Reset(limit)
}
