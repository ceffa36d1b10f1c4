// What the loops share. They are compiled for any 64-bit Arm core; multiplications and
// additions are fused only where the source says so (vfmaq, fma).
#include <arm_neon.h>
#include <stdint.h>

#define inline static inline __attribute__((always_inline))
// unrolled stands before a loop that the compiler is to write out.
#define unrolled _Pragma("clang loop unroll(full)")

// The part of a step that a loop takes, as package vec numbers it: all of it; what reads, which
// stores the coefficients; or what writes, which takes them.
enum { both, reads, writes };

inline float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); } // a*b + c

// The first n of four numbers, n from 1 to 4, the others 0; and the way back.
inline float32x4_t load(float *p, int n) {
	switch (n) {
	case 1: return vld1q_lane_f32(p, vdupq_n_f32(0), 0);
	case 2: return vcombine_f32(vld1_f32(p), vdup_n_f32(0));
	case 3: return vcombine_f32(vld1_f32(p), vld1_lane_f32(p + 2, vdup_n_f32(0), 0));
	}
	return vld1q_f32(p);
}

inline void store(float *p, float32x4_t x, int n) {
	switch (n) {
	case 1: vst1q_lane_f32(p, x, 0); return;
	case 2: vst1_f32(p, vget_low_f32(x)); return;
	case 3:
		vst1_f32(p, vget_low_f32(x));
		vst1q_lane_f32(p + 2, x, 2);
		return;
	}
	vst1q_f32(p, x);
}
