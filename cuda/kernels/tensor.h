// tensor.h is the products of a dense layer on tensor cores, for a step of one group: forward,
// the way back, and the push of plain SGD. A product of m16n8k8 takes operands in tf32, floats
// with 11 bits of their 24, and sums in fp32; each operand is rounded to nearest on the way to
// the product, so that weights, outputs and sums are floats as everywhere. What many warps read
// of a tile is rounded when it is put there.
//
// A warp has a strip of outputs, and of the tile's rows every parts-th chunk. Of a product lane
// 4g+t has the rows t and t+4 of what is multiplied, and of the sums the columns 2t and 2t+1.
// Which output of the strip is which row or column of a product is free. A lane has J of them: as
// many neighbours at a time, V, as there are in an aligned vector, and if that is one, neighbouring lanes have them.
#pragma once

#include "back.h"
#include "mma.h"

__shared__ int widest;  // layer of the model

constexpr int CHUNK = 32;  // rows whose weights are on their way at a time

// whole is n rows up to whole chunks.
__device__ inline int whole(int n) { return (n + CHUNK - 1) & -CHUNK; }

// Rounded is how a tile for products is kept: rounded, with the places of the inputs' weights in the layer in
// place of their numbers, and behind its rows others of zeros, so that loops take whole chunks.
struct Rounded {
  u32 out;  // of the layer

  __device__ static float value(float v) { return rounded(v); }
  __device__ i32 number(int input) const { return (u32)input * out; }
  __device__ static void end(int first, int n) {
    if (thread() >= ((first - n) & (CHUNK - 1))) return;
    tile[2 * (n + thread())] = tile[2 * (n + thread()) + 1] = 0;
    input_of[n + thread()] = 0;
  }
};

// aligned tells whether all rows of a layer's weights begin at a multiple of V floats.
template <int V> __device__ inline bool aligned(const Layer& l) { return (l.out | (int)l.at) % V == 0; }

// WIDTH is how many outputs a strip has, where lanes have J.
template <int J> constexpr int WIDTH = 8 * J;
__device__ inline bool wide(const Layer& l) { return l.out > WIDTH<2>; }

// Strip is a warp's: outputs first .. first+count-1 of the layer, and its part of the rows.
template <int V, int J> struct Strip {
  int strips, own;  // of this piece of the outputs, and the warp's
  int parts, part;  // part >= parts: none
  int first, count;

  __device__ Strip(const Layer& l, int from) {
    const int left = (u32)(l.out - from + WIDTH<J> - 1) / WIDTH<J>;
    strips = left < WARPS ? left : WARPS, parts = quotient(WARPS, strips);
    part = quotient(warp(), strips), own = warp() - part * strips;
    first = from + own * WIDTH<J>, count = l.out - first < WIDTH<J> ? l.out - first : WIDTH<J>;
  }
  // rest is how many of n rows are left to this warp, which has every parts-th turn of so many.
  __device__ int rest(int n, int turn) const { return part < parts ? n - turn * part : 0; }
  // output is the j-th of lanes with that g, and apart how far it is from their first.
  __device__ static int apart(int j) { return j / V * 8 * V + j % V; }
  __device__ static int output(int g, int j) { return V * g + apart(j); }
  // there tells whether the strip has the j-th of this lane; a lane without takes the strip's first for it, or its own first.
  __device__ bool there(int j) const { return output(Lane().g, j) < count; }
  __device__ int begin() const { return first + (there(0) ? V * Lane().g : 0); }
  __device__ int behind(int j) const { return there(j) ? apart(j) : j % V; }
};

