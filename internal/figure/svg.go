package figure

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"
)

// style makes an SVG as wide as its place. Its ink is that of the page it stands in; alone
// as a file (:root) it is the browser's, and so is the ground. The colours of series are
// variables --s0 to --s7: light ones unless the reader prefers dark.
var style = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(`.figure-svg{display:block;width:100%;max-width:640px;height:auto;font-variant-numeric:tabular-nums}` +
		`.figure-svg:root{color-scheme:light dark;color:CanvasText;background:Canvas;font-family:system-ui,sans-serif}` +
		`@media (prefers-color-scheme:dark){.figure-svg{`)
	for i, c := range dark {
		fmt.Fprintf(&b, "--s%d:%s;", i, c)
	}
	b.WriteString("}}")
	return b.String()
})

// css is a role as the value of fill or stroke, and its opacity.
func (r role) css() (value string, opacity float64) {
	switch {
	case r >= tint:
		return fmt.Sprintf("var(--s%d,%s)", r-tint, light[r-tint]), tintness / 255.0
	case r >= hue:
		return fmt.Sprintf("var(--s%d,%s)", r-hue, light[r-hue]), 1
	case r == grid:
		return "currentColor", gridness / 255.0
	case r == dim:
		return "currentColor", dimness / 255.0
	}
	return "currentColor", 1
}

// themes replaces the sentinel colours of a style.
var themes = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for r := ink; r < end; r++ {
		value, opacity := r.css()
		for _, property := range []string{"fill", "stroke"} {
			s := r.sentinel()
			red, green, blue, _ := s.RGBA()
			old := fmt.Sprintf("%s:#%02X%02X%02X", property, red>>8, green>>8, blue>>8)
			next := property + ":" + value
			if opacity < 1 {
				next += fmt.Sprintf(";%s-opacity:%.2f", property, opacity)
			}
			pairs = append(pairs, old, next)
		}
	}
	return strings.NewReplacer(pairs...)
})

// parts match what is to be replaced in a canvas's file. Quotes in texts are escaped, so that
// no text can look like one of these.
type parts struct{ style, family, text *regexp.Regexp }

var patterns = sync.OnceValue(func() parts {
	return parts{
		style:  regexp.MustCompile(`style="[^"]*"`),
		family: regexp.MustCompile(`font-family:.*font-style:[a-z]*;`),
		text:   regexp.MustCompile(`transform="scale\(1, -1\)"\s+(style="[^"]*")>([\x{E000}-\x{E002}])`),
	}
})

// themed makes of a canvas's file an element that follows its page.
func (f *Figure) themed(svg []byte, l *layout) []byte {
	svg = svg[bytes.Index(svg, []byte("<g ")):] // the prolog, and a size in points
	replace, match := themes(), patterns()
	svg = match.style.ReplaceAllFunc(svg, func(s []byte) []byte {
		return []byte(replace.Replace(string(match.family.ReplaceAll(s, nil))))
	})
	svg = match.text.ReplaceAllFunc(svg, func(s []byte) []byte {
		m := match.text.FindSubmatch(s)
		a := []rune(string(m[2]))[0] - firstAnchor
		return fmt.Appendf(nil, `transform="scale(1,-1)" text-anchor="%s" %s>`, [...]string{"start", "middle", "end"}[a], m[1])
	})
	title := html.EscapeString(plain(f.Title))
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="figure-svg" role="img" aria-label="%[1]s" `+
		`width="%[2]g" height="%[3]g" viewBox="0 0 %[2]g %[3]g"><title>%[1]s</title><desc>%[4]s</desc><style>%[5]s</style>`+"\n",
		title, l.width.Points(), l.height.Points(), html.EscapeString(f.description()), style())
	return append([]byte(head), svg...)
}

// description is what a reader who does not see the figure is told beside its title.
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
