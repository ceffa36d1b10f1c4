#include "simd.h"

// The steps of optimizers that have a state, at the first n numbers of a vector. No multiplication is fused with an
// addition: all processors round alike, as plain Go does on x86-64.

typedef uint32_t bits __attribute__((vector_size(4 * LANES)));

// normal is x, or 0 where x is subnormal. A state that decays without a gradient ends among such numbers, and stays:
// .9 of the smallest one is rounded to itself. Most processors take a hundred cycles for each of them.
inline vector normal(vector x) {
	bits exponent = (bits)x << 1;
	asm("" : VECTOR(exponent)); // or the compiler makes masks, which are data
	exponent >>= 24;
	asm("" : VECTOR(exponent));
	return (vector)((bits)x & (bits)(exponent != 0));
}

inline void momentum(float *w, float *v, float *g, long n, vector mu, vector rate) {
	vector x = normal(mu * load(v, n) + load(g, n));
	store(v, x, n);
	store(g, spread(0), n);
	store(w, load(w, n) - rate * x, n);
}

// momentumSIMD is momentumGo.
//
//go: func momentumSIMD(w, v, grad *float32, n int, mu, rate float32)
void momentumSIMD(float *w, float *v, float *g, long n, float mu, float rate) {
	vector m = spread(mu), r = spread(rate);
	for (; n >= LANES; n -= LANES, w += LANES, v += LANES, g += LANES)
		momentum(w, v, g, LANES, m, r);
	if (n > 0)
		momentum(w, v, g, n, m, r);
}

inline void adaGrad(float *w, float *s, float *g, long n, vector rate, vector eps) {
	vector d = load(g, n), sum = load(s, n) + d * d;
	store(s, sum, n);
	store(g, spread(0), n);
	store(w, load(w, n) - rate * d / (__builtin_elementwise_sqrt(sum) + eps), n);
}

// adaGradSIMD is adaGradGo.
//
//go: func adaGradSIMD(w, s, grad *float32, n int, rate, eps float32)
void adaGradSIMD(float *w, float *s, float *g, long n, float rate, float eps) {
	vector r = spread(rate), e = spread(eps);
	for (; n >= LANES; n -= LANES, w += LANES, s += LANES, g += LANES)
		adaGrad(w, s, g, LANES, r, e);
	if (n > 0)
		adaGrad(w, s, g, n, r, e);
}

struct adam {
	vector rate, beta1, rest1, beta2, rest2, unbias, eps;
};

inline void adam(float *w, float *m, float *v, float *g, long n, struct adam c) {
	vector d = load(g, n), mean = normal(c.beta1 * load(m, n) + c.rest1 * d);
	vector square = normal(c.beta2 * load(v, n) + c.rest2 * d * d);
	store(m, mean, n);
	store(v, square, n);
	store(g, spread(0), n);
	store(w, load(w, n) - c.rate * mean / (__builtin_elementwise_sqrt(square) * c.unbias + c.eps), n);
}

// adamSIMD is adamGo; rest1 and rest2 are 1 - beta1 and 1 - beta2.
//
//go: func adamSIMD(w, m, v, grad *float32, n int, rate, beta1, rest1, beta2, rest2, unbias, eps float32)
void adamSIMD(float *w, float *m, float *v, float *g, long n, float rate, float beta1, float rest1, float beta2,
	float rest2, float unbias, float eps) {
	struct adam c = {spread(rate), spread(beta1), spread(rest1), spread(beta2), spread(rest2), spread(unbias),
		spread(eps)};
	for (; n >= LANES; n -= LANES, w += LANES, m += LANES, v += LANES, g += LANES)
		adam(w, m, v, g, LANES, c);
	if (n > 0)
		adam(w, m, v, g, n, c);
}
