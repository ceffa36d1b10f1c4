// stage.h brings the inputs of a layer into shared memory: a tile of rows, where row
// r belongs to one input of the layer and has its values for GROUP samples. A row
// whose values are all zero is left out, so that it costs neither arithmetic nor
// memory traffic: half of an image's pixels at batch 8, and dead hidden units. The
// layer's bias is one more input, behind the others, whose value is always 1; its
// weights lie behind the others' as well.
//
// The order of rows depends on the data alone, not on timing, so that sums are
// repeatable bit for bit.
#pragma once

#include "dev.h"

constexpr int TILE = 1024;             // rows; 36 KB with their numbers
constexpr int EACH = TILE / THREADS;   // rows a thread brings

__shared__ f4 tile[2 * TILE];          // row r: tile[2r], tile[2r+1]
__shared__ i32 input_of[TILE];         // which input row r is
__shared__ i32 counts[EACH * WARPS];   // live rows of each warp in each round

// Inputs are those of a layer in a step: units, or if that is 0 the job's rows of data.
struct Inputs {
  Global<const float>* units;  // groups x in x GROUP: a hidden layer's outputs
  Global<const i32>* rows;     // the row numbers of the step
  int batch;                   // samples in the step
  int in;

  __device__ int all() const { return in + small(job.bias); }
};

// Share is a thread's part of a slice, or of a part of it: the inputs j, j+THREADS, ...
// below end, for one group, which has count samples, or more.
struct Share {
  int group, count;
  int j, end;

  __device__ int input(int e) const { return j + e * THREADS; }
};

// fetch reads values from rows of data. All loads are on their way before the first is
// used. at(s) is where sample s begins.
template <int E, class T, class At>
__device__ inline void fetch(float (&v)[E][GROUP], Global<const T>* base, const Inputs& x, const Share& my, const At& at) {
  T raw[E][GROUP];
  Global<const T>* from[GROUP];
#pragma unroll
  for (int s = 0; s < GROUP; s++) from[s] = base + at(s < my.count ? s : 0) + my.j;
#pragma unroll
  for (int e = 0; e < E; e++) {
#pragma unroll
    for (int s = 0; s < GROUP; s++) raw[e][s] = 0;
    if (my.input(e) >= my.end || my.input(e) >= x.in) continue;
#pragma unroll
    for (int s = 0; s < GROUP; s++) raw[e][s] = from[s][e * THREADS];
  }
#pragma unroll
  for (int e = 0; e < E; e++)
#pragma unroll
    for (int s = 0; s < GROUP; s++) v[e][s] = (float)raw[e][s];
}

// fetch_bytes scales them.
template <int E, class At>
__device__ inline void fetch_bytes(float (&v)[E][GROUP], const Inputs& x, const Share& my, const At& at) {
  fetch(v, job.x8, x, my, at);
#pragma unroll
  for (int e = 0; e < E; e++) {
    int j = small(job.scale_wide) && my.input(e) < x.in ? my.input(e) : 0;
    float mul = job.mul ? job.mul[j] : 1, add = job.add ? job.add[j] : 0;
#pragma unroll
    for (int s = 0; s < GROUP; s++) v[e][s] = v[e][s] * mul + add;
  }
}

// fetch_units reads those of a hidden layer, which lie together.
template <int E> __device__ inline void fetch_units(float (&v)[E][GROUP], const Inputs& x, const Share& my) {
  Global<const f4>* from = (Global<const f4>*)x.units + 2 * ((i64)my.group * x.in + my.j);
  f4 raw[E][2];
#pragma unroll
  for (int e = 0; e < E; e++) {
    bool there = my.input(e) < my.end && my.input(e) < x.in;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      raw[e][h] = 0;
      if (there) raw[e][h] = from[2 * e * THREADS + h];
    }
  }
#pragma unroll
  for (int e = 0; e < E; e++)
#pragma unroll
    for (int s = 0; s < GROUP; s++) v[e][s] = s < 4 ? raw[e][0][s] : raw[e][1][s - 4];
}

