// code.h is a kernel in its compact form, which decode.cc makes and warps execute: an
// array of Ops whose operands are places in arrays of registers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine.h"
#include "text.h"

namespace fake {

struct Warp;
struct Op;

constexpr int kLanes = 32;
constexpr uint32_t kAll = 0xffffffffu;

// Run executes one instruction for the lanes in mask.
using Run = void (*)(Warp& w, const Op& op, uint32_t mask);

// A place is a byte offset into a warp's registers, where an array of 32 lanes of 2, 4
// or 8 bytes lies (a predicate is one word of 32 bits); with kConstant, into the
// kernel's constants, which all warps share.
constexpr uint32_t kConstant = 1;
constexpr uint32_t kNowhere = ~0u;

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal };

// Generic addresses of shared and local memory lie in windows that no host address is in.
constexpr uint64_t kWindow = 1ull << 32;
constexpr uint64_t kSharedWindow = 0x71ull << 56;
constexpr uint64_t kLocalWindow = 0x72ull << 56;

// Op is one instruction in 64 bytes. What at[] holds is said where run is defined; for
// most it is the operands in PTX's order, the destination first.
struct Op {
  Run run = nullptr;
  uint32_t at[8] = {kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere};
  int64_t offset = 0;         // of an address; the target of a branch
  uint32_t guard = kNowhere;  // place of the predicate
  uint32_t flip = 0;          // kAll: the guard is negated
  Space space = Space::kGeneric;
  uint8_t lane_bytes = 8;     // width of the lanes that hold an address
  uint8_t mode = 0;           // what else run wants to know
  bool plain = false;         // an access that can race: neither atomic nor volatile
};

// Entry is how an opcode is executed; shape has a letter for each operand, the width of
// its lanes in bytes (2, 4, 8) or p for a predicate; kind tells how literals read.
struct Entry {
  Run run;
  std::string shape;
  char kind;
};

// Table holds opcodes by their whole name, "add.s32".
using Table = std::unordered_map<std::string, Entry>;
const Table& opcodes();
const Table& comparisons();  // of setp: "lt.s32"

// conversion is cvt from one type to another; how is the rounding ("" or rn, rzi, ...);
// null: there is none such.
Run conversion(Type to, Type from, const std::string& how, bool saturate, bool flush);
Run to_tf32(bool even);  // cvt.rn.tf32.f32, and cvt.rna.tf32.f32
// resize copies lanes of one width to another, with or without a sign.
Run resize(int to_bytes, int from_bytes, bool is_signed);

// Special is a special register that is filled when a CTA starts.
struct Special {
  std::string name;
  uint32_t place;
};

struct Origin {
  int line, file, source;  // in the PTX; .loc
};

// Program is a kernel that can run.
struct Program : Kernel {
  std::vector<Op> ops;
  std::vector<Origin> origins;      // of each op
  std::vector<uint64_t> constants;  // the lanes of all constants
  uint32_t register_bytes = 0;      // a warp
  uint32_t marks = 0, marks_end = 0;  // part of the registers that is zero at the start
  std::vector<Special> specials;
  std::vector<std::string> register_names;  // for reports
  const std::vector<Range>* variables = nullptr;  // of the module
  const std::map<int, std::string>* files = nullptr;
};

// Names of module variables and where they are; shared ones have offsets.
struct Symbols {
  std::unordered_map<std::string, uint64_t> addresses;  // .global, .const
  std::vector<const Variable*> shared;                  // of the module
};

// decode makes a Program of a function; throws Refusal.
void decode(const Function& function, const Symbols& symbols, Program* program);

}  // namespace fake
