// guard.h is what stands around the update of a step: who may write meanwhile, the count
// of updates, and samples of what others do between its read of the weights and its
// write. Every kernel that takes steps calls, with all threads of the team that takes
// step i,
//
//	reads(team, i)    the weights are read from here on
//	writes(team, i)   the gradient is there: wait until it may be written
//	wrote(team, i)    it is written
//
// Under LOCKED a team has the weights to itself between the last two, under ORDERED the
// teams write in the order of their steps. Both wait on the device, and so are only for
// one process, all of whose CTAs run at the same time (the host sees to it): a waiting
// kernel of another process could keep the one from running that it waits for. The step
// with the lowest number never waits for another, so that there is no deadlock.
//
// Of SAMPLED steps (of small teams more) one is a sample: one time of the updates that others write from its
// read to its write (staleness), the next of the weights of its update that another has
// changed in between (conflicts). Each alone, lest looking at the one makes the other
// longer. A kernel that adds loses nothing. One that stores stores what it has read and
// its step: the changes of others are then lost. A kernel whose steps write few weights
// says which:
//
//	reads(team, i, [&](u32 r) { return one of them, for r drawn from all u32; })
#pragma once

#include "record.h"

constexpr u32 SAMPLED = 64;         // steps to a sample; a power of two
constexpr u32 GOLDEN = 0x9e3779b1;  // 2^32 over the golden ratio: its multiples spread evenly (Knuth, volume 3, 6.4)
constexpr int NOTES = 8;            // weights that a sample looks at, at most one a lane

// Sample is what a team knows from reads to wrote.
template <int NOTED> struct Sample {
  u64 before;  // updates of all ranks
  i64 at[NOTED];
  float was[NOTED];
};

template <class Team> __shared__ Sample<Team::NOTED> samples[Team::COUNT];

// Cta and Lanes are teams: the threads that take a step together.
struct Cta {
  static constexpr int COUNT = 1;  // in a CTA
  static constexpr int NOTED = NOTES;
  static constexpr u32 EVERY = SAMPLED;
  __device__ static int place() { return thread(); }
  __device__ static int number() { return 0; }
  __device__ static void sync() { __syncthreads(); }
  __device__ static u64& before() { return samples<Cta>[0].before; }
};
template <int L> struct Lanes {
  static constexpr int COUNT = THREADS / L;
  static constexpr int NOTED = L < NOTES ? L : NOTES;
  static constexpr u32 EVERY = SAMPLED;
  __device__ static int place() { return thread() & (L - 1); }
  __device__ static int number() { return (u32)thread() / L; }
  __device__ static void sync() { __nvvm_bar_warp_sync((ALL >> (32 - L)) << (thread() & 31 & -L)); }
  __device__ static u64& before() { return samples<Lanes>[number()].before; }
};
using Warp = Lanes<32>;

// Quick has lanes whose step is as short as a trip to memory, and that do not wait for
// one before they read the weights: its count of updates is in a register. A sample holds
// the other teams of the warp up: it is as rare among the warp's turns whatever L is.
template <int L> struct Quick : Lanes<L> {
  static constexpr u32 EVERY = SAMPLED * (32 / L);
  mutable u64 count;
  __device__ u64& before() const { return count; }
};

// sampled tells whether step i is a sample: of each EVERY steps of the rank, counted over
// all launches, any one.
template <class Team> __device__ inline bool chosen(u32 n) {
  return n % Team::EVERY == (n / Team::EVERY * GOLDEN) / (u32)(0x100000000 / Team::EVERY);
}
template <class Team> __device__ inline bool sampled(u32 i) { return job.record && chosen<Team>((u32)job.taken + i); }

// noting tells whether it is one of conflicts.
template <class Team> __device__ inline bool noting(u32 i) { return ((u32)job.taken + i) / Team::EVERY % 2; }

