#include "neon.h"

// What ../../conv.go knows too: images side by side, in vectors and in numbers, and channels at once.
enum { vectors = 4, lanes = 4 * vectors, tile = 5 };

// convRowNEON is ConvRow; without start the sums begin at c.
//
//go: func convRowNEON(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)
void convRowNEON(float *c, long ldc, float *a, float *start, float *b, int32_t *off, long k, long n) {
	for (; n > 0; n--, c += lanes, b += lanes) {
		float32x4_t sum[tile][vectors];
		unrolled for (int m = 0; m < tile; m++)
			unrolled for (int v = 0; v < vectors; v++)
				sum[m][v] = start ? vld1q_dup_f32(start + m) : vld1q_f32(c + m * ldc + 4 * v);
		float *weight = a;
		for (long i = 0; i < k; i++, weight += tile) {
			float *from = b + off[i];
			float32x4_t x[vectors], w = vld1q_f32(weight);
			float last = weight[4];
			unrolled for (int v = 0; v < vectors; v++)
				x[v] = vld1q_f32(from + 4 * v);
			unrolled for (int v = 0; v < vectors; v++) {
				sum[0][v] = vfmaq_laneq_f32(sum[0][v], x[v], w, 0);
				sum[1][v] = vfmaq_laneq_f32(sum[1][v], x[v], w, 1);
				sum[2][v] = vfmaq_laneq_f32(sum[2][v], x[v], w, 2);
				sum[3][v] = vfmaq_laneq_f32(sum[3][v], x[v], w, 3);
				sum[4][v] = vfmaq_n_f32(sum[4][v], x[v], last);
			}
		}
		unrolled for (int m = 0; m < tile; m++)
			unrolled for (int v = 0; v < vectors; v++)
				vst1q_f32(c + m * ldc + 4 * v, sum[m][v]);
	}
}

// convGradNEON is ConvGrad. Its 25 sums stay in registers, with a vector of each channel and one of
// the image.
//
//go: func convGradNEON(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int)
void convGradNEON(struct convGradNEON *s) {
	float32x4_t sum[tile][tile];
	float *from[tile], *d[tile];
	long at = 0, further = s->dRow - s->n * lanes, apart = s->bRow - s->dRow;
	unrolled for (int k = 0; k < tile; k++) {
		from[k] = s->b + s->off[k];
		d[k] = s->d + k * s->ldd;
		unrolled for (int m = 0; m < tile; m++)
			sum[k][m] = vdupq_n_f32(0);
	}
	for (long r = s->rows; r > 0; r--) {
		for (long x = s->n * vectors; x > 0; x--, at += 4) {
			asm("" : "+r"(at)); // one distance for ten pointers
			float32x4_t delta[tile];
			unrolled for (int m = 0; m < tile; m++)
				delta[m] = vld1q_f32(d[m] + at);
			unrolled for (int k = 0; k < tile; k++) {
				float32x4_t v = vld1q_f32(from[k] + at);
				unrolled for (int m = 0; m < tile; m++)
					sum[k][m] = vfmaq_f32(sum[k][m], delta[m], v);
			}
		}
		at += further;
		unrolled for (int k = 0; k < tile; k++)
			from[k] += apart;
	}
	unrolled for (int k = 0; k < tile; k++)
		unrolled for (int m = 0; m < tile; m++)
			s->dw[k * tile + m] += vaddvq_f32(sum[k][m]);
}