// bring gets the values of a share, wherever they are; those of the bias are 1, and
// those of samples that the group does not have are 0.
template <bool deep, int E> __device__ inline void bring(float (&v)[E][GROUP], const Inputs& x, const Share& my) {
  auto sample = [&](int s) INLINE { return (i64)x.rows[my.group * GROUP + s] * x.in; };
  if (deep && x.units) {
    fetch_units(v, x, my);
  } else if (job.x8) {
    fetch_bytes(v, x, my, sample);
  } else {
    fetch(v, job.x, x, my, sample);
  }
#pragma unroll
  for (int e = 0; e < E; e++)
#pragma unroll
    for (int s = 0; s < GROUP; s++) v[e][s] = s >= my.count ? 0 : my.input(e) == x.in ? 1 : v[e][s];
}

// exclusive is the sum of v over the lanes before this one, and the sum over all.
__device__ inline int exclusive(int v, int& total) {
  int before = 0;
  total = v;
#pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    int other = swap(total, m);
    if (lane() & m) before += other;
    total += other;
  }
  return before;
}

__device__ inline void put_row(int at, int input, const float (&v)[GROUP]) {
  tile[2 * at] = f4{v[0], v[1], v[2], v[3]};
  tile[2 * at + 1] = f4{v[4], v[5], v[6], v[7]};
  input_of[at] = input;
}

// put_live puts the rows that are not zero one behind the other, and returns how many
// there are. counts[e*WARPS+w] are those of warp w among the e-th inputs.
__device__ inline int put_live(const float (&v)[EACH][GROUP], const Share& my) {
  u32 live[EACH];
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    bool any = false;
#pragma unroll
    for (int s = 0; s < GROUP; s++) any |= v[e][s] != 0;
    live[e] = __nvvm_vote_ballot_sync(ALL, any && my.input(e) < my.end);
    if (lane() == 0) counts[e * WARPS + warp()] = __builtin_popcount(live[e]);
  }
  __syncthreads();
  int n, before = exclusive(counts[lane()], n);
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int at = __nvvm_shfl_sync_idx_i32(ALL, before, e * WARPS + warp(), 31);
    at += __builtin_popcount(live[e] & ((1u << lane()) - 1));
    if (live[e] >> lane() & 1) put_row(at, my.input(e), v[e]);
  }
  return n;
}

// stage fills the tile with inputs of one group, and returns how many rows it has. It is
// for all threads of the CTA, and begins and ends with a barrier. Without deep there are
// no units.
template <bool deep> __device__ inline int stage(const Inputs& x, int g, int from, bool compact) {
  static_assert(EACH * WARPS == 32, "put_live takes a lane for each count");
  const int end = from + TILE < x.all() ? from + TILE : x.all();
  const Share my = {g, x.batch - g * GROUP, from + thread(), end};
  float v[EACH][GROUP];
  bring<deep>(v, x, my);
  __syncthreads();  // nobody needs the last tile any more
  int n = end - from;
  if (compact) {
    n = put_live(v, my);
  } else {
#pragma unroll
    for (int e = 0; e < EACH; e++)
      if (my.input(e) < end) put_row(my.input(e) - from, my.input(e), v[e]);
  }
  __syncthreads();
  return n;
}

// Slice is what stage_groups brings: inputs from .. from+rows-1 of the groups first ..
// first+groups-1, a power of two up to 32, where groups*rows <= TILE. The i-th group's
// rows begin at i*rows.
struct Slice {
  int first, groups;
  int from, rows;
};

// stage_groups fills the tile with inputs of several groups, and returns how many rows
// each has: all of them, as a row that is zero in one group may not be in another.
template <bool deep> __device__ inline int stage_groups(const Inputs& x, const Slice& part) {
  const int t = thread(), team = THREADS / part.groups, g = t / team, group = part.first + g;
  const int end = part.from + part.rows < x.all() ? part.from + part.rows : x.all();
  __syncthreads();
#pragma unroll 1
  for (int j = part.from + t % team; j < end && group * GROUP < x.batch; j += team) {
    float v[1][GROUP];
    bring<deep>(v, x, {group, x.batch - group * GROUP, j, end});
    put_row(g * part.rows + j - part.from, j, v[0]);
  }
  __syncthreads();
  return end - part.from;
}
