// Package live shows a run in progress: a page that a browser keeps up to date by
// server-sent events. It reads the run's folder, as anybody may, so that the run itself
// knows nothing of it.
//
//	live.go        Serve
//	page.go        the page that a browser shows
//	server.go      the run as it is shown
//	tail.go        metrics.jsonl of a run in progress
//	limits.go      how much clients may ask for
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// Serve answers requests on the listener about the run in a folder until ctx is done:
// / is the page, /events the server-sent events. It then sends the page as it is at the
// end, and closes the listener. It answers only those who know its address as a loopback.
func Serve(ctx context.Context, l net.Listener, run string) error {
	s := newServer(run, time.Now)
	l = limit(l, connections())
	h := &http.Server{Handler: s.handler(l.Addr()), ReadHeaderTimeout: patience, WriteTimeout: patience,
		IdleTimeout: time.Minute, MaxHeaderBytes: mostHeader,
		ErrorLog: log.New(io.Discard, "", 0)} // a browser that went away is no news
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			s.renew()
		case err := <-failed:
			return fmt.Errorf("dashboard on %s: %w", l.Addr(), err)
		case <-ctx.Done():
			s.end()
			return shut(h)
		}
	}
}

// shut waits briefly for responses in progress, then closes the rest.
func shut(h *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	err := h.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return h.Close()
	}
	return err
}

// handler answers requests, of clients that may ask.
func (s *server) handler(at net.Addr) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return guard(at, mux)
}

// guard keeps other sites out. A page of theirs may not read ours, since its host is
// another, unless that host's name is made to lead to this machine (DNS rebinding): but
// then the browser sends that name. It also keeps answers out of caches and frames.
func guard(at net.Addr, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, fmt.Sprintf("this dashboard only answers on this machine: open http://%s/, not %q", at,
				r.Host), http.StatusForbidden)
			return
		}
		if r.ContentLength != 0 { // nothing here takes one, and the server would wait for it
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
			http.Error(w, "requests have no body here", http.StatusRequestEntityTooLarge)
			return
		}
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Content-Security-Policy", policy())
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether the host of a request, with or without a port, is this machine by a name
// that no other machine can have.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]") // around an IPv6 address
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
