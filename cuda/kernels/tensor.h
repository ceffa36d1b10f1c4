// tensor.h is the products of a dense layer on tensor cores, for a step of one group: forward,
// the way back, and the push of plain SGD. A product of m16n8k8 takes operands in tf32, floats
// with 11 bits of their 24, and sums in fp32; each operand is rounded to nearest on the way from memory
// to the product, so that weights, outputs and sums are floats as everywhere.
//
// A warp has a strip of 32 outputs, and of the tile's rows every parts-th chunk. Of a product lane
// 4g+t has the rows t and t+4 of what is multiplied, and of the sums the columns 2t and 2t+1.
// Which output of the strip is which row or column of a product is free. Where an even number of
// outputs lets pairs of weights be aligned, a lane has two neighbours at a time; else neighbouring lanes have them.
#pragma once

#include "back.h"
#include "mma.h"

constexpr int STRIP = 32;

__shared__ int widest;  // layer of the model

// paired tells whether all rows of a layer's weights begin at a multiple of 8 bytes, as the weights do.
__device__ inline bool paired(const Layer& l) { return (l.out | (int)l.at) % 2 == 0; }

// Strip is a warp's: outputs first .. first+count-1 of the layer, and its part of the rows.
struct Strip {
  int strips, own;  // of this piece of the outputs, and the warp's
  int parts, part;  // part >= parts: none
  int first, count;

  __device__ Strip(const Layer& l, int from) {
    const int left = (l.out - from + STRIP - 1) / STRIP;
    strips = left < WARPS ? left : WARPS, parts = quotient(WARPS, strips);
    part = quotient(warp(), strips), own = warp() - part * strips;
    first = from + own * STRIP, count = l.out - first < STRIP ? l.out - first : STRIP;
  }
  __device__ bool idle() const { return part >= parts; }
};

// output is the j-th of a lane's four in its strip: of pairs, two of each half. apart is how far it is from the first.
template <bool pairs> __device__ constexpr int apart(int j) { return pairs ? 16 * (j / 2) + j % 2 : 8 * j; }
template <bool pairs> __device__ inline int output(int j) { return (pairs ? 2 : 1) * Lane().g + apart<pairs>(j); }

// load_four loads a row's weights of a lane's outputs: of a strip that is not whole those of the count that are there, and others
// again. at is the lane's first in row 0 and strip the strip's.
template <bool pairs, bool whole> __device__ inline f4 load_four(Global<float>* at, int input, int bytes, int count) {
  constexpr int STEP = pairs ? 2 : 1;
  const Weights from = {behind(at, input, bytes)};
  f4 v;
#pragma unroll
  for (int j = 0; j < 4; j += STEP) {
    const int there = whole || output<pairs>(j) < count ? apart<pairs>(j) : -output<pairs>(0);
    if constexpr (pairs) j == 0 ? v.lo = from.load2(there) : v.hi = from.load2(there);
    else v[j] = from.load(there);
  }
  return v;
}

constexpr int CHUNK = 32;  // rows whose weights are on their way at a time

