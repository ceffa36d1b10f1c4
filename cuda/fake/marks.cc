// marks.cc catches reads of registers that were never written. Which registers may be
// is known before a kernel runs (liveness.cc), and only those carry marks.
#include "control.h"

namespace fake {

void mark(Warp& w, const Op& op, uint32_t mask) { *w.out<uint32_t>(op.at[0]) |= mask; }

void check_mark(Warp& w, const Op& op, uint32_t mask) {
  uint32_t missing = mask & ~w.predicate(op.at[0]);
  if (missing == 0) return;
  const std::string& name = program_of(w).register_names[static_cast<size_t>(op.offset)];
  stop_lane(w, op, first_lane(missing), kLaunchFailed, "read of register " + name + ", which was never written");
}

// A mov of what was never written is no harm yet: the mark goes along.
void copy_mark(Warp& w, const Op& op, uint32_t mask) { set_predicate(w, op.at[0], w.predicate(op.at[1]), mask); }

}  // namespace fake
