package get

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/data/catalog"
	"hogwild/internal/check"
)

// A server that stops sending is given up, and the next request continues; one that is slow is not.
func TestStalls(t *testing.T) {
	t.Parallel()
	whole := content(200<<10, 2)
	var s *server
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tagOf(whole))
		sends(len(whole), whole[:50<<10])(w, r)
		w.(http.Flusher).Flush()
		for i := range 100 { // a byte now and then does not count
			select {
			case <-r.Context().Done():
				return
			case <-s.gone:
				return
			case <-time.After(20 * time.Millisecond):
				w.Write(whole[50<<10:][i : i+1])
				w.(http.Flusher).Flush()
			}
		}
	}
	t.Run("stalled", func(t *testing.T) {
		t.Parallel()
		s = newServer(t, map[string][]byte{"/file": whole}, stall, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		g := getter(t)
		g.stall = 300 * time.Millisecond
		notes := noting(g)
		if _, err := g.Set(background(), one(whole, s.URL+"/file")); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": whole})
		if len(s.requests()) < 3 || !strings.HasPrefix(s.requests()[1], "/file bytes=512") {
			t.Errorf("requests: %q", s.requests())
		}
		if text := strings.Join(*notes, "\n"); !strings.Contains(text, "nothing came for 300ms") {
			t.Errorf("notes: %s", text)
		}
	})
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		slow := newServer(t, map[string][]byte{"/file": whole}, func(w http.ResponseWriter, r *http.Request) {
			for b := whole; len(b) > 0; b = b[5<<10:] {
				w.Write(b[:5<<10])
				w.(http.Flusher).Flush()
				time.Sleep(60 * time.Millisecond)
			}
		})
		g := getter(t)
		g.stall = 2 * time.Second
		if _, err := g.Set(background(), one(whole, slow.URL+"/file")); err != nil || len(slow.requests()) != 1 {
			t.Errorf("%v; requests %q", err, slow.requests())
		}
	})
}

// A busy server says how long to wait.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/file": whole}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusServiceUnavailable)
	})
	g, begin := getter(t), time.Now()
	notes := noting(g)
	if _, err := g.Set(background(), one(whole, s.URL+"/file")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < time.Second || !strings.Contains(strings.Join(*notes, ""), "answers 503 Service Unavailable; trying again in 1s") {
		t.Errorf("tried again after %s, notes %q", took, *notes)
	}
}

// Mirrors are tried in order, and one continues what another has begun.
func TestMirrors(t *testing.T) {
	t.Parallel()
	whole := content(100<<10, 3)
	first := newServer(t, nil, sends(len(whole), whole[:60<<10]), status(404))
	second := newServer(t, nil)
	third := newServer(t, map[string][]byte{"/file": whole})
	g := getter(t)
	notes := noting(g)
	if _, err := g.Set(background(), one(whole, first.URL+"/file", second.URL+"/file", third.URL+"/file", "http://127.0.0.1:1/file")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": whole})
	if want := fmt.Sprintf("/file bytes=%d-", 60<<10); len(third.requests()) != 1 || third.requests()[0] != want {
		t.Errorf("the third was asked for %q, want %q", third.requests(), want)
	}
	if text := strings.Join(*notes, "\n"); !strings.Contains(text, "answers 404 Not Found; trying "+host(third.URL)) {
		t.Errorf("notes: %s", text)
	}
	g = getter(t)
	_, err := g.Set(background(), one(whole, first.URL+"/file", second.URL+"/file", "http://127.0.0.1:1/file"))
	check.Error(t, err, host(first.URL)+": answers 404", host(second.URL)+": answers 404", "127.0.0.1:1: dial tcp", "connection refused")
}

// An interrupted download continues, in another process too: the getters share nothing but the folder.
func TestContinues(t *testing.T) {
	t.Parallel()
	whole := content(600<<10, 4)
	changed := content(500<<10, 5)
	stopped := errors.New("stopped")
	interrupt := func(t *testing.T, g *Getter, set catalog.Set) (have int64) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(background())
		g.Watch = func(s Step) {
			if have = s.Done; have >= 200<<10 {
				cancel(stopped)
			}
		}
		_, err := g.Set(ctx, set)
		if !errors.Is(err, stopped) {
			t.Fatalf("%v, want %v", err, stopped)
		}
		check.Error(t, err, "file.part, where the same command continues")
		g.Watch = func(Step) {}
		return have
	}
	slowly := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tagOf(whole))
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		for b := whole; len(b) > 0 && r.Context().Err() == nil; b = b[10<<10:] {
			w.Write(b[:10<<10])
			time.Sleep(time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		sum    bool
		change func(s *server, part string)
		asks   bool // for the rest, if it is still the same file
	}{
		"with a checksum":         {true, func(*server, string) {}, true},
		"by the version":          {false, func(*server, string) {}, true},
		"version unknown":         {false, func(_ *server, part string) { os.Remove(part + ".from") }, false},
		"version torn":            {false, func(_ *server, part string) { os.WriteFile(part+".from", []byte("http"), 0o666) }, false},
		"changed on the server":   {false, func(s *server, _ string) { s.files["/file"] = changed }, true},
		"the part has other data": {true, func(_ *server, part string) { os.WriteFile(part, content(100, 9), 0o666) }, false},
		"the part is too long":    {true, func(_ *server, part string) { os.WriteFile(part, content(700<<10, 9), 0o666) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string][]byte{"/file": whole}, slowly)
			set := one(whole, s.URL+"/file")
			if !c.sum {
				set.Files[0].Sum, set.Files[0].Size = "", 0
			}
			g := getter(t)
			have := interrupt(t, g, set)
			c.change(s, filepath.Join(g.Dir, "one", "file.part"))
			second := getter(t)
			second.Dir = g.Dir
			if _, err := second.Set(background(), set); err != nil {
				t.Fatal(err)
			}
			holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": s.files["/file"]})
			last := s.requests()[len(s.requests())-1]
			if want := fmt.Sprintf("/file bytes=%d- %s", have, tagOf(whole)); c.asks != (last == want && len(s.requests()) == 2) {
				t.Errorf("requests: %q", s.requests())
			}
		})
	}
}

