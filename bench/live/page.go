package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"hogwild/bench/page"
)

//go:embed live.css
var style string

//go:embed live.js
var script string

// bar stands above the run. Where scripts are off its buttons stay hidden.
const bar = `<p id="bar"><b id="state">as of %s</b>
<span id="controls" hidden><button id="smooth" type="button" aria-pressed="false">smooth</button> <button id="pause" type="button" aria-pressed="false">pause</button></span>
<a href="metrics">metrics</a></p>
<div id="value" hidden></div>
`

// policy lets the page run its own script, known by its checksum, ask this server for
// events, and nothing else. Styles are allowed anywhere in it, since the figures have
// their own; they load nothing.
var policy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(script))
	return strings.Join([]string{"default-src 'none'",
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		"style-src 'unsafe-inline'", "img-src data:", "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}, "; ")
})

// page answers with the page as it is at this moment. Its script keeps it up to date;
// where scripts are off it is a report of that moment.
func (s *server) page(w http.ResponseWriter, _ *http.Request) {
	body := s.current()
	var b bytes.Buffer
	err := page.Layout{
		Title: filepath.Base(s.folder) + " - hogwild", Style: template.CSS(style), Script: template.JS(script),
		Bar: template.HTML(fmt.Sprintf(bar, body.drawn.Format("15:04:05"))), Body: body.html,
	}.WriteHTML(&b)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
