// declare.cc reads declarations: variables with their initialisers, and registers.
#include <cstring>

#include "parser.h"

namespace fake {

// variable reads ".global .align 4 .f32 name[2][3] = {...}", and so a parameter; the
// ; or , after it stays.
Variable Parser::variable() {
  Variable v;
  v.line = line();
  v.space = take().substr(1);
  size_t lanes = 1;
  while (peek()[0] == '.') {
    std::string word = take().substr(1);
    if (word == "align") {
      v.align = static_cast<size_t>(integer());
    } else if (word == "v2" || word == "v4") {
      lanes = word == "v2" ? 2 : 4;
    } else if (type_of(word).bits >= 8) {
      v.type = type_of(word);
    } else if (word != "ptr" && word != "global" && word != "const" && word != "shared") {
      refuse_text(v.line, "unknown word ." + word + " in a declaration");
    }
  }
  if (v.type.bits == 0) refuse_text(v.line, "a variable without a type");
  v.name = take();
  v.bytes = v.type.bytes() * lanes;
  v.align = std::max(v.align, v.bytes);
  dimensions(&v);
  if (accept("=")) initialiser(&v);
  if (v.initial.size() > v.bytes) refuse_text(v.line, "more values than " + v.name + " holds");
  return v;
}

void Parser::dimensions(Variable* v) {
  while (accept("[")) {
    if (accept("]")) {
      v->bytes = 0;
    } else {
      v->bytes *= static_cast<size_t>(integer());
      expect("]");
    }
  }
}

void Parser::initialiser(Variable* v) {
  if (!accept("{")) return element(v, v->type.bytes());
  if (accept("}")) return;
  do {
    if (peek() == "{") {
      initialiser(v);
    } else {
      element(v, v->type.bytes());
    }
  } while (accept(","));
  expect("}");
}

void Parser::element(Variable* v, size_t bytes) {
  bool minus = accept("-");
  std::string word = peek();
  Operand number;
  if (!number_of(word, &number)) return address(v, word);
  at_++;
  int64_t bits = minus ? -number.number : number.number;
  if (number.literal == 'd' && bytes == 4) {
    double wide;
    std::memcpy(&wide, &bits, 8);
    float narrow = static_cast<float>(wide);
    std::memcpy(&bits, &narrow, 4);
  }
  const uint8_t* raw = reinterpret_cast<const uint8_t*>(&bits);
  v->initial.insert(v->initial.end(), raw, raw + bytes);
}

// address reads name, name+4, generic(name), generic(name)+4.
void Parser::address(Variable* v, const std::string& word) {
  if (v->type.bytes() != 8) refuse_text(line(), "an address as initialiser needs 64 bits");
  at_++;
  Variable::Pointer pointer{v->initial.size(), word, 0, word == "generic"};
  if (pointer.generic) {
    expect("(");
    pointer.name = take();
    expect(")");
  }
  if (accept("+")) pointer.offset = integer();
  v->pointers.push_back(pointer);
  v->initial.resize(v->initial.size() + 8);
}

// registers reads what follows .reg: ".b32 %r<7>;" or ".pred p, q;".
void Parser::registers(Function* function, int scope) {
  int at = line();
  Type type = type_of(take().substr(1));
  if (type.bits == 0 || type.bits == 8) refuse_text(at, "unknown type of a register");
  do {
    std::string name = take();
    int count = -1;
    if (accept("<")) {
      count = static_cast<int>(integer());
      expect(">");
    }
    for (int i = 0; i < (count < 0 ? 1 : count); i++) {
      std::string each = count < 0 ? name : name + std::to_string(i);
      scopes_[scope].registers[each] = static_cast<int>(function->registers.size());
      function->registers.push_back({each, type});
    }
  } while (accept(","));
  expect(";");
}

}  // namespace fake
