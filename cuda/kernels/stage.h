// stage.h brings the inputs of a layer into shared memory: a tile of rows, where row
// r belongs to one input of the layer and has its values for GROUP samples. A row
// whose values are all zero is left out, so that it costs neither arithmetic nor
// memory traffic: half of an image's pixels at batch 8, and dead hidden units.
//
// Behind the inputs are constants, whose weights lie behind the others' as well: the
// bias's, which is 1, and in a first layer that centres (model.Center) that of s, which
// is -m, with m = mu'x of the row. The gradient of W = V - s mu' on x - mu moves them by
// other values: k, the bias, by |mu|^2 + 1 - m and s by 1. So the outputs are staged with
// the one, the push with the other, and nothing else knows of centring.
//
// A group has S samples: GROUP, or 1 where no step of the launch has more. Then a row is one
// float, and arithmetic is not done on seven that are not there. (Arrays in global memory
// have GROUP floats to a row in both cases.)
//
// The order of rows depends on the data alone, not on timing, so that sums are
// repeatable bit for bit.
#pragma once

#include "dev.h"

constexpr int TILE = 1024;             // rows of inputs; 36 KB with their numbers
constexpr int CONSTANTS = 2;           // rows behind them, at most
constexpr int EACH = TILE / THREADS;   // rows a thread brings

constexpr int ZERO = TILE + CONSTANTS; // a row of zeros, said to be of input 0: see zero_row
#ifdef TENSOR
constexpr int ROWS = ZERO + 30;        // behind the others are zeros up to a whole chunk: see tensor.h
#else
constexpr int ROWS = ZERO + 1;
#endif

__shared__ f4 tile[2 * ROWS];          // row r of GROUP samples: tile[2r], tile[2r+1]
__shared__ __attribute__((aligned(16))) i32 input_of[ROWS];  // which input row r is
__shared__ i32 counts[EACH * WARPS];   // live rows of each warp in each round

// zero_row sets the row that loops work on which take several rows at a time, where there
// are fewer. A barrier follows.
template <int S> __device__ inline void zero_row() {
  if (thread() < S) ((float*)tile)[ZERO * S + thread()] = 0;
  if (thread() == 0) input_of[ZERO] = 0;
}

// Inputs are those of a layer in a step: units, or if that is 0 the job's rows of data.
struct Inputs {
  Global<const float>* units;  // groups x in x GROUP: a hidden layer's outputs
  Global<const i32>* rows;     // the row numbers of the step
  int batch;                   // samples in the step
  int in;

  __device__ int constants() const { return small(job.bias) + (!units && job.center >= 0); }
  __device__ int all() const { return in + constants(); }
  // constant is the value of input in+k for the i-th sample of the step.
  __device__ float constant(int k, int i, bool pushing) const {
    if (i >= batch) return 0;
    if (units) return 1;
    const float m = job.center >= 0 ? job.m[rows[i]] : 0;
    if (k == 1) return pushing ? 1 : -m;
    return pushing ? (float)(job.bias_step + job.norm2) - m : 1;
  }
};

// live_of tells of which rows not all values are zero, as bits. (NaN is not zero.)
template <int E, int S> __device__ inline u32 live_of(const float (&v)[E][S]) {
  u32 live = 0;
#pragma unroll
  for (int e = 0; e < E; e++) {
    bool any = false;
#pragma unroll
    for (int s = 0; s < S; s++) any |= v[e][s] != 0;
    live |= any << e;
  }
  return live;
}

// of_byte is a byte as a float: one instruction, where the compiler would make three.
__device__ inline float of_byte(u32 v) {
  float f;
  asm("cvt.rn.f32.u8 %0, %1;" : "=f"(f) : "r"(v));
  return f;
}

// behind is the address n rows of so many bytes behind another: one instruction, where the
// compiler would widen both numbers first and multiply them in four.
template <class T> __device__ inline Global<T>* behind(Global<T>* p, i32 n, i32 bytes) {
  Global<T>* at;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(at) : "r"(n), "r"(bytes), "l"(p));
  return at;
}

// Share is a thread's part of a slice, or of a part of it: the inputs j, j+THREADS, ...
// below end, for one group, which has count samples, or more.
struct Share {
  int group, count;
  int j, end;

  __device__ int input(int e) const { return j + e * THREADS; }
};

// fetch reads values from rows of floats, and fetch_bytes from rows of bytes, which it
// scales. All loads are on their way before the first is used. row(s) is the number
// of sample s among the rows of data. They return which of the inputs are not zero in all samples, as bits.
template <int E, int S, class Row> __device__ inline u32 fetch(float (&v)[E][S], int in, const Share& my, const Row& row) {
#pragma unroll
  for (int s = 0; s < S; s++) {
    Global<const float>* from = behind(job.x + my.j, row(s), (int)sizeof(float) * in);
#pragma unroll
    for (int e = 0; e < E; e++) v[e][s] = my.input(e) < my.end ? from[e * THREADS] : 0;
  }
  return live_of(v);
}

