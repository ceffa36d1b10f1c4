package live

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// message is a server-sent event as a browser has it.
type message struct{ name, data, id string }

// stream reads server-sent events by the rules of
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
type stream struct {
	*testing.T
	r    *bufio.Reader
	body io.Closer
}

func openStream(t *testing.T, url string, head ...string) *stream {
	t.Helper()
	r, err := http.NewRequest("GET", url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("events are %q", kind)
	}
	return &stream{t, bufio.NewReader(answer.Body), answer.Body}
}

// next waits for the next event; ok is false when the server has ended the stream.
func (s *stream) next() (m message, ok bool) {
	s.Helper()
	var data []string
	for {
		line, err := s.r.ReadString('\n')
		if err == io.EOF && line == "" {
			return m, false
		}
		if err != nil {
			s.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			if len(data) > 0 {
				m.data = strings.Join(data, "\n")
				return m, true
			}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			m.name = value
		case "data":
			data = append(data, value)
		case "id":
			m.id = value
		case "", "retry": // a comment
		default:
			s.Errorf("unknown field in %q", line)
		}
	}
}

// want waits for an event with the name, and returns its data.
func (s *stream) want(name string) string {
	s.Helper()
	m, ok := s.next()
	if !ok || m.name != name {
		s.Fatalf("event %q (%v), want %q", m.name, ok, name)
	}
	return m.data
}

// serve answers for a run on a port of its own.
func serve(t *testing.T, s *server) (url string) {
	h := httptest.NewUnstartedServer(nil)
	h.Config.Handler = s.handler(h.Listener.Addr())
	h.Start()
	t.Cleanup(h.Close)
	return h.URL
}

// get is the answer to a request, its text read.
func get(t *testing.T, method, url, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestEvents follows a run that grows.
func TestEvents(t *testing.T) {
	run, c := newRun(t), newClock()
	run.epoch(1, 2)
	s := newServer(run.path, c.now)
	url := serve(t, s)

	a := openStream(t, url)
	first := a.want("body") // at once
	if strings.Contains(first, "killed") {
		t.Error("the page of a run that goes on says that it may have been killed")
	}
	b := openStream(t, url, "Last-Event-ID", "12345")
	if b.want("body") != first {
		t.Error("two who listen see two pages of the same run")
	}
	if s.body.n != 1 {
		t.Errorf("rendered %d times for two who listen, want once", s.body.n)
	}
	s.renew() // nothing is new, and nothing is sent
	run.epoch(2, 1)
	s.renew()
	second := a.want("body")
	if second == first || b.want("body") != second {
		t.Error("the page is not that of the second epoch for both")
	}
	run.epoch(3, 0.5)
	s.end()
	if third := a.want("ended"); third == second || b.want("ended") != third {
		t.Error("the last page is not that of the third epoch for both")
	}
	for _, l := range []*stream{a, b} {
		if m, ok := l.next(); ok {
			t.Errorf("%q after the end", m.name)
		}
	}
}

// TestNobodyListens: a page without a viewer is not drawn, and many who come within a second see
// the same.
func TestNobodyListens(t *testing.T) {
	run, c := newRun(t), newClock()
	s := newServer(run.path, c.now)
	url := serve(t, s)
	for n := range 3 {
		run.epoch(n+1, 1)
		s.renew()
	}
	if s.body.n != 0 {
		t.Errorf("rendered %d times for nobody", s.body.n)
	}
	for range 3 {
		get(t, "GET", url, "")
	}
	run.epoch(4, 1)
	get(t, "GET", url, "")
	if s.body.n != 1 {
		t.Errorf("rendered %d times within a second, want once", s.body.n)
	}
	c.at = c.at.Add(time.Second)
	get(t, "GET", url, "")
	if s.body.n != 2 {
		t.Errorf("rendered %d times in two seconds, want twice", s.body.n)
	}
}

func TestAddresses(t *testing.T) {
	run := newRun(t)
	run.epoch(1, 1)
	url := serve(t, newServer(run.path, time.Now))
	for _, c := range []struct {
		method, path, host string
		status             int
		kind, has          string
	}{
		{"GET", "/", "", 200, "text/html; charset=utf-8", `<main id="run">`},
		{"GET", "/metrics", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/healthz", "", 200, "text/plain; charset=utf-8", "ok\n"},
		{"GET", "/?x=1", "", 200, "text/html; charset=utf-8", "</html>"},
		{"HEAD", "/events", "", 200, "text/event-stream; charset=utf-8", ""},
		{"GET", "/metrics.jsonl", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/events/1", "", 404, "text/plain; charset=utf-8", ""},
		{"POST", "/", "", 405, "text/plain; charset=utf-8", ""},

		{"GET", "/healthz", "localhost", 200, "text/plain; charset=utf-8", ""},
		{"GET", "/healthz", "localhost:8080", 200, "text/plain; charset=utf-8", ""}, // through a tunnel
		{"GET", "/healthz", "[::1]:80", 200, "text/plain; charset=utf-8", ""},
		{"GET", "/healthz", "[::1]", 200, "text/plain; charset=utf-8", ""},
		{"GET", "/healthz", "rebound.example", 403, "text/plain; charset=utf-8", "only answers on this machine"},
		{"GET", "/events", "rebound.example:80", 403, "text/plain; charset=utf-8", ""},
		{"GET", "/healthz", "127.0.0.1.example", 403, "text/plain; charset=utf-8", ""},
		{"GET", "/", "192.0.2.1", 403, "text/plain; charset=utf-8", ""},
	} {
		answer, text := get(t, c.method, url+c.path, c.host)
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != c.status || kind != c.kind ||
			!strings.Contains(text, c.has) {
			t.Errorf("%s %s of host %q: %d %q %.60q, want %d %q with %q", c.method, c.path, c.host, answer.StatusCode,
				kind, text, c.status, c.kind, c.has)
		}
	}
}

// TestPolicy: the policy lets the page's own script run, and nothing from elsewhere.
func TestPolicy(t *testing.T) {
	run := newRun(t)
	answer, text := get(t, "GET", serve(t, newServer(run.path, time.Now)), "")
	_, rest, _ := strings.Cut(text, "<script>")
	code, _, found := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(code))
	policy := answer.Header.Get("Content-Security-Policy")
	if !found || !strings.Contains(policy, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") ||
		!strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "*") ||
		strings.Contains(policy, "http") {
		t.Errorf("policy %q does not allow the script, or more", policy)
	}
	if strings.Count(text, "<script") != 1 || strings.Contains(text, "src=") {
		t.Error("the page has scripts besides its own, or loads something")
	}
}

// TestServe is all of it on the real clock: it begins before there is a folder, and ends
// when it is told to.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	run := newRun(t)
	folder := run.path + "/runs/later"
	go func() { served <- Serve(ctx, l, folder) }()
	s := openStream(t, url)
	if text := s.want("body"); !strings.Contains(text, "not started") {
		t.Errorf("before the run: %q", text)
	}
	cancel()
	s.want("ended")
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it still listens")
	}
}

