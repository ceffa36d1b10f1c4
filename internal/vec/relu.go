package vec

// ReLU is h[i] = max(0, z[i]); of NaN it is NaN. h has at least the length of z.
func ReLU(z, h []float32) {
	n := len(z)
	h = h[:n:len(h)]
	switch {
	case avx512 && n > 0:
		reluAVX512(&z[0], &h[0], n)
	case avx2 && n >= 8:
		n &^= 7
		reluAVX2(&z[0], &h[0], n)
		reluGo(z[n:], h[n:])
	default:
		reluGo(z, h)
	}
}

func reluGo(z, h []float32) {
	h = h[:len(z)]
	for i, v := range z {
		h[i] = max(0, v)
	}
}

// ReLUMask is d[i] = 0 where h[i] <= 0: back through the ReLU that h came out of. d has
// at least the length of h.
func ReLUMask(h, d []float32) {
	n := len(h)
	d = d[:n:len(d)]
	switch {
	case avx512 && n > 0:
		reluMaskAVX512(&h[0], &d[0], n)
	case avx2 && n >= 8:
		n &^= 7
		reluMaskAVX2(&h[0], &d[0], n)
		reluMaskGo(h[n:], d[n:])
	default:
		reluMaskGo(h, d)
	}
}

func reluMaskGo(h, d []float32) {
	d = d[:len(h)]
	for i, v := range h {
		if v <= 0 {
			d[i] = 0
		}
	}
}
