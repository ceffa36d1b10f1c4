package get

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// TestServers: what a server may do wrong is either made good by another request, or is one error.
func TestServers(t *testing.T) {
	t.Parallel()
	whole := content(3<<20, 1)
	half, wrong := len(whole)/2, bytes.Clone(whole)
	wrong[12345]++
	rest := fmt.Sprintf("/file bytes=%d-", half)
	cut := sends(len(whole), whole[:half])
	endless := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/file", http.StatusFound) }
	for name, c := range map[string]struct {
		script []http.HandlerFunc // of the first requests
		fails  string             // what the error says; "": none
		seen   []string           // requests; nil: any
	}{
		"as it should be": {nil, "", []string{"/file"}},
		"cut":             {[]http.HandlerFunc{cut}, "", []string{"/file", rest}},
		"cut early": {[]http.HandlerFunc{sends(len(whole), whole[:4000])},
			"the connection was cut (4.00 kB of file are kept in ", []string{"/file"}},
		"cut before the first": {[]http.HandlerFunc{sends(len(whole), nil)}, "the connection was cut",
			[]string{"/file"}},
		"cut always":        {[]http.HandlerFunc{cut, cut, cut}, "the connection was cut", []string{"/file", rest}},
		"ignores the range": {[]http.HandlerFunc{cut, sends(len(whole), whole)}, "", []string{"/file", rest}},
		"503 after a cut": {[]http.HandlerFunc{cut, status(503)},
			"answers 503 Service Unavailable (1.57 MB of file are kept in ", []string{"/file", rest}},
		"404":                  {[]http.HandlerFunc{status(404)}, "answers 404 Not Found", []string{"/file"}},
		"a range that was not": {[]http.HandlerFunc{status(416)}, "answers 416", []string{"/file"}},
		"corrupt": {[]http.HandlerFunc{sends(len(whole), wrong)},
			"sent another file: its sha256 is " + sum256(wrong), []string{"/file"}},
		"longer than published": {[]http.HandlerFunc{sends(len(whole)+1, whole)},
			"has a file of 3,145,729 bytes, the published one has 3,145,728", []string{"/file"}},
		"shorter": {[]http.HandlerFunc{sends(half, whole[:half])}, "has a file of 1,572,864 bytes",
			[]string{"/file"}},
		"an empty file": {[]http.HandlerFunc{sends(0, nil)}, "has a file of 0 bytes", []string{"/file"}},
		"no length": {[]http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { w.Write(whole) }},
			"", []string{"/file"}},
		"no length, too short": {[]http.HandlerFunc{func(w http.ResponseWriter,
			r *http.Request) {
			w.Write(whole[:half])
		}}, "sent another file", []string{"/file"}},
		"redirects":        {[]http.HandlerFunc{endless}, "", []string{"/file", "/file"}},
		"redirects always": {slices.Repeat([]http.HandlerFunc{endless}, 40), "redirects more than 10 times", nil},
		"not HTTP": {[]http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Write([]byte("SSH-2.0\r\n"))
			c.Close()
		}}, "malformed HTTP", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string][]byte{"/file": whole}, c.script...)
			g := New(t.TempDir())
			r, err := g.Set(background(), one(whole, s.URL+"/file"))
			if c.fails != "" {
				check.Error(t, err, "one/file: "+strings.TrimPrefix(s.URL, "http://")+": ", c.fails)
				if _, err := os.Stat(filepath.Join(g.Dir, "one", "file")); err == nil {
					t.Error("a file that is not whole has its name")
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": whole})
				if !r.Fresh || r.Bytes != int64(len(whole)) {
					t.Errorf("%+v", r)
				}
			}
			if got := strings.Join(s.requests(), "\n"); c.seen != nil && got != strings.Join(c.seen, "\n") {
				t.Errorf("requests:\n%s\nwant:\n%s", got, strings.Join(c.seen, "\n"))
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }
}

// No server listens: the error says what to look at.
func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := New(t.TempDir()).Set(background(), one(content(10, 1), "http://127.0.0.1:1/file"))
	check.Error(t, err, "127.0.0.1:1: dial tcp", "connection refused: check the connection; behind a proxy set "+
		"HTTPS_PROXY")
	_, err = New(t.TempDir()).Set(background(), one(content(10, 1), "http://user:s3cret@127.0.0.1:1/file"))
	check.Error(t, err, "127.0.0.1:1: dial tcp")
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v: it has the password", err)
	}
}

