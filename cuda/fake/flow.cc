// flow.cc finds blocks and loops, and lays blocks out in an order in which running the
// lowest lanes first lets lanes meet as soon as they can.
#include "flow.h"

#include <algorithm>

#include "control.h"

namespace fake {

namespace {

using Sets = std::vector<std::vector<bool>>;

bool ends(const Draft& draft) {
  return draft.target >= 0 || (draft.op.guard == kNowhere && (draft.op.run == leave || draft.op.run == trap));
}

// postorder visits what a block leads to before itself, in the order of next.
void postorder(const std::vector<std::vector<size_t>>& next, std::vector<size_t>* order) {
  std::vector<bool> seen(next.size());
  std::vector<std::pair<size_t, size_t>> path{{0, 0}};
  seen[0] = true;
  while (!path.empty()) {
    auto& [block, edge] = path.back();
    if (edge == next[block].size()) {
      order->push_back(block);
      path.pop_back();
      continue;
    }
    size_t to = next[block][edge++];
    if (!seen[to]) {
      seen[to] = true;
      path.push_back({to, 0});
    }
  }
}

// dominators gives for each block that is reached those through which every way to it
// leads.
Sets dominators(const std::vector<std::vector<size_t>>& next, const std::vector<size_t>& reverse, const Sets& before) {
  Sets all(next.size(), std::vector<bool>(next.size(), true));
  all[0].assign(next.size(), false);
  all[0][0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = reverse.size(); i-- > 0;) {
      size_t block = reverse[i];
      if (block == 0) continue;
      std::vector<bool> common(next.size(), true);
      for (size_t from : reverse) {
        if (!before[block][from]) continue;
        for (size_t k = 0; k < common.size(); k++) common[k] = common[k] && all[from][k];
      }
      common[block] = true;
      if (common != all[block]) changed = true;
      all[block].swap(common);
    }
  }
  return all;
}

// A loop is all that leads to a branch back to a block through which its way came.
Sets loops_of(const std::vector<std::vector<size_t>>& next, const std::vector<size_t>& reverse) {
  Sets before(next.size(), std::vector<bool>(next.size()));
  for (size_t from : reverse) {
    for (size_t to : next[from]) before[to][from] = true;
  }
  Sets over = dominators(next, reverse, before), loops;
  std::vector<int> loop_of(next.size(), -1);
  for (size_t from : reverse) {
    for (size_t head : next[from]) {
      if (!over[from][head]) continue;
      if (loop_of[head] < 0) {
        loop_of[head] = static_cast<int>(loops.size());
        loops.emplace_back(next.size());
        loops.back()[head] = true;
      }
      std::vector<bool>& loop = loops[static_cast<size_t>(loop_of[head])];
      std::vector<size_t> open{from};
      while (!open.empty()) {
        size_t block = open.back();
        open.pop_back();
        if (loop[block]) continue;
        loop[block] = true;
        for (size_t each : reverse) {
          if (before[block][each]) open.push_back(each);
        }
      }
    }
  }
  return loops;
}

// order_of is a reverse postorder that visits the ways out of loops first, so that they
// come last.
std::vector<size_t> order_of(const std::vector<Block>& blocks) {
  std::vector<std::vector<size_t>> next;
  for (const Block& block : blocks) next.push_back(block.next);
  std::vector<size_t> order;
  postorder(next, &order);
  Sets loops = loops_of(next, order);
  auto left = [&loops](size_t from, size_t to) {
    return std::count_if(loops.begin(), loops.end(),
                         [=](const std::vector<bool>& loop) { return loop[from] && !loop[to]; });
  };
  for (size_t b = 0; b < next.size(); b++) {
    std::stable_sort(next[b].begin(), next[b].end(), [&](size_t x, size_t y) { return left(b, x) > left(b, y); });
  }
  order.clear();
  postorder(next, &order);
  std::reverse(order.begin(), order.end());
  return order;
}

// join_to makes block's last branch fit to what comes behind it now: none where it
// would lead there, turned round where that saves one, or another one added.
void join_to(const Block& block, size_t behind, std::vector<Draft>* out, const std::vector<Draft>& drafts,
             const std::vector<Block>& blocks) {
  const Draft& last = drafts[block.to - 1];
  const bool branches = last.target >= 0;
  if (branches && !block.falls && block.next[0] == behind) {
    out->pop_back();
    return;
  }
  if (!block.falls || block.next.back() == behind) return;
  size_t follows = blocks[block.next.back()].from;
  if (branches && block.next[0] == behind) {
    out->back().op.flip ^= kAll;
    out->back().target = static_cast<int>(follows);
    return;
  }
  Draft jump;
  jump.op.run = branch;
  jump.statement = last.statement;
  jump.target = static_cast<int>(follows);
  out->push_back(jump);
}

}  // namespace

std::vector<Block> blocks_of(const std::vector<Draft>& drafts) {
  std::vector<bool> leads(drafts.size() + 1);
  leads[0] = true;
  for (size_t i = 0; i < drafts.size(); i++) {
    if (drafts[i].target >= 0) leads[static_cast<size_t>(drafts[i].target)] = true;
    if (ends(drafts[i])) leads[i + 1] = true;
  }
  std::vector<Block> blocks;
  std::vector<size_t> block_at(drafts.size() + 1);
  for (size_t i = 0; i < drafts.size(); i++) {
    if (leads[i]) blocks.push_back({i, i, {}, false});
    block_at[i] = blocks.size() - 1;
    blocks.back().to = i + 1;
  }
  for (size_t b = 0; b < blocks.size(); b++) {
    const Draft& last = drafts[blocks[b].to - 1];
    if (last.target >= 0) blocks[b].next.push_back(block_at[static_cast<size_t>(last.target)]);
    blocks[b].falls = (last.op.guard != kNowhere || !ends(last)) && b + 1 < blocks.size();
    if (blocks[b].falls) blocks[b].next.push_back(b + 1);
  }
  return blocks;
}

void lay_out(std::vector<Draft>* drafts) {
  const std::vector<Block> blocks = blocks_of(*drafts);
  const std::vector<size_t> order = order_of(blocks);
  std::vector<Draft> out;
  std::vector<size_t> moved(drafts->size());  // first drafts of blocks
  for (size_t i = 0; i < order.size(); i++) {
    const Block& block = blocks[order[i]];
    moved[block.from] = out.size();
    out.insert(out.end(), drafts->begin() + static_cast<long>(block.from),
               drafts->begin() + static_cast<long>(block.to));
    join_to(block, i + 1 < order.size() ? order[i + 1] : blocks.size(), &out, *drafts, blocks);
  }
  for (Draft& draft : out) {
    if (draft.target >= 0) draft.target = static_cast<int>(moved[static_cast<size_t>(draft.target)]);
  }
  drafts->swap(out);
}

}  // namespace fake
