// warp.h is the state of a grid while it runs: Grid > Core (a host thread) > Cta > Warp.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "code.h"

namespace fake {

struct Cta;
struct Core;
struct Shadow;

// A Group is lanes of a warp at one program counter.
enum class Wait : uint8_t { kNone, kMembers, kBarrier };
struct Group {
  uint32_t pc, mask;
  int fuel;
  Wait wait;
};

// A Warp runs one group at a time, the one with the lowest program counter: so the
// lanes of a branch meet again behind it. The others wait in a list.
struct Warp {
  enum State : uint8_t { kReady, kAtBarrier, kDone };

  uint8_t* registers = nullptr;
  const uint8_t* constants = nullptr;
  uint8_t* local = nullptr;  // kLanes blocks of local_bytes
  Cta* cta = nullptr;
  const Program* program = nullptr;
  Range* ranges = nullptr;  // the core's
  uint32_t index = 0;   // in the CTA
  uint32_t exists = 0;  // lanes that are threads
  uint32_t live = 0;    // lanes that have not returned

  uint32_t pc = 0, active = 0;  // the group that runs
  uint32_t limit = 0;           // it stops before this pc; an op sets 0 to stop at once
  int fuel = 0;
  Wait wait = Wait::kNone;
  Group others[kLanes];
  int count = 0;  // of others
  int quota = 0;  // back-edges until another warp's turn
  State state = kReady;

  template <class T>
  const T* in(uint32_t place) const {
    return reinterpret_cast<const T*>((place & kConstant ? constants : registers) + (place & ~kConstant));
  }
  template <class T>
  T* out(uint32_t place) const {
    return reinterpret_cast<T*>(registers + place);
  }
  uint32_t predicate(uint32_t place) const { return *in<uint32_t>(place); }
};

// A barrier of a CTA, while warps wait at it.
struct Barrier {
  uint32_t pc = 0, expected = 0, arrived = 0, threads = 0, votes = 0;
  uint64_t warps = 0;
};

struct Cta {
  Core* core = nullptr;
  uint32_t id[3] = {0, 0, 0};
  uint32_t number = 0;
  std::vector<Warp> warps;
  std::vector<uint64_t> memory;  // registers, local and shared memory
  uint8_t* shared = nullptr;
  size_t shared_bytes = 0;
  Barrier barriers[16];
  uint32_t generation = 1;      // barriers passed, for the shadow
  std::shared_ptr<Shadow> shadow;
  uint32_t done = 0;            // warps
};

// Grid is what all threads that run a launch share.
struct Grid {
  const Launch* launch;
  const Program* program;
  uint32_t total = 0, threads = 0, warps = 0;  // CTAs; threads and warps of each
  uint32_t cores = 1;
  std::atomic<uint32_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Fault fault;  // the first
};

// Core is a host thread at work on a grid.
struct Core {
  Grid* grid = nullptr;
  uint32_t number = 0;
  std::vector<Range> ranges;  // for each op, the allocation that it last met
  uint64_t random = 1;
  uint32_t draw(uint32_t below) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return static_cast<uint32_t>((random >> 33) % below);
  }
};

// warp.cc
void advance(Warp& w);  // until its quota, a barrier or the end; sets state
void release(Warp& w);  // from a barrier
uint32_t meet(Warp& w, const Op& op, uint32_t mask, const uint32_t* members);
void park_at_barrier(Warp& w, const Op& op);

// cta.cc
void start(Cta& cta, Core& core, uint32_t number);
bool turn(Cta& cta);  // some instructions of one warp; false when the CTA has ended
void arrive(Warp& w, const Op& op, uint32_t mask);

// report.cc
[[noreturn]] void stop_lane(const Warp& w, const Op& op, int lane, int code, const std::string& what);
[[noreturn]] void stop_warp(const Warp& w, const Op& op, int code, const std::string& what);
std::string lanes_text(uint32_t mask);
std::string place_of(const Program& program, uint32_t pc);
inline uint32_t index_of(const Program& p, const Op& op) { return static_cast<uint32_t>(&op - p.ops.data()); }
inline const Program& program_of(const Warp& w) { return *w.program; }

inline int first_lane(uint32_t mask) { return __builtin_ctz(mask); }

// CUresults.
constexpr int kIllegalAddress = 700, kTimeout = 702, kMisaligned = 716, kLaunchFailed = 719;

}  // namespace fake
