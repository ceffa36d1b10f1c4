// record.h writes what a sampled step has shown to the record of its rank, whose words
// are those of hogwild/record.go: the host adds them to the run's.
#pragma once

#include "dev.h"

constexpr int RECORD_LOOKED = 0, RECORD_CONFLICTS = 1, RECORD_TRIED = 2, RECORD_LOST = 3, RECORD_SUM = 4, RECORD_MAX = 5,
              RECORD_HISTOGRAM = 6;
constexpr int EXACT_BELOW = 256;  // the histogram is exact below; from there each power of two has eight buckets

__device__ inline void record(int word, u64 n) {
  asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(job.record + word), "l"(n) : "memory");
}

__device__ inline int bucket(u64 n) {
  if (n < EXACT_BELOW) return (int)n;
  int octave = 63 - __builtin_clzll(n);
  return EXACT_BELOW + (octave - 8) * 8 + (int)(n >> (octave - 3) & 7);
}

// stale takes in that an update was stale by n others.
__device__ inline void stale(u64 n) {
  record(RECORD_SUM, n);
  asm volatile("red.relaxed.sys.global.max.u64 [%0], %1;" ::"l"(job.record + RECORD_MAX), "l"(n) : "memory");
  record(RECORD_HISTOGRAM + bucket(n), 1);
}
