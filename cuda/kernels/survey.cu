// survey.cu: between two epochs the weights are copied, and the copy is looked at and evaluated while
// workers train on. Nothing that grows with the weights crosses the bus.
//
//	survey_keep    copy = the weights, as a plain model has them. Where it is asked for: which tensors have
//	               changed since the copy before
//	survey_count   the first number of the copy that is not finite; of each tensor how many are finite, sum,
//	               sum of squares, least, greatest, and the buckets of device.Counts
//
// Of a model that centres (model.Centered, local form) the plain weights are V - s mu', the bias, and no s.
// This file is compiled without contraction to fused multiply-adds, so that they are the bits of the CPU.
//
// A CTA looks at `each` numbers in a row, which may be of several tensors; of a tensor that it has a part of
// it finds a Found. The host adds those up in order: a sum is repeatable bit for bit on one GPU.
//
// The copy is the coordinator's own: nobody else writes it, and one kernel runs behind the other. The weights are
// those of all; nobody trains them meanwhile.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no scratch. What bounds it
// is memory: a thread has AHEAD loads under way. Left out: vectors of four floats, as tensors begin anywhere.
#include "dev.h"

// Found is what a CTA has found in its part of a tensor, in doubles: they hold counts and places to 2^53.
struct Found {
  double n, sum, sum2, low, high;  // of the finite ones; +Inf and -Inf of none
  double bad, value;               // where the first is that is not finite, counted from 1, and that; 0: there is none
};

// Copy is what the host asks for. Addresses that are not used are 0.
struct Copy {
  Weights from;               // the weights
  Weights to;                 // the copy
  Global<const float>* mean;  // of the inputs, where the model centres
  Global<const i64>* first;   // of each tensor of the copy the first number, and behind them how many there are
  Global<u32>* changed;       // keep: of each tensor, 1 is written; 0: do not compare
  Global<Found>* found;       // count: CTA c's of tensor t is [c + t], which no other has, as parts and tensors are in order
  Global<u64>* counts;        // of each tensor 2 x BUCKETS, added to; 0: do not count
  i64 tensors;
  i64 each;
  i64 center, width;          // where s begins in from, and how long it is; 0: the model does not centre
  i64 halves;                 // how many numbers at the beginning of from are Halves; floats follow, from a whole word on
};
static_assert(sizeof(Found) == 7 * 8 && sizeof(Copy) == 12 * 8);

__shared__ Copy copy;

constexpr int AHEAD = 4;

// each_part calls f(t, from, to) with this CTA's part of each tensor that it has one of.
template <class F> __device__ inline void each_part(const F& f) {
  const i64 begin = cta() * copy.each;
  i64 first = copy.first[0];
  for (int t = 0; t < (int)copy.tensors; t++) {
    const i64 next = copy.first[t + 1], from = first < begin ? begin : first, to = next < begin + copy.each ? next : begin + copy.each;
    if (from < to) f(t, from, to);
    first = next;
  }
}

// plain is number i of the copy.
__device__ inline float plain(bool there, i64 i) {
  if (i < copy.halves) return there ? Halves{(decltype(Halves::at))copy.from.at}.load(i) : 0;
  const float v = copy.from.load_if(there, i < copy.center ? i : i + copy.width - copy.halves / 2);
  if (!there || i >= copy.center - copy.width) return v;  // behind V
  const u64 row = (u64)i / (u64)copy.width;
  return v - copy.mean[row] * copy.from.load(copy.center + (i - (i64)row * copy.width));
}

// changed is device.Changed of a number.
__device__ inline bool changed(float from, float to) {
  return !(__builtin_fabs((double)to - (double)from) <= 0x1p-20 * __builtin_fabs((double)from));
}

