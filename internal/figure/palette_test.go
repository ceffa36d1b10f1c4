package figure

import (
	"math"
	"testing"
)

type vec [3]float64

// linear is a colour's light, by the transfer function of sRGB (IEC 61966-2-1).
func linear(hex string) (v vec) {
	c := rgb(hex, 255)
	for i, b := range []byte{c.R, c.G, c.B} {
		x := float64(b) / 255
		if v[i] = x / 12.92; x > 0.04045 {
			v[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return v
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(a, b string) float64 {
	luminance := func(hex string) float64 { v := linear(hex); return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2] }
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// sights are how light is seen: by most, and with no cones of one kind (Machado, Oliveira,
// Fernandes 2009, severity 1).
var sights = map[string][3]vec{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func times(m [3]vec, v vec) (out vec) {
	for i := range m {
		out[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return out
}

// oklab is a colour in a space whose distances are about those that are seen (Ottosson 2020).
func oklab(v vec) vec {
	lms := times([3]vec{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005}}, vec{max(0, v[0]), max(0, v[1]), max(0, v[2])})
	for i := range lms {
		lms[i] = math.Cbrt(lms[i])
	}
	return times([3]vec{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.8086757660}}, lms)
}

func TestPaletteIsSeenByAll(t *testing.T) {
	for ground, palette := range map[string][8]string{"#ffffff": light, "#1e1e1e": dark} {
		for i, c := range palette {
			if k := contrast(c, ground); k < 3 {
				t.Errorf("%s on %s has a contrast of %.2f", c, ground, k)
			}
			for sight, m := range sights {
				least := 0.1
				if sight == "tritanopia" { // one reader in tens of thousands
					least = 0.065
				}
				for _, other := range palette[:i] {
					a, b := oklab(times(m, linear(c))), oklab(times(m, linear(other)))
					if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < least {
						t.Errorf("%s and %s are %.3f apart with %s", c, other, d, sight)
					}
				}
			}
		}
	}
}

// TestLooksDiffer: no two of 24 series are drawn alike.
func TestLooksDiffer(t *testing.T) {
	seen := map[[3]int]bool{}
	for n := range 3 {
		for c := range light {
			l := lookOf(c, n)
			dash := 0
			for i, d := range dashes {
				if len(d) > 0 && len(l.dash) > 0 && &d[0] == &l.dash[0] {
					dash = i
				}
			}
			if key := [3]int{int(l.hue), dash, l.mark}; seen[key] {
				t.Errorf("colour %d for the %d-th time looks like another", c, n)
			} else {
				seen[key] = true
			}
		}
	}
}
