// conv.h is what the halves of a convolutional network share: its plan, the room in
// which a group of samples is worked on, the weights of the convolutions packed for a
// step, and the dropout.
//
// A CTA works on up to SAMPLES at a time, as many as fit in shared memory; when not even
// one does, their room is in scratch, and the same code goes there (F is a Shared<float>*
// or a Global<float>*). The images are always in scratch: so there is room for four samples
// of 10@5p2,20@5p2d,50d, and two reads of an image in a step are seldom far from the L1
// cache. A room has the inputs and units of the fully connected layers, each for SAMPLES
// side by side, and then for each sample and convolution
//
//	y      out x rows x columns: the outputs; on the way back their deltas, and then
//	       those that are not zero, at the head of each channel. The last convolution's
//	       are the inputs of the first layer, and stand there
//	where  as y, u16: the place in the inputs' plane of the window of the convolution that
//	       the pooling took; NOWHERE where ReLU or dropout let nothing through. In conv_tensor.h
//	       the place of the delta among the sample's
//	live   out: how many deltas of each channel are not zero
//
// Scratch, floats a CTA: the packed weights (job.width[0]), the gradient (job.weights), the
// images (SAMPLES), and the room, if it is there, or else what conv_tensor.h calls dense, and sums of
// parts; each begins at a multiple of 4.
#pragma once

#include "mma.h"

#ifdef TENSOR
constexpr bool TILES = true;  // products are those of conv_tensor.h
#else
constexpr bool TILES = false;
#endif

// operand is v as products take it.
__device__ inline float operand(float v) { return TILES ? rounded(v) : v; }

using u16 = unsigned short;
template <class T> using Shared = __attribute__((address_space(3))) T;

constexpr int MAX_CONVS = 16, MAX_FULL = 16;
constexpr int SAMPLES = 4;
constexpr int ROOM = 11264;  // floats: 44 KB. Both are in conv.go too
constexpr u32 NOWHERE = 0xffff;

// Conv is a convolution of the plan, with max-pooling, dropout of channels, and ReLU.
struct Conv {
  i32 in, out, kernel, pool;
  i32 height, width;    // of the inputs
  i32 rows, columns;    // of the outputs, pooled
  i32 weight, bias;     // where they begin in the weights; bias is -1 without one
  i32 packed;           // where they begin in the scratch
  i32 x, y, where, live;  // where those begin in a sample's room, in floats; the last y in the group's, the first x nowhere
  i32 apart;              // from one output to the next: 1, and of the last convolution SAMPLES
  i32 threshold, scale;   // see Dropout
  i32 offsets;            // where job.plan has the place of each tap, from that of the first
  // What follows is for conv_tensor.h.
  i32 tall, wide;         // of the outputs before pooling
  i32 spots;              // where job.plan has the place of each of them in the inputs' plane
  i32 channel, before;    // their deltas: floats from one channel to the next, and of those the zeros before the first
  i32 deltas;             // where those of the first channel begin
  i32 tiles, padded, packs;  // tiles of eight channels to a piece; channels of whole pieces; columns of the kernel as they are packed
  i32 forth, back, order; // where tiles of weights begin in the scratch, and where job.plan has, of each tap, its place in those of the way back

  __device__ int taps() const { return in * kernel * kernel; }
  __device__ int places() const { return rows * columns; }
  __device__ int blocks() const { return (out + 3) / 4; }
  __device__ int offset(int tap) const { return (i32)job.plan[offsets + tap]; }
};

// Full is a fully connected layer, with ReLU and dropout of units but for the last.
struct Full {
  i32 in, out;
  i32 weight, bias;
  i32 x, y;              // where inputs and units begin in the room
  i32 threshold, scale;
};

// Plan is the head of job.plan, every number there eight bytes wide: how many there are of
// each, MAX_CONVS convolutions and MAX_FULL layers. Behind it are the offsets of the taps.
struct Plan {
  i32 convs, fulls;
  Conv conv[MAX_CONVS];
  Full full[MAX_FULL];
};

