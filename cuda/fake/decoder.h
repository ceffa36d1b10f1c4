// decoder.h is what decode.cc (operands, plain opcodes, the finished program),
// decode_memory.cc and decode_control.cc share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "code.h"

namespace fake {

// Draft is an op that may still move: its registers are known, and a branch names the
// statement that it goes to; from lay_out on, the draft.
struct Draft {
  Op op;
  int statement = 0;
  int target = -1;                 // of a branch
  bool is_copy = false;            // a mov of a register
  std::vector<int> reads, writes;  // registers
};

// liveness gives the registers that may be read before they are written, how many
// registers of 32 bits are alive at once, and the drafts between which each is alive:
// it may be written from its span's first on, and was last read by the one at its end.
struct Span {
  uint32_t from = ~0u, to = 0;
};
struct Liveness {
  std::vector<bool> suspects;
  std::vector<Span> spans;
  int most = 0;
};
Liveness liveness(const Function& function, const std::vector<Draft>& drafts);

// Words walks over the modifiers of an opcode; each must be taken.
class Words {
 public:
  explicit Words(const Statement& s) : s_(s) {}
  bool accept(const std::string& word);
  std::string one_of(std::initializer_list<const char*> words);  // "" if none is next
  std::string take();
  void finish() const;  // refuses what is left
  [[noreturn]] void refuse() const;

 private:
  const Statement& s_;
  size_t at_ = 1;
};

class Decoder {
 public:
  Decoder(const Function& function, const Symbols& symbols, Program* program);
  void run();

 private:
  using Handler = void (Decoder::*)(const Statement&);
  static const std::map<std::string, Handler>& handlers();

  // decode.cc: places
  void place_parameters();
  void place_variables();
  uint32_t allocate(size_t bytes_a_lane);  // 0: a predicate
  uint32_t constant(size_t bytes_a_lane, uint64_t bits);
  uint32_t special(const Statement& s, const std::string& name, size_t bytes);
  uint64_t address_of(const Statement& s, const Operand& o) const;
  uint64_t literal(const Statement& s, const Operand& o, size_t bytes, char kind) const;
  size_t width(int reg) const;  // bytes a lane, 0: a predicate

  // decode.cc: operands; they note reads and writes in draft_
  uint32_t read(const Statement& s, const Operand& o, size_t bytes, char kind);
  uint32_t write(const Statement& s, const Operand& o, size_t bytes);
  uint32_t write_pair(const Statement& s, const Operand& o);
  void expect_operands(const Statement& s, size_t least, size_t most) const;
  Draft* begin(const Statement& s, Run run);
  void emit();

  void statement(const Statement& s);
  void plain(const Statement& s);
  void share_places(const std::vector<Span>& spans);
  uint32_t settled(uint32_t place) const;
  void finish();
  void emit_marked(const Draft& draft, const std::vector<uint32_t>& marks);
  void push_op(const Op& op, int statement);

  // decode_select.cc
  void mov(const Statement& s);
  void pack(const Statement& s);
  void unpack(const Statement& s);
  void setp(const Statement& s);
  void set(const Statement& s);
  void cvt(const Statement& s);
  void cvta(const Statement& s);
  void isspacep(const Statement& s);

  // decode_memory.cc
  void ld(const Statement& s);
  void st(const Statement& s);
  void atom(const Statement& s);
  void address(const Statement& s, const Operand& o, Space space);
  void load_parameter(const Statement& s, Type type, int lanes);
  std::vector<uint32_t> destinations(const Statement& s, Type type, int lanes);
  void finish_destinations(const Statement& s, Type type);
  uint32_t value(const Statement& s, const Operand& o, Type type);
  void nothing(const Statement& s);

  // decode_control.cc
  void bra(const Statement& s);
  void ret(const Statement& s);
  void bar(const Statement& s);
  void shfl(const Statement& s);
  void vote(const Statement& s);
  void match(const Statement& s);
  void redux(const Statement& s);
  void mma(const Statement& s);
  void activemask(const Statement& s);
  void fence(const Statement& s);
  void nanosleep(const Statement& s);
  bool skip_unless(const Statement& s);

  const Function& function_;
  const Symbols& symbols_;
  Program* program_;
  std::vector<uint32_t> places_;   // of registers: their numbers, until
  std::vector<uint32_t> settled_;  // share_places has found their places
  std::map<std::pair<size_t, uint64_t>, uint32_t> constants_;
  std::map<std::string, uint32_t> specials_;
  std::map<std::string, uint64_t> locals_, shared_;  // offsets of variables
  std::map<std::string, size_t> parameters_;         // index
  std::vector<Draft> drafts_;
  std::vector<uint32_t> starts_;  // first draft of each statement
  Draft draft_;                   // the one in the making
  struct Narrow {
    int reg;
    uint32_t temporary;
    size_t from, to;
  };
  std::vector<Narrow> narrow_;  // loads into registers wider than the type
  int current_ = 0;             // statement
};

}  // namespace fake
