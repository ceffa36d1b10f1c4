package get

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// badServer is what a server does with the first requests, and what comes of it.
type badServer struct {
	script []http.HandlerFunc
	fails  string   // what the error says; "": none
	seen   []string // requests; nil: any
}

// badServers are the things that a server of a file may do wrong, by name.
func badServers(whole []byte) map[string]badServer {
	half := whole[:150<<10]
	tag := tagOf(whole)
	rangeOf := func(from int, if_ string) string { return fmt.Sprintf("/file bytes=%d- %s", from, if_) }
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		sends(len(whole), half)(w, r)
	}
	wrong := bytes.Clone(whole)
	wrong[12345]++
	again := func(h http.HandlerFunc) []http.HandlerFunc { return slices.Repeat([]http.HandlerFunc{h}, 40) }
	partial := func(from, to, total int, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, total))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(body)
		}
	}
	return map[string]badServer{
		"as it should be":      {nil, "", []string{"/file"}},
		"cut":                  {[]http.HandlerFunc{cut}, "", []string{"/file", rangeOf(len(half), tag)}},
		"cut twice":            {[]http.HandlerFunc{cut, partial(len(half), len(whole)-1, len(whole), whole[len(half):200<<10])}, "", []string{"/file", rangeOf(len(half), tag), rangeOf(200<<10, tag)}},
		"cut before the first": {[]http.HandlerFunc{sends(len(whole))}, "", []string{"/file", "/file"}},
		"cut always":           {again(sends(len(whole))), "the connection was cut (3 tries)", []string{"/file", "/file", "/file"}},
		"500 once":             {[]http.HandlerFunc{status(500)}, "", []string{"/file", "/file"}},
		"503 always":           {again(status(503)), "answers 503 Service Unavailable (3 tries)", []string{"/file", "/file", "/file"}},
		"429":                  {[]http.HandlerFunc{status(429)}, "", []string{"/file", "/file"}},
		"404":                  {again(status(404)), "answers 404 Not Found", []string{"/file"}},
		"403":                  {again(status(403)), "answers 403 Forbidden", []string{"/file"}},
		"500 after a cut":      {[]http.HandlerFunc{cut, status(500)}, "", []string{"/file", rangeOf(len(half), tag), rangeOf(len(half), tag)}},
		"416 after a cut":      {[]http.HandlerFunc{cut, status(416)}, "", []string{"/file", rangeOf(len(half), tag), "/file"}},
		"ignores the range":    {[]http.HandlerFunc{cut, sends(len(whole), whole)}, "", []string{"/file", rangeOf(len(half), tag)}},
		"another range":        {[]http.HandlerFunc{cut, partial(100<<10, len(whole)-1, len(whole), whole[100<<10:])}, "", []string{"/file", rangeOf(len(half), tag), "/file"}},
		"a range of nothing":   {[]http.HandlerFunc{cut, partial(-5, 7, len(whole), whole)}, "", nil},
		"another version": {[]http.HandlerFunc{cut, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"new"`)
			partial(len(half), len(whole)-1, len(whole), whole[len(half):])(w, r)
		}}, "", []string{"/file", rangeOf(len(half), tag), "/file"}},
		"corrupt": {again(sends(len(whole), wrong)), "sent another file: its sha256 is " + sum256(wrong), []string{"/file"}},
		"corrupt before a cut": {[]http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			sends(len(whole), wrong[:len(half)])(w, r)
		}}, "", []string{"/file", rangeOf(len(half), tag), "/file"}},
		"longer than published": {again(sends(len(whole)+1, append(whole[:len(whole):len(whole)], 7))), "has a file of 307,201 bytes, the published one has 307,200", []string{"/file"}},
		"shorter":               {again(sends(len(half), half)), "has a file of 153,600 bytes", []string{"/file"}},
		"no length, too short":  {again(func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(half) }), "(3 tries)", nil},
		"no end": {again(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(whole); err != nil {
					return
				}
			}
		}), "sends more than the 307,200 bytes of the file", []string{"/file"}},
		"a loop": {again(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/file", http.StatusFound) }), "redirects more than 10 times", nil},
		"redirects": {[]http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/file", http.StatusMovedPermanently)
		}}, "", []string{"/file", "/file"}},
		"an empty file": {again(sends(0)), "has a file of 0 bytes", []string{"/file"}},
		"not HTTP": {again(func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Write([]byte("SSH-2.0\r\n"))
			c.Close()
		}), "(3 tries)", nil},
		"a broken range": {[]http.HandlerFunc{cut, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes x-y/z")
			w.WriteHeader(206)
		}}, "", []string{"/file", rangeOf(len(half), tag), "/file"}},
	}
}

// TestBadServers: what a server may do wrong is either made good by another request, or is one error.
func TestBadServers(t *testing.T) {
	t.Parallel()
	whole := content(300<<10, 1)
	for name, c := range badServers(whole) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string][]byte{"/file": whole}, c.script...)
			g := getter(t)
			r, err := g.Set(background(), one(whole, s.URL+"/file"))
			if c.fails != "" {
				check.Error(t, err, "one: file: ", c.fails)
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
