package half

import (
	"math"
	"testing"
)

// exact is the value of a half that is finite, as (-1)^s 2^(e-25) (1024 + f), by the definition.
func exact(h uint16) float64 {
	e, f := int(h>>10)&31, int(h)&1023
	if e == 0 {
		e = 1
	} else {
		f += 1024
	}
	return math.Copysign(math.Ldexp(float64(f), e-25), 1-2*float64(h>>15))
}

// TestAll converts all 65,536 numbers there and back.
func TestAll(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got := Float(h)
		switch size := h & 0x7fff; {
		case size > 0x7c00:
			if got == got || Nearest(got)&0x7c00 != 0x7c00 || Nearest(got)&0x3ff == 0 {
				t.Fatalf("%#04x is a NaN, not %g", h, got)
			}
			continue
		case size == 0x7c00:
			if !math.IsInf(float64(got), 1-2*int(h>>15)) {
				t.Fatalf("%#04x is infinite, not %g", h, got)
			}
		case float64(got) != exact(h) || math.Signbit(float64(got)) != (h>>15 == 1):
			t.Fatalf("%#04x is %g, not %g", h, exact(h), got)
		}
		if back := Nearest(got); back != h {
			t.Fatalf("%g is %#04x, not %#04x", got, h, back)
		}
	}
}

// TestBetween takes the number halfway between any two neighbours, and the floats next to it on either side: the
// nearest are the even one, the lower and the upper.
func TestBetween(t *testing.T) {
	for h := range uint16(0x7bff) {
		a, b := exact(h), exact(h+1)
		middle := float32((a + b) / 2)
		if 2*float64(middle) != a+b {
			t.Fatalf("between %g and %g there is no float", a, b)
		}
		even := h + h&1
		for _, c := range []struct {
			v    float32
			want uint16
		}{{middle, even}, {math.Nextafter32(middle, 0), h}, {math.Nextafter32(middle, math.MaxFloat32), h + 1}} {
			if got := Nearest(c.v); got != c.want {
				t.Fatalf("%g is %#04x, not %#04x", c.v, c.want, got)
			}
			if got := Nearest(-c.v); got != c.want|0x8000 {
				t.Fatalf("%g is %#04x, not %#04x", -c.v, c.want|0x8000, got)
			}
		}
	}
	for v, want := range map[float32]uint16{65519.996: 0x7bff, 65520: 0x7c00, 65535: 0x7c00, 1e30: 0x7c00, 0x1p-25: 0,
		0x1.8p-25: 1, 1e-40: 0} {
		if got := Nearest(v); got != want {
			t.Errorf("%g is %#04x, not %#04x", v, want, got)
		}
	}
}