// gather_rows is gather with products, for a chunk of rows: sum[i] has the outputs 2i and 2i+1 of a lane. x and input are those of
// the first. If not all are whole, there are n rows and count outputs.
template <bool pairs, bool whole>
__device__ inline void gather_rows(Product (&sum)[2], Global<float>* at, int bytes, const float* x, const i32* input, int n, int count) {
  const auto [g, t] = Lane();
  f4 v[CHUNK / 4];
#pragma unroll
  for (int k = 0; k < CHUNK / 4; k++) v[k] = load_four<pairs, whole>(at, input[whole || 4 * k + t < n ? 4 * k + t : 0], bytes, count);
#pragma unroll
  for (int k = 0; k < CHUNK / 4; k += 2) {
    u32 b[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int row = 4 * (k + h) + t;
      b[h] = tf32(whole || row < n ? x[row * GROUP + g] : 0);
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
      sum[i].add(tf32(v[k][2 * i]), tf32(v[k][2 * i + 1]), tf32(v[k + 1][2 * i]), tf32(v[k + 1][2 * i + 1]), b[0], b[1]);
  }
}

// gather_strip is that for all rows of a warp's part, of n from the row first on.
template <bool pairs> __device__ inline void gather_strip(Product (&sum)[2], const Layer& l, const Strip& c, int first, int n) {
  if (c.idle()) return;
  Global<float>* at = job.w.at + l.at + c.first + output<pairs>(0);
  const float* x = (float*)tile + (first + CHUNK * c.part) * GROUP;
  const i32* input = input_of + first + CHUNK * c.part;
  int left = n - CHUNK * c.part;
#pragma unroll 1
  for (; c.count == STRIP && left >= CHUNK; left -= CHUNK * c.parts, x += CHUNK * c.parts * GROUP, input += CHUNK * c.parts)
    gather_rows<pairs, true>(sum, at, 4 * l.out, x, input, CHUNK, STRIP);
#pragma unroll 1
  for (; left > 0; left -= CHUNK * c.parts, x += CHUNK * c.parts * GROUP, input += CHUNK * c.parts)
    gather_rows<pairs, false>(sum, at, 4 * l.out, x, input, left, c.count);
}

// SPARED is how many rows of the tile stay as they are behind collect_tiles.
constexpr int SPARED = ZERO - WARPS * STRIP;

// collect_tiles is collect, of a tile that ends with row n. In between a strip's outputs lie by j, so that no two lanes meet in a bank.
template <bool pairs, class Put> __device__ inline void collect_tiles(const Product (&sum)[2], const Layer& l, const Strip& c, int from, int n, const Put& put) {
  const auto [g, t] = Lane();
  float* partial = (float*)tile + SPARED * GROUP;
  float* own = partial + warp() * STRIP * GROUP;
  if (n > SPARED) __syncthreads();  // all threads have read the rows that are lost
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int h = 0; h < 2; h++) own[(8 * j + g) * GROUP + 2 * t + h] = sum[j / 2].sum[j % 2 * 2 + h];
  __syncthreads();
  const u32 all = c.strips * STRIP * GROUP;
#pragma unroll 1
  for (u32 i = thread(); i < all; i += THREADS) {
    const u32 r = i / GROUP % STRIP, o = from + i / (STRIP * GROUP) * STRIP + (pairs ? r / 16 * 16 + r % 8 * 2 + r / 8 % 2 : r);
    float total = 0;
    const float* end = partial + c.parts * all;
#pragma unroll 1
    for (const float* p = partial + i; p < end; p += all) total += *p;
    if (o < (u32)l.out) put(o, i % GROUP, total);
  }
  __syncthreads();
}

// forward_tiles is forward, with tiles that begin with the row first: for all threads, after a barrier, and with one at its
// end. It returns how many rows the last tile has.
template <class Put> __device__ inline int forward_tiles(const Layer& l, const Inputs& x, int first, const Put& put) {
  int n = 0;
  const bool pairs = paired(l);
#pragma unroll 1
  for (int from = 0; from < l.out; from += WARPS * STRIP) {
#pragma unroll 1
    for (int j = 0; j < x.in; j += TILE) {
      n = stage<true, GROUP>(x, 0, j, true, false, first);
      const Strip c(l, from);
      Product sum[2];
      auto add = [&](int o, int s, float v) INLINE { put(o, s, v, j == 0, j + TILE >= x.in); };
      if (pairs) gather_strip<true>(sum, l, c, first, n), collect_tiles<true>(sum, l, c, from, first + n, add);
      else gather_strip<false>(sum, l, c, first, n), collect_tiles<false>(sum, l, c, from, first + n, add);
    }
  }
  return n;
}

// Deltas are a strip's, scaled to what is added: of a lane those of its outputs, of the samples 2t and 2t+1. read(o, s) has
// those of output o and the samples s and s+1.
struct Deltas {
  u32 of[4][2];
  u32 live;  // lanes that have one which is not zero

