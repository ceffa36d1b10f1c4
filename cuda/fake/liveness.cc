// liveness.cc finds which registers are alive where: those alive at the entry may be
// read before they are written, and the most that are alive at once is what a GPU's
// compiler would need.
#include "flow.h"

namespace fake {

namespace {

using Set = std::vector<uint64_t>;

void insert(Set* set, int i) { (*set)[static_cast<size_t>(i) / 64] |= 1ull << (i % 64); }
void erase(Set* set, int i) { (*set)[static_cast<size_t>(i) / 64] &= ~(1ull << (i % 64)); }
bool contains(const Set& set, size_t i) { return set[i / 64] >> (i % 64) & 1; }

// merge adds b to a; true when a grew.
bool merge(Set* a, const Set& b) {
  uint64_t grown = 0;
  for (size_t i = 0; i < b.size(); i++) {
    grown |= b[i] & ~(*a)[i];
    (*a)[i] |= b[i];
  }
  return grown != 0;
}

// step goes backwards over one draft. What it writes under a guard stays alive.
void step(const Draft& draft, Set* alive) {
  if (draft.op.guard == kNowhere) {
    for (int reg : draft.writes) erase(alive, reg);
  }
  for (int reg : draft.reads) insert(alive, reg);
}

int words_alive(const Function& function, const Set& alive) {
  int words = 0;
  for (size_t i = 0; i < function.registers.size(); i++) {
    const Type& type = function.registers[i].type;
    if (contains(alive, i) && type.kind != 'p') words += type.bits == 64 ? 2 : 1;
  }
  return words;
}

// solve gives what is alive at the start of each block.
std::vector<Set> solve(const std::vector<Draft>& drafts, const std::vector<Block>& blocks, size_t size) {
  std::vector<Set> starts(blocks.size(), Set(size));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      Set alive(size);
      for (size_t next : blocks[b].next) merge(&alive, starts[next]);
      for (size_t i = blocks[b].to; i-- > blocks[b].from;) step(drafts[i], &alive);
      changed |= merge(&starts[b], alive);
    }
  }
  return starts;
}

int most_alive(const Function& function, const std::vector<Draft>& drafts, const std::vector<Block>& blocks,
               const std::vector<Set>& starts) {
  int most = 0;
  for (const Block& block : blocks) {
    Set alive(starts[0].size());
    for (size_t next : block.next) merge(&alive, starts[next]);
    most = std::max(most, words_alive(function, alive));
    for (size_t i = block.to; i-- > block.from;) {
      step(drafts[i], &alive);
      if ((block.to - i) % 8 == 0 || i == block.from) most = std::max(most, words_alive(function, alive));
    }
  }
  return most;
}

// spans_of covers all that is between a register's first and last moment. Dead writes
// take place too.
std::vector<Span> spans_of(const Function& function, const std::vector<Draft>& drafts,
                           const std::vector<Block>& blocks, const std::vector<Set>& starts) {
  std::vector<Span> spans(function.registers.size());
  auto cover = [&spans](size_t reg, size_t from, size_t to) {
    spans[reg].from = std::min(spans[reg].from, static_cast<uint32_t>(from));
    spans[reg].to = std::max(spans[reg].to, static_cast<uint32_t>(to));
  };
  for (size_t b = 0; b < blocks.size(); b++) {
    const Block& block = blocks[b];
    for (size_t reg = 0; reg < spans.size(); reg++) {
      if (contains(starts[b], reg)) cover(reg, block.from, block.from);
      for (size_t next : block.next) {
        if (contains(starts[next], reg)) cover(reg, block.to, block.to);
      }
    }
    for (size_t i = block.from; i < block.to; i++) {
      for (int reg : drafts[i].reads) cover(static_cast<size_t>(reg), i, i);
      for (int reg : drafts[i].writes) cover(static_cast<size_t>(reg), i, i + 1);
    }
  }
  return spans;
}

}  // namespace

Liveness liveness(const Function& function, const std::vector<Draft>& drafts) {
  const size_t size = function.registers.size() / 64 + 1;
  Liveness result;
  const std::vector<Block> blocks = blocks_of(drafts);
  const std::vector<Set> starts = solve(drafts, blocks, size);
  for (size_t i = 0; i < function.registers.size(); i++) result.suspects.push_back(contains(starts[0], i));
  result.most = most_alive(function, drafts, blocks, starts);
  result.spans = spans_of(function, drafts, blocks, starts);
  // A copy of a suspect is one too.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Draft& draft : drafts) {
      if (!draft.is_copy || draft.reads.size() != 1 || draft.writes.size() != 1) continue;
      size_t from = static_cast<size_t>(draft.reads[0]), to = static_cast<size_t>(draft.writes[0]);
      if (result.suspects[from] && !result.suspects[to]) changed = result.suspects[to] = true;
    }
  }
  return result;
}

}  // namespace fake
