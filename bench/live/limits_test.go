package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// listening serves a run's page on the real network until the test ends.
func listening(t *testing.T, folder string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, folder) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// ask sends a request and does not read the answer.
func ask(t *testing.T, address, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.WriteString(c, request)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// status returns the answer's status, which must come soon, and its text if it is an error.
func status(t *testing.T, c net.Conn) (int, string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.StatusCode, ""
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const wantEvents = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

// TestMostStreams: mostStreams windows show a run, and one more when one of them is closed. Of 400
// connections this process has 128 at most.
func TestMostStreams(t *testing.T) {
	address := listening(t, newRun(t).path)
	var streams []net.Conn
	for range mostStreams {
		c := ask(t, address, wantEvents)
		if code, _ := status(t, c); code != http.StatusOK {
			t.Fatalf("stream %d: status %d", len(streams)+1, code)
		}
		streams = append(streams, c)
	}
	var idle []net.Conn
	for len(streams)+len(idle) < 400 {
		idle = append(idle, ask(t, address, ""))
	}
	time.Sleep(100 * time.Millisecond) // for those that are accepted
	if n := sockets(t); n > 400+mostConnections+20 {
		t.Errorf("%d sockets, of which 400 are the test's", n)
	}
	for _, c := range idle {
		c.Close()
	}
	code, text := status(t, ask(t, address, wantEvents))
	if code != http.StatusServiceUnavailable || strings.Count(text, "\n") != 1 {
		t.Errorf("one too many: status %d, %q; want 503 and a line", code, text)
	}
	streams[0].Close()
	for end := time.Now().Add(20 * time.Second); code != http.StatusOK; {
		if time.Now().After(end) {
			t.Fatal("no room after a window was closed")
		}
		code, _ = status(t, ask(t, address, wantEvents))
	}
}

// sockets is how many this process has open.
func sockets(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// TestDropped: a client that does not read, or does not finish its request, is dropped, and one that sends a body or a
// long head.
func TestDropped(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 300 * time.Millisecond
	run := newRun(t)
	for n := range 200 {
		run.second(float64(n), 60*n, 30*n)
	}
	page := "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, request := range map[string]string{
		"does not read":         strings.Repeat(page, 2000), // answers of more than any buffer holds
		"begins a request":      "GET / HT",
		"does not end its head": "GET / HTTP/1.1\r\nHost: localhost\r\n",
		"announces a body":      "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
		"sends a body in parts": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
		"has a long head": fmt.Sprintf("GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n",
			strings.Repeat("x", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			address := listening(t, run.path)
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.(*net.TCPConn).SetReadBuffer(4096)
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			_, err = io.WriteString(c, request)
			if err == nil { // not dropped yet
				time.Sleep(2 * patience)
				_, err = io.Copy(io.Discard, c) // what was sent before
			}
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Errorf("it is served for ever: %v", err)
			}
		})
	}
}
