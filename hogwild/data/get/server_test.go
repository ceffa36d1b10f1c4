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
)

// server has files, which it sends as net/http does, with ranges and If-Range, unless a handler of its
// script takes the request: the first takes the first one, and so on.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte // by path
	modified time.Time         // all of them
	script   []http.HandlerFunc
	seen     []string
}

func newServer(t *testing.T, files map[string][]byte, script ...http.HandlerFunc) *server {
	s := &server{files: files, script: script, modified: time.Unix(1e9, 0)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
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
	modified := s.modified
	s.mu.Unlock()
	switch {
	case do != nil:
		do(w, r)
	case !ok:
		http.NotFound(w, r)
	default:
		http.ServeContent(w, r, r.URL.Path, modified, bytes.NewReader(body))
	}
}

// requests returns "PATH RANGE IF-RANGE" of each.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func sum256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// content returns bytes that nothing compresses and that are the same every time.
func content(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// sends writes bytes with the head of a whole file of a size, and cuts the connection where that is more.
func sends(size int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Write(body)
	}
}

// noting collects what g tells.
func noting(g *Getter) *[]string {
	notes := &[]string{}
	g.Note = func(line string) { *notes = append(*notes, line) }
	return notes
}

// one returns a set of one file.
func one(body []byte, url string) Set {
	return Set{Name: "one", Files: []File{{Name: "file", URL: url, Size: int64(len(body)), Sum: sum256(body)}}}
}

// holds checks that the folder has exactly these files.
func holds(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Errorf("the folder has %v (%v), want %d files", entries, err, len(want))
	}
	for name, body := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes (%v), want %d others", name, len(got), err, len(body))
		}
	}
}

func background() context.Context { return context.Background() }
