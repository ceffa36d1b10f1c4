package figure

import (
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// Sizes of text.
const (
	titleSize = 15
	textSize  = 12.5
	tickSize  = 12
)

// sans is the font by which text is measured, and with which PNGs are written. It is read
// when it is needed first: a worker process never does.
var sans = sync.OnceValue(func() *opentype.Font {
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // the font is part of the program
	}
	return f
})

// face is the font in a size of pixels.
func face(size float64) font.Face {
	f, err := opentype.NewFace(sans(), &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err)
	}
	return f
}

// width is how much room a line of text takes: a reader's own font may be wider, as DejaVu
// Sans is by a seventh.
func width(text string, size float64) float64 { return measured(text, size) * 1.15 }

// measured is the width of a text in the font, measured large: widths of letters are rounded.
func measured(text string, size float64) float64 {
	const large = 2048
	return float64(font.MeasureString(face(large), text)) / 64 * size / large
}

// anchor is the part of a text's baseline that stands at its place.
type anchor int

const (
	start anchor = iota
	middle
	stop
)

// plain is text as a line of what can be seen, and of what XML allows.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Co, unicode.Cs) || r&0xFFFE == 0xFFFE || 0xFDD0 <= r && r <= 0xFDEF:
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// shorten cuts a text to a width, and shows that it did.
func shorten(text string, size, room float64) string {
	if width(text, size) <= room {
		return text
	}
	runes := []rune(text)
	for n := min(len(runes)-1, 500); ; n-- { // more are wider than any figure: measure no more
		if short := strings.TrimRight(string(runes[:n]), " ") + "…"; n == 0 || width(short, size) <= room {
			return short
		}
	}
}
