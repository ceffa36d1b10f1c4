// sparse_entries.h is what steps of one output go through, a warp each: the heads of rows,
// and their entries, held in registers and fetched ahead of their use.
#pragma once

#include "sparse_local.h"

constexpr int HELD = 3;  // entries that a lane holds
constexpr int CHUNK = 32 * HELD;
constexpr u32 NONE = 0x7fffffff;  // no column: the set has none so high, and marked ones are higher

// Heads are those of the rows at base .. base+31 of job.rows, a lane each.
struct Heads {
  int base;
  u32 low, high;  // where the row begins
  int count;
  float y;

  __device__ void read(int first, int last) {
    base = first;
    low = high = count = 0, y = 0;
    if (first + lane() >= last) return;
    const i64 row = job.rows[first + lane()], from = job.ptr[row];
    low = (u32)from, high = (u32)(from >> 32), count = (int)(job.ptr[row + 1] - from), y = job.y[row];
  }
  __device__ bool has(int p) const { return p >= base && p < base + 32; }
  __device__ Row row(int p) const {
    const int l = (p - base) & 31;
    return {(i64)((u64)(u32)from_lane((int)high, l) << 32 | (u32)from_lane((int)low, l)), from_lane(count, l)};
  }
};

// Way is what a launch's steps are: additions to the weights; the same with local columns; or
// anything, with regularizers and stores too. The fewer questions an entry has to ask. The bias
// may be in shared memory in all of them.
enum Way { PLAIN, LOCAL, ANY };
constexpr Slots slots_of(Way way) { return way == PLAIN ? BIASES : way == LOCAL ? COLUMNS : EITHER; }

// Places are what the loops need of the job: in registers, as asm would have it read anew.
// Steps of plain SGD are written to the weights and nowhere else.
template <Way way> struct Places {
  Global<const u32>* idx;  // of this lane's first entry
  Global<const float>* val;
  Weights w;
  int lane;
  u32 slots, stores, bias;
  i32 loss;
  i64 features;
  float l1, l2, bias_step;

  __device__ void set() {
    const int l = ::lane();
    *this = {job.idx + l, job.val + l, job.w, l, (u32)small(job.locals), (u32)small(job.racy), (u32)small(job.bias),
             small(job.loss_kind), job.features, (float)job.l1, (float)job.l2, (float)job.bias_step};
  }
  __device__ bool local() const { return way == LOCAL || (way == ANY && slots); }
  __device__ bool racy() const { return way == ANY && stores; }
  __device__ bool regularizes() const { return way == ANY && (l1 != 0 || l2 != 0); }
  __device__ bool looks() const { return racy() || regularizes(); }  // at the weights, for the push
};

// at_least is *at where n is at least least, else other.
template <class T> __device__ inline T at_least(int n, int least, Global<const T>* at, T other) {
  u32 v = __builtin_bit_cast(u32, other);
  asm volatile("{ .reg .pred there; setp.ge.s32 there, %1, %2; @there ld.global.b32 %0, [%3]; }" : "+r"(v) : "r"(n), "r"(least), "l"(at));
  return __builtin_bit_cast(T, v);
}

// Entries are up to CHUNK of a row, and their weights.
template <Way way> struct Entries {
  u32 column[HELD];
  float x[HELD], w[HELD];

  __device__ bool in_memory(int q) const { return column[q] < NONE; }

  __device__ void read(const Places<way>& m, Row row, int first) {
    const i64 at = row.from + first;
    const int left = row.count - first - m.lane;
#pragma unroll
    for (int q = 0; q < HELD; q++) {
      column[q] = at_least(left, 32 * q + 1, m.idx + at + 32 * q, NONE);
      x[q] = at_least(left, 32 * q + 1, m.val + at + 32 * q, 0.0f);
    }
  }
  __device__ void gather(const Places<way>& m) {
    float gain[HELD];
#pragma unroll
    for (int q = 0; q < HELD; q++) {
      w[q] = gain[q] = 0;
      if (m.local()) local_parts(column[q], w[q], gain[q]);
    }
#pragma unroll
    for (int q = 0; q < HELD; q++) w[q] = m.w.load_if(in_memory(q), column[q], w[q]);
    if (!m.local()) return;
#pragma unroll
    for (int q = 0; q < HELD; q++) w[q] += gain[q];
  }
  __device__ float dot() const {
    float sum = 0;
#pragma unroll
    for (int q = 0; q < HELD; q++) sum += w[q] * x[q];
    return sum;
  }
  // push adds g x to the weights, and what the regularizers have them change by.
  __device__ void push(const Places<way>& m, float g, const Regularizers& regularizers) const {
#pragma unroll
    for (int q = 0; q < HELD; q++) {
      if (column[q] == NONE) break;  // behind the end of the row: so are the lane's others
      float v = g * x[q];
      if (m.regularizes()) v = regularizers.of(w[q], v, column_of(column[q]));
      if (m.local() && is_local(column[q])) local_add(slot_of(column[q]), v);
      else if (m.racy()) m.w.store(column[q], w[q] + v);
      else m.w.add(column[q], v);
    }
  }
};

// read_bias is that of a step, which push_bias adds v to.
template <Way way> __device__ inline float read_bias(const Places<way>& m) {
  return m.slots && m.bias ? local_weight(m.slots - 1) : m.w.load_if(m.bias, m.features);
}
template <Way way> __device__ inline void push_bias(const Places<way>& m, float was, float v) {
  if (!m.bias || m.lane != 0) return;
  if (m.slots) local_add(m.slots - 1, v);
  else if (m.racy()) m.w.store(m.features, was + v);
  else m.w.add(m.features, v);
}

// delta_of is the derivative of the loss at output z, over the rows; loss is set to it.
__device__ inline float delta_of(i32 kind, float z, float y, float mean, float& loss) {
  const float t = (int)y == 1 ? 1 : -1;
  if (kind == LOGISTIC) loss = logistic(z, t, mean);
  else if (kind == HINGE) loss = hinge(z, t, mean);
  else if (kind == SQUARED) loss = squared(z, y, mean);
  else loss = absolute(z, y, mean);
  return z;
}
