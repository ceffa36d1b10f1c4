// barrier.cc is bar.sync, bar.arrive and bar.red. A warp arrives as a whole: its lanes
// gather at the instruction first (warp.cc).
#include "control.h"

namespace fake {

namespace {

uint32_t value_of(const Warp& w, uint32_t place, uint32_t mask) { return w.in<uint32_t>(place)[first_lane(mask)]; }

Barrier& barrier_of(Warp& w, const Op& op, uint32_t mask) {
  uint32_t id = value_of(w, op.at[1], mask);
  if (id >= 16) stop_warp(w, op, kLaunchFailed, "barrier " + std::to_string(id) + ": there are 16");
  return w.cta->barriers[id];
}

// join notes a warp that has come and checks that it means the same barrier. Barriers
// of the whole CTA must be one instruction: two arms of a branch with a barrier each
// meet by luck only.
void join(Warp& w, const Op& op, uint32_t mask, Barrier* b) {
  const Grid& grid = *w.cta->core->grid;
  const bool whole = op.at[2] == kNowhere;
  const uint32_t pc = index_of(*grid.program, op);
  const uint32_t expected = whole ? grid.threads : value_of(w, op.at[2], mask);
  if (!whole && (expected == 0 || expected % kLanes != 0)) {
    stop_warp(w, op, kLaunchFailed, "a barrier of " + std::to_string(expected) + " threads: must be a multiple of 32");
  }
  if (b->arrived == 0) {
    *b = Barrier{};
    b->pc = pc;
    b->expected = expected;
  }
  if (b->expected != expected || (whole && b->pc != pc)) {
    stop_warp(w, op, kLaunchFailed, "barrier under divergence: other warps wait at " + place_of(*grid.program, b->pc));
  }
  uint32_t threads = static_cast<uint32_t>(__builtin_popcount(mask));
  b->arrived += whole ? threads : kLanes;
  b->threads += threads;
  if (op.mode >= kPopc) b->votes += static_cast<uint32_t>(__builtin_popcount(w.predicate(op.at[3]) & mask));
}

void give_result(Warp& w, const Op& op, uint32_t mask, const Barrier& b) {
  if (op.mode == kPopc) {
    uint32_t* d = w.out<uint32_t>(op.at[0]);
    each(mask, [&](int i) { d[i] = b.votes; });
  } else if (op.mode > kPopc) {
    bool yes = op.mode == kEvery ? b.votes == b.threads : b.votes > 0;
    set_predicate(w, op.at[0], yes ? kAll : 0, mask);
  }
}

// finish lets the warps go when all have come.
void finish(Cta& cta, Barrier* b) {
  if (b->arrived < b->expected) return;
  const Program& program = *cta.core->grid->program;
  for (Warp& w : cta.warps) {
    if (!(b->warps >> w.index & 1)) continue;
    const Group& group = w.others[0];
    give_result(w, program.ops[group.pc], group.mask, *b);
    release(w);
  }
  cta.generation++;
  *b = Barrier{};
}

}  // namespace

// arrive is called when all lanes of a warp that are alive wait at op.
void arrive(Warp& w, const Op& op, uint32_t mask) {
  Barrier& b = barrier_of(w, op, mask);
  join(w, op, mask, &b);
  b.warps |= 1ull << w.index;
  finish(*w.cta, &b);
}

void barrier(Warp& w, const Op& op, uint32_t mask) {
  if (op.mode != kArrive) return park_at_barrier(w, op);
  if (mask != w.live)
    stop_warp(w, op, kLaunchFailed, "bar.arrive under divergence: only " + lanes_text(mask) + " are here");
  Barrier& b = barrier_of(w, op, mask);
  join(w, op, mask, &b);
  finish(*w.cta, &b);
}

}  // namespace fake