// Two downloads of a set at once: one works, the other waits and finds it there.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"/a": content(400<<10, 5), "/b": content(100<<10, 6)}
	s := newServer(t, files)
	set := catalog.Set{Name: "two"}
	for _, name := range []string{"a", "b"} {
		set.Files = append(set.Files, catalog.File{Name: name, URLs: []string{s.URL + "/" + name}, Sum: "sha256:" + sum256(files["/"+name])})
	}
	dir, fresh := t.TempDir(), make([]bool, 4)
	var all sync.WaitGroup
	for i := range fresh {
		all.Go(func() {
			g := getter(t)
			g.Dir = dir
			r, err := g.Set(background(), set)
			if err != nil {
				t.Error(err)
			}
			fresh[i] = r.Fresh
		})
	}
	all.Wait()
	n := 0
	for _, f := range fresh {
		if f {
			n++
		}
	}
	if n != 1 || len(s.requests()) != 2 {
		t.Errorf("%d of 4 downloaded, requests %q", n, s.requests())
	}
	holds(t, filepath.Join(dir, "two"), map[string][]byte{"a": files["/a"], "b": files["/b"]})
}

// What is there is checked, and not replaced.
func TestThereAlready(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/file": whole})
	known := one(whole, s.URL+"/file")
	unknown := one(whole, s.URL+"/file")
	unknown.Files[0].Sum = ""
	write := func(g *Getter, body []byte) {
		os.MkdirAll(filepath.Join(g.Dir, "one"), 0o777)
		if err := os.WriteFile(filepath.Join(g.Dir, "one", "file"), body, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	g := getter(t)
	write(g, whole)
	if r, err := g.Set(background(), known); err != nil || r.Fresh {
		t.Errorf("the published file: %+v, %v", r, err)
	}
	_, err := g.Set(background(), unknown)
	check.Error(t, err, "is there already, and no checksum tells what it is: move it away")
	write(g, whole[1:])
	_, err = g.Set(background(), known)
	check.Error(t, err, "is there already, and is not the file that is published", "--dir")
	if len(s.requests()) > 0 {
		t.Errorf("requests: %q", s.requests())
	}

	g = getter(t)
	notes := noting(g)
	if _, err := g.Set(background(), unknown); err != nil || !strings.Contains(strings.Join(*notes, ""), "no checksum is published for it; its sha256 is recorded") {
		t.Errorf("%v, notes %q", err, *notes)
	}
	if r, err := g.Set(background(), unknown); err != nil || r.Fresh {
		t.Errorf("recorded: %+v, %v", r, err)
	}
	os.Remove(filepath.Join(g.Dir, "one", "file"))
	s.files["/file"] = content(5000, 8) // the size is the same
	_, err = g.Set(background(), unknown)
	check.Error(t, err, "file is not what was downloaded the first time", "SHA256SUMS")
}

// Links that lie in wait are not followed.
func TestLinks(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/file": whole})
	for _, name := range []string{"file.part", "SHA256SUMS.new"} {
		g := getter(t)
		outside := filepath.Join(t.TempDir(), "outside")
		os.MkdirAll(filepath.Join(g.Dir, "one"), 0o777)
		if err := os.Symlink(outside, filepath.Join(g.Dir, "one", name)); err != nil {
			t.Fatal(err)
		}
		_, err := g.Set(background(), one(whole, s.URL+"/file"))
		if _, there := os.Stat(outside); err == nil && name == "file.part" || there == nil {
			t.Errorf("%s: a link was followed (%v)", name, err)
		}
	}
}

// A file by its address, with and without a checksum.
func TestURL(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/d/rows.csv": whole, "/page": []byte("<html>")}, nil)
	g := getter(t)
	if _, err := g.URL(background(), s.URL+"/d/rows.csv?x=1", strings.ToUpper(sum256(whole))); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(g.Dir, "rows.csv")); err != nil || !bytes.Equal(got, whole) || len(listing(t, g.Dir)) != 1 {
		t.Errorf("%d bytes (%v), want %d; the folder has %q", len(got), err, len(whole), listing(t, g.Dir))
	}
	if r, err := g.URL(background(), s.URL+"/d/rows.csv", sum256(whole)); err != nil || r.Fresh {
		t.Errorf("%+v, %v", r, err)
	}
	g = getter(t)
	_, err := g.URL(background(), s.URL+"/d/rows.csv", sum256(nil))
	check.Error(t, err, "rows.csv: ", "sent another file")
	notes := noting(g)
	if _, err := g.URL(background(), s.URL+"/d/rows.csv", ""); err != nil || len(*notes) != 1 || !strings.Contains((*notes)[0], sum256(whole)) {
		t.Errorf("%v, notes %q", err, *notes)
	}
	_, err = g.URL(background(), s.URL+"/d/rows.csv", "")
	check.Error(t, err, "is there already, and no checksum tells what it is")
	_, err = g.URL(background(), s.URL+"/page", "")
	check.Error(t, err, "sends a web page instead of the file")
	for _, address := range []string{"rows.csv", "ftp://x.org/a", "https://", "https://x.org/", "https://x.org/a/..", "https://x.org/.bashrc", "https://x.org/a%00", "https://x.org/a%1b[2J", "http://[::1", "https://x.org"} {
		if _, err := g.URL(background(), address, ""); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
