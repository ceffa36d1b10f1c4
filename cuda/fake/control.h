// control.h names the instructions that move lanes, or let them meet.
#pragma once

#include "lanes.h"

namespace fake {

// warp.cc. branch: offset is the target. leave: ret and exit.
void branch(Warp& w, const Op& op, uint32_t mask);
void leave(Warp& w, const Op& op, uint32_t mask);
void trap(Warp& w, const Op& op, uint32_t mask);
void rest(Warp& w, const Op& op, uint32_t mask);  // nanosleep: another warp's turn
void fence(Warp& w, const Op& op, uint32_t mask);

// barrier.cc. at: d, id, count (kNowhere: the whole CTA), p; mode says which.
enum BarrierMode : uint8_t { kSync, kArrive, kPopc, kEvery, kAny };
void barrier(Warp& w, const Op& op, uint32_t mask);

// shuffle.cc. at: d, p, a, b, c, members. Null where there is none such.
Run shuffle_run(const std::string& mode);
// at: d, p, members.
Run vote_run(const std::string& mode, const std::string& type);
// at: d, a, members, p.
Run match_run(const std::string& mode, int bytes);
Run reduce_run(const std::string& operation, const std::string& type);
void meet_warp(Warp& w, const Op& op, uint32_t mask);    // bar.warp.sync: at[0] members
void active_mask(Warp& w, const Op& op, uint32_t mask);  // at[0] d
void read_clock(Warp& w, const Op& op, uint32_t mask);   // at[0] d; mode 0 clock, 1 clock64, 2 globaltimer

// tensor.cc. mma.sync.m16n8k8 in tf32 is two ops, as its operands are 14. multiply_tiles: at A's four, B's two,
// members; add_tiles: at D's four, C's four. offset: the products in between, four doubles a lane.
void multiply_tiles(Warp& w, const Op& op, uint32_t mask);
void add_tiles(Warp& w, const Op& op, uint32_t mask);

// marks.cc. Registers that may be read before they are written carry a mask of the
// lanes that wrote them.
void mark(Warp& w, const Op& op, uint32_t mask);         // at[0] mask
void check_mark(Warp& w, const Op& op, uint32_t mask);   // at[0] mask; offset: register
void copy_mark(Warp& w, const Op& op, uint32_t mask);    // at[0] = at[1], of masks

}  // namespace fake
