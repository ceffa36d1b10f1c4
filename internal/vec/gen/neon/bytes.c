#include "neon.h"

// prefetchLines asks for the n > 0 bytes at x.
//
//go: func prefetchLines(x *uint8, n int)
void prefetchLines(uint8_t *x, long n) {
	for (; n > 0; n -= 64, x += 64)
		__builtin_prefetch(x);
}

// eightOf writes the numbers of eight bytes, those that are not zero first, and their places.
// It returns how many they are. places has the places for each set of them.
inline long eightOf(uint8x8_t bytes, uint8x8_t bit, uint32_t first, float mul, uint32_t *idx, float *val, uint8_t *places) {
	uint8x8_t set = vand_u8(vtst_u8(bytes, bytes), bit);
	uint8x8_t at = vld1_u8(places + 8 * vaddv_u8(set));
	uint16x8_t where = vmovl_u8(at), what = vmovl_u8(vtbl1_u8(bytes, at));
	uint32x4_t from = vdupq_n_u32(first);
	vst1q_u32(idx, vaddw_u16(from, vget_low_u16(where)));
	vst1q_u32(idx + 4, vaddw_high_u16(from, where));
	vst1q_f32(val, vmulq_n_f32(vcvtq_f32_u32(vmovl_u16(vget_low_u16(what))), mul));
	vst1q_f32(val + 4, vmulq_n_f32(vcvtq_f32_u32(vmovl_high_u16(what)), mul));
	return vaddv_u8(vcnt_u8(set));
}

// nonzerosNEON is nonzerosGo; places is the table of that name.
//
// It passes over sixteen zeros at once. Of others it writes sixteen numbers, and moves on behind
// those that are not zero.
//
//go: func nonzerosNEON(x *uint8, n int, mul float32, idx *uint32, val *float32, places *uint8) int
long nonzerosNEON(uint8_t *x, long n, float mul, uint32_t *idx, float *val, uint8_t *places) {
	uint64_t bits = 0x8040201008040201;
	asm("" : "+r"(bits)); // or it becomes data
	uint8x8_t bit = vcreate_u8(bits);
	long found = 0, j = 0;
	for (; j + 16 <= n; j += 16) {
		uint8x16_t bytes = vld1q_u8(x + j);
		if (vmaxvq_u8(bytes) == 0)
			continue;
		found += eightOf(vget_low_u8(bytes), bit, j, mul, idx + found, val + found, places);
		found += eightOf(vget_high_u8(bytes), bit, j + 8, mul, idx + found, val + found, places);
	}
	for (; j < n; j++)
		if (x[j] != 0) {
			idx[found] = j;
			val[found++] = mul * (float)x[j];
		}
	return found;
}

// widenNEON is Widen.
//
//go: func widenNEON(x *uint8, mul, add, y *float32, n int)
void widenNEON(uint8_t *x, float *mul, float *add, float *y, long n) {
	for (; n >= 16; n -= 16, x += 16, mul += 16, add += 16, y += 16) {
		uint8x16_t bytes = vld1q_u8(x);
		uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
		uint32x4_t v[4] = {vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low), vmovl_u16(vget_low_u16(high)), vmovl_high_u16(high)};
		unrolled for (int i = 0; i < 4; i++) {
			float32x4_t product = vmulq_f32(vcvtq_f32_u32(v[i]), vld1q_f32(mul + 4 * i));
			vst1q_f32(y + 4 * i, vaddq_f32(product, vld1q_f32(add + 4 * i)));
		}
	}
	for (; n > 0; n--)
		*y++ = (float)*x++ * *mul++ + *add++;
}
