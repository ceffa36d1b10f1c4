package vec

// ReLU is h[i] = max(0, z[i]); of NaN it is NaN. h has at least the length of z.
func ReLU(z, h []float32) {
	n := len(z)
	h = h[:n:len(h)]
	if use[LoopReLU] == Plain || n == 0 {
		reluGo(z, h)
	} else {
		reluFast(z, h)
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
	if use[LoopReLUMask] == Plain || n == 0 {
		reluMaskGo(h, d)
	} else {
		reluMaskFast(h, d)
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
