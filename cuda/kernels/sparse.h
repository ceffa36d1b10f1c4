// sparse.h is what the kernels of sparse rows share: a row as a warp sees it, the weights
// of its columns one by one, and their regularizers.
//
// A linear model on such rows has its weights as [d][k], then the k biases. A step changes
// the weights of the columns that occur in it, and no others.
#pragma once

#include "loss.h"
#include "optimizer.h"
#include "guard.h"

__device__ inline float from_lane(float v, int l) { return __nvvm_shfl_sync_idx_f32(ALL, v, l, 31); }
__device__ inline int from_lane(int v, int l) { return __nvvm_shfl_sync_idx_i32(ALL, v, l, 31); }

// Row is one of the set: its entries are from .. from+count-1.
struct Row {
  i64 from;
  int count;
};

// row_at is the row at a position of job.rows.
__device__ inline Row row_at(int position) {
  const i64 row = job.rows[position], from = job.ptr[row];
  return {from, (int)(job.ptr[row + 1] - from)};
}

// a_weight is one of the row's, for r drawn from all u32: what is looked at for conflicts.
// column_of is what an entry of job.idx stands for.
template <class Column> __device__ inline i64 a_weight(Row row, u32 r, const Column& column_of) {
  if (row.count == 0) return below(job.weights, r);
  return (i64)column_of(job.idx[row.from + below(row.count, r)]) * job.outputs + below(job.outputs, r * GOLDEN);
}

// Spread shares out the weights of a row among the lanes of a warp: a lane has output c of
// every per-th entry, from the e-th on. More than 16 outputs are taken 32 at a time, an
// entry by all lanes.
struct Spread {
  i32 k, per, e, c;

  __device__ void set() {
    k = small(job.outputs);
    per = k <= 16 ? (i32)(32 / (u32)k) : 1;
    e = k <= 16 ? (i32)((u32)lane() / (u32)k) : 0;
    c = k <= 16 ? (i32)((u32)lane() % (u32)k) : lane();
  }
  __device__ bool idle() const { return e >= per; }
  // groups is how many times 32 outputs there are.
  __device__ int step() const { return k <= 16 ? k : 32; }
};

// each calls f(c, column, x) for all weights of a row, c being the output. The row is
// shared by parts warps, of which this is the part-th.
template <class F> __device__ inline void each(const Spread& s, Row row, int part, int parts, const F& f) {
  if (s.idle()) return;
#pragma unroll 1
  for (int c = s.c; c < s.k; c += s.step())
#pragma unroll 1
    for (int n = part * s.per + s.e; n < row.count; n += parts * s.per) f(c, job.idx[row.from + n], job.val[row.from + n]);
}

// outputs sets z[c * GROUP] to the row's output c, with the bias: lane l those of l, l+32, ...
// bias_of(c) is that of output c, where the model has one.
template <class Bias> __device__ inline void outputs(const Spread& s, Row row, Global<float>* z, const Bias& bias_of) {
  constexpr int AHEAD = 4;
#pragma unroll 1
  for (int first = 0; first < s.k; first += s.step()) {
    const int c = first + s.c;
    const bool mine = !s.idle() && c < s.k;
    float sum = 0;
#pragma unroll 1
    for (int n = s.e; n < row.count; n += AHEAD * s.per) {
      float w[AHEAD], x[AHEAD];
#pragma unroll
      for (int q = 0; q < AHEAD; q++) {
        const int at = n + q * s.per;
        const bool there = mine && at < row.count;
        x[q] = there ? job.val[row.from + at] : 0;
        w[q] = there ? job.w.load((i64)job.idx[row.from + at] * s.k + c) : 0;
      }
#pragma unroll
      for (int q = 0; q < AHEAD; q++) sum += w[q] * x[q];
    }
    float all = 0;
    if (s.k == 1) all = sum_lanes(sum);
    else
#pragma unroll 1
      for (int q = 0; q < s.per; q++) all += from_lane(sum, (q * s.k + lane()) & 31);
    if (lane() < s.step() && first + lane() < s.k) z[(first + lane()) * GROUP] = all + (job.bias ? bias_of(first + lane()) : 0);
  }
}

__device__ inline void outputs(const Spread& s, Row row, Global<float>* z) {
  const i64 biases = job.features * s.k;
  outputs(s, row, z, [&](int c) INLINE { return job.w.load(biases + c); });
}

// Regularizers are those of a step of so many rows. A weight is regularized when its
// column occurs, and by 1/(frequency x rows) more, which is the same in expectation
// (Niu et al. 2011, section 2): w -= l2 w, then the step, then l1 towards zero. Of a step of
// one row that is a single addition; of more, each is a phase of its own for all rows, as
// a column may occur in several.
struct Regularizers {
  float l2, l1;  // times the rate, over the rows

  __device__ bool any() const { return l2 != 0 || l1 != 0; }
  // phases calls f(regularizers, g) for each phase of a step of so many rows; g is what the
  // deltas are to be multiplied by.
  template <class F> __device__ void phases(int rows, float g, const F& f) const {
    const bool apart = rows > 1 && any();
#pragma unroll 1
    for (int phase = apart ? 0 : 1; phase <= (apart ? 2 : 1); phase++)
      f(Regularizers{apart && phase != 0 ? 0 : l2, apart && phase != 2 ? 0 : l1}, phase == 1 ? g : 0);
  }
  // of is what is to be added to a weight w to which plain SGD would add v.
  __device__ float of(float w, float v, u32 column) const {
    const float often = inverse(job.freq[column]);
    v -= __builtin_fminf(1, l2 * often) * w;
    const float most = l1 * often;
    return v - __builtin_fmaxf(-most, __builtin_fminf(most, w + v));
  }
};
