// liveness.cc finds which registers are alive where: those alive at the entry may be
// read before they are written, and the most that are alive at once is what a GPU's
// compiler would need.
#include "decoder.h"

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

// A block is drafts without a branch in or out but at its ends.
struct Block {
  size_t from, to;
  std::vector<size_t> next;
  Set alive;  // at its start
};

bool ends(const Draft& draft, const std::string& head) {
  return draft.target >= 0 || ((head == "ret" || head == "exit" || head == "trap") && draft.op.guard == kNowhere);
}

std::vector<Block> blocks_of(const Function& function, const std::vector<Draft>& drafts, const std::vector<uint32_t>& starts) {
  auto head = [&](const Draft& draft) { return function.statements[static_cast<size_t>(draft.statement)].words[0]; };
  std::vector<bool> leads(drafts.size() + 1);
  leads[0] = true;
  for (size_t i = 0; i < drafts.size(); i++) {
    if (drafts[i].target >= 0) leads[starts[static_cast<size_t>(drafts[i].target)]] = true;
    if (ends(drafts[i], head(drafts[i]))) leads[i + 1] = true;
  }
  std::vector<Block> blocks;
  std::vector<size_t> block_at(drafts.size() + 1);
  for (size_t i = 0; i < drafts.size(); i++) {
    if (leads[i]) blocks.push_back({i, i, {}, {}});
    block_at[i] = blocks.size() - 1;
    blocks.back().to = i + 1;
  }
  for (size_t b = 0; b < blocks.size(); b++) {
    const Draft& last = drafts[blocks[b].to - 1];
    if (last.target >= 0) blocks[b].next.push_back(block_at[starts[static_cast<size_t>(last.target)]]);
    bool falls = last.op.guard != kNowhere || !ends(last, head(last));
    if (falls && b + 1 < blocks.size()) blocks[b].next.push_back(b + 1);
  }
  return blocks;
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

void solve(const std::vector<Draft>& drafts, size_t size, std::vector<Block>* blocks) {
  for (Block& block : *blocks) block.alive.assign(size, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks->size(); b-- > 0;) {
      Block& block = (*blocks)[b];
      Set alive(size);
      for (size_t next : block.next) merge(&alive, (*blocks)[next].alive);
      for (size_t i = block.to; i-- > block.from;) step(drafts[i], &alive);
      changed |= merge(&block.alive, alive);
    }
  }
}

int most_alive(const Function& function, const std::vector<Draft>& drafts, const std::vector<Block>& blocks, size_t size) {
  int most = 0;
  for (const Block& block : blocks) {
    Set alive(size);
    for (size_t next : block.next) merge(&alive, blocks[next].alive);
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
std::vector<Span> spans_of(const Function& function, const std::vector<Draft>& drafts, const std::vector<Block>& blocks) {
  std::vector<Span> spans(function.registers.size());
  auto cover = [&spans](size_t reg, size_t from, size_t to) {
    spans[reg].from = std::min(spans[reg].from, static_cast<uint32_t>(from));
    spans[reg].to = std::max(spans[reg].to, static_cast<uint32_t>(to));
  };
  for (const Block& block : blocks) {
    for (size_t reg = 0; reg < spans.size(); reg++) {
      if (contains(block.alive, reg)) cover(reg, block.from, block.from);
      for (size_t next : block.next) {
        if (contains(blocks[next].alive, reg)) cover(reg, block.to, block.to);
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

Liveness liveness(const Function& function, const std::vector<Draft>& drafts, const std::vector<uint32_t>& starts) {
  const size_t size = function.registers.size() / 64 + 1;
  Liveness result;
  std::vector<Block> blocks = blocks_of(function, drafts, starts);
  solve(drafts, size, &blocks);
  for (size_t i = 0; i < function.registers.size(); i++) result.suspects.push_back(contains(blocks[0].alive, i));
  result.most = most_alive(function, drafts, blocks, size);
  result.spans = spans_of(function, drafts, blocks);
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
