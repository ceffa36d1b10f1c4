// skipgram.cu: a step of word2vec's skip-gram with negative sampling, and its evaluation. Row r is the r-th word of a
// text, idx[r]; START is set where a sentence begins. Weights are the vectors in of all words, k = job.width[0] numbers
// each, and behind them the vectors out: see hogwild/model/word2vec.go. In a step each kept word around the word, one
// after the other, takes a step against it and against negatives of its own, as vec.Words.Window does.
//
// Whether a word is kept, how far its window reaches and which negatives it has are drawn here: the same numbers as
// those of hogwild/data/windows.go, functions of the seed, the epoch and the row. job.plan has what they are drawn by: what
// all draws have in common, how many words the text has, the longest reach, and how many negatives an input has (i64
// each); the alias table (two u32 a word), and how many of 2^32 draws keep a word (u32).
//
// A step is a warp's. It finds the words of a window 32 at a time, and draws 32 negatives at a time, a lane each. Of a
// vector a lane has 4 numbers in 128: 4 neighbours where k is a multiple of 4 and the GPU adds vectors, else every 32nd.
// It reads and writes the same ones of every vector, so that it finds what it has written itself. The next vector out of
// up to 128 numbers is on its way while one is worked on, unless it is the same.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no scratch. Steps of an optimizer
// with state, locks, gradients, and k above 512 are not for it: skipgram.go refuses them.
//
// Left out: several short windows a warp (with k = 32, 24 of 32 lanes idle where vectors are added); the word's own vector
// out, kept in registers for a whole window, where it would miss what others write.
#include "draw.h"
#include "pair.h"

constexpr u32 START = 1u << 31;  // data.SentenceStart
constexpr u32 NONE = ALL;        // data.NoTarget
constexpr u64 FACTOR = 6364136223846793005, SUMMAND = 1442695040888963407;

__device__ inline u32 ballot(bool v) { return __nvvm_vote_ballot_sync(ALL, v); }
__device__ inline u64 from_lane(u64 v, int lane) {
  return (u64)from_lane((u32)(v >> 32), lane) << 32 | from_lane((u32)v, lane);
}

// Text is the words and what is drawn of them, read once a launch.
struct Text {
  Global<const u32>*idx, *keep;
  Global<const u2>* alias;
  u64 key, factor, summand;  // a lane's numbers are those of the sequence x = FACTOR x + SUMMAND from its own place on
  u32 words, rows, window, negatives, me;

  __device__ void set(i64 epoch) {
    idx = job.idx, words = (u32)small(job.features), key = mix((u64)job.plan[0] + (u64)epoch);
    rows = (u32)job.plan[1], window = (u32)job.plan[2], negatives = (u32)job.plan[3], me = thread() & 31;
    alias = (Global<const u2>*)(job.plan + 4), keep = (Global<const u32>*)(alias + words);
    factor = 1, summand = 0;
#pragma unroll 1
    for (u32 i = 0; i <= me; i++) factor *= FACTOR, summand = summand * FACTOR + SUMMAND;
  }
  __device__ u64 draw(u32 row) const { return mix(key + row * GAP); }
  __device__ bool keeps(u32 word, u64 drawn) const { return (u32)(drawn >> 32) <= keep[word & ~START]; }

  // negative is the lane's of the next n up to 32, and moves x behind them.
  __device__ u32 negative(u64& x, u32 word, u32 n) const {
    const u64 mine = x * factor + summand;
    x = from_lane(mine, n - 1);
    if (me >= n) return NONE;
    const u32 at = (u32)__nvvm_mulhi_ull(mine, words);
    const u2 row = alias[at];
    const u32 drawn = (u32)(mine * words >> 32) > row.x ? row.y : at;
    return drawn == word ? NONE : drawn;
  }
};