// gather_strip is gather with products, for a warp's part of the tile's n rows from the row first on: sum[i] has the outputs 2i and
// 2i+1 of a lane. All: the strip is whole.
template <bool all, int V, int J> __device__ inline void gather_strip(Product (&sum)[J / 2], const Layer& l, const Strip<V, J>& c, int first, int n) {
  const auto [g, t] = Lane();
  Global<float>* at = job.w.at + l.at + c.begin();
  u32 row = first + CHUNK * c.part + t;
#pragma unroll 1
  for (int left = c.rest(n, CHUNK); left > 0; left -= CHUNK * c.parts, row += CHUNK * c.parts) {
    const u32* x = (u32*)tile + row * GROUP + g;
    const u32* place = (u32*)input_of + row;
    float w[CHUNK / 4][J];
#pragma unroll
    for (int k = 0; k < CHUNK / 4; k++) {
      const Weights from = {at + place[4 * k]};
#pragma unroll
      for (int j = 0; j < J; j += V)
        if constexpr (V == 2) {
          const f2 v = from.load2(all ? c.apart(j) : c.behind(j));
          w[k][j] = v.x, w[k][j + 1] = v.y;
        } else {
          w[k][j] = from.load(all ? c.apart(j) : c.behind(j));
        }
    }
#pragma unroll
    for (int k = 0; k < CHUNK / 4; k += 2)
#pragma unroll
      for (int i = 0; i < J / 2; i++)
        sum[i].add(tf32(w[k][2 * i]), tf32(w[k][2 * i + 1]), tf32(w[k + 1][2 * i]), tf32(w[k + 1][2 * i + 1]), x[4 * k * GROUP], x[4 * (k + 1) * GROUP]);
  }
}

// SPARED is how many rows of the tile stay as they are behind collect_tiles.
constexpr int SPARED = ZERO - WARPS * WIDTH<4>;

// collect_tiles is collect, of the tile's n rows from the row first on: put(o, s, sums) has those of output o and the samples s and
// s+1. In between a strip's outputs lie by j, so that no two lanes meet in a bank.
template <int V, int J, class Put>
__device__ inline void collect_tiles(const Product (&sum)[J / 2], const Layer& l, const Strip<V, J>& c, int from, int first, int n, const Put& put) {
  const auto [g, t] = Lane();
  const int chunks = (u32)whole(n) / CHUNK, used = chunks < c.parts ? chunks : c.parts;  // parts that have rows
  f2* partial = (f2*)tile + SPARED * GROUP / 2;
  f2* own = partial + warp() * WIDTH<J> * GROUP / 2;
  if (first + whole(n) > SPARED) __syncthreads();  // all threads have read the rows that are lost
  if (c.part < used)
#pragma unroll
    for (int j = 0; j < J; j++) own[(8 * j + g) * GROUP / 2 + t] = {sum[j / 2].sum[j % 2 * 2], sum[j / 2].sum[j % 2 * 2 + 1]};
  __syncthreads();
  const u32 all = c.strips * WIDTH<J> * GROUP / 2;
#pragma unroll 1
  for (u32 i = thread(); i < all; i += THREADS) {
    const u32 row = i / 4, o = from + row / WIDTH<J> * WIDTH<J> + Strip<V, J>::output(row % 8, row / 8 % J);
    f2 total = 0;
#pragma unroll 4
    for (int k = 0; k < used; k++) total += partial[i + k * all];
    if (o < (u32)l.out) put(o, 2 * (i % 4), total);
  }
  __syncthreads();
}

// forward_strip is a tile's part of the outputs that begin at from.
template <int V, int J, class Put> __device__ inline void forward_strip(const Layer& l, int from, int first, int n, const Put& put) {
  const Strip<V, J> c(l, from);
  Product sum[J / 2];
  if (c.count == WIDTH<J>) gather_strip<true>(sum, l, c, first, n);
  else gather_strip<false>(sum, l, c, first, n);
  collect_tiles(sum, l, c, from, first, n, put);
}

// forward_tiles is forward, with tiles that begin with the row first: for all threads, after a barrier, and with one at its
// end. It returns how many rows the last tile has.
template <class Put> __device__ inline int forward_tiles(const Layer& l, const Inputs& x, int first, const Put& put) {
  int n = 0;
#pragma unroll 1
  for (int from = 0; from < l.out; from += WARPS * (aligned<2>(l) && wide(l) ? WIDTH<4> : WIDTH<2>)) {
#pragma unroll 1
    for (int j = 0; j < x.in; j += TILE) {
      n = stage<true, GROUP>(x, 0, j, true, false, first, Rounded{(u32)l.out});
      auto add = [&](int o, int s, f2 v) INLINE { put(o, s, v, j == 0, j + TILE >= x.in); };
      if (aligned<2>(l) && wide(l)) forward_strip<2, 4>(l, from, first, n, add);
      else if (aligned<2>(l)) forward_strip<2, 2>(l, from, first, n, add);
      else forward_strip<1, 2>(l, from, first, n, add);
    }
  }
  return n;
}

