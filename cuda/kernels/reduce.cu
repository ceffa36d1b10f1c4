// reduce.cu: what was learnt elsewhere goes to the weights of all, as one addition a weight.
// A worker on another GPU learns on a replica of its own. Where that GPU reaches the weights
// and adds to them, these kernels run there between two launches; else they run on the GPU
// that has the weights, to which the replica is copied. The next launch of the same worker
// must come after this one. Other nodes learn on weights of theirs; what a round with them
// changes comes in parts.
//
//	reduce_begin   w = first = out                      the replica begins as a copy of the weights
//	reduce_merge   out += lr[0] (w - first)             what it has learnt since,
//	               w = first = out                      and what others have
//	reduce_add     out += w                             a part of a round's change
//
// Nobody else sees w and first. To out others add meanwhile; that a thread's own addition is
// in what it loads from there behind it follows from their order in the program.
//
// A step on the replica is stale by all that others have written to the weights since it
// began: samples are of that, as many as a launch of its steps would have taken.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no
// scratch. Left out: vectors of four floats, as the copies between the GPUs take longer.
#include "guard.h"

// each calls f for the weights that fall to this thread.
template <class F> __device__ inline void each(const F& f) {
  for (i64 i = (i64)cta() * THREADS + thread(); i < job.weights; i += (i64)ctas() * THREADS) f(i);
}

// updates_of_others, at this moment.
__device__ inline u64 updates_of_others() {
  u64 own;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(own) : "l"(job.counts + job.rank * COUNT_STRIDE) : "memory");
  return updates_of_all() - own;
}

__device__ inline bool speaks() { return cta() == 0 && thread() == 0; }

// copies makes weight i of the replica a copy of the one in out.
__device__ inline void copies(i64 i) {
  const float v = job.out.load(i);
  job.first.store(i, v);
  job.w.store(i, v);
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_begin(const Job* from) {
  read_job(job, from);
  if (speaks()) *job.updates = updates_of_others();
  each([](i64 i) INLINE { copies(i); });
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_merge(const Job* from) {
  read_job(job, from);
  const float share = job.lr[0];
  each([&](i64 i) INLINE {
    float d = job.w.load(i) - job.first.load(i);
    if (d != 0) job.out.add(i, share * d);
    copies(i);
  });
  if (!speaks()) return;
  counted((u32)job.steps);
  const u64 now = updates_of_others(), behind = now - *job.updates, samples = (job.steps + SAMPLED - 1) / SAMPLED;
  *job.updates = now;
  if (!job.record) return;
  record(RECORD_SUM, behind * samples);
  record(RECORD_HISTOGRAM + bucket(behind), samples);
  asm volatile("red.relaxed.sys.global.max.u64 [%0], %1;" ::"l"(job.record + RECORD_MAX), "l"(behind) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) reduce_add(const Job* from) {
  read_job(job, from);
  each([](i64 i) INLINE {
    float d = job.w.load(i);
    if (d != 0) job.out.add(i, d);
  });
}