__device__ inline u64 updates_of_all() {
  u64 sum = 0;
  for (int r = 0; r < small(job.ranks); r++) {
    u64 v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(job.counts + r * COUNT_STRIDE) : "memory");
    sum += v;
  }
  return sum;
}

// counted adds n updates to those of this rank, which are at own_count.
__device__ inline Global<u64>* own_count() { return job.counts + job.rank * COUNT_STRIDE; }
__device__ inline void counted(u32 n, Global<u64>* own = own_count()) {
  asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(own), "l"((u64)n) : "memory");
}

// below is a number from 0 to n-1 for an r drawn from all u32.
__device__ inline i64 below(i64 n, u32 r) { return (i64)((u64)n * r >> 32); }

template <class Team, class Pick> __device__ inline void reads(const Team& team, u32 i, const Pick& pick) {
  const int n = team.place();
  if (n >= Team::NOTED || !sampled<Team>(i)) return;
  if (noting<Team>(i)) {
    auto& s = samples<Team>[team.number()];
    s.at[n] = pick((((u32)job.taken + i) * NOTES + n) * GOLDEN);
    s.was[n] = job.w.load(s.at[n]);
  } else if (n == 0) {
    team.before() = updates_of_all();
  }
}

template <class Team> __device__ inline void reads(const Team& team, u32 i) {
  reads(team, i, [](u32 r) INLINE { return below(job.weights, r); });
}

// compare looks at the weights noted, before any of the team writes.
template <class Team> __device__ inline void compare(const Team& team) {
  const int n = team.place();
  if (n < Team::NOTED) {
    const auto& s = samples<Team>[team.number()];
    const bool changed = job.w.load(s.at[n]) != s.was[n];
    record(RECORD_LOOKED, 1);
    if (changed) record(RECORD_CONFLICTS, 1);
    if (job.racy) record(RECORD_TRIED, 1);
    if (job.racy && changed) record(RECORD_LOST, 1);
  }
  team.sync();
}

// TURN is where, from the ticket, the word is that says whose turn it is, or that somebody has it: in
// a line of its own, lest those who wait for it hold up those who take tickets. Between two looks at
// it a team sleeps, since looks at one word queue, and whoever gives it up is in that queue too.
constexpr int TURN = 32;                     // words
constexpr u32 PAUSE = 32, MOST_PAUSE = 256;  // nanoseconds: each is twice the one before, to less than a trip to memory

// await returns when step i may be written; leave lets the next one write. The fences
// order what is read and written between the two after one such step and before the next.
__device__ inline void await(u32 i) {
  Global<u32>* word = job.ticket + TURN;
  u32 was;
  for (u32 pause = PAUSE;; pause = pause < MOST_PAUSE ? 2 * pause : MOST_PAUSE) {
    if (job.discipline == ORDERED) {
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(was) : "l"(word) : "memory");
      was -= i;
    } else {
      asm volatile("atom.relaxed.sys.global.cas.b32 %0, [%1], 0, 1;" : "=r"(was) : "l"(word) : "memory");
    }
    if (was == 0) break;
    asm volatile("nanosleep.u32 %0;" ::"r"(pause));
  }
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
__device__ inline void leave(u32 i) {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(job.ticket + TURN), "r"(job.discipline == ORDERED ? i + 1 : 0) : "memory");
}

template <class Team> __device__ inline void writes(const Team& team, u32 i) {
  if (job.discipline != FREE) {
    if (team.place() == 0) await(i);
    team.sync();
  }
  if (sampled<Team>(i) && noting<Team>(i)) compare(team);
}

// wrote counts n updates: 1, or 0 where the team counts several together later.
template <class Team> __device__ inline void wrote(const Team& team, u32 i, u32 n = 1) {
  if (job.discipline != FREE) team.sync();  // all of the team have written
  if (team.place() != 0) return;
  if (sampled<Team>(i) && !noting<Team>(i)) stale(updates_of_all() - team.before());
  if (n > 0) counted(n);
  if (job.discipline != FREE) leave(i);
}
