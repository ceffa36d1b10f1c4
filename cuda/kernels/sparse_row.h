// sparse_row.h is a step of plain SGD of one row, with one output, by a warp.
//
// All that a row needs but its entries is worked out for the rows of a ticket at once, a
// lane each: heads, learning rates, whether the step is a sample, and, when all have been
// trained, their losses. The entries of a row are fetched while the one before it is
// worked on, and stay in registers from the dot product to the push; behind the first 96
// they are read a second time.
#pragma once

#include "sparse_entries.h"

// Single is a warp that takes such steps.
template <Way way> struct Single {
  Places<way> m;
  Row row;
  Entries<way> e;

  // output is that of the row, of which e has the first entries.
  __device__ float output() {
    e.gather(m);
    float sum = e.dot();
#pragma unroll 1
    for (int n = CHUNK; n < row.count; n += CHUNK) {
      Entries<way> more;
      more.read(m, row, n);
      more.gather(m);
      sum += more.dot();
    }
    return sum_lanes(sum);
  }

  __device__ void push(float g, const Regularizers& regularizers) {
    e.push(m, g, regularizers);
#pragma unroll 1
    for (int n = CHUNK; n < row.count; n += CHUNK) {
      Entries<way> more;
      more.read(m, row, n);
      if (m.looks()) more.gather(m);
      more.push(m, g, regularizers);
    }
  }

  // ticket takes steps first .. first+n-1, at most 32, whose rows are as many from position on.
  __device__ void ticket(u32 first, int n, int position) {
    Heads heads;
    heads.read(position, position + n);
    const bool any = m.lane < n;
    const float lr = any ? job.lr[first + m.lane] : 0;
    const u32 apart = __nvvm_vote_ballot_sync(ALL, any && (sampled<Warp>(first + m.lane) || job.discipline != FREE));
    float own = 0, loss = 0;  // of the lane's row: its output, its loss
    Row next = heads.row(position);
    Entries<way> ahead;
    ahead.read(m, next, 0);
#pragma unroll 1
    for (int r = 0; r < n; r++) {
      const bool special = apart >> r & 1;
      e = ahead, row = next;
      next = heads.row(position + r + 1);  // behind the last: of no use, but a row
      ahead.read(m, next, 0);
      if (special) reads(Warp(), first + r, [&](u32 v) INLINE { return a_weight(row, v, column_of); });
      const float bias = read_bias(m), z = bias + output();
      if (m.lane == r) own = z;
      const float g = from_lane(-lr * delta_of(m.loss, z, heads.y, 1, loss), r);
      const float rate = m.regularizes() ? from_lane(lr, r) : 0;
      if (special) writes(Warp(), first + r);
      if (g != 0 || m.regularizes()) push(g, {rate * m.l2, rate * m.l1});
      push_bias(m, bias, g * m.bias_step);
      if (special) wrote(Warp(), first + r, 0);
      if (m.slots) local_step<slots_of(way)>();
    }
    delta_of(m.loss, own, heads.y, 1, loss);
    if (any) job.loss[first + m.lane] = loss;
  }
};
