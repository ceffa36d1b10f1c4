package data

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseNumber reads a plain decimal number, n bytes long, at the start of b. Digits
// that fit a float64 exactly, divided by a power of ten that does, are the nearest
// float64 (Clinger 1990); anything else is not ok, and left to strconv.
func parseNumber[T string | []byte](b T) (v float64, n int, ok bool) {
	negative := false
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		negative = b[n] == '-'
		n++
	}
	var digits uint64
	from, point := n, -1
	for ; n < len(b); n++ {
		if c := b[n] - '0'; c <= 9 {
			digits = digits*10 + uint64(c)
		} else if b[n] == '.' && point < 0 {
			point = n + 1
		} else {
			break
		}
	}
	length, decimals := n-from, 0
	if point >= 0 {
		length, decimals = length-1, n-point
	}
	if length < 1 || length > 18 || digits > 1<<53 {
		return 0, n, false
	}
	v = float64(digits) / powersOfTen[decimals]
	if negative {
		v = -v
	}
	return v, n, true
}