template <int E, int S, class Row>
__device__ inline u32 fetch_bytes(float (&v)[E][S], int in, const Share& my, const Row& row) {
  u32 raw[E][S], live = 0;
#pragma unroll
  for (int s = 0; s < S; s++) {
    Global<const u8>* from = behind(job.x8 + my.j, row(s), in);
#pragma unroll
    for (int e = 0; e < E; e++) raw[e][s] = my.input(e) < my.end ? from[e * THREADS] : 0;
  }
#pragma unroll
  for (int e = 0; e < E; e++) {
    const int j = small(job.scale_wide) && my.input(e) < my.end ? my.input(e) : 0;
    const float mul = job.mul ? job.mul[j] : 1, add = job.add ? job.add[j] : 0;
    u32 any = 0;
#pragma unroll
    for (int s = 0; s < S; s++) any |= raw[e][s];
    live |= (any != 0 || add != 0) << e;
#pragma unroll
    for (int s = 0; s < S; s++) v[e][s] = of_byte(raw[e][s]) * mul + add;
  }
  return live;
}

// fetch_units reads those of a hidden layer, which lie together.
template <int E, int S> __device__ inline u32 fetch_units(float (&v)[E][S], const Inputs& x, const Share& my) {
  Global<const f4>* from = (Global<const f4>*)x.units + 2 * ((i64)my.group * x.in + my.j);
  f4 raw[E][2];
#pragma unroll
  for (int e = 0; e < E; e++) {
    bool there = my.input(e) < my.end;
#pragma unroll
    for (int h = 0; h < (S + 3) / 4; h++) {
      raw[e][h] = 0;
      if (there) raw[e][h] = from[2 * e * THREADS + h];
    }
  }
#pragma unroll
  for (int e = 0; e < E; e++)
#pragma unroll
    for (int s = 0; s < S; s++) v[e][s] = s < 4 ? raw[e][0][s] : raw[e][1][s - 4];
  return live_of(v);
}

// bring gets the values of a share, wherever they are, and returns which inputs are not
// zero, as bits. For samples that the group does not have it brings those of its first:
// their outputs are looked at by nobody, and their deltas are 0.
template <bool deep, int E, int S, class Row> __device__ inline u32 bring(float (&v)[E][S], const Inputs& x, const Share& my, const Row& row) {
  if (deep && x.units) return fetch_units(v, x, my);
  if (job.x8) return fetch_bytes(v, x.in, my, row);
  return fetch(v, x.in, my, row);
}
template <bool deep, int E, int S> __device__ inline u32 bring(float (&v)[E][S], const Inputs& x, const Share& my) {
  return bring<deep>(v, x, my, [&](int s) INLINE { return x.rows[my.group * GROUP + (s < my.count ? s : 0)]; });
}

// bring_alike is bring for warps all of whose lanes have the same group: each reads the number of one row, for all.
template <bool deep, int E, int S> __device__ inline u32 bring_alike(float (&v)[E][S], const Inputs& x, const Share& my) {
  if constexpr (S == 1) return bring<deep>(v, x, my);
  if (deep && x.units) return fetch_units(v, x, my);
  const int own = thread() & (GROUP - 1);
  const i32 row = x.rows[my.group * GROUP + (own < my.count ? own : 0)];
  i32 rows[S];
#pragma unroll
  for (int s = 0; s < S; s++) rows[s] = __nvvm_shfl_sync_idx_i32(ALL, row, s, 31);
  return bring<false>(v, x, my, [&](int s) INLINE { return rows[s]; });
}

// exclusive is the sum of v over the lanes before this one, and the sum over all. The shuffle says itself which lanes have another
// before them: two instructions a round.
__device__ inline int exclusive(int v, int& total) {
  int sum = v;
#pragma unroll
  for (int m = 1; m < 32; m *= 2)
    asm volatile("{ .reg .s32 other; .reg .pred there; shfl.sync.up.b32 other|there, %0, %1, 0, 0xffffffff; @there add.s32 %0, %0, other; }" : "+r"(sum) : "n"(m));
  total = __nvvm_shfl_sync_idx_i32(ALL, sum, 31, 31);
  return sum - v;
}

struct Row {
  f4 lo, hi;
};

// Plain is how values and the numbers of inputs are kept in the tile: as they are.
struct Plain {
  __device__ static float value(float v) { return v; }
  __device__ static i32 number(int input) { return input; }
  __device__ static void end(int, int) {}
};

// A row of S samples is S floats of the tile.
template <int S, class Form> __device__ inline void put_row(int at, int input, const float (&v)[S], const Form& form) {
  if constexpr (S == GROUP) {
    f4 half[2];
#pragma unroll
    for (int s = 0; s < S; s++) half[s / 4][s % 4] = form.value(v[s]);
    ((Row*)tile)[at] = {half[0], half[1]};
  } else {
    ((float*)tile)[at] = form.value(v[0]);
  }
  input_of[at] = form.number(input);
}

