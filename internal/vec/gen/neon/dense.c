#include "neon.h"

// fetchLines asks for the n > 0 numbers at x, to have them in the cache later.
//
//go: func fetchLines(x *float32, n int)
void fetchLines(float *x, long n) {
	for (; n > 0; n -= 16, x += 16)
		__builtin_prefetch(x);
}

// dotNEON is dotGo.
//
// A multiply-add takes four cycles, and a core can load what two of them need in each:
// there are eight sums.
//
//go: func dotNEON(x, y *float32, n int) float32
float dotNEON(float *x, float *y, long n) {
	float32x4_t sum[8];
	unrolled for (int v = 0; v < 8; v++)
		sum[v] = vdupq_n_f32(0);
	for (; n >= 32; n -= 32, x += 32, y += 32)
		unrolled for (int v = 0; v < 8; v++)
			sum[v] = vfmaq_f32(sum[v], vld1q_f32(x + 4 * v), vld1q_f32(y + 4 * v));
	for (; n >= 4; n -= 4, x += 4, y += 4)
		sum[0] = vfmaq_f32(sum[0], vld1q_f32(x), vld1q_f32(y));
	if (n > 0)
		sum[1] = vfmaq_f32(sum[1], load(x, n), load(y, n));
	unrolled for (int half = 4; half > 0; half /= 2)
		unrolled for (int v = 0; v < half; v++)
			sum[v] = vaddq_f32(sum[v], sum[v + half]);
	return vaddvq_f32(sum[0]);
}

// sweep is f of the n numbers at x and y: sixteen at a time, then four, then the rest. Some f do
// not use a.
inline void sweep(void (*f)(float a, float *x, float *y, int lanes), float a, float *x, float *y, long n) {
	for (; n >= 16; n -= 16, x += 16, y += 16)
		unrolled for (int v = 0; v < 16; v += 4)
			f(a, x + v, y + v, 4);
	for (; n >= 4; n -= 4, x += 4, y += 4)
		f(a, x, y, 4);
	if (n > 0)
		f(a, x, y, n);
}

inline void axpy(float a, float *x, float *y, int lanes) {
	store(y, vfmaq_n_f32(load(y, lanes), load(x, lanes), a), lanes);
}

// axpyNEON is axpyGo.
//
//go: func axpyNEON(a float32, x, y *float32, n int)
void axpyNEON(float a, float *x, float *y, long n) { sweep(axpy, a, x, y, n); }

inline void scale(float a, float *x, float *y, int lanes) {
	store(y, vmulq_n_f32(load(x, lanes), a), lanes);
}

// scaleNEON is scaleGo.
//
//go: func scaleNEON(a float32, x *float32, n int)
void scaleNEON(float a, float *x, long n) { sweep(scale, a, x, x, n); }

// The maximum of a number and NaN is NaN (FMAX, not FMAXNM).
inline void relu(float a, float *z, float *h, int lanes) {
	store(h, vmaxq_f32(load(z, lanes), vdupq_n_f32(0)), lanes);
}

// reluNEON is reluGo.
//
//go: func reluNEON(z, h *float32, n int)
void reluNEON(float *z, float *h, long n) { sweep(relu, 0, z, h, n); }

inline void reluMask(float a, float *h, float *d, int lanes) {
	uint32x4_t off = vclezq_f32(load(h, lanes)); // not where h is NaN
	uint32x4_t bits = vreinterpretq_u32_f32(load(d, lanes));
	store(d, vreinterpretq_f32_u32(vbicq_u32(bits, off)), lanes);
}

// reluMaskNEON is reluMaskGo.
//
//go: func reluMaskNEON(h, d *float32, n int)
void reluMaskNEON(float *h, float *d, long n) { sweep(reluMask, 0, h, d, n); }

// exponential is what exp is computed from; ../exp.go says how. Constants in float64
// would go to memory that has no place in Go's assembly, so the caller has them.
struct exponential {
	float64x2_t lowest, perTwo, round, ln2hi, ln2lo, series[13];
};

inline struct exponential constants(double *table) {
	struct exponential e;
	e.lowest = vld1q_dup_f64(table), e.perTwo = vld1q_dup_f64(table + 1);
	e.round = vld1q_dup_f64(table + 2);
	e.ln2hi = vld1q_dup_f64(table + 3), e.ln2lo = vld1q_dup_f64(table + 4);
	unrolled for (int k = 0; k < 13; k++)
		e.series[k] = vld1q_dup_f64(table + 5 + k);
	return e;
}

// pair is the two terms of the series from k on: c[k] + c[k+1] x.
inline float64x2_t pair(struct exponential *e, int k, float64x2_t x) { return vfmaq_f64(e->series[k], e->series[k + 1], x); }

// exponent is exp(x), and exp(-700) for any smaller x. The terms are added in pairs, and those in
// pairs: one after the other would each wait four cycles for the one before.
inline float64x2_t exponent(struct exponential *e, float64x2_t x) {
	x = vmaxq_f64(x, e->lowest); // NaN stays
	float64x2_t t = vfmaq_f64(e->round, x, e->perTwo), n = vsubq_f64(t, e->round);
	x = vfmsq_f64(vfmsq_f64(x, n, e->ln2hi), n, e->ln2lo);
	float64x2_t x2 = vmulq_f64(x, x), x4 = vmulq_f64(x2, x2), x8 = vmulq_f64(x4, x4);
	float64x2_t y0 = vfmaq_f64(pair(e, 0, x), pair(e, 2, x), x2);
	float64x2_t y4 = vfmaq_f64(pair(e, 4, x), pair(e, 6, x), x2);
	float64x2_t y8 = vfmaq_f64(pair(e, 8, x), pair(e, 10, x), x2);
	float64x2_t y = vfmaq_f64(vfmaq_f64(y0, y4, x4), vfmaq_f64(y8, e->series[12], x4), x8);
	int64x2_t power = vshlq_n_s64(vreinterpretq_s64_f64(t), 52);
	return vreinterpretq_f64_s64(vaddq_s64(vreinterpretq_s64_f64(y), power));
}

struct sums {
	float64x2_t low, high;
};

// expSum is that of the first lanes numbers at z.
inline void expSum(struct exponential *e, float *z, float64x2_t most, struct sums *sum, int lanes) {
	float32x4_t x = load(z, lanes);
	float64x2_t a = exponent(e, vsubq_f64(vcvt_f64_f32(vget_low_f32(x)), most));
	float64x2_t b = exponent(e, vsubq_f64(vcvt_high_f64_f32(x), most));
	store(z, vcvt_high_f32_f64(vcvt_f32_f64(a), b), lanes);
	sum->low = vaddq_f64(sum->low, lanes < 2 ? vsetq_lane_f64(0, a, 1) : a);
	if (lanes > 2)
		sum->high = vaddq_f64(sum->high, lanes < 4 ? vsetq_lane_f64(0, b, 1) : b);
}

// expSumNEON is expSumGo; table is expTable.
//
//go: func expSumNEON(z *float32, n int, m float32, table *float64) float64
double expSumNEON(float *z, long n, float m, double *table) {
	struct exponential e = constants(table);
	float64x2_t most = vdupq_n_f64(m);
	struct sums sum = {vdupq_n_f64(0), vdupq_n_f64(0)};
	long i = 0;
	for (; i + 4 <= n; i += 4) {
		asm("" : "+r"(i)); // or the store at the end of a pass moves z, and the next pass waits for it
		expSum(&e, z + i, most, &sum, 4);
	}
	if (i < n)
		expSum(&e, z + i, most, &sum, n - i);
	return vaddvq_f64(vaddq_f64(sum.low, sum.high));
}
