package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"hogwild/bench/page"
)

//go:embed page.html
var shell string

//go:embed live.css
var style string

//go:embed live.js
var script string

// parsed is the page around the body. It is parsed when it is first asked for: workers
// are this program too, and shall start fast.
var parsed = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(shell)) })

// policy lets the page run its own script, known by its checksum, ask this server for
// events, and nothing else. Styles are allowed anywhere in it, since the figures have
// their own; they load nothing.
var policy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(script))
	return strings.Join([]string{"default-src 'none'", "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		"style-src 'unsafe-inline'", "img-src data:", "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}, "; ")
})

// page answers with the page as it is at this moment. Its script keeps it up to date;
// where scripts are off it is a report of that moment.
func (s *server) page(w http.ResponseWriter, _ *http.Request) {
	body := s.current()
	var b bytes.Buffer
	err := parsed().Execute(&b, struct {
		Title, Time string
		Style       template.CSS
		Script      template.JS
		Body        template.HTML
	}{
		Title: filepath.Base(s.folder) + " - hogwild", Time: body.drawn.Format("15:04:05"),
		Style: page.Style() + template.CSS(style), Script: template.JS(script), Body: body.html,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
