// profile.h counts what kernels execute, when HOGWILD_FAKE_PROFILE names a file: of each
// instruction, how many warps executed it, and of an access to global memory
// how many sectors of 32 bytes it touched, counted warp by warp; and of all additions of floats
// there, how many went to the lines of 128 bytes that got most. kernels/table.py makes machine
// instructions a sample of it.
#pragma once

#include <unordered_map>

#include "memory.h"

namespace fake {

// Counts are those of one host thread and launch; empty: nobody asked.
struct Counts {
  std::vector<uint64_t> times, sectors;  // of each op
  struct Line { uint64_t additions, warps; };
  std::unordered_map<uint64_t, Line> memory;  // of each line of 128 bytes
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

// count_additions notes that each lane adds n floats that follow one another.
void count_additions(const Op& op, uint32_t mask, uint64_t n, const Where& where);

// write_profile appends what all threads have counted in a launch of that many CTAs: a
// line of JSON, with [PTX line, times, sectors] of every line that was executed, and
// "memory" with [address / 128, additions, times that a warp added there] of the lines that got most.
void write_profile(const Program& program, uint32_t ctas);

}  // namespace fake