// push_rows adds the products of a strip's deltas and of eight rows of the tile from row on. The rows of a product are outputs, and
// its columns rows of the tile, so that neighbouring lanes add to neighbouring weights. If not all is there, rows are those of this lane.
template <int V, int J, bool all> __device__ inline void push_rows(const u32 (&of)[J][2], const Strip<V, J>& c, Global<float>* at, u32 row, int rows) {
  const auto [g, t] = Lane();
  const u2 x = *(const u2*)((u32*)tile + (row + g) * GROUP + 2 * t), place = *(const u2*)((u32*)input_of + row + 2 * t);
  Product step[J / 2];
#pragma unroll
  for (int i = 0; i < J / 2; i++) step[i].add(of[2 * i][0], of[2 * i + 1][0], of[2 * i][1], of[2 * i + 1][1], x.x, x.y);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const Weights to = {at + (h ? place.y : place.x)};
    auto sum = [&](int j) INLINE { return step[j / 2].sum[j % 2 * 2 + h]; };
    if (!all && h >= rows) continue;
#pragma unroll
    for (int j = 0; j < J; j += V) {
      if (V == 1 && (all || c.there(j))) to.add(Strip<V, J>::apart(j), sum(j));
#if __CUDA_ARCH__ >= 900
      if constexpr (V == 2) to.add2(0, {sum(0), sum(1)});
      if constexpr (V == 4) to.add4(0, {sum(0), sum(1), sum(2), sum(3)});
#endif
    }
  }
}

// push_strip pushes a warp's strip and part of the tile's n rows from the row first on; d are the layer's deltas. A strip whose deltas
// are all zero adds nothing.
template <int V, int J> __device__ inline void push_strip(const Layer& l, int from, int first, int n, Global<const float>* d) {
  constexpr int TURN = 16;  // rows at a time
  const Strip<V, J> c(l, from);
  const auto [g, t] = Lane();
  int left = c.rest(n, TURN);
  if (left <= 0) return;
  u32 of[J][2];
  bool some = false;
  d += c.begin() * GROUP + 2 * t;
#pragma unroll
  for (int j = 0; j < J; j++) {
    const f2 v = *(Global<const f2>*)(d + c.behind(j) * GROUP);
    some |= v.x != 0 || v.y != 0;
    of[j][0] = tf32(v.x * optimizer.scale), of[j][1] = tf32(v.y * optimizer.scale);
  }
  if (!__nvvm_vote_ballot_sync(ALL, some)) return;
  Global<float>* at = job.out.at + l.at + c.begin();
  u32 row = first + TURN * c.part;
#pragma unroll 1
  for (; c.count == WIDTH<J> && left >= TURN; left -= TURN * c.parts, row += TURN * c.parts)
#pragma unroll
    for (int r = 0; r < TURN; r += 8) push_rows<V, J, true>(of, c, at, row + r, 0);
#pragma unroll 1
  for (; left > 0; left -= TURN * c.parts, row += TURN * c.parts)
#pragma unroll 1
    for (int r = 0; r < TURN && r < left; r += 8) push_rows<V, J, false>(of, c, at, row + r, c.there(0) ? left - r - 2 * t : 0);
}

