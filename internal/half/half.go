// Package half converts numbers of half precision: IEEE 754 binary16.
package half

import "math"

// Float returns the number, which a float32 holds as it is.
func Float(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // below the normal ones: fraction x 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent-15+127)<<23 | fraction<<13)
}

// Nearest returns the nearest number, of two the even one; from 65,520 on infinity.
func Nearest(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, size := uint16(bits>>16)&0x8000, bits&^(1<<31)
	switch {
	case size > 255<<23:
		return sign | 0x7e00 // NaN
	case size >= (127+16)<<23: // 2^16
		return sign | 0x7c00
	case size < (127-14)<<23: // half's normal numbers begin at 2^-14: here whole multiples of 2^-24
		return sign | uint16(math.RoundToEven(math.Ldexp(float64(math.Float32frombits(size)), 24)))
	}
	size += 0xfff + size>>13&1 // half of what is cut off, less where the number left is even
	return sign | uint16((size-(127-15)<<23)>>13)
}
