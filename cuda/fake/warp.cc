// warp.cc runs the lanes of a warp.
//
// Lanes at one program counter are a group, and the group with the lowest runs until it
// reaches the next one's, which it joins: so lanes that a branch has parted meet again
// where its arms do. The order alone would run loop heads first for ever, hence two
// exceptions. Groups at a barrier or a shuffle are parked until those that they wait
// for have come. And a group that keeps taking back-edges while others could run
// (a spin lock whose holder is in another group) runs out of fuel, and is passed over
// until all have.
#include "control.h"
#include "profile.h"

namespace fake {

namespace {

constexpr int kFuel = 1024;

// push adds a group to the list, or to the one at the same pc.
void push(Warp& w, Group group) {
  for (int i = 0; i < w.count; i++) {
    Group& other = w.others[i];
    if (other.pc != group.pc) continue;
    bool both = other.wait == Wait::kBarrier && group.wait == Wait::kBarrier;
    other.mask |= group.mask;
    other.fuel = std::max(other.fuel, group.fuel);
    other.wait = both ? Wait::kBarrier : Wait::kNone;
    return;
  }
  w.others[w.count++] = group;
}

// settle puts the running group back into the list.
void settle(Warp& w) {
  if (w.active) push(w, {w.pc, w.active, w.fuel, w.wait});
  w.active = 0;
  w.wait = Wait::kNone;
}

int lowest(const Warp& w, bool fuel) {
  int best = -1;
  for (int i = 0; i < w.count; i++) {
    const Group& g = w.others[i];
    if (g.wait != Wait::kNone || (fuel && g.fuel <= 0)) continue;
    if (best < 0 || g.pc < w.others[best].pc) best = i;
  }
  return best;
}

[[noreturn]] void stop_parked(Warp& w) {
  const Program& program = program_of(w);
  std::string all;
  const Group* shuffle = nullptr;
  for (int i = 0; i < w.count; i++) {
    const Group& g = w.others[i];
    if (g.wait == Wait::kMembers) shuffle = &g;
    all += (all.empty() ? "" : "; ") + lanes_text(g.mask) + " wait at " + place_of(program, g.pc);
  }
  const Group& first = shuffle ? *shuffle : w.others[0];
  w.active = first.mask;
  std::string what = shuffle ? "inactive lanes are named in the mask of this instruction"
                             : "barrier under divergence: lanes of one warp wait at different barriers";
  stop_warp(w, program.ops[first.pc], kLaunchFailed, what + ": " + all);
}

// parked handles a warp none of whose groups can run.
void parked(Warp& w) {
  if (w.count == 0) {
    w.state = Warp::kDone;
  } else if (w.count == 1 && w.others[0].wait == Wait::kBarrier) {
    w.state = Warp::kAtBarrier;
  } else {
    stop_parked(w);
  }
}

// choose takes the group that runs next; false: none can.
bool choose(Warp& w) {
  int best = lowest(w, true);
  if (best < 0) {
    for (int i = 0; i < w.count; i++) w.others[i].fuel = kFuel;
    best = lowest(w, true);
  }
  if (best < 0) {
    parked(w);
    return false;
  }
  Group group = w.others[best];
  w.others[best] = w.others[--w.count];
  w.pc = group.pc;
  w.active = group.mask;
  w.fuel = group.fuel;
  w.limit = kNowhere;
  for (int i = 0; i < w.count; i++) {
    if (w.others[i].pc > w.pc) w.limit = std::min(w.limit, w.others[i].pc);
  }
  return true;
}

}  // namespace

void advance(Warp& w) {
  const Op* code = program_of(w).ops.data();
  uint64_t* times = counting ? counting->times.data() : nullptr;
  while (choose(w)) {
    while (w.pc < w.limit) {
      if (times) times[w.pc]++;
      const Op& op = code[w.pc++];
      uint32_t mask = w.active;
      if (op.guard != kNowhere) {
        mask &= w.predicate(op.guard) ^ op.flip;
        if (mask == 0) continue;
      }
      op.run(w, op, mask);
    }
    settle(w);
    if (w.quota <= 0) return;
  }
}

void branch(Warp& w, const Op& op, uint32_t mask) {
  const uint32_t target = static_cast<uint32_t>(op.offset);
  const bool back = target < w.pc;
  if (mask == w.active) {
    w.pc = target;
  } else {
    push(w, {target, mask, w.fuel, Wait::kNone});
    w.active &= ~mask;
    w.limit = 0;
  }
  if (back && --w.quota <= 0) w.limit = 0;
  if (w.count == 0) return;
  if (back) w.fuel--;
  if (back || target >= w.limit) w.limit = 0;
}

void leave(Warp& w, const Op&, uint32_t mask) {
  w.live &= ~mask;
  w.active &= ~mask;
  if (w.active == 0) w.limit = 0;
}

void trap(Warp& w, const Op& op, uint32_t mask) {
  stop_lane(w, op, first_lane(mask), kLaunchFailed, "trap");
}

void rest(Warp& w, const Op&, uint32_t) {
  w.quota = 0;
  w.fuel = 0;
  w.limit = 0;
}

void fence(Warp&, const Op&, uint32_t) { std::atomic_thread_fence(std::memory_order_seq_cst); }

// meet lets lanes wait until all that their masks name are here, and returns those for
// which they are; the others are parked. It is asked again whenever lanes have come.
uint32_t meet(Warp& w, const Op& op, uint32_t mask, const uint32_t* members) {
  uint32_t ready = 0, named = kAll;
  for (int i = 0; i < kLanes; i++) named &= members[i];
  if (mask == kAll && named == kAll) return mask;
  each(mask, [&](int i) {
    if (!(members[i] & kBit[i]))
      stop_lane(w, op, i, kLaunchFailed, "the mask of this instruction does not name its own lane");
    if (members[i] & ~w.live)
      stop_lane(w, op, i, kLaunchFailed,
                "inactive lanes are named in the mask of this instruction: " + lanes_text(members[i] & ~w.live) +
                    " have returned or do not exist");
    if ((members[i] & ~mask) == 0) ready |= kBit[i];
  });
  if (ready == mask) return ready;
  uint32_t here = index_of(program_of(w), op);
  w.limit = 0;
  if (ready == 0) {
    w.pc = here;
    w.wait = Wait::kMembers;
  } else {
    push(w, {here, mask & ~ready, w.fuel, Wait::kMembers});
    w.active = ready;
  }
  return ready;
}

void park_at_barrier(Warp& w, const Op& op) {
  w.pc = index_of(program_of(w), op);
  w.wait = Wait::kBarrier;
  w.limit = 0;
}

void release(Warp& w) {
  w.others[0].pc++;
  w.others[0].wait = Wait::kNone;
  w.state = Warp::kReady;
}

}  // namespace fake
