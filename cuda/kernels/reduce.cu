// reduce.cu: what was learnt elsewhere goes to the weights of all, as one addition a weight.
// A worker learns on a replica of its own, and these kernels run on its GPU between two
// launches of steps. Where that GPU reaches the weights and adds to them, it does. Else they are
// in host memory, in which no GPU adds: what the replica of each rank has learnt in all is there
// (second), written by that rank alone, and the weights are the sum of these vectors and what all
// began with (out). Other nodes learn on weights of theirs; what a round with them changes comes
// in parts.
//
//	reduce_begin   w = first = out                      the replica begins as a copy of the weights
//	reduce_merge   out += w - first                     what it has learnt since,
//	               w = first = out                      and what others have
//	reduce_sum     second of its rank += lr[0] (w - first)
//	               w = first = out + second of all      the same, through host memory; of no steps it only begins
//	reduce_add     out += w                             a part of a round's change
//
// Nobody else sees w and first. To out others add meanwhile; that a thread's own addition is
// in what it loads from there behind it follows from their order in the program.
//
// A step on the replica is stale by all that others have written to the weights since it
// began: samples are of that, as many as a launch of its steps would have taken.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no
// scratch. Left out: vectors of four floats, as the links between the GPUs are slower.
#include "guard.h"

// each calls f for the weights that fall to this thread.
template <class F> __device__ inline void each(const F& f) {
  for (i64 i = (i64)cta() * THREADS + thread(); i < job.weights; i += (i64)ctas() * THREADS) f(i);
}

// own_updates and updates_of_others, at this moment.
__device__ inline u64 own_updates() {
  u64 own;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(own) : "l"(own_count()) : "memory");
  return own;
}
__device__ inline u64 updates_of_others() { return updates_of_all() - own_updates(); }

__device__ inline bool speaks() { return cta() == 0 && thread() == 0; }

// become makes weight i of the replica v.
__device__ inline void become(i64 i, float v) {
  job.first.store(i, v);
  job.w.store(i, v);
}

// merged takes in how many updates others have written since the replica last saw the weights.
__device__ inline void merged() {
  const u64 now = updates_of_others(), behind = now - *job.updates, samples = (job.steps + SAMPLED - 1) / SAMPLED;
  *job.updates = now;
  if (!job.record) return;
  record(RECORD_SUM, behind * samples);
  record(RECORD_HISTOGRAM + bucket(behind), samples);
  asm volatile("red.relaxed.sys.global.max.u64 [%0], %1;" ::"l"(job.record + RECORD_MAX), "l"(behind) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_begin(const Job* from) {
  read_job(job, from);
  if (speaks()) *job.updates = updates_of_others();
  each([](i64 i) INLINE { become(i, job.out.load(i)); });
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_merge(const Job* from) {
  read_job(job, from);
  each([](i64 i) INLINE {
    float d = job.w.load(i) - job.first.load(i);
    if (d != 0) job.out.add(i, d);
    become(i, job.out.load(i));
  });
  if (!speaks()) return;
  counted((u32)job.steps);
  merged();
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_sum(const Job* from) {
  read_job(job, from);
  const float share = job.lr[0];
  each([&](i64 i) INLINE {
    float sum = job.out.load(i);
    for (int r = 0; r < small(job.ranks); r++) {
      const i64 at = r * job.scratch_stride + i;
      float learnt = job.second.load(at);
      if (r == small(job.rank) && job.steps > 0) {
        const float d = job.w.load(i) - job.first.load(i);
        if (d != 0) job.second.store(at, learnt += share * d);
      }
      sum += learnt;
    }
    become(i, sum);
  });
  if (!speaks()) return;
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(own_count()), "l"(own_updates() + job.steps) : "memory");
  merged();
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_add(const Job* from) {
  read_job(job, from);
  each([](i64 i) INLINE {
    float d = job.w.load(i);
    if (d != 0) job.out.add(i, d);
  });
}
