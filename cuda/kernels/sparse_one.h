// sparse_one.h is a step of plain SGD of several rows, with one output, by a warp.
//
// The first 96 entries of a row are fetched while the one before it is worked on, and read
// a second time for the push, when the deltas of all rows are there.
#pragma once

#include "sparse_entries.h"

// One is a warp that takes steps.
template <Way way> struct One {
  Places<way> m;
  Heads heads;
  Row next;  // that of ahead
  Entries<way> ahead;
  Global<float>* deltas;  // room for those of a step of more than 32 rows
  int last;               // where the ticket's rows end

  __device__ void begin(int first, int end) {
    last = end;
    heads.read(first, end);
    next = heads.row(first);
    ahead.read(m, next, 0);
  }

  // output is that of the row at p.
  __device__ float output(int p) {
    if (!heads.has(p)) begin(p, last);
    Entries<way> e = ahead;
    const Row row = next;
    next = heads.row(p + 1);  // behind the 32nd it is the first again: it is read anew there
    ahead.read(m, next, 0);
    e.gather(m);
    float sum = e.dot();
#pragma unroll 1
    for (int n = CHUNK; n < row.count; n += CHUNK) {
      e.read(m, row, n);
      e.gather(m);
      sum += e.dot();
    }
    return sum_lanes(sum);
  }

  // push takes the step of the row at p.
  __device__ void push(int p, float g, const Regularizers& regularizers) {
    const Row row = heads.row(p);
    const bool look = m.looks();
    if (look) Warp::sync();  // the row before has been pushed by all lanes
#pragma unroll 1
    for (int n = 0; n < row.count; n += CHUNK) {
      Entries<way> e;
      e.read(m, row, n);
      if (look) e.gather(m);
      e.push(m, g, regularizers);
    }
  }

  // step takes step i, whose rows are those at from .. to-1.
  __device__ void step(u32 i, int from, int to) {
    const int rows = to - from;
    const float lr = job.lr[i], mean = inverse((float)rows);
    const Regularizers regularizers = {lr * m.l2 * mean, lr * m.l1 * mean};
    float z = 0, delta = 0, sum = 0, loss = 0;
    reads(Warp(), i, [&](u32 r) INLINE { return a_weight(row_at(from), r, column_of); });
    const float bias = read_bias(m);
#pragma unroll 1
    for (int p = from; p < to; p++) {
      const float one = bias + output(p);
      const int l = p - heads.base;
      if (m.lane == l) z = one;
      if (l != 31 && p + 1 != to) continue;
      const int own = heads.base + m.lane;
      float its = 0;
      delta = delta_of(m.loss, z, heads.y, mean, its);
      if (own < from || own > p) continue;
      sum += delta, loss += its;
      if (rows > 32) deltas[own - from] = delta;
    }
    writes(Warp(), i);
    if (rows > 32) Warp::sync();  // all deltas are there
    regularizers.phases(rows, -lr, [&](const Regularizers& now, float g) INLINE {
#pragma unroll 1
      for (int p = from; p < to; p++) {
        if (!heads.has(p)) heads.read(p, last);
        const float d = rows > 32 ? deltas[p - from] : from_lane(delta, p - heads.base);
        if (g * d != 0 || now.any()) push(p, g * d, now);
      }
    });
    sum = sum_lanes(sum), loss = sum_lanes(loss);
    push_bias(m, bias, -lr * m.bias_step * sum);
    if (m.lane == 0) job.loss[i] = loss;
    wrote(Warp(), i, 0);
    if (m.slots) local_step<slots_of(way)>();
  }
};
