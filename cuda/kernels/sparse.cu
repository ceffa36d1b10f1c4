// sparse.cu: steps and evaluation of linear models on sparse rows: rows of any length,
// with one output or several.
//
//	sparse_step      plain SGD: job.teams warps of each CTA take a step each: of one row
//	                 (sparse_row.h), of several (sparse_one.h), with several outputs
//	                 (sparse_many.h); with job.locals, frequent columns in shared memory, or the biases alone (sparse_local.h)
//	sparse_whole     the optimizers with state, and kept gradients: a CTA takes a step (sparse_whole.h)
//	sparse_evaluate  loss and errors, as evaluate.cu
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory.
// Scratch, floats a CTA, b being max_batch and k the outputs:
//
//	sparse_step      teams x b with one output, teams x 8 ceil(b/8) k with more
//	sparse_whole     8 ceil(weights/8) + 8 ceil(b/8) k; zero before the first launch
//	sparse_evaluate  8 k
//
// Issue slots of sparse_step a row of 74 entries, one output, logistic, counted from the
// machine code and the stand-in's executions: 131 with one row a step, 225 with local columns
// merged every 32 steps, 191 with eight rows a step. A design that had only loads, dot
// product, exponential and additions took 180 and 240; here all that does not need the
// entries is done for 32 rows at once, a lane each. An addition costs a branch (ptxas
// predicates none), one to a local column a loop of five (shared memory adds no floats).
// Additions take 75 sectors of 32 bytes a row, with local columns 59 (of Zipf's columns), and
// it is they that bind: 85 G a second, as an H100 was probed, are 1.2 G rows a second, 131
// slots 7 G.
//
// Left out: entries by fours; a warp for two short rows; the bias summed over a ticket in
// registers (for as many additions a row it would be eight times as late as in shared memory,
// which eight warps add to); l2 as a factor of the whole vector.
#include "score.h"
#include "sparse_one.h"
#include "sparse_row.h"
#include "sparse_whole.h"

// steps_a_ticket is how many steps a warp takes at once: their rows are at most 32, and
// all warps of this launch have some.
__device__ inline u32 steps_a_ticket() {
  if (job.discipline != FREE) return 1;  // else whoever holds the next steps would wait for all of these
  const u32 most = 32 / (u32)small(job.max_batch), fair = (u32)small(job.steps) / (4 * ctas() * (u32)small(job.teams));
  const u32 n = most < fair ? most : fair;
  return n > 0 ? n : 1;
}

// each_turn calls work(first, end) for the steps first .. end-1 that fall to this warp, as
// each_ticket does for a CTA.
template <class Work> __device__ inline void each_turn(const Work& work) {
  const u32 steps = (u32)small(job.steps), each = steps_a_ticket(), tickets = (steps + each - 1) / each;
  u32 next = lane() == 0 ? take(tickets) : 0;
  for (;;) {
    const u32 t = (u32)from_lane((int)next, 0), first = t * each, end = first + each < steps ? first + each : steps;
    if (t >= tickets) return;
    if (lane() == 0) next = take(tickets);
    work(first, end);
    if (lane() == 0) counted(end - first);
  }
}

// with_one takes steps of a model with one output.
template <Way way> __device__ inline void with_one(Global<float>* deltas) {
  Places<way> m;
  m.set();
  if (small(job.max_batch) == 1) {
    Single<way> single;
    single.m = m;
    each_turn([&](u32 first, u32 end) INLINE { single.ticket(first, end - first, job.start[first]); });
    return;
  }
  One<way> one;
  one.m = m;
  one.deltas = deltas;
  each_turn([&](u32 first, u32 end) INLINE {
    int at = job.start[first];
    one.begin(at, job.start[end]);
#pragma unroll 1
    for (u32 i = first; i < end; i++) {
      const int to = job.start[i + 1];
      one.step(i, at, to);
      at = to;
    }
  });
}

// with_many takes those of one with several.
__device__ inline void with_many(Global<float>* deltas) {
  Spread s;
  s.set();
  each_turn([&](u32 first, u32 end) INLINE {
#pragma unroll 1
    for (u32 i = first; i < end; i++) step_many(s, i, job.start[i], job.start[i + 1] - job.start[i], deltas);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) sparse_step(const Job* from) {
  read_job(job, from);
  local_begin();
  if (warp() < small(job.teams)) {
    Global<float>* deltas = job.scratch + cta() * job.scratch_stride + warp() * (job.scratch_stride / job.teams);
    if (small(job.outputs) > 1) with_many(deltas);
    else if (small(job.racy) || job.l1 != 0 || job.l2 != 0) with_one<ANY>(deltas);
    else if (job.plan) with_one<LOCAL>(deltas);
    else with_one<PLAIN>(deltas);
  }
  local_end();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) sparse_whole(const Job* from) {
  read_job(job, from);
  read_optimizer();
  Spread s;
  s.set();
  each_ticket((u32)job.steps, [&](u32 i) INLINE { step_whole(s, i, job.scratch + cta() * job.scratch_stride); });
}

// sparse_evaluate writes SUMS doubles a CTA, as evaluate does.
extern "C" __global__ void __launch_bounds__(THREADS, 2) sparse_evaluate(const Job* from) {
  read_job(job, from);
  begin_scores();
  Spread s;
  s.set();
  const int end = job.start[1];
  each_ticket((end + BLOCK - 1) / BLOCK, [&](u32 block) INLINE {
    Global<float>* z = job.scratch + cta() * job.scratch_stride + warp();
#pragma unroll 1
    for (int p = block * BLOCK + warp(); p < end && p < (int)(block + 1) * BLOCK; p += WARPS) {
      outputs(s, row_at(p), z);
      score(z, label(p));
    }
  });
  __syncthreads();
  end_scores();
}
