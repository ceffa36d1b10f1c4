// body.cc reads the body of a function: instructions, labels and nested scopes.
#include "parser.h"

namespace fake {

namespace {

// A label is known by its name only within its scope; statements keep its scope's
// number until all labels have been seen.
bool is_punctuation(const std::string& word) {
  return word.size() == 1 && std::string(",;:{}[]()@!+-<>=|").find(word) != std::string::npos;
}

}  // namespace

void Parser::body(Function* function) {
  expect("{");
  scopes_.assign(1, Scope{});
  scope_ = 0;
  file_ = source_ = 0;
  while (scope_ >= 0) item(function);
  Statement end;  // falling off the end returns
  end.line = line();
  end.words = {"ret"};
  function->statements.push_back(end);
  resolve(function);
}

// item reads one thing of a body: a brace, a directive, a label or an instruction.
void Parser::item(Function* function) {
  int at = line();
  std::string word = take();
  if (word == "{") {
    scopes_.push_back({scope_, {}, {}});
    scope_ = static_cast<int>(scopes_.size()) - 1;
  } else if (word == "}") {
    scope_ = scopes_[scope_].parent;
  } else if (word == ".reg") {
    registers(function, scope_);
  } else if (word == ".shared" || word == ".local" || word == ".param") {
    at_--;
    function->variables.push_back(variable());
    expect(";");
  } else if (word == ".loc") {
    location();
  } else if (word == ".pragma") {
    skip_past(";");
  } else if (word[0] == '.') {
    refuse_text(at, "unknown directive " + word);
  } else if (peek() == ":") {
    at_++;
    scopes_[scope_].labels[word] = static_cast<int>(function->statements.size());
  } else if (word != ";") {
    at_--;
    statement(function, at);
  }
}

void Parser::location() {
  file_ = static_cast<int>(integer());
  source_ = static_cast<int>(integer());
  skip_line();
}

void Parser::statement(Function* function, int line) {
  Statement s;
  s.line = line;
  s.file = file_;
  s.source = source_;
  s.scope = scope_;
  if (accept("@")) {
    s.guard_negated = accept("!");
    std::string name = take();
    s.guard = find_register(name);
    if (s.guard < 0) refuse_text(line, "unknown predicate " + name);
  }
  s.words = split(take(), '.');
  if (s.words[0] == "call") refuse_text(line, "call is not supported: kernels must inline their functions");
  if (!accept(";")) {
    do {
      s.operands.push_back(operand());
    } while (accept(","));
    expect(";");
  }
  function->statements.push_back(std::move(s));
}

int Parser::find_register(const std::string& name) const {
  for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent) {
    auto found = scopes_[scope].registers.find(name);
    if (found != scopes_[scope].registers.end()) return found->second;
  }
  return -1;
}

Operand Parser::named(const std::string& word) {
  Operand o;
  o.reg = find_register(word);
  o.kind = o.reg >= 0 ? Operand::kRegister : word == "_" ? Operand::kSink : Operand::kSymbol;
  o.name = word;
  return o;
}

Operand Parser::operand(bool inside) {
  int at = line();
  Operand o;
  if (accept("[")) return address_operand();
  if (!inside && accept("{")) {
    o.kind = Operand::kVector;
    do {
      o.parts.push_back(operand(true));
    } while (accept(","));
    expect("}");
    return o;
  }
  bool negated = accept("!"), minus = !negated && accept("-");
  std::string word = take();
  if (is_punctuation(word)) refuse_text(at, "cannot read " + word + " as an operand");
  if (number_of(word, &o)) {
    if (minus) o.number = -o.number;
    if (minus && o.literal != 'i') refuse_text(at, "a minus before the bits of a float");
    return o;
  }
  o = named(word);
  o.negated = negated;
  if (o.kind == Operand::kSymbol && accept("+")) o.number = integer();
  if (accept("|")) {
    std::string other = take();
    o.pair = find_register(other);
    if (o.pair < 0 && other != "_") refuse_text(at, "unknown register " + other);
  }
  return o;
}

// address_operand reads what follows [: a register, a name or a number, and an offset.
Operand Parser::address_operand() {
  int at = line();
  Operand o;
  o.kind = Operand::kAddress;
  std::string word = peek();
  Operand number;
  if (word == "-" || number_of(word, &number)) {
    o.number = integer();
  } else {
    o = named(take());
    if (o.kind == Operand::kSink || is_punctuation(word)) refuse_text(at, "cannot read " + word + " as an address");
    o.kind = Operand::kAddress;
    if (o.reg >= 0) o.name.clear();
    if (accept("+")) o.number = integer();
    else if (peek() == "-") o.number = integer();
  }
  expect("]");
  return o;
}

void Parser::resolve(Function* function) {
  for (Statement& s : function->statements) {
    if (s.words[0] != "bra") continue;
    if (s.operands.size() != 1) refuse_text(s.line, "bra needs one label");
    for (int scope = s.scope; scope >= 0 && s.target < 0; scope = scopes_[scope].parent) {
      auto found = scopes_[scope].labels.find(s.operands[0].name);
      if (found != scopes_[scope].labels.end()) s.target = found->second;
    }
    if (s.target < 0) refuse_text(s.line, "unknown label " + s.operands[0].name);
  }
}

}  // namespace fake
