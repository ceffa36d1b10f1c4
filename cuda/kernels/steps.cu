// steps.cu lists the steps of a launch where they are trained, and adds up their losses, so
// that nothing that a step needs or brings crosses the bus. The host sends a Part for each
// chunk, some 150 bytes with its learning rates, and gets 16 bytes back.
//
//	steps_list   row numbers, the first row of each step, learning rates
//	steps_sum    the losses of each part, summed, and where the first is not finite
//
// The rows are those of data.Order (hogwild/data/order.go), the same integers: a function of
// the seed, the epoch and the position, so that each thread computes the row of its position
// by itself, whatever the others do. A warp's 32 lanes share a block of the order, mostly, and
// walk its cycle together.
//
// A part's losses are added up by a warp, in double: lane l those of the steps l, l+32, ...
// one after the other, then the lanes' sums by halves. The order is fixed, so a sum is
// repeatable bit for bit.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no
// scratch. Ten issue slots a step of one row (docs/results/kernels.md), of which an H200 has 95 G a
// second: some thirty times what the shortest steps take. Left out: a block's key and its
// place kept for all of its rows.
#include "draw.h"

// Part is the steps of a chunk, or some of them: they follow one another in the order.
struct Part {
  i64 first, n;    // the order: of the rows first .. first+n-1
  i64 position;    // of the first step
  i64 rows;        // of all steps
  i64 row, step;   // how many the parts before this one have
  i64 seen;        // examples of the run before it
  i64 rate;        // where its learning rates begin
};

// Sum is what its losses come to.
struct Sum {
  double loss;
  i32 bad;      // the first step whose loss is not finite; -1: none
  float value;  // that loss
};

// Steps is what the host says of a launch's.
struct Steps {
  Global<const Part>* parts;
  Global<const float>* rates;
  Global<i32>* rows;   // as in Job, written
  Global<i32>* start;
  Global<float>* lr;
  Global<const float>* loss;
  Global<Sum>* sums;
  i64 count;           // of parts
  i64 batch, stride;   // of plan.Chunk
  i64 each;            // examples of all workers that go by in a step
  i64 epoch;
  u64 seed;
  i64 block;           // examples that a learning rate is kept for: plan.Schedule's, a power of two
};
static_assert(sizeof(Part) == 8 * 8 && sizeof(Sum) == 2 * 8 && sizeof(Steps) == 14 * 8);

__shared__ Steps steps;

__device__ inline Part part_at(int p) {
  Global<const Part>* at = steps.parts + p;
  return {at->first, at->n, at->position, at->rows, at->row, at->step, at->seen, at->rate};
}

constexpr u32 BLOCK_ROWS = 64;  // data.BlockRows