__shared__ Plan plan;

// read_plan copies it. A barrier follows.
__device__ inline void read_plan() {
  for (int i = thread(); i < (int)(sizeof(Plan) / 4); i += THREADS) ((i32*)&plan)[i] = (i32)job.plan[i];
}

// What the host has worked out: floats of packed weights, of a sample, of all units; how
// many samples there are to a group; and whether their room is in shared memory.
__device__ inline int packed_floats() { return small(job.width[0]); }
__device__ inline int sample_floats() { return small(job.width[1]); }
__device__ inline int unit_floats() { return small(job.width[2]); }
__device__ inline int most_samples() { return small(job.width[3]); }
__device__ inline bool on_chip() { return job.width[4]; }

__device__ inline Global<float>* scratch() { return job.scratch + cta() * job.scratch_stride; }
__device__ inline Global<float>* sums() { return scratch() + packed_floats(); }
__device__ inline Global<float>* images() { return sums() + (job.weights + 3) / 4 * 4; }
__device__ inline Global<float>* far_room() { return images() + SAMPLES * ((job.features + 3) / 4 * 4); }

__shared__ __attribute__((aligned(16))) float room[ROOM];

// as is a part of a room as other numbers.
template <class T> __device__ inline Shared<T>* as(Shared<float>* p) { return (Shared<T>*)p; }
template <class T> __device__ inline Global<T>* as(Global<float>* p) { return (Global<T>*)p; }

// sample is where the room of sample s begins, outputs where those of a convolution do.
template <class F> __device__ inline F sample(F room, int s) { return room + unit_floats() + s * sample_floats(); }
template <class F> __device__ inline F outputs(F room, const Conv& c, int s) {
  return c.apart == 1 ? sample(room, s) + c.y : room + c.y + s;
}

// Planes are the inputs of a convolution: X is where the first sample's begin.
template <class X> struct Planes {
  X first;
  int apart;  // from one sample's to the next

  __device__ X operator[](int s) const { return first + s * apart; }
};

// inputs calls work with the planes of a convolution.
template <class F, class Work> __device__ inline void inputs(F room, const Conv& c, const Work& work) {
  const bool first = &c == plan.conv;
  const Planes<F> near = {sample(room, 0) + c.x, sample_floats()};
  const Planes<Global<float>*> far = {images(), small(job.features)};
  if constexpr (__is_same(F, Global<float>*)) work(first ? far : near);
  else if (first) work(far);
  else work(near);
}

// Group is the samples that are worked on, and the step or the block of rows that they are of;
// all are numbers in job.rows. What lasts so long is kept here, not in registers.
struct Group {
  i32 start, end;    // of the step
  u32 train;         // with dropout
  i32 first, count;  // of the group

  __device__ bool fresh() const { return first == start; }
};

__shared__ Group group;

// start makes a group of the first samples of the rows start .. end-1, advance of the next, if there are any, groups being of much the
// same size. Both are for one thread, between barriers.
__device__ inline void advance() {
  group.first += group.count;
  const int left = group.end - group.first, groups = (left + most_samples() - 1) / most_samples();
  group.count = left > 0 ? (left + groups - 1) / groups : 0;
}
__device__ inline void start(int start, int end, bool train) {
  group = {start, end, train, start, 0};
  advance();
}

// each_group calls work for all groups, after a barrier. It ends with one.
template <class Work> __device__ inline void each_group(const Work& work) {
#pragma unroll 1
  while (group.count > 0) {
    work();
    const bool last = group.first + group.count == group.end;
    __syncthreads();
    if (last) return;
    if (thread() == 0) advance();
    __syncthreads();
  }
}

__shared__ u64 keys[SAMPLES];  // of each sample's dropout

