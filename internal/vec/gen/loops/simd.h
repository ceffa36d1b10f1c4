// What the loops share: vectors of as many numbers as the registers of the processor hold. Multiplications and
// additions are fused only where the source says so. There is no place for constants: they are parameters, or
// immediate operands.
#include <stdint.h>
#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#define inline static inline __attribute__((always_inline))
// unrolled stands before a loop that the compiler is to write out.
#define unrolled _Pragma("clang loop unroll(full)")

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

// VECTOR(x) is the operand of an asm that may change the vector x.
#ifdef __aarch64__
#define VECTOR(x) "+w"(x)
#else
#define VECTOR(x) "+v"(x)
#endif

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef float anywhere __attribute__((vector_size(4 * LANES), aligned(4)));

inline vector spread(float x) { return x - (vector){}; }

// The first n numbers, n from 1 to LANES, the others 0; and the way back.
#if defined __AVX512F__
inline vector load(float *p, long n) {
	return n == LANES ? *(anywhere *)p : _mm512_maskz_loadu_ps(_bzhi_u32(~0u, n), p);
}

inline void store(float *p, vector x, long n) {
	if (n == LANES)
		*(anywhere *)p = x;
	else
		_mm512_mask_storeu_ps(p, _bzhi_u32(~0u, n), x);
}
#elif defined __AVX2__
// before is -1 in the first n lanes.
inline __m256i before(long n) {
	int64_t lanes = 0x0706050403020100;
	asm("" : "+r"(lanes)); // or the compiler makes it data
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(lanes)));
}

inline vector load(float *p, long n) { return n == LANES ? *(anywhere *)p : _mm256_maskload_ps(p, before(n)); }

inline void store(float *p, vector x, long n) {
	if (n == LANES)
		*(anywhere *)p = x;
	else
		_mm256_maskstore_ps(p, before(n), x);
}
#else
inline vector load(float *p, long n) {
	switch (n) {
	case 1: return vld1q_lane_f32(p, vdupq_n_f32(0), 0);
	case 2: return vcombine_f32(vld1_f32(p), vdup_n_f32(0));
	case 3: return vcombine_f32(vld1_f32(p), vld1_lane_f32(p + 2, vdup_n_f32(0), 0));
	}
	return *(anywhere *)p;
}

inline void store(float *p, vector x, long n) {
	switch (n) {
	case 1: *p = x[0]; return;
	case 2: vst1_f32(p, vget_low_f32(x)); return;
	case 3:
		vst1_f32(p, vget_low_f32(x));
		p[2] = x[2];
		return;
	}
	*(anywhere *)p = x;
}
#endif

typedef float floats __attribute__((ext_vector_type(LANES)));
typedef int32_t ints __attribute__((ext_vector_type(LANES)));
inline vector pick(ints mask, vector yes, vector no) { return (vector)(mask ? (floats)yes : (floats)no); }

inline vector fma(vector a, vector b, vector c) { return __builtin_elementwise_fma(a, b, c); } // a*b + c

#ifndef __aarch64__
// folded are the sums of the numbers that are four apart.
inline __m128 folded(vector x) {
#ifdef __AVX512F__
	__m256 z = _mm512_castps512_ps256(x) + _mm512_extractf32x8_ps(x, 1);
#else
	__m256 z = x;
#endif
	return _mm256_castps256_ps128(z) + _mm256_extractf128_ps(z, 1);
}
#endif

// total is the sum over a vector: of its halves, and so on.
inline float total(vector x) {
#ifdef __aarch64__
	return vaddvq_f32(x);
#else
	__m128 y = folded(x);
	y += _mm_movehl_ps(y, y);
	return y[0] + y[1];
#endif
}
