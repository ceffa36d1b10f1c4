package vec

// Pool is out[i] = max(0, scale*largest of window i), lane by lane, for a row of n
// windows of p x p positions, the first at z, whose rows are row numbers apart. It is
// max-pooling, then dropout by a scale for each lane, then ReLU. win[i] is where in its
// window the largest was, counting row by row from 0, or -1 when nothing is let
// through. NaN is larger than anything, and stays.
func Pool(out, win, z, scale []float32, n, p, row int) {
	if n == 0 || p == 0 {
		return
	}
	out, win = out[:n*Lanes:len(out)], win[:n*Lanes:len(win)]
	z = z[: (p-1)*row+n*p*Lanes : len(z)]
	scale = scale[:Lanes:len(scale)]
	if use[LoopPool] == Plain {
		poolGo(out, win, z, scale, p, row)
	} else {
		poolFast(out, win, z, scale, n, p, row)
	}
}

func poolGo(out, win, z, scale []float32, p, row int) {
	for i := range out {
		x, lane := i/Lanes, i%Lanes
		best, winner := z[x*p*Lanes+lane], 0
		for j := range p * p {
			if v := z[j/p*row+(x*p+j%p)*Lanes+lane]; !(v <= best) {
				best, winner = v, j
			}
		}
		out[i], win[i] = best*scale[lane], float32(winner)
		if out[i] <= 0 {
			out[i], win[i] = 0, -1
		}
	}
}

// Unpool is the way back through Pool: of each window of dz the position that won is
// scale*d[i], and the others are 0. What was let through is added to sum, lane by lane.
func Unpool(dz, d, win, scale, sum []float32, n, p, row int) {
	if n == 0 || p == 0 {
		return
	}
	d, win = d[:n*Lanes:len(d)], win[:n*Lanes:len(win)]
	dz = dz[: (p-1)*row+n*p*Lanes : len(dz)]
	scale, sum = scale[:Lanes:len(scale)], sum[:Lanes:len(sum)]
	if use[LoopUnpool] == Plain {
		unpoolGo(dz, d, win, scale, sum, p, row)
	} else {
		unpoolFast(dz, d, win, scale, sum, n, p, row)
	}
}

func unpoolGo(dz, d, win, scale, sum []float32, p, row int) {
	for i, v := range d {
		x, lane := i/Lanes, i%Lanes
		v *= scale[lane]
		if !(win[i] < 0) {
			sum[lane] += v
		}
		for j := range p * p {
			to := j/p*row + (x*p+j%p)*Lanes + lane
			dz[to] = 0
			if win[i] == float32(j) {
				dz[to] = v
			}
		}
	}
}
