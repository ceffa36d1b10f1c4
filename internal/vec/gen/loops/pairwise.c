#include "simd.h"

// The steps of a user's row against a row that is to have the higher score, and one that is to have the lower.

inline void fetch(float *p, long n) {
	for (long i = 0; i < n; i += 16)
		__builtin_prefetch(p + i, 1);
	__builtin_prefetch(p + n - 1, 1);
}

// differSIMD is differGo. It asks for the rows that come next.
//
//go: func differSIMD(p, q, r *float32, n int, nextP, nextQ, nextR *float32) (x, own, apart float32)
void differSIMD(struct differSIMD *s) {
	float *p = s->p, *q = s->q, *r = s->r;
	long n = s->n, i = 0;
	fetch(s->nextP, n);
	fetch(s->nextQ, n);
	fetch(s->nextR, n);
	vector x = {}, own = {}, apart = {};
	for (; i + LANES <= n; i += LANES) {
		vector a = load(p + i, LANES), d = load(q + i, LANES) - load(r + i, LANES);
		x = fma(a, d, x);
		own = fma(a, a, own);
		apart = fma(d, d, apart);
	}
	if (i < n) {
		vector a = load(p + i, n - i), d = load(q + i, n - i) - load(r + i, n - i);
		x = fma(a, d, x);
		own = fma(a, a, own);
		apart = fma(d, d, apart);
	}
	s->x = total(x);
	s->own = total(own);
	s->apart = total(apart);
}

struct apart {
	vector keepP, keepQ, keepR, p, q, r;
};

inline void part(float *p, float *q, float *r, long i, long n, struct apart c) {
	vector a = load(p + i, n), b = load(q + i, n), d = load(r + i, n);
	store(p + i, fma(c.p, b - d, c.keepP * a), n);
	store(q + i, fma(c.q, a, c.keepQ * b), n);
	store(r + i, fma(c.r, a, c.keepR * d), n);
}

// partSIMD is partGo.
//
//go: func partSIMD(p, q, r *float32, n int, keepP, keepQ, keepR, stepP, stepQ, stepR float32)
void partSIMD(float *p, float *q, float *r, long n, float keepP, float keepQ, float keepR, float stepP, float stepQ,
	float stepR) {
	struct apart c = {spread(keepP), spread(keepQ), spread(keepR), spread(stepP), spread(stepQ), spread(stepR)};
	long i = 0;
	for (; i + LANES <= n; i += LANES)
		part(p, q, r, i, LANES, c);
	if (i < n)
		part(p, q, r, i, n - i, c);
}