// push_tiles is push, with tiles that begin with the row first; d are the layer's deltas. If held is not 0, the tile is there already
// from the row 0 on, and has that many rows.
__device__ inline void push_tiles(const Layer& l, const Inputs& x, int first, int held, Global<const float>* d) {
#pragma unroll 1
  for (int from = 0; from < l.out; from += WARPS * (aligned<4>(l) ? WIDTH<4> : WIDTH<2>)) {
#pragma unroll 1
    for (int j = 0; j < x.in; j += TILE) {
      const int n = held ? held : stage<true, GROUP>(x, 0, j, true, true, first, Rounded{(u32)l.out});
      if (aligned<4>(l)) push_strip<VECTORS ? 4 : 1, 4>(l, from, held ? 0 : first, n, d);
      else if (VECTORS && aligned<2>(l)) push_strip<VECTORS ? 2 : 1, 2>(l, from, held ? 0 : first, n, d);
      else push_strip<1, 2>(l, from, held ? 0 : first, n, d);
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
__device__ inline bool holds(const Layer& l, int n) {
  return l.in <= TILE && l.out <= WARPS * WIDTH<2> && whole(n) <= SPARED && whole(n) + widest + CHUNK <= TILE;
}

constexpr int SPAN = 16;  // outputs that two products of back_strip take

// back_strip is a warp's part of back: 16 inputs from first on, and the outputs of the tile, n of them from from on, K spans at a
// time: there are deltas of zero behind the last.
template <int V, int K> __device__ inline Product back_strip(const Layer& l, const u32* deltas, int first, int from, int n) {
  const auto [g, t] = Lane();
  Product sum;
  const Weights w[2] = {{job.w.at + l.at + (i64)(first + g < l.in ? first + g : 0) * l.out + from},
                        {job.w.at + l.at + (i64)(first + g + 8 < l.in ? first + g + 8 : 0) * l.out + from}};
#pragma unroll 1
  for (int base = 0; base < n; base += K * SPAN) {
    float v[K][2][4];
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i += V) {
          const int o = base + SPAN * k + 4 * i + V * t, at = o < n ? o : 0;
          if constexpr (V == 4) {
            const f4 four = w[h].load4(at);
            v[k][h][0] = four.x, v[k][h][1] = four.y, v[k][h][2] = four.z, v[k][h][3] = four.w;
          } else if constexpr (V == 2) {
            const f2 two = w[h].load2(at);
            v[k][h][i] = two.x, v[k][h][i + 1] = two.y;
          } else {
            v[k][h][i] = w[h].load(at);
          }
        }
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const u32* d = deltas + (base + SPAN * k + 4 * i + t) * GROUP + g;
        sum.add(tf32(v[k][0][i]), tf32(v[k][1][i]), tf32(v[k][0][i + 1]), tf32(v[k][1][i + 1]), d[0], d[4 * GROUP]);
      }
  }
  return sum;
}

template <int K> __device__ inline Product back_strip(const Layer& l, int v, const u32* deltas, int first, int from, int n) {
  if (v == 4) return back_strip<4, K>(l, deltas, first, from, n);
  return v == 2 ? back_strip<2, K>(l, deltas, first, from, n) : back_strip<1, K>(l, deltas, first, from, n);
}

// back_tiles is back; its tile begins with the row own. Of 4V outputs the
// tile has those first that are the first of a lane's vector, and so on.
__device__ inline void back_tiles(const Layer& l, int own, Global<const float>* d, Global<const float>* units, Global<float>* before, bool last) {
  const int v = aligned<4>(l) ? 4 : aligned<2>(l) ? 2 : 1;
#pragma unroll 1
  for (int from = 0; from < l.out; from += TILE) {
    const int n = l.out - from < TILE ? l.out - from : TILE, padded = n > SPAN ? whole(n) : SPAN;
#pragma unroll 1
    for (int i = thread(); i < 2 * padded; i += THREADS) {
      const int o = i / 2, at = (o & -4 * v) + (o & v - 1) * 4 + ((o & 4 * v - 1) >> v / 2);
      f4 four = 0;
      if (o < n) four = ((Global<const f4>*)d)[2 * from + i];
#pragma unroll
      for (int k = 0; k < 4; k++) four[k] = Rounded::value(four[k]);
      tile[2 * (own + at) + i % 2] = four;
    }
    __syncthreads();
#pragma unroll 1
    for (int first = 16 * warp(); first < l.in; first += 16 * WARPS) {
      const u32* deltas = (u32*)tile + own * GROUP;
      const Product sum = n > SPAN ? back_strip<2>(l, v, deltas, first, from, n) : back_strip<1>(l, v, deltas, first, from, n);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int i = first + Lane().g + 8 * h;
        if (i >= l.in) continue;
        const i64 to = (i64)i * GROUP + 2 * Lane().t;
        f2 v = {sum.sum[2 * h], sum.sum[2 * h + 1]};
        Global<f2>& was = *(Global<f2>*)(before + to);
        const f2 unit = *(Global<const f2>*)(units + to);
        if (from > 0) v += was;
        if (from + n == l.out) v = {unit.x <= 0 ? 0 : v.x, unit.y <= 0 ? 0 : v.y};
        was = v;
      }
    }
    if (!last || from + n < l.out) __syncthreads();
  }
}
