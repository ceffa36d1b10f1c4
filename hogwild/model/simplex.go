package model

import "slices"

// Project moves x to the nearest point of the simplex, where no number is negative and
// all add up to 1, in the Euclidean distance. room has at least the length of x.
//
// That point is max(x - t, 0) for the one t with which it adds up to 1. Of the numbers
// in falling order the first r stay positive, r being the largest for which the r-th
// lies above the t that the first r alone would need (Duchi, Shalev-Shwartz, Singer,
// Chandra 2008, figure 1).
func Project(x, room []float32) {
	if len(x) == 2 { // the segment from (1, 0) to (0, 1)
		x[0] = min(1, max(0, (1+x[0]-x[1])/2))
		x[1] = 1 - x[0]
		return
	}
	sorted := room[:copy(room, x)]
	slices.Sort(sorted)
	sum, t := float32(-1), float32(0)
	for r := range sorted {
		v := sorted[len(sorted)-1-r]
		sum += v
		if need := sum / float32(r+1); v > need {
			t = need
		}
	}
	for i, v := range x {
		x[i] = max(0, v-t)
	}
}
