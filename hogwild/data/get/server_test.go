package get

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/data/catalog"
)

// server has files, which it sends as net/http does, with ranges and If-Range, unless a handler of its
// script takes the request: the first takes the first one, and so on; nil: as always.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string][]byte // by path
	tags   map[string]string // ETags; the default is made from the bytes
	script []http.HandlerFunc
	seen   []string
	gone   chan struct{}
}

func newServer(t *testing.T, files map[string][]byte, script ...http.HandlerFunc) *server {
	s := &server{files: files, script: script, gone: make(chan struct{}), tags: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { close(s.gone); s.Close() })
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	var do http.HandlerFunc
	if len(s.script) > 0 {
		do, s.script = s.script[0], s.script[1:]
	}
	body, ok := s.files[r.URL.Path]
	tag := s.tags[r.URL.Path]
	s.mu.Unlock()
	switch {
	case do != nil:
		do(w, r)
	case !ok:
		http.NotFound(w, r)
	default:
		if tag == "" {
			tag = tagOf(body)
		}
		if tag != "none" {
			w.Header().Set("ETag", tag)
		}
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(body))
	}
}

// requests are "PATH RANGE IF-RANGE" of each.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func tagOf(b []byte) string { return `"` + sum256(b)[:8] + `"` }

func sum256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// content is bytes that nothing compresses and that are the same every time.
func content(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// sends writes all that it is given with the head of a whole file of a size, and cuts the connection where that is more.
func sends(size int, parts ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for _, b := range parts {
			w.Write(b)
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }
}

// getter downloads to a new folder, and loses no time waiting.
func getter(t *testing.T) *Getter {
	g := New(t.TempDir(), "test")
	g.stall, g.tries = 10*time.Second, 3
	g.pause = func(int) time.Duration { return 0 }
	return g
}

// noting collects what g tells.
func noting(g *Getter) *[]string {
	var mu sync.Mutex
	notes := &[]string{}
	g.Note = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		*notes = append(*notes, line)
	}
	return notes
}

// one is a set of one file, which is at the addresses.
func one(body []byte, urls ...string) catalog.Set {
	return catalog.Set{Name: "one", Files: []catalog.File{{Name: "file", URLs: urls, Size: int64(len(body)), Sum: "sha256:" + sum256(body)}}}
}

// holds checks that the folder has exactly these files, the set's SHA256SUMS beside them, which is right.
func holds(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	var names []string
	sums := ""
	for name, body := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes (%v), want %d others", name, len(got), err, len(body))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sums += sum256(want[name]) + "  " + name + "\n"
	}
	if got, err := os.ReadFile(filepath.Join(dir, sumsName)); err != nil || string(got) != sums {
		t.Errorf("SHA256SUMS (%v) is\n%swant\n%s", err, got, sums)
	}
	all := append(names, sumsName)
	slices.Sort(all)
	if got := listing(t, dir); !slices.Equal(got, all) {
		t.Errorf("the folder has %q, want %q", got, all)
	}
}

func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func background() context.Context { return context.Background() }
