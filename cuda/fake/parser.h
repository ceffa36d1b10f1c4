// parser.h is the cursor that declare.cc (variables), body.cc (instructions) and
// parse.cc (everything around them) share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lexer.h"

namespace fake {

class Parser {
 public:
  explicit Parser(const std::string& ptx) : tokens_(tokens_of(ptx)) {}
  Text text();

 private:
  // A Scope is one { } of a function body: the names that it adds.
  struct Scope {
    int parent = -1;
    std::map<std::string, int> registers, labels;
  };

  // the cursor
  const std::string& peek() const { return tokens_[at_].text; }
  int line() const { return tokens_[at_].line; }
  std::string take();
  bool accept(const std::string& word);
  void expect(const std::string& word);
  int64_t integer();
  void skip_past(const std::string& word);
  void skip_line();
  void skip_braces();

  // parse.cc
  void directive(Text* text);
  void function(Text* text);
  void limits(Function* function);
  void file_name(Text* text);

  // declare.cc
  Variable variable();
  void dimensions(Variable* v);
  void initialiser(Variable* v);
  void element(Variable* v, size_t bytes);
  void address(Variable* v, const std::string& word);
  void registers(Function* function, int scope);

  // body.cc
  void body(Function* function);
  void item(Function* function);
  void location();
  void statement(Function* function, int line);
  Operand operand(bool inside = false);
  Operand address_operand();
  Operand named(const std::string& word);
  int find_register(const std::string& name) const;
  void resolve(Function* function);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::vector<Scope> scopes_;
  int scope_ = 0;
  int file_ = 0, source_ = 0;  // the last .loc
};

}  // namespace fake