// A server that stops sending is given up, and the next request continues; one that is slow is not, however long it
// takes.
func TestStalls(t *testing.T) {
	t.Parallel()
	whole := content(3<<20, 2)
	for name, c := range map[string]struct {
		wait time.Duration // after each third
		asks int
	}{"stalled": {time.Minute, 2}, "slow": {2500 * time.Millisecond, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string][]byte{"/file": whole}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				for third := range slices.Chunk(whole, 1<<20) {
					w.Write(third)
					w.(http.Flusher).Flush()
					select {
					case <-r.Context().Done():
						return
					case <-time.After(c.wait):
					}
				}
			})
			g := New(t.TempDir())
			g.stall = 4 * time.Second
			notes := noting(g)
			if _, err := g.Set(background(), one(whole, s.URL+"/file")); err != nil {
				t.Fatal(err)
			}
			holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": whole})
			if len(s.requests()) != c.asks ||
				(c.asks > 1) != strings.Contains(strings.Join(*notes, ""), "nothing came for 4s: continuing") {
				t.Errorf("requests %q, notes %q", s.requests(), *notes)
			}
		})
	}
}

// An interrupted download continues, in another process too: the getters share nothing but the folder.
func TestContinues(t *testing.T) {
	t.Parallel()
	whole, changed := content(600<<10, 4), content(500<<10, 5)
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		sum    bool
		change func(s *server, part string) // between the two
		asks   string                       // HAVE, DATE: bytes and time of the part
	}{
		"with a checksum": {true, nil, "/file bytes=HAVE-"},
		"by the date":     {false, nil, "/file bytes=HAVE- DATE"},
		"after a crash": {false, func(_ *server, part string) { os.Chtimes(part, time.Time{}, time.Now()) },
			"/file bytes=HAVE- DATE"},
		"changed on the server": {false, func(s *server, _ string) {
			s.files["/file"], s.modified = changed,
				time.Unix(2e9, 0)
		}, "/file bytes=HAVE- DATE"},
		"the part has other data": {true, func(_ *server, part string) { os.WriteFile(part, content(100, 9), 0o666) },
			"/file bytes=HAVE-\n/file"},
		"the part is too long": {true, func(_ *server, part string) { os.WriteFile(part, content(700<<10, 9), 0o666) },
			"/file bytes=HAVE-\n/file"},
		"the part is whole": {true, func(_ *server, part string) { os.WriteFile(part, whole, 0o666) }, ""},
		"whole, no checksum": {false, func(s *server, part string) {
			os.WriteFile(part, whole, 0o666)
			os.Chtimes(part, time.Time{}, s.modified)
		}, "/file bytes=HAVE- DATE"},
		"too long, no checksum": {false, func(s *server, part string) {
			os.WriteFile(part, content(700<<10, 9), 0o666)
			os.Chtimes(part, time.Time{}, s.modified)
		}, "/file bytes=HAVE- DATE\n/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string][]byte{"/file": whole}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				for b := whole; len(b) > 0 && r.Context().Err() == nil; b = b[10<<10:] {
					w.Write(b[:10<<10])
					time.Sleep(time.Millisecond)
				}
			})
			set := one(whole, s.URL+"/file")
			if !c.sum {
				set.Files[0].Sum, set.Files[0].Size = "", 0
			}
			g := New(t.TempDir())
			ctx, cancel := context.WithCancelCause(background())
			g.Progress = func(_ string, done, _ int64) {
				if done >= 200<<10 {
					cancel(stopped)
				}
			}
			_, err := g.Set(ctx, set)
			if check.Error(t, err, "stopped (", "file.part, where the same command continues"); !errors.Is(err,
				stopped) {
				t.Error(err)
			}
			part := filepath.Join(g.Dir, "one", "file.part")
			if c.change != nil {
				c.change(s, part)
			}
			info, err := os.Stat(part)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := New(g.Dir).Set(background(), set); err != nil {
				t.Fatal(err)
			}
			holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": s.files["/file"]})
			want := strings.NewReplacer("HAVE", fmt.Sprint(info.Size()), "DATE",
				info.ModTime().UTC().Format(http.TimeFormat)).Replace(c.asks)
			if got := strings.Join(s.requests()[1:], "\n"); got != want {
				t.Errorf("the second asks\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Two downloads of a set at once: one works, the others wait and find it there.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	whole := content(400<<10, 5)
	s := newServer(t, map[string][]byte{"/file": whole})
	dir, fresh := t.TempDir(), make([]bool, 4)
	var all sync.WaitGroup
	for i := range fresh {
		all.Go(func() {
			r, err := New(dir).Set(background(), one(whole, s.URL+"/file"))
			if err != nil {
				t.Error(err)
			}
			fresh[i] = r.Fresh
		})
	}
	all.Wait()
	if n := len(slices.DeleteFunc(fresh, func(f bool) bool { return !f })); n != 1 || len(s.requests()) != 1 {
		t.Errorf("%d of 4 downloaded, requests %q", n, s.requests())
	}
	holds(t, filepath.Join(dir, "one"), map[string][]byte{"file": whole})
}

// What is there is checked, and not replaced. A link that lies in wait is not followed.
func TestThereAlready(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/file": whole})
	g := New(t.TempDir())
	dir := filepath.Join(g.Dir, "one")
	for body, says := range map[string]string{string(whole): "",
		string(whole[1:]): "one/file: is there already, and is another file: its sha256 is " + sum256(whole[1:])} {
		if err := errors.Join(os.MkdirAll(dir, 0o777),
			os.WriteFile(filepath.Join(dir, "file"), []byte(body), 0o666)); err != nil {
			t.Fatal(err)
		}
		r, err := g.Set(background(), one(whole, s.URL+"/file"))
		if says != "" {
			check.Error(t, err, says, "move it away, or name another folder with --dir")
		} else if err != nil || r.Fresh {
			t.Errorf("the published file: %+v, %v", r, err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.Remove(filepath.Join(dir, "file")),
		os.Symlink(outside, filepath.Join(dir, "file.part"))); err != nil {
		t.Fatal(err)
	}
	_, err := g.Set(background(), one(whole, s.URL+"/file"))
	if check.Error(t, err, "file.part"); len(s.requests()) > 0 {
		t.Errorf("requests: %q", s.requests())
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a link was followed")
	}
}

// A file by its address, with and without a checksum.
func TestURL(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	s := newServer(t, map[string][]byte{"/d/rows.csv": whole, "/page": []byte("<html>")})
	g := New(t.TempDir())
	for _, fresh := range []bool{true, false} {
		if r, err := g.URL(background(), s.URL+"/d/rows.csv?x=1", strings.ToUpper(sum256(whole))); err != nil ||
			r.Fresh != fresh {
			t.Errorf("%+v, %v", r, err)
		}
		holds(t, g.Dir, map[string][]byte{"rows.csv": whole})
	}
	g = New(t.TempDir())
	_, err := g.URL(background(), s.URL+"/d/rows.csv", sum256(nil))
	check.Error(t, err, "rows.csv: ", "sent another file")
	notes := noting(g)
	for _, fresh := range []bool{true, false} {
		if r, err := g.URL(background(), s.URL+"/d/rows.csv", ""); err != nil || r.Fresh != fresh || len(*notes) != 1 ||
			!strings.Contains((*notes)[0], sum256(whole)) {
			t.Errorf("%+v, %v, notes %q", r, err, *notes)
		}
	}
	_, err = g.URL(background(), s.URL+"/page", "")
	check.Error(t, err, "sends a web page instead of the file")
	for _, address := range []string{"rows.csv", "ftp://x.org/a", "https://", "https://x.org/", "https://x.org/a/..",
		"https://x.org/.bashrc", "https://x.org/a%00", "https://x.org/a%1b[2J", "http://[::1", "https://x.org"} {
		if _, err := g.URL(background(), address, ""); !errors.Is(err, config.ErrUsage) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TLS is checked, and not left by a redirection; to TLS one may be redirected.
func TestTLS(t *testing.T) {
	t.Parallel()
	whole := content(5000, 7)
	open := newServer(t, map[string][]byte{"/file": whole})
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, open.URL+"/file", http.StatusFound)
		case "/detour": // leaves TLS on the way only
			http.Redirect(w, r, open.URL+"/in", http.StatusFound)
		case "/file":
			w.Write(whole)
		}
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()

	g := New(t.TempDir())
	_, err := g.Set(background(), one(whole, secure.URL+"/file"))
	check.Error(t, err, "failed to verify certificate")

	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	g.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	for _, path := range []string{"/out", "/detour"} {
		_, err = g.Set(background(), one(whole, secure.URL+path))
		check.Error(t, err, "redirects from https to http")
	}
	if len(open.requests()) > 0 {
		t.Errorf("requests without TLS: %q", open.requests())
	}
	open.script = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, secure.URL+"/file", http.StatusFound)
	}}
	if _, err := g.Set(background(), one(whole, open.URL+"/file")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(g.Dir, "one"), map[string][]byte{"file": whole})
}

// Where no sha256 is published an md5 has to be right, or the size.
func TestOtherChecks(t *testing.T) {
	t.Parallel()
	for says, f := range map[string]File{
		"": {Sum: "900150983cd24fb0d6963f7d28e17f72", Size: 3}, // of abc: RFC 1321
		"another file: its md5 is 900150983cd24fb0d6963f7d28e17f72, not d41d8cd98f00b204e9800998ecf8427e": {
			Sum: "d41d8cd98f00b204e9800998ecf8427e"},
		"another file: it has 3 bytes, not 4": {Size: 4},
	} {
		if _, err := f.check(strings.NewReader("abc")); says == "" && err != nil ||
			says != "" && (err == nil || err.Error() != says) {
			t.Errorf("%+v: %v, want %q", f, err, says)
		}
	}
}
