// cta.cc is the life of a CTA: its warps take turns of random length in random order,
// so that what depends on their order shows.
#include <cstring>

#include "control.h"
#include "memory.h"

namespace fake {

namespace {

constexpr int kBackEdges = 64;  // the longest turn

// Memory of a CTA: for each warp registers and local memory, then shared memory, each
// part rounded to 64 bytes.
size_t rounded(size_t bytes) { return (bytes + 63) & ~size_t(63); }

void lay_out(Cta& cta, const Grid& grid) {
  const Program& program = *grid.program;
  const size_t registers = rounded(program.register_bytes), local = rounded(program.local_bytes * kLanes);
  cta.shared_bytes = program.static_shared + grid.launch->shared_bytes;
  cta.memory.resize((grid.warps * (registers + local) + rounded(cta.shared_bytes) + 64) / 8);
  uint8_t* at = reinterpret_cast<uint8_t*>(rounded(reinterpret_cast<size_t>(cta.memory.data())));
  cta.warps.resize(grid.warps);
  for (uint32_t i = 0; i < grid.warps; i++) {
    Warp& w = cta.warps[i];
    w.cta = &cta;
    w.program = &program;
    w.ranges = cta.core->ranges.data();
    w.index = i;
    w.registers = at;
    w.local = at + registers;
    w.constants = reinterpret_cast<const uint8_t*>(program.constants.data());
    at += registers + local;
  }
  cta.shared = at;
}

uint32_t special_lane(const Warp& w, const std::string& name, uint32_t lane) {
  const Launch& launch = *w.cta->core->grid->launch;
  const uint32_t thread = w.index * kLanes + lane, *block = launch.block, bit = 1u << lane;
  const int axis = name.back() - 'x';
  if (name.compare(0, 5, "%tid.") == 0)
    return axis == 0 ? thread % block[0] : axis == 1 ? thread / block[0] % block[1] : thread / block[0] / block[1];
  if (name.compare(0, 6, "%ntid.") == 0) return block[axis];
  if (name.compare(0, 7, "%ctaid.") == 0) return w.cta->id[axis];
  if (name.compare(0, 8, "%nctaid.") == 0) return launch.grid[axis];
  if (name == "%laneid") return lane;
  if (name == "%warpid") return w.index;
  if (name == "%nwarpid") return w.cta->core->grid->warps;
  if (name == "%smid") return w.cta->core->number;
  if (name == "%nsmid") return w.cta->core->grid->cores;
  if (name == "%lanemask_eq") return bit;
  if (name == "%lanemask_lt") return bit - 1;
  if (name == "%lanemask_le") return bit | (bit - 1);
  if (name == "%lanemask_gt") return ~(bit | (bit - 1));
  if (name == "%lanemask_ge") return ~(bit - 1);
  if (name == "%dynamic_smem_size") return static_cast<uint32_t>(launch.shared_bytes);
  return static_cast<uint32_t>(w.cta->shared_bytes);  // %total_smem_size
}

void start_warp(Warp& w, const Grid& grid) {
  const Program& program = *grid.program;
  const uint32_t threads = std::min<uint32_t>(kLanes, grid.threads - w.index * kLanes);
  w.live = w.exists = threads == kLanes ? kAll : (1u << threads) - 1;
  w.active = 0;
  w.count = 1;
  w.others[0] = {0, w.live, 0, Wait::kNone};
  w.state = Warp::kReady;
  w.wait = Wait::kNone;
  std::memset(w.registers + program.marks, 0, program.marks_end - program.marks);
  for (const Special& special : program.specials) {
    for (uint32_t lane = 0; lane < kLanes; lane++)
      w.out<uint32_t>(special.place)[lane] = special_lane(w, special.name, lane);
  }
}

void start_shadow(Cta& cta, const Launch& launch) {
  if (!launch.check_shared_races && !launch.check_shared_uninitialised) return;
  cta.shadow = std::make_shared<Shadow>();
  cta.shadow->races = launch.check_shared_races;
  cta.shadow->uninitialised = launch.check_shared_uninitialised;
  cta.shadow->words.resize((cta.shared_bytes + 3) / 4);
}

// stop_stuck is called when no warp can run and some have not ended.
[[noreturn]] void stop_stuck(Cta& cta) {
  for (Warp& w : cta.warps) {
    if (w.state != Warp::kAtBarrier) continue;
    const Op& op = program_of(w).ops[w.others[0].pc];
    uint32_t id = w.in<uint32_t>(op.at[1])[first_lane(w.others[0].mask)];
    const Barrier& b = cta.barriers[id];
    stop_warp(w, op, kLaunchFailed,
              "barrier under divergence: " + std::to_string(b.arrived) + " of " + std::to_string(b.expected) +
                  " threads wait at barrier " + std::to_string(id) + ", and no other can come");
  }
  throw Refusal{{kLaunchFailed, "a CTA without a warp that can run"}};
}

}  // namespace

void start(Cta& cta, Core& core, uint32_t number) {
  const Grid& grid = *core.grid;
  const uint32_t* size = grid.launch->grid;
  cta.core = &core;
  cta.number = number;
  cta.id[0] = number % size[0];
  cta.id[1] = number / size[0] % size[1];
  cta.id[2] = number / size[0] / size[1];
  cta.done = 0;
  cta.generation = 1;
  for (Barrier& b : cta.barriers) b = Barrier{};
  if (cta.warps.empty()) lay_out(cta, grid);
  std::memset(cta.shared, 0xff, cta.shared_bytes);  // not numbers
  start_shadow(cta, *grid.launch);
  for (Warp& w : cta.warps) start_warp(w, grid);
}

bool turn(Cta& cta) {
  Core& core = *cta.core;
  const uint32_t count = static_cast<uint32_t>(cta.warps.size()), from = core.draw(count);
  for (uint32_t i = 0; i < count; i++) {
    Warp& w = cta.warps[(from + i) % count];
    if (w.state != Warp::kReady) continue;
    w.quota = 1 + static_cast<int>(core.draw(kBackEdges));
    advance(w);
    if (w.state == Warp::kAtBarrier) arrive(w, program_of(w).ops[w.others[0].pc], w.others[0].mask);
    if (w.state == Warp::kDone) cta.done++;
    return cta.done < count;
  }
  stop_stuck(cta);
}

}  // namespace fake
