package figure

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
)

// SVG writes the figure as one svg element, which can stand in a page or alone as a file.
// It takes the page's font and ink, and is as wide as its place, to 640 pixels.
func (f *Figure) SVG(w io.Writer) error {
	l := f.layout()
	s := &svg{height: l.height}
	title := html.EscapeString(plain(f.Title))
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" class="figure-svg" role="img" aria-label="%[1]s" `+
		`width="%[2]g" height="%[3]g" viewBox="0 0 %[2]g %[3]g"><title>%[1]s</title><desc>%[4]s</desc><style>%[5]s</style>`+"\n",
		title, l.width, l.height, html.EscapeString(f.description()), style())
	l.draw(s)
	s.WriteString("</svg>\n")
	_, err := w.Write(s.Bytes())
	return err
}

// description returns what a reader who does not see the figure is told along with its title.
func (f *Figure) description() string {
	var names []string
	for _, s := range f.Series {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	text := f.Y.Label + " against " + f.X.Label
	if len(names) > 0 {
		text += ": " + strings.Join(names, "; ")
	}
	return plain(text + ". " + f.Caption)
}

// style makes an SVG as wide as its place. It has the ink of the page it stands in; alone as a file
// (:root) it is the browser's, and so is the ground. The colours of series are variables --s0 to
// --s7: light ones unless the reader prefers dark.
func style() string {
	var b strings.Builder
	b.WriteString(
		`.figure-svg{display:block;width:100%;max-width:640px;height:auto;font-variant-numeric:tabular-nums}` +
			`.figure-svg:root{color-scheme:light dark;color:CanvasText;background:Canvas;font-family:system-ui,sans-serif}` +
			`@media (prefers-color-scheme:dark){.figure-svg{`)
	for i, c := range dark {
		fmt.Fprintf(&b, "--s%d:%s;", i, c)
	}
	b.WriteString("}}")
	return b.String()
}

// svg is the text of an SVG, whose y grows downwards.
type svg struct {
	bytes.Buffer
	height float64
}

func (s *svg) line(r role, width float64, dash []float64, points ...xy) {
	fmt.Fprintf(s, `<path d="%s" style="fill:none;%s;stroke-width:%g`, s.path(points), r.css("stroke"), width)
	for i, d := range dash {
		fmt.Fprintf(s, "%s%g", [...]string{";stroke-dasharray:", ","}[min(i, 1)], d)
	}
	s.WriteString("\" />\n")
}

func (s *svg) area(r role, points ...xy) {
	fmt.Fprintf(s, `<path d="%sZ" style="%s" />`+"\n", s.path(points), r.css("fill"))
}

func (s *svg) text(at xy, a anchor, r role, size float64, text string) {
	fmt.Fprintf(s, `<text x="%.2f" y="%.2f" text-anchor="%s" style="font-size:%gpx;%s">%s</text>`+"\n",
		at.X, s.height-at.Y,
		[...]string{"start", "middle", "end"}[a], size, r.css("fill"), html.EscapeString(text))
}

// hover is a circle that is not seen: browsers show its title next to the pointer.
func (s *svg) hover(at xy, text string) {
	fmt.Fprintf(s,
		`<circle class="hover" cx="%.1f" cy="%.1f" r="%g" style="fill:transparent"><title>%s</title></circle>`+"\n",
		at.X, s.height-at.Y, 2*radius, html.EscapeString(plain(text)))
}

func (s *svg) path(points []xy) string {
	var b strings.Builder
	for i, at := range points {
		fmt.Fprintf(&b, "%c%.2f,%.2f", "ML"[min(i, 1)], at.X, s.height-at.Y)
	}
	return b.String()
}

// css is a role as the value of fill or stroke, and its opacity.
func (r role) css(property string) string {
	index, opacity := r.color()
	value := property + ":currentColor"
	if index >= 0 {
		value = fmt.Sprintf("%s:var(--s%d,%s)", property, index, light[index])
	}
	if opacity < 255 {
		value += fmt.Sprintf(";%s-opacity:%.2f", property, float64(opacity)/255)
	}
	return value
}
