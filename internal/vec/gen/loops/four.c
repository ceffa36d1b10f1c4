#include "simd.h"

// Products of four rows and one vector: its numbers are loaded, and stored, once for four multiply-adds.

// dot4SIMD is dotGo of each of four rows and w.
//
//go: func dot4SIMD(x0, x1, x2, x3, w *float32, n int) (z0, z1, z2, z3 float32)
void dot4SIMD(struct dot4SIMD *s) {
	float *x[4] = {s->x0, s->x1, s->x2, s->x3}, *w = s->w;
	vector even[4] = {}, odd[4] = {};
	long n = s->n, i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		vector a = load(w + i, LANES), b = load(w + i + LANES, LANES);
		unrolled for (int r = 0; r < 4; r++) {
			even[r] = fma(load(x[r] + i, LANES), a, even[r]);
			odd[r] = fma(load(x[r] + i + LANES, LANES), b, odd[r]);
		}
	}
	if (i + LANES <= n) {
		vector a = load(w + i, LANES);
		unrolled for (int r = 0; r < 4; r++)
			even[r] = fma(load(x[r] + i, LANES), a, even[r]);
		i += LANES;
	}
	if (i < n) {
		vector a = load(w + i, n - i);
		unrolled for (int r = 0; r < 4; r++)
			odd[r] = fma(load(x[r] + i, n - i), a, odd[r]);
	}
	s->z0 = total(even[0] + odd[0]);
	s->z1 = total(even[1] + odd[1]);
	s->z2 = total(even[2] + odd[2]);
	s->z3 = total(even[3] + odd[3]);
}

inline void axpy4(float *x[4], vector a[4], float *w, long i, long n) {
	vector sum = load(w + i, n);
	unrolled for (int r = 0; r < 4; r++)
		sum = fma(load(x[r] + i, n), a[r], sum);
	store(w + i, sum, n);
}

// axpy4SIMD is axpy4Go.
//
//go: func axpy4SIMD(a0, a1, a2, a3 float32, x0, x1, x2, x3, w *float32, n int)
void axpy4SIMD(float a0, float a1, float a2, float a3, float *x0, float *x1, float *x2, float *x3, float *w, long n) {
	float *x[4] = {x0, x1, x2, x3};
	vector a[4] = {spread(a0), spread(a1), spread(a2), spread(a3)};
	long i = 0;
	for (; i + LANES <= n; i += LANES)
		axpy4(x, a, w, i, LANES);
	if (i < n)
		axpy4(x, a, w, i, n - i);
}