// BenchmarkDraw measures what the training process pays for a second of being watched: a line read,
// and the page drawn, of a run of eight workers and two hours.
func BenchmarkDraw(b *testing.B) {
	run := newRun(b)
	workers := make([]string, 8)
	var text strings.Builder
	line := func(at int) {
		for rank := range workers {
			workers[rank] =
				fmt.Sprintf(
					`{"rank":%d,"pid":1,"state":"training","examples":%d,"examples_per_second":%d,"staleness_samples":9,"staleness_mean":2}`, rank, 1000*at, 1000+rank)
		}
		fmt.Fprintf(&text,
			`{"kind":"second","epoch":1,"epochs":2000,"seconds":%d,"examples":%d,"examples_per_second":8000,"workers":[%s]}`+"\n",
			at, 8000*at, strings.Join(workers, ","))
	}
	const long = 2 * 60 * 60
	for at := range long {
		line(at)
		if at%60 == 59 {
			fmt.Fprintf(&text,
				`{"kind":"epoch","epoch":%d,"seconds":%d,"examples":%d,"train_loss":%g,"test_loss":%g,"test_accuracy":0.9}`+"\n",
				at/60+1, at, 8000*at, 1/float64(at), 2/float64(at))
		}
	}
	run.write("metrics.jsonl", text.String())
	s := newServer(run.path, time.Now)
	s.listeners = 1
	s.renew() // what is there
	before := processorTime(b)
	for at := long; b.Loop(); at++ {
		text.Reset()
		line(at)
		run.write("metrics.jsonl", text.String())
		s.renew()
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(len(s.body.html)), "bytes/page")
}

// processorTime returns the processor time of this process, which other processes do not lengthen
// as they do the time of day.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