// each_number calls f(i, v) with the numbers from `from` to `to` that fall to this thread. They come from load(there, i), AHEAD
// at a time.
template <class Load, class F> __device__ inline void each_number(i64 from, i64 to, const Load& load, const F& f) {
#pragma unroll 1
  for (i64 i = from + thread(); i < to; i += AHEAD * THREADS) {
    float v[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; j++) v[j] = load(i + j * THREADS < to, i + j * THREADS);
#pragma unroll
    for (int j = 0; j < AHEAD; j++) {
      if (i + j * THREADS < to) f(i + j * THREADS, v[j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) survey_keep(const Copy* from) {
  read_job(copy, from);
  each_part([](int t, i64 from, i64 to) INLINE {
    const bool compare = copy.changed;
    bool other = false;
    each_number(from, to, [](bool there, i64 i) INLINE { return plain(there, i); }, [&](i64 i, float v) INLINE {
      if (compare && changed(copy.to.load(i), v)) other = true;
      copy.to.store(i, v);
    });
    if (other) copy.changed[t] = 1;  // by however many
  });
}

// The buckets of device.Counts from LEAST on. What is nearer to zero is what remains of n.
constexpr int SHIFT = 23 - 2, LEAST = (127 - 20) << 2, MOST = 255 << 2, BUCKETS = MOST - LEAST;

__shared__ u32 counts[2 * BUCKETS];
__shared__ Found found[THREADS];

__device__ inline void count(int bucket) {
  asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"((u32)(u64)(__attribute__((address_space(3))) u32*)&counts[bucket]) : "memory");
}

__device__ inline void look(Found& f, i64 i, float v) {
  const u32 bits = __builtin_bit_cast(u32, v);
  const int bucket = (int)((bits & 0x7fffffff) >> SHIFT);
  if (bucket >= MOST) {
    if (f.bad == 0) f.bad = (double)(i + 1);
    return;
  }
  f.n += 1;
  f.sum += v;
  f.sum2 += (double)v * v;
  f.low = v < f.low ? v : f.low;
  f.high = v > f.high ? v : f.high;
  if (bucket >= LEAST && copy.counts) count((int)(bits >> 31) * BUCKETS + bucket - LEAST);
}

__device__ inline void merge(Found& f, const Found& other) {
  f.n += other.n;
  f.sum += other.sum;
  f.sum2 += other.sum2;
  f.low = other.low < f.low ? other.low : f.low;
  f.high = other.high > f.high ? other.high : f.high;
  if (other.bad != 0 && (f.bad == 0 || other.bad < f.bad)) f.bad = other.bad;
}

// write gives a tensor what the threads have found, halves added to halves.
__device__ inline void write(int t) {
  for (int n = THREADS / 2; n > 0; n /= 2) {
    __syncthreads();
    if (thread() < n) merge(found[thread()], found[thread() + n]);
  }
  if (thread() == 0) {
    const Found& all = found[0];
    Global<Found>* to = copy.found + (cta() + t);
    to->n = all.n, to->sum = all.sum, to->sum2 = all.sum2, to->low = all.low, to->high = all.high, to->bad = all.bad;
    to->value = all.bad != 0 ? (double)copy.to.load((i64)all.bad - 1) : 0;
  }
  for (int b = thread(); b < 2 * BUCKETS && copy.counts; b += THREADS) {
    if (counts[b]) asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(copy.counts + (i64)t * 2 * BUCKETS + b), "l"((u64)counts[b]) : "memory");
    counts[b] = 0;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) survey_count(const Copy* from) {
  for (int b = thread(); b < 2 * BUCKETS; b += THREADS) counts[b] = 0;
  read_job(copy, from);
  each_part([](int t, i64 from, i64 to) INLINE {
    Found f = {0, 0, 0, __builtin_inf(), -__builtin_inf(), 0, 0};
    each_number(from, to, [](bool there, i64 i) INLINE { return copy.to.load_if(there, i); }, [&](i64 i, float v) INLINE { look(f, i, v); });
    found[thread()] = f;
    write(t);
  });
}