// get_row reads it, and returns its input.
template <int S> __device__ inline int get_row(float (&v)[S], int at) {
  if constexpr (S == GROUP) {
    const Row row = ((const Row*)tile)[at];
#pragma unroll
    for (int s = 0; s < S; s++) v[s] = s < 4 ? row.lo[s] : row.hi[s - 4];
  } else {
    v[0] = ((float*)tile)[at];
  }
  return input_of[at];
}

// count_live makes of the bits of rows that are not zero those of this warp, live[e] among the e-th inputs, and leaves
// how many they are in counts[e*WARPS+w].
__device__ inline void count_live(u32 (&live)[EACH], u32 own, const Share& my) {
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    live[e] = __nvvm_vote_ballot_sync(ALL, own >> e & 1 && my.input(e) < my.end);
    if (lane() == 0) counts[e * WARPS + warp()] = __builtin_popcount(live[e]);
  }
}

// put_live puts those rows one behind the other, behind n that are there, and returns how many it puts.
template <int S, class Form>
__device__ inline int put_live(const float (&v)[EACH][S], const u32 (&live)[EACH], const Share& my, int n, const Form& form) {
  int all, before = n + exclusive(counts[lane()], all);
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int at = __nvvm_shfl_sync_idx_i32(ALL, before, e * WARPS + warp(), 31);
    at += __builtin_popcount(live[e] & ((1u << lane()) - 1));
    if (live[e] >> lane() & 1) put_row(at, my.input(e), v[e], form);
  }
  return all;
}

// put_constants puts those of a group into the tile, from a row on, and returns how many
// there are.
template <int S, class Form> __device__ inline int put_constants(const Inputs& x, int g, bool pushing, int first, const Form& form) {
  const int t = thread();
  if (t < x.constants() * S) ((float*)tile)[first * S + t] = form.value(x.constant(t / S, g * GROUP + t % S, pushing));
  if (t < x.constants()) input_of[first + t] = form.number(x.in + t);
  return x.constants();
}

// stage fills the tile with inputs of one group, of which the first stand behind the
// constants, and returns how many rows it has. They begin with the row first. It is for all threads
// of the CTA, and ends with a barrier. Another is where all have counted: only behind it the tile is changed, which
// some may still work on until they come there. Nothing else does with counts. Without deep there are no units.
template <bool deep, int S, class Form = Plain>
__device__ inline int stage(const Inputs& x, int g, int from, bool compact, bool pushing, int first = 0, const Form& form = {}) {
  static_assert(EACH * WARPS == 32, "put_live takes a lane for each count");
  const int end = from + TILE < x.in ? from + TILE : x.in;
  const Share my = {g, x.batch - g * GROUP, from + thread(), end};
  float v[EACH][S];
  u32 live[EACH];
  const u32 own = bring_alike<deep>(v, x, my);
  if (compact) count_live(live, own, my);
  __syncthreads();
  int n = first + (from == 0 ? put_constants<S>(x, g, pushing, first, form) : 0);
  if (compact) {
    n += put_live(v, live, my, n, form);
  } else {
#pragma unroll
    for (int e = 0; e < EACH; e++)
      if (my.input(e) < end) put_row(n + my.input(e) - from, my.input(e), v[e], form);
    n += end - from;
  }
  form.end(first, n);
  __syncthreads();
  return n - first;
}

// prepare_push makes of a first layer's tile, of one group, what is pushed with. It is
// for all threads, after a barrier, and ends with one.
template <int S, class Form = Plain> __device__ inline void prepare_push(const Inputs& x, const Form& form = {}) {
  if (job.center < 0 && job.bias_step == 1) return;
  put_constants<S>(x, 0, true, 0, form);
  __syncthreads();
}

// Slice is what stage_groups brings: inputs from .. from+rows-1 of the groups first ..
// first+groups-1, a power of two up to 32, where groups*rows <= TILE. The i-th group's
// rows begin at i*rows.
struct Slice {
  int first, groups;
  int from, rows;
};

// stage_groups fills the tile with inputs of several groups, for the push, and returns how many rows
// each has: all of them, as a row that is zero in one group may not be in another.
template <bool deep> __device__ inline int stage_groups(const Inputs& x, const Slice& part) {
  const int t = thread(), team = THREADS / part.groups, g = t / team, group = part.first + g;
  const int end = part.from + part.rows < x.all() ? part.from + part.rows : x.all();
  __syncthreads();
#pragma unroll 1
  for (int j = part.from + t % team; j < end && group * GROUP < x.batch; j += team) {
    float v[1][GROUP];
    if (j < x.in) {
      bring<deep>(v, x, {group, x.batch - group * GROUP, j, x.in});
    } else {
#pragma unroll
      for (int s = 0; s < GROUP; s++) v[0][s] = x.constant(j - x.in, group * GROUP + s, true);
    }
    put_row(g * part.rows + j - part.from, j, v[0], Plain());
  }
  __syncthreads();
  return end - part.from;
}