// each_input calls work(word, input, x) for the words of a row's window, in their order; the negatives are drawn from x.
template <class Work> __device__ inline void each_input(const Text& t, u32 row, const Work& work) {
  u64 x = t.draw(row);
  const u32 own = t.idx[row], word = own & ~START, nearer = (1u << t.me) - 1;
  if (!t.keeps(own, x)) return;
  const u32 reach = 1 + (u32)((u64)(u32)x * t.window >> 32);
  u32 n = 0, first = row;
  bool open = !(own & START);
#pragma unroll 1
  for (int at = (int)row - 1 - (int)t.me; open && n < reach; at -= 32) {  // to the left
    const u32 id = at >= 0 ? t.idx[at] : START;
    const u32 starts = ballot(id & START);
    const u32 kept = ballot(at >= 0 && !(starts & nearer) && t.keeps(id, t.draw((u32)at)));
    const u32 taken = ballot((kept >> t.me & 1) && n + __builtin_popcount(kept & nearer) < reach);
    if (taken) first = (u32)from_lane(at, 31 - __builtin_clz(taken));
    n += __builtin_popcount(taken);
    open = starts == 0;
  }
  n += reach, open = true;
#pragma unroll 1
  for (u32 at = first + t.me; open && n > 0; at += 32) {
    const u32 id = at < t.rows ? t.idx[at] : START;
    const u32 starts = ballot(at > row && (id & START));
    u32 kept = ballot(at != row && !(starts & (nearer << 1 | 1)) && t.keeps(id, t.draw(at)));
#pragma unroll 1
    for (; kept && n > 0; kept &= kept - 1, n--) work(word, from_lane(id, __builtin_ctz(kept)) & ~START, x);
    open = starts == 0;
  }
}

// Vector is what a lane has of one, in parts of 128 numbers; left is how many lie from its first one on.
template <int PARTS, int STRIDE> struct Vector {
  Held<4, STRIDE> part[PARTS];

  __device__ void read(Weights from, int left) {
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
      part[p] = {};
      if (STRIDE != 1 || left > 128 * p) part[p].read(Weights{from.at + 128 * p}, left - 128 * p);
    }
  }
  // write adds the change to what is there, or stores what was read and the change.
  __device__ void write(Weights to, int left, const Vector& was, bool racy) {
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
      if (racy) part[p].plus(1, was.part[p]), part[p].store(Weights{to.at + 128 * p}, left - 128 * p);
      else part[p].add({to.at + 128 * p}, left - 128 * p);
    }
  }
  __device__ void plus(float c, const Vector& other) {
#pragma unroll
    for (int p = 0; p < PARTS; p++) part[p].plus(c, other.part[p]);
  }
  __device__ float dot(const Vector& other) const {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < PARTS; p++) sum += part[p].dot(other.part[p]);
    return sum;
  }
};

// Vectors is where a lane's numbers are: its first one of the first word's vectors.
struct Vectors {
  Weights in, out;
  u32 bytes;
  int left;
  bool racy;

  __device__ static Vectors of(u32 k, u32 first) {
    Weights in = {job.w.at + first};
    return {in, {in.at + job.features * k}, 4 * k, (int)(k - first), small(job.racy) != 0};
  }
  __device__ Weights in_of(u32 word) const { return node_of(in, word, bytes); }
  __device__ Weights out_of(u32 word) const { return node_of(out, word, bytes); }
};

