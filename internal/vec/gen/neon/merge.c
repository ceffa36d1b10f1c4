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

// centered merges some rows, of ld numbers, at four columns or at the lanes that are left of them.
inline void centered(int rows, struct mergeCenteredNEON *a, long at, int lanes) {
	float32x4_t s = load(a->s + at, lanes), learned = load(a->learned + at, lanes), merged = load(a->merged + at, lanes);
	float *shared = a->shared + at, *mine = a->mine + at, *base = a->base + at;
	unrolled for (int r = 0; r < rows; r++, shared += a->k, mine += a->k, base += a->k) {
		float mu = a->mu[r];
		float32x4_t w = vfmsq_n_f32(load(mine, lanes), s, mu);
		learned = vfmaq_n_f32(learned, w, mu);
		w = vaddq_f32(load(shared, lanes), vsubq_f32(w, load(base, lanes)));
		merged = vfmaq_n_f32(merged, w, mu);
		store(shared, w, lanes);
		store(mine, w, lanes);
		store(base, w, lanes);
	}
	store(a->learned + at, learned, lanes);
	store(a->merged + at, merged, lanes);
}

inline void centeredRows(int rows, struct mergeCenteredNEON *a) {
	long at = 0;
	for (; at + 4 <= a->k; at += 4)
		centered(rows, a, at, 4);
	if (at < a->k)
		centered(rows, a, at, a->k - at);
	a->shared += rows * a->k;
	a->mine += rows * a->k;
	a->base += rows * a->k;
	a->mu += rows;
	a->rows -= rows;
}

// mergeCenteredNEON is mergeCenteredGo. A sum is loaded and stored once for eight rows.
//
//go: func mergeCenteredNEON(shared, mine, base, mu *float32, rows int, s, learned, merged *float32, k int)
void mergeCenteredNEON(struct mergeCenteredNEON *a) {
	while (a->rows >= 8)
		centeredRows(8, a);
	while (a->rows >= 1)
		centeredRows(1, a);
}
