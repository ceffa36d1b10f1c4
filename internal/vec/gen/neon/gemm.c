#include "neon.h"

// tile has as many rows and columns as its name says. Its sums stay in registers, 24 of 32 at most,
// beside a row of the panel; a number of the left operand goes to a multiply-add as one lane.
inline void tile(int m, int n, struct tileNEON *t) {
	float32x4_t sum[6][4];
	float *a[6], *b = t->b;
	long at = 0, k = t->k;
	unrolled for (int i = 0; i < m; i++) {
		a[i] = t->a + i * t->ars;
		unrolled for (int v = 0; v < n / 4; v++)
			sum[i][v] = vdupq_n_f32(0);
	}
	for (; k > 0; k--, b += t->ldb, at += t->acs) {
		asm("" : "+r"(at)); // one offset for all rows; the compiler would move six pointers
		float32x4_t row[4];
		unrolled for (int v = 0; v < n / 4; v++)
			row[v] = vld1q_f32(b + 4 * v);
		unrolled for (int i = 0; i < m; i++) {
			float x = a[i][at];
			unrolled for (int v = 0; v < n / 4; v++)
				sum[i][v] = vfmaq_n_f32(sum[i][v], row[v], x);
		}
	}
	float *c = t->c;
	unrolled for (int i = 0; i < m; i++, c += t->ldc)
		unrolled for (int v = 0; v < n / 4; v++)
			vst1q_f32(c + 4 * v, vfmaq_n_f32(vld1q_f32(c + 4 * v), sum[i][v], t->alpha));
}

inline void tiles(int n, struct tileNEON *t) {
	switch (t->m) {
	case 1: tile(1, n, t); return;
	case 2: tile(2, n, t); return;
	case 3: tile(3, n, t); return;
	case 4: tile(4, n, t); return;
	case 5: tile(5, n, t); return;
	case 6: tile(6, n, t); return;
	}
}

// tileNEON is c[i*ldc+j] += alpha * sum over p < k of a[i*ars+p*acs]*b[p*ldb+j], for i < m
// and j < n; m up to 6, n of 8 or 16, k from 1.
//
//go: func tileNEON(m, n, k int, alpha float32, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int)
void tileNEON(struct tileNEON *t) {
	if (t->n == 16)
		tiles(16, t);
	else
		tiles(8, t);
}

// packNEON is packGo for n of 8 or 16.
//
//go: func packNEON(n, k int, src *float32, ld int, dst *float32)
void packNEON(long n, long k, float *src, long ld, float *dst) {
	if (n == 16)
		for (; k > 0; k--, src += ld, dst += 16)
			vst1q_f32_x4(dst, vld1q_f32_x4(src));
	else
		for (; k > 0; k--, src += ld, dst += 8)
			vst1q_f32_x2(dst, vld1q_f32_x2(src));
}

// packTNEON is packTGo for 8 rows, the first of the nr of dst, and k a multiple of 4.
//
//go: func packTNEON(k int, src *float32, ld int, dst *float32, nr int)
void packTNEON(long k, float *src, long ld, float *dst, long nr) {
	for (; k > 0; k -= 4, src += 4, dst += 4 * nr)
		unrolled for (int half = 0; half < 8; half += 4) {
			float *from = src + half * ld, *to = dst + half;
			float32x4_t r0 = vld1q_f32(from), r1 = vld1q_f32(from + ld);
			float32x4_t r2 = vld1q_f32(from + 2 * ld), r3 = vld1q_f32(from + 3 * ld);
			float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)), b = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
			float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)), d = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
			vst1q_f32(to, vreinterpretq_f32_f64(vtrn1q_f64(a, c)));
			vst1q_f32(to + nr, vreinterpretq_f32_f64(vtrn1q_f64(b, d)));
			vst1q_f32(to + 2 * nr, vreinterpretq_f32_f64(vtrn2q_f64(a, c)));
			vst1q_f32(to + 3 * nr, vreinterpretq_f32_f64(vtrn2q_f64(b, d)));
		}
}
