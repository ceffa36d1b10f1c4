// text.h is PTX text as statements: what parse.cc makes and decode.cc reads. Names of
// registers and labels are resolved; opcodes are still words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine.h"

namespace fake {

// Refusal is a Fault on its way up: thrown anywhere, caught where a module is loaded
// or a grid is run.
struct Refusal {
  Fault fault;
};

constexpr int kInvalidPtx = 218;

[[noreturn]] void refuse_text(int line, const std::string& what);  // 218, "PTX line N: what"

// Type is a PTX type: its width in bits (1: a predicate) and its kind.
struct Type {
  int bits = 0;
  char kind = 'b';  // u, s, f, b; p: predicate
  size_t bytes() const { return bits / 8; }
};

// type_of reads "u32", "f64", "pred", ...; bits is 0 for another word.
Type type_of(const std::string& word);

struct Register {
  std::string name;
  Type type;
};

// Operand is one argument of an instruction.
struct Operand {
  enum Kind { kRegister, kNumber, kSymbol, kAddress, kVector, kSink, kLabel } kind = kSink;
  int reg = -1;              // kRegister, or the base of kAddress (-1: none)
  int pair = -1;             // the q of p|q
  bool negated = false;      // !p
  std::string name;          // kSymbol, kLabel, or the base of kAddress
  int64_t number = 0;        // kNumber; the offset of kAddress and kSymbol
  char literal = 'i';        // kNumber is i: an integer, f: bits of a float, d: of a double
  std::vector<Operand> parts;  // kVector
};

// Statement is one instruction.
struct Statement {
  int line = 0;              // in the PTX
  int file = 0, source = 0;  // .loc: file number and line, or 0
  int guard = -1;            // predicate register of @p
  bool guard_negated = false;
  std::vector<std::string> words;  // the opcode, split at dots
  std::vector<Operand> operands;
  int scope = 0;                   // for labels
  int target = -1;                 // of a branch: index of a statement
  std::string opcode() const;
};

// Variable is a declaration in .global, .const, .shared, .local or .param.
struct Variable {
  std::string name, space;
  Type type;
  size_t align = 1, bytes = 0;
  bool is_extern = false;
  int line = 0;
  std::vector<uint8_t> initial;  // bytes, as far as given
  struct Pointer {
    size_t at;
    std::string name;
    int64_t offset;
    bool generic;
  };
  std::vector<Pointer> pointers;  // addresses in the initialiser
};

// Function is an .entry.
struct Function {
  std::string name;
  int line = 0;
  std::vector<Variable> parameters, variables;
  std::vector<Register> registers;
  std::vector<Statement> statements;
  int max_threads = 0;    // .maxntid or .reqntid, 0: none
  int max_registers = 255;  // .maxnreg, or what .minnctapersm leaves
};

struct Text {
  int version = 0;  // 81 for 8.1
  int target = 0;   // 90 for sm_90
  std::map<int, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

Text parse(const std::string& ptx);  // throws Refusal

}  // namespace fake
