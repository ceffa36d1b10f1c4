#include "neon.h"

// dot is the sum of x[i] y[i], k of them.
inline float dot(float *x, float *y, long k) {
	float32x4_t sum[4];
	unrolled for (int v = 0; v < 4; v++)
		sum[v] = vdupq_n_f32(0);
	for (; k >= 16; k -= 16, x += 16, y += 16)
		unrolled for (int v = 0; v < 4; v++)
			sum[v] = vfmaq_f32(sum[v], vld1q_f32(x + 4 * v), vld1q_f32(y + 4 * v));
	for (; k >= 4; k -= 4, x += 4, y += 4)
		sum[0] = vfmaq_f32(sum[0], vld1q_f32(x), vld1q_f32(y));
	if (k > 0)
		sum[1] = vfmaq_f32(sum[1], load(x, k), load(y, k));
	return vaddvq_f32(vaddq_f32(vaddq_f32(sum[0], sum[1]), vaddq_f32(sum[2], sum[3])));
}

// exponent is exp(x) for x <= 0, and exp(-700) for any smaller than that; see dense.c. The term behind the last is below 3e-10.
inline double exponent(double *table, double x) {
	x = x < table[0] ? table[0] : x; // NaN stays
	double t = __builtin_fma(x, table[1], table[2]), n = t - table[2], y = table[13];
	x = __builtin_fma(-n, table[4], __builtin_fma(-n, table[3], x));
	unrolled for (int k = 12; k >= 5; k--)
		y = __builtin_fma(y, x, table[k]);
	return y * __builtin_bit_cast(double, (__builtin_bit_cast(int64_t, t) << 52) + (1023L << 52));
}

// move adds g out to e, and g h to out.
inline void move(float *h, float *out, float *e, float g, long k) {
	for (; k >= 8; k -= 8, h += 8, out += 8, e += 8)
		unrolled for (int v = 0; v < 8; v += 4) {
			float32x4_t o = vld1q_f32(out + v);
			vst1q_f32(e + v, vfmaq_n_f32(vld1q_f32(e + v), o, g));
			vst1q_f32(out + v, vfmaq_n_f32(o, vld1q_f32(h + v), g));
		}
	for (; k > 0; k--, h++, out++, e++) {
		float o = *out;
		*e = fma32(g, o, *e);
		*out = fma32(g, *h, o);
	}
}

// wordsNEON is Words.targets of n targets, none of them outside, with e at zero; or nothing but the loss, which is linear plus
// the logarithm of product. table is expTable.
//
//go: func wordsNEON(h, out *float32, k int, targets *uint32, n int, lr float32, e *float32, loss int, table *float64) (linear, product float64)
void wordsNEON(struct wordsNEON *s) {
	double linear = 0, product = 1;
	long k = s->k;
	for (long i = 0; i < s->n; i++) {
		uint32_t t = s->targets[i];
		if (t == UINT32_MAX)
			continue;
		float *out = s->out + (uint64_t)t * k;
		double z = dot(s->h, out, k);
		z = i == 0 ? z : -z;
		double small = exponent(s->table, z > 0 ? -z : z), g = (z > 0 ? small : 1) / (1 + small) * s->lr;
		linear += z > 0 ? 0 : -z;
		product *= 1 + small;
		if (!s->loss)
			move(s->h, out, s->e, i == 0 ? g : -g, k);
	}
	s->linear = linear;
	s->product = product;
}

// gatherRowsNEON adds n rows of w to h.
//
//go: func gatherRowsNEON(w *float32, k int, idx *uint32, n int, h *float32)
void gatherRowsNEON(float *w, long k, uint32_t *idx, long n, float *h) {
	for (long i = 0; i < n; i++) {
		float *row = w + (uint64_t)idx[i] * k;
		long c = 0;
		for (; c + 8 <= k; c += 8)
			unrolled for (int v = 0; v < 8; v += 4)
				vst1q_f32(h + c + v, vaddq_f32(vld1q_f32(h + c + v), vld1q_f32(row + c + v)));
		for (; c < k; c++)
			h[c] += row[c];
	}
}

// scatterRowsNEON adds a times e to n rows of w.
//
//go: func scatterRowsNEON(w *float32, k int, idx *uint32, n int, a float32, e *float32)
void scatterRowsNEON(float *w, long k, uint32_t *idx, long n, float a, float *e) {
	for (long i = 0; i < n; i++) {
		float *row = w + (uint64_t)idx[i] * k;
		long c = 0;
		for (; c + 8 <= k; c += 8)
			unrolled for (int v = 0; v < 8; v += 4)
				vst1q_f32(row + c + v, vfmaq_n_f32(vld1q_f32(row + c + v), vld1q_f32(e + c + v), a));
		for (; c < k; c++)
			row[c] = fma32(a, e[c], row[c]);
	}
}
