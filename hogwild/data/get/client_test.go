package get

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"hogwild/internal/check"
)

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

	g := getter(t)
	_, err := g.Set(background(), one(whole, secure.URL+"/file"))
	check.Error(t, err, "failed to verify certificate")

	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	g.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
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
