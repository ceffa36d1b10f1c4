// flow.h is the flow of control between blocks of drafts.
#pragma once

#include <vector>

#include "decoder.h"

namespace fake {

// A Block is drafts without a branch in or out but at its ends.
struct Block {
  size_t from, to;           // drafts from .. to-1
  std::vector<size_t> next;  // the taken branch first, then the block behind, if it falls there
  bool falls = false;
};

std::vector<Block> blocks_of(const std::vector<Draft>& drafts);

// lay_out puts the drafts into the order by which parted lanes meet soonest: a block
// behind all that lead to it but for loops, and a loop in one piece, before what follows
// it. Compilers' order is not that: they like a loop's end before its head. What is
// never reached is left out.
void lay_out(std::vector<Draft>* drafts);

}  // namespace fake