// pair takes the steps of an input against a word and its negatives. ready is called before the input is written.
template <int PARTS, int STRIDE, class Ready>
__device__ inline float pair(const Text& t, const Vectors& v, u32 word, u32 input, u64& x, float lr, const Ready& ready) {
  using Own = Vector<PARTS, STRIDE>;
  Own in, out, next, by = {};
  in.read(v.in_of(input), v.left);
  out.read(v.out_of(word), v.left);
  float loss = 0, side = 1;
  u32 at = word, drawn = 0, negatives = 0;
#pragma unroll 1
  for (u32 left = t.negatives; at != NONE;) {
#pragma unroll 1
    while (negatives == 0 && left > 0) {
      const u32 n = left < 32 ? left : 32;
      drawn = t.negative(x, word, n), negatives = ballot(drawn != NONE), left -= n;
    }
    const u32 then = negatives ? from_lane(drawn, __builtin_ctz(negatives)) : NONE;
    negatives &= negatives - 1;
    const bool early = PARTS == 1 && then != at;
    if (early && then != NONE) next.read(v.out_of(then), v.left);
    float g = sum_of<32>(in.dot(out));
    loss += logistic(g, side, -lr);  // g becomes the step's factor
    Own change = {};
    change.plus(g, in), by.plus(g, out);
    change.write(v.out_of(at), v.left, out, v.racy);
    if (!early && then != NONE) next.read(v.out_of(then), v.left);
    out = next, at = then, side = -1;
  }
  ready();
  by.write(v.in_of(input), v.left, in, v.racy);
  return loss;
}

// steps takes them by ticket. A step may be of several words: the next of the text.
template <int PARTS, int STRIDE> __device__ inline void steps(const Text& t, u32 k) {
  const Vectors v = Vectors::of(k, STRIDE == 1 ? 4 * t.me : t.me);
  const u32 steps = (u32)job.steps;
  u32 ahead = t.me == 0 ? take(steps) : 0;
  for (u32 i; (i = from_lane(ahead, 0)) < steps;) {
    if (t.me == 0) ahead = take(steps);
    const float lr = job.lr[i];
    float loss = 0;
    bool first = true;  // no pair of the step is there yet: the samples are of its first
#pragma unroll 1
    for (int p = job.start[i], end = job.start[i + 1]; p < end; p++)
      each_input(t, (u32)job.rows[p], [&](u32 word, u32 input, u64& x) INLINE {
        if (first) reads(Warp(), i, [&](u32 r) INLINE { return (i64)input * k + below(k, r); });
        loss += pair<PARTS, STRIDE>(t, v, word, input, x, lr, [&]() INLINE { if (first) writes(Warp(), i); });
        first = false;
      });
    if (t.me == 0) job.loss[i] = loss;
    if (!first) wrote(Warp(), i);
    else if (t.me == 0) counted(1);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) skipgram_step(const Job* from) {
  read_job(job, from);
  if (warp() >= small(job.teams)) return;
  Text t;
  t.set(job.epoch);
  const u32 k = (u32)small(job.width[0]);
  constexpr int APART = VECTORS ? 1 : 32;
  if (k % 4 == 0 && k <= 128) steps<1, APART>(t, k);
  else if (k % 4 == 0) steps<4, APART>(t, k);
  else if (k <= 128) steps<1, 32>(t, k);
  else steps<4, 32>(t, k);
}

// loss_of is that of an input against a word (side 1) or a negative (-1).
__device__ inline float loss_of(u32 k, u32 input, u32 word, float side) {
  const i64 in = (i64)input * k, out = (job.features + word) * k;
  float z = 0;
#pragma unroll 1
  for (u32 c = lane(); c < k; c += 32) z += job.w.load(in + c) * job.w.load(out + c);
  z = sum_lanes(z);
  return logistic(z, side, 1);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) skipgram_evaluate(const Job* from) {
  read_job(job, from);
  Text t;
  t.set(-1);  // data.Evaluation
  const u32 k = (u32)small(job.width[0]);
  evaluate([&](i64 r, Score& sum) INLINE {
    float loss = 0;
    each_input(t, (u32)r, [&](u32 word, u32 input, u64& x) INLINE {
      loss += loss_of(k, input, word, 1);
#pragma unroll 1
      for (u32 left = t.negatives, n; left > 0; left -= n) {
        n = left < 32 ? left : 32;
        const u32 drawn = t.negative(x, word, n);
#pragma unroll 1
        for (u32 all = ballot(drawn != NONE); all; all &= all - 1) loss += loss_of(k, input, from_lane(drawn, __builtin_ctz(all)), -1);
      }
    });
    if (lane() == 0) sum.n += 1, sum.loss += loss;
  });
}