  template <bool pairs, class Read> __device__ void get(const Strip& c, const Read& read) {
    bool some = false;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      f2 v = 0;
      if (output<pairs>(j) < c.count) v = read(c.first + output<pairs>(j), 2 * Lane().t);
      some |= v.x != 0 || v.y != 0;
      of[j][0] = tf32(v.x * optimizer.scale), of[j][1] = tf32(v.y * optimizer.scale);
    }
    live = c.idle() ? 0 : __nvvm_vote_ballot_sync(ALL, some);
  }
};

// push_rows adds the products of deltas and of eight rows of the tile: x and input are those of the first. The rows of a product
// are outputs, and its columns rows of the tile, so that neighbouring lanes add to neighbouring weights. If not all are whole,
// there are n rows and count outputs.
template <bool pairs, bool whole> __device__ inline void push_rows(const Deltas& d, Global<float>* at, int bytes, const float* x, const i32* input, int n, int count) {
  const auto [g, t] = Lane();
  if (!whole && g >= n) x += (n - 1 - g) * GROUP;
  const u32 lo = tf32(x[g * GROUP + 2 * t]), hi = tf32(x[g * GROUP + 2 * t + 1]);
  Product step[2];
#pragma unroll
  for (int i = 0; i < 2; i++) step[i].add(d.of[2 * i][0], d.of[2 * i + 1][0], d.of[2 * i][1], d.of[2 * i + 1][1], lo, hi);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 2 * t + h;
    const Weights to = {behind(at, input[whole || row < n ? row : 0], bytes)};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float v = step[j / 2].sum[j % 2 * 2 + h];
      if (pairs && j % 2) continue;
      if (!whole && (row >= n || output<pairs>(j) >= count)) continue;
      if constexpr (pairs) to.add2(apart<pairs>(j), {v, step[j / 2].sum[2 + h]});
      else to.add(apart<pairs>(j), v);
    }
  }
}

// push_strip pushes a warp's strip and part of the tile's n rows.
template <bool pairs, class Read> __device__ inline void push_strip(const Layer& l, const Strip& c, int n, const Read& read) {
  constexpr int TURN = 16;  // rows at a time
  Deltas d;
  d.get<pairs>(c, read);
  if (!d.live) return;
  Global<float>* at = job.out.at + l.at + c.first + output<pairs>(0);
  const float* x = (float*)tile + TURN * c.part * GROUP;
  const i32* input = input_of + TURN * c.part;
  int left = n - TURN * c.part;
#pragma unroll 1
  for (; c.count == STRIP && left >= TURN; left -= TURN * c.parts, x += TURN * c.parts * GROUP, input += TURN * c.parts)
#pragma unroll
    for (int r = 0; r < TURN; r += 8) push_rows<pairs, true>(d, at, 4 * l.out, x + r * GROUP, input + r, 8, STRIP);
#pragma unroll 1
  for (; left > 0; left -= TURN * c.parts, x += TURN * c.parts * GROUP, input += TURN * c.parts)
#pragma unroll 1
    for (int r = 0; r < TURN && r < left; r += 8) push_rows<pairs, false>(d, at, 4 * l.out, x + r * GROUP, input + r, left - r, c.count);
}

// push_tiles is push, after a barrier. If held is not 0, the tile is there already, and has that many rows.
template <class Read> __device__ inline void push_tiles(const Layer& l, const Inputs& x, int held, const Read& read) {
  const bool pairs = VECTORS && paired(l);
#pragma unroll 1
  for (int from = 0; from < l.out; from += WARPS * STRIP) {
    const Strip c(l, from);
#pragma unroll 1
    for (int j = 0; j < x.in; j += TILE) {
      if (j + from > 0) __syncthreads();  // nobody needs the last tile any more
      const int n = held ? held : stage<true, GROUP>(x, 0, j, true, true);
      if (pairs) push_strip<VECTORS>(l, c, n, read);
      else push_strip<false>(l, c, n, read);
    }
  }
}

