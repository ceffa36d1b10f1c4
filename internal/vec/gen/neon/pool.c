#include "neon.h"

enum { vectors = 4, lanes = 4 * vectors }; // images side by side

// poolNEON is Pool.
//
//go: func poolNEON(out, win, z, scale *float32, n, p, row int)
void poolNEON(float *out, float *win, float *z, float *scale, long n, long p, long row) {
	float32x4_t zero = vdupq_n_f32(0), one = vdupq_n_f32(1), none = vdupq_n_f32(-1);
	float32x4_t infinity = vreinterpretq_f32_u32(vdupq_n_u32(0x7f800000));
	for (; n > 0; n--, out += lanes, win += lanes, z += p * lanes) {
		float32x4_t best[vectors], winner[vectors], index = zero;
		unrolled for (int v = 0; v < vectors; v++)
			best[v] = vnegq_f32(infinity), winner[v] = zero;
		for (long y = 0; y < p; y++) {
			float *place = z + y * row;
			for (long x = 0; x < p; x++, place += lanes) {
				unrolled for (int v = 0; v < vectors; v++) {
					float32x4_t number = vld1q_f32(place + 4 * v);
					uint32x4_t no = vcleq_f32(number, best[v]); // not of NaN
					winner[v] = vbslq_f32(no, winner[v], index);
					best[v] = vbslq_f32(no, best[v], number);
				}
				index = vaddq_f32(index, one);
			}
		}
		unrolled for (int v = 0; v < vectors; v++) {
			float32x4_t x = vmulq_f32(best[v], vld1q_f32(scale + 4 * v));
			uint32x4_t off = vclezq_f32(x);
			vst1q_f32(out + 4 * v, vbslq_f32(off, zero, x));
			vst1q_f32(win + 4 * v, vbslq_f32(off, none, winner[v]));
		}
	}
}

// unpoolNEON is Unpool.
//
//go: func unpoolNEON(dz, d, win, scale, sum *float32, n, p, row int)
void unpoolNEON(float *dz, float *d, float *win, float *scale, float *sum, long n, long p, long row) {
	float32x4_t zero = vdupq_n_f32(0), one = vdupq_n_f32(1), total[vectors];
	unrolled for (int v = 0; v < vectors; v++)
		total[v] = vld1q_f32(sum + 4 * v);
	for (; n > 0; n--, d += lanes, win += lanes, dz += p * lanes) {
		float32x4_t delta[vectors], winner[vectors], index = zero;
		unrolled for (int v = 0; v < vectors; v++) {
			delta[v] = vmulq_f32(vld1q_f32(d + 4 * v), vld1q_f32(scale + 4 * v));
			winner[v] = vld1q_f32(win + 4 * v);
			total[v] = vaddq_f32(total[v], vbslq_f32(vcltzq_f32(winner[v]), zero, delta[v]));
		}
		for (long y = 0; y < p; y++) {
			float *place = dz + y * row;
			for (long x = 0; x < p; x++, place += lanes) {
				unrolled for (int v = 0; v < vectors; v++)
					vst1q_f32(place + 4 * v, vbslq_f32(vceqq_f32(winner[v], index), delta[v], zero));
				index = vaddq_f32(index, one);
			}
		}
	}
	unrolled for (int v = 0; v < vectors; v++)
		vst1q_f32(sum + 4 * v, total[v]);
}
