// mma.h is a product of tiles on tensor cores, by a warp: m16n8k8 of operands in tf32, floats with 11 bits of their 24,
// summed in fp32. Lane 4g+t has of A the rows g and g+8 in the columns t and t+4, of B the rows t and t+4 in column g, and
// of the sums the rows g and g+8 in the columns 2t and 2t+1.
#pragma once

#include "dev.h"

// Lane is this one's place 4g+t in a product.
struct Lane {
  int g, t;

  __device__ Lane() {
    u32 own;
    asm("mov.u32 %0, %%laneid;" : "=r"(own));
    g = own / 4, t = own % 4;
  }
};

// tf32 rounds to it: to nearest. NaN stays NaN. Ties go to even from sm_90 on, where that is one instruction, and before that
// away from zero, which are two there.
__device__ inline u32 tf32(float v) {
  u32 bits;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
#endif
  return bits;
}
__device__ inline float rounded(float v) { return __builtin_bit_cast(float, tf32(v)); }

// Product is a tile of sums, and the same lane's part of what is multiplied.
struct Product {
  float sum[4] = {};

  __device__ void add(u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
};