// read_widest sets it. A barrier follows.
__device__ inline void read_widest() {
  if (thread() != 0) return;
  widest = small(job.outputs);
#pragma unroll 1
  for (int l = 0; l + 1 < small(job.layers); l++)
    if (job.width[l] > widest) widest = small(job.width[l]);
}

// holds tells whether the first n rows of the tile can stay, while other layers have theirs behind them.
__device__ inline bool holds(const Layer& l, int n) { return l.in <= TILE && l.out <= WARPS * STRIP && n <= SPARED && n + widest + STRIP <= TILE; }

constexpr int PADDED = STRIP;  // outputs that back_strip takes at a time: there are deltas of zero behind the last

// back_strip is a warp's part of back: 16 inputs from first on, and the outputs of the tile, n of them from from on.
template <bool pairs> __device__ inline Product back_strip(const Layer& l, const float* deltas, int first, int from, int n) {
  const auto [g, t] = Lane();
  Product sum;
  const Weights w[2] = {{job.w.at + l.at + (i64)(first + g < l.in ? first + g : 0) * l.out + from},
                        {job.w.at + l.at + (i64)(first + g + 8 < l.in ? first + g + 8 : 0) * l.out + from}};
#pragma unroll 1
  for (int base = 0; base < n; base += PADDED) {
    f4 v[PADDED / 16][2];
#pragma unroll
    for (int k = 0; k < PADDED / 16; k++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
#pragma unroll
        for (int i = 0; i < (pairs ? 2 : 4); i++) {
          const int o = base + 16 * k + (pairs ? 8 * i + 2 * t : 4 * i + t), at = o < n ? o : 0;
          if constexpr (pairs) i == 0 ? v[k][h].lo = w[h].load2(at) : v[k][h].hi = w[h].load2(at);
          else v[k][h][i] = w[h].load(at);
        }
      }
#pragma unroll
    for (int k = 0; k < PADDED / 16; k++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const float* d = deltas + (base + 16 * k + 8 * i + t) * GROUP + g;
        sum.add(tf32(v[k][0][2 * i]), tf32(v[k][1][2 * i]), tf32(v[k][0][2 * i + 1]), tf32(v[k][1][2 * i + 1]), tf32(d[0]), tf32(d[4 * GROUP]));
      }
  }
  return sum;
}

// back_tiles is back, for all threads, after a barrier and with one at its end; its tile begins with the row own. Of eight outputs the tile has the even ones first, if they are read by pairs.
__device__ inline void back_tiles(const Layer& l, int own, Global<const float>* d, Global<const float>* units, Global<float>* before) {
  const bool pairs = paired(l);
#pragma unroll 1
  for (int from = 0; from < l.out; from += TILE) {
    const int n = l.out - from < TILE ? l.out - from : TILE, padded = (n + PADDED - 1) / PADDED * PADDED;
#pragma unroll 1
    for (int i = thread(); i < 2 * padded; i += THREADS) {
      const int o = i / 2, at = pairs ? o / 8 * 8 + o % 2 * 4 + o / 2 % 4 : o;
      f4 v = 0;
      if (o < n) v = ((Global<const f4>*)d)[2 * from + i];
      tile[2 * (own + at) + i % 2] = v;
    }
    __syncthreads();
#pragma unroll 1
    for (int first = 16 * warp(); first < l.in; first += 16 * WARPS) {
      const float* deltas = (float*)tile + own * GROUP;
      const Product sum = pairs ? back_strip<true>(l, deltas, first, from, n) : back_strip<false>(l, deltas, first, from, n);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int i = first + Lane().g + 8 * (k / 2);
        if (i >= l.in) continue;
        const i64 to = (i64)i * GROUP + 2 * Lane().t + k % 2;
        float v = sum.sum[k];
        if (from > 0) v += before[to];
        before[to] = from + n == l.out && units[to] <= 0 ? 0 : v;
      }
    }
    __syncthreads();
  }
}
