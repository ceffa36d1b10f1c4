// profile.h counts what kernels execute, when HOGWILD_FAKE_PROFILE names a file: of each
// instruction, how many warps executed it, and of an access to global memory how many
// sectors of 32 bytes it touched, counted warp by warp. kernels/table.py makes
// machine instructions a sample of it.
#pragma once

#include "memory.h"

namespace fake {

// Counts are those of one host thread and launch; empty: nobody asked.
struct Counts {
  std::vector<uint64_t> times, sectors;  // of each op
};

extern thread_local Counts* counting;  // null: nobody asked

// A Counting is a thread's share of a launch: what it counts is added to the kernel's.
class Counting {
 public:
  explicit Counting(const Program& program);
  ~Counting();

 private:
  const Program& program_;
  Counts counts_;
};

// count_sectors notes an access whose addresses are known.
void count_sectors(const Warp& w, const Op& op, uint32_t mask, const Where& where);

// write_profile appends what all threads have counted in a launch of that many CTAs: a
// line of JSON, with [PTX line, times, sectors] of every line that was executed.
void write_profile(const Program& program, uint32_t ctas);

}  // namespace fake