// mix is the output function of SplitMix64, as hogwild/model/dropout.go has it.
__device__ inline u64 mix(u64 z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// key names the masks of sample s of the group.
__device__ inline u64 key(int s) {
  const int i = group.first + s;
  const u64 id = job.ids ? job.ids[i] : job.rows[i];
  return mix(mix(mix(job.seed) + job.epoch) + id);
}

// Dropout leaves out a unit where its 16 bits are below threshold, and multiplies the
// others by the float whose bits scale is. A number of the counter is good for four units.
struct Dropout {
  u64 bits;
  u32 threshold;
  float scale;

  // That of the units 4*block .. 4*block+3 of a layer; layers are numbered from the first
  // convolution on.
  template <class Layer> __device__ Dropout(const Layer& l, int number, int s, int block)
      : bits(0), threshold(0), scale(1) {
    if (!group.train) return;
    threshold = l.threshold, scale = __builtin_bit_cast(float, l.scale);
    if (threshold > 0) bits = mix(mix(keys[s] + number) + (block + 1) * 0x9e3779b97f4a7c15);
  }
  __device__ float of(int unit) const { return (bits >> 16 * unit & 0xffff) >= threshold ? scale : 0; }
};

// pack copies the weights of the convolutions to scratch, four channels side by side:
// [block of channels][tap][4], and then the biases. Channels that fill up a block are zero.
// All that a step does with them it does with this copy.
__device__ inline void pack() {
  constexpr int AHEAD = 4;
  const Weights weights = job.w;
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    const Conv& c = plan.conv[l];
    const int taps = c.taps(), channels = 4 * c.blocks();
    Global<float>* to = scratch() + c.packed;
#pragma unroll 1
    for (int o = warp(); o < channels; o += WARPS) {
      Global<float>* block = to + (i64)(o / 4) * taps * 4 + o % 4;
#pragma unroll 1
      for (int base = lane(); base < taps; base += AHEAD * 32) {
        float w[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
          w[k] = o < c.out && base + 32 * k < taps ? weights.load(c.weight + (i64)o * taps + base + 32 * k) : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
          if (base + 32 * k < taps) block[4 * (base + 32 * k)] = w[k];
      }
    }
#pragma unroll 1
    for (int o = thread(); o < channels; o += THREADS)
      to[(i64)channels * taps + o] = o < c.out && c.bias >= 0 ? weights.load(c.bias + o) : 0;
  }
}

// reduce adds each of N numbers, a power of two, up over the lanes: lane l gets the sum of the l%N-th.
template <int N> __device__ inline float reduce(float (&v)[N]) {
#pragma unroll
  for (int m = N / 2; m > 0; m /= 2) {
    const bool high = lane() & m;
#pragma unroll
    for (int t = 0; t < m; t++) {
      const float a = v[t], b = v[t + m];
      v[t] = (high ? b : a) + swap(high ? a : b, m);
    }
  }
#pragma unroll
  for (int m = N; m < 32; m *= 2) v[0] += swap(v[0], m);
  return v[0];
}

// The layers at hand on the way back: sums of products leave them no register.
__shared__ i32 learning, blaming;

__device__ inline const Conv& at_hand(const i32& layer) { return plan.conv[*(const volatile i32*)&layer]; }

// each_back calls learn and then, but for the first, blame for each convolution, from the last one on, with barriers between them. It begins
// with one.
template <class Learn, class Blame> __device__ inline void each_back(const Learn& learn, const Blame& blame) {
  if (thread() == 0) learning = plan.convs - 1;
  for (;;) {
    __syncthreads();
    if (thread() == 0) blaming = learning;
    learn(at_hand(learning));
    if (*(const volatile i32*)&learning == 0) return;
    __syncthreads();
    if (thread() == 0) learning--;
    blame(at_hand(blaming));
  }
}

// keep adds g to a sum of the gradient, or begins it.
__device__ inline void keep(Global<float>* sum, float g, bool first) { *sum = first ? g : *sum + g; }
