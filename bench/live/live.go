// Package live shows a run while it goes on: a page that a browser keeps up to date by
// server-sent events, and metrics for Prometheus. It reads the run's folder, as anybody
// may, so that the run itself knows nothing of it.
package live

import (
	"context"
	"net"
)

// Serve answers requests on the listener about the run in a folder until ctx is done:
// / is the page, /events the server-sent events, /metrics what Prometheus reads.
func Serve(ctx context.Context, l net.Listener, run string) error { panic("not yet") }
