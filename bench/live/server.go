package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hogwild/bench/page"
	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// server is a run as it is shown.
type server struct {
	folder string
	now    func() time.Time

	mu        sync.Mutex
	tail      tail
	config    config.Config
	result    *rundir.Result
	listeners int // to events
	body      view
	changed   chan struct{} // closed when body has become another one
	ended     bool
}

// view is what stands in the page, rendered once for all who look.
type view struct {
	html  template.HTML
	n     int       // of this rendering
	lines int       // of the metrics that it shows
	drawn time.Time // zero: not yet
	ended bool
}

func newServer(folder string, now func() time.Time) *server {
	return &server{folder: folder, now: now, changed: make(chan struct{}),
		tail: tail{path: filepath.Join(folder, "metrics.jsonl")}}
}

// renew looks, and renders what is new for those who listen.
func (s *server) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	if s.listeners > 0 && s.tail.lines != s.body.lines {
		s.draw()
	}
}

// current is the view for somebody who has just come. What is older than a second is
// drawn anew if it differs, so that many who come cost no more than one who stays.
func (s *server) current() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	if s.body.drawn.IsZero() || s.tail.lines != s.body.lines && s.now().Sub(s.body.drawn) >= every {
		s.draw()
	}
	return s.body
}

// end shows the run as it is at its end.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.look()
	s.draw()
}

// look takes in what the folder has that is new. s.mu is held.
func (s *server) look() { _ = s.tail.read() } // the next look may do better

// draw renders the page's body and tells those who listen. s.mu is held.
func (s *server) draw() {
	s.body = view{html: s.render(), n: s.body.n + 1, lines: s.tail.lines, drawn: s.now(), ended: s.ended}
	close(s.changed)
	s.changed = make(chan struct{})
}

// render is the body, or why there is none. It runs in the process that trains: a
// mistake in a figure must not end a run of days.
func (s *server) render() (html template.HTML) {
	defer func() {
		if r := recover(); r != nil {
			html = sorry(fmt.Errorf("drawing failed: %v", r))
		}
	}()
	if err := s.settings(); errors.Is(err, fs.ErrNotExist) {
		return `<p>The run has not started training yet.</p>`
	} else if err != nil {
		return sorry(err)
	}
	p := page.OfRuns([]*rundir.Recorded{{Folder: s.folder, Config: s.config, Result: s.result,
		Epochs: s.tail.epochs.all(), Seconds: s.tail.seconds.all()}})
	if !s.ended { // a report cannot know whether the run still trains; this page does
		p.Notes = slices.DeleteFunc(p.Notes,
			func(note string) bool { return strings.HasPrefix(note, "The run is unfinished") })
	}
	html, err := p.Body()
	if err != nil {
		return sorry(err)
	}
	if now := s.tail.seconds.last; now != nil && !s.ended {
		html = progressBar(*now) + html
	}
	return html
}

func sorry(err error) template.HTML {
	return template.HTML("<p>" + template.HTMLEscapeString(err.Error()) + "</p>")
}

// settings reads config.yaml, which a run writes when it begins, and at the end the result.
// (ReadRun would read all metrics again.)
func (s *server) settings() error {
	s.config = config.Default()
	if err := readFile(filepath.Join(s.folder, "config.yaml"), config.UnmarshalYAML, &s.config); err != nil {
		return err
	}
	if !s.ended { // a result that is there is from before the run was resumed
		return nil
	}
	var r rundir.Result
	switch err := readFile(filepath.Join(s.folder, "result.json"), json.Unmarshal, &r); {
	case err == nil:
		s.result = &r
	case !errors.Is(err, fs.ErrNotExist): // a run that fails has none
		return err
	}
	return nil
}

// mostText is how many bytes a file of settings or a result may have.
const mostText = 64 << 20

// readFile reads a file into a value by what parses it.
func readFile(path string, parse func([]byte, any) error, into any) error {
	text, err := atomicfile.Read(path, mostText)
	if err == nil {
		err = parse(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// events sends the body at once, and again whenever it has become another one; then, at
// the end of the run, as an event of its own. Each event is the whole body, so that who
// comes back needs nothing of what it missed: the number of the last event that it got
// (Last-Event-ID) asks for nothing.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if r.Method == http.MethodHead {
		return
	}
	if !s.listen() {
		w.Header().Set("Connection", "close")
		http.Error(w, fmt.Sprintf("%d windows show this run already: close one, then reload", mostStreams),
			http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	out := http.NewResponseController(w)
	send := func(text []byte) error {
		// Writes to a browser that has stopped reading would wait for ever. Where no deadline
		// can be set there is none.
		_ = out.SetWriteDeadline(time.Now().Add(patience))
		if _, err := w.Write(text); err != nil {
			return err
		}
		return out.Flush()
	}
	s.current()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for sent := 0; ; {
		body, changed := s.seen()
		text := []byte(": still here\n\n")
		if body.n != sent {
			text, sent = event(body), body.n
		}
		if err := send(text); err != nil || body.ended {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
		case <-r.Context().Done():
			return
		}
	}
}

// listen counts one more who listens, if there is room for that.
func (s *server) listen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == mostStreams {
		return false
	}
	s.listeners++
	return true
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners--
}

// seen is the view as it is, and what tells when it is another.
func (s *server) seen() (view, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.body, s.changed
}

// event is a view as a server-sent event: https://html.spec.whatwg.org/multipage/server-sent-events.html
func event(v view) []byte {
	var b bytes.Buffer
	name := "body"
	if v.ended {
		name = "ended"
	}
	fmt.Fprintf(&b, "id: %d\nevent: %s\nretry: 2000\n", v.n, name)
	for line := range strings.Lines(string(v.html)) {
		b.WriteString("data: " + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString("\n")
	return b.Bytes()
}

// progressBar is how far the run is and how long it will take: what most readers come for.
func progressBar(now rundir.Status) template.HTML {
	text := fmt.Sprintf("%.0f%%, epoch %d of %d", math.Floor(100*now.Done()), now.Epoch, now.Epochs)
	if left, ok := now.Left(); ok {
		text += ", " + human.Clock(left) + " left"
	}
	text += ", " + human.Rate(now.Rate) + " examples/s"
	if now.TrainLoss != nil {
		text += ", training loss " + human.Loss(*now.TrainLoss)
	}
	return template.HTML(fmt.Sprintf("<p id=\"progress\"><progress value=\"%.4f\"></progress> %s</p>\n", now.Done(),
		template.HTMLEscapeString(text)))
}

// Times of the server.
const (
	every     = time.Second      // between looks into the folder, and at least between two renderings
	heartbeat = 15 * time.Second // of silence, after which a comment tells that the connection stands
	goodbye   = time.Second      // for the last event to arrive
)

// patience is with a client that does not read its answer, or does not finish its request. (Tests have less.)
var patience = 10 * time.Second