// permute, stir and shuffle are those of order.go, the last two of one row.
__device__ inline u32 permute(u32 i, u32 n, u64 key) {
  const u32 half = n > 1 ? (33 - __builtin_clz(n - 1)) / 2 : 0, mask = (1u << half) - 1;
#pragma unroll 1
  do {
    u32 left = i >> half, right = i & mask;
#pragma unroll 1
    for (u64 round = 0; round < 4; round++) {
      const u32 was = left;
      left = right;
      right = was ^ ((u32)mix(key + (round << 32) + right) & mask);
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

__device__ inline u32 stir(u32 i, u64 key) {
  key = mix(key);
  const u32 a = (u32)key | 1, b = (u32)(key >> 16), c = (u32)(key >> 32) | 1, d = (u32)(key >> 48);
  u32 x = (a * i + b) % BLOCK_ROWS;
  x ^= x >> 3;
  return (c * x + d) % BLOCK_ROWS;
}

// shuffle is who stands at `at` when all of size have been put in: followed back from the last,
// a place has the newcomer, or what the newcomer's place had, or what it had before.
__device__ inline u32 shuffle(u32 at, u32 size, u64 key) {
#pragma unroll 1
  for (u32 i = size - 1; i > 0; i--) {
    const u32 place = (u32)((mix(key + (i + 1) * GAP) >> 32) * (i + 1) >> 32);
    if (place == at) return i;
    if (i == at) at = place;
  }
  return 0;
}

// row_of is the row at a position of a part's order.
__device__ inline i32 row_of(i32 first, u32 n, u32 position, u64 key) {
  const u32 full = n / BLOCK_ROWS, at = position % BLOCK_ROWS;
  u32 block = position / BLOCK_ROWS, in;
  if (block < full) {
    block = permute(block, full, key);
    in = stir(at, key ^ mix(block));
  } else {
    in = shuffle(at, n % BLOCK_ROWS, key ^ mix(block));
  }
  return first + (i32)(block * BLOCK_ROWS + in);
}

// steps_of is how many steps so many rows are.
__device__ inline u32 steps_of(u32 rows, u32 batch) { return (rows + batch - 1) / batch; }

extern "C" __global__ void __launch_bounds__(THREADS) steps_list(const Steps* from) {
  read_job(steps, from);
  const u64 key = mix(mix(steps.seed) + (u64)steps.epoch);
  const u32 batch = small(steps.batch), stride = small(steps.stride);
  const int shift = 31 - __builtin_clz(small(steps.block));
#pragma unroll 1
  for (int p = cta(); p < small(steps.count); p += ctas()) {
    const Part part = part_at(p);
    const u32 rows = (u32)part.rows, n = steps_of(rows, batch);
#pragma unroll 1
    for (u32 i = thread(); i < rows; i += THREADS) {
      const u32 step = i / batch;
      steps.rows[part.row + i] = row_of((i32)part.first, (u32)part.n, (u32)part.position + step * stride + (i - step * batch), key);
    }
#pragma unroll 1
    for (u32 s = thread(); s < n; s += THREADS) {
      const i64 block = ((part.seen + s * steps.each) >> shift) - (part.seen >> shift);
      steps.start[part.step + s] = (i32)(part.row + s * batch);
      steps.lr[part.step + s] = steps.rates[part.rate + (steps.each >> shift ? s : block)];
    }
    if (p == small(steps.count) - 1 && thread() == 0) steps.start[part.step + n] = (i32)(part.row + rows);
  }
}

__device__ inline double swap(double v, int mask) {
  const u64 bits = __builtin_bit_cast(u64, v);
  const u32 low = (u32)swap((int)(u32)bits, mask), high = (u32)swap((int)(u32)(bits >> 32), mask);
  return __builtin_bit_cast(double, (u64)high << 32 | low);
}

constexpr int AHEAD = 8;  // losses on their way: with one, a part of 8,192 steps would take a warp 256 trips to memory

extern "C" __global__ void __launch_bounds__(THREADS) steps_sum(const Steps* from) {
  read_job(steps, from);
#pragma unroll 1
  for (int p = cta() * WARPS + warp(); p < small(steps.count); p += ctas() * WARPS) {
    const Part part = part_at(p);
    const int n = (int)steps_of((u32)part.rows, small(steps.batch));
    Global<const float>* loss = steps.loss + part.step;
    double sum = 0;
    int bad = n;
#pragma unroll 1
    for (int first = lane(); first < n; first += 32 * AHEAD) {
      float v[AHEAD];
#pragma unroll
      for (int q = 0; q < AHEAD; q++) v[q] = first + 32 * q < n ? loss[first + 32 * q] : 0;
#pragma unroll
      for (int q = 0; q < AHEAD; q++) {
        sum += v[q];
        if (!(__builtin_fabsf(v[q]) < __builtin_inff()) && first + 32 * q < bad) bad = first + 32 * q;
      }
    }
    for (int m = 16; m > 0; m /= 2) {
      const int other = swap(bad, m);
      sum += swap(sum, m);
      bad = other < bad ? other : bad;
    }
    if (lane() != 0) continue;
    Global<Sum>* to = steps.sums + p;
    to->loss = sum;
    to->bad = bad < n ? bad : -1;
    to->value = bad < n ? loss[bad] : 0;
  }
}
