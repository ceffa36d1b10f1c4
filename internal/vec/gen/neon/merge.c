#include "neon.h"

inline void merge(float *shared, float *mine, float *base, int lanes) {
	float32x4_t s = vaddq_f32(load(shared, lanes), vsubq_f32(load(mine, lanes), load(base, lanes)));
	store(shared, s, lanes);
	store(mine, s, lanes);
	store(base, s, lanes);
}

// mergeNEON is mergeGo.
//
//go: func mergeNEON(shared, mine, base *float32, n int)
void mergeNEON(float *shared, float *mine, float *base, long n) {
	for (; n >= 16; n -= 16, shared += 16, mine += 16, base += 16)
		unrolled for (int v = 0; v < 16; v += 4)
			merge(shared + v, mine + v, base + v, 4);
	for (; n >= 4; n -= 4, shared += 4, mine += 4, base += 4)
		merge(shared, mine, base, 4);
	if (n > 0)
		merge(shared, mine, base, n);
}
