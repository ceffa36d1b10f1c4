// parse.cc reads a module: directives, entry functions and what surrounds them.
#include <cstdlib>

#include "parser.h"

namespace fake {

void refuse_text(int line, const std::string& what) {
  throw Refusal{{kInvalidPtx, "PTX line " + std::to_string(line) + ": " + what}};
}

Type type_of(const std::string& word) {
  if (word == "pred") return {1, 'p'};
  if (word.size() < 2 || word.size() > 3) return {};
  static const std::string kinds = "usfb";
  if (kinds.find(word[0]) == std::string::npos) return {};
  std::string digits = word.substr(1);
  if (digits != "8" && digits != "16" && digits != "32" && digits != "64") return {};
  if (word[0] == 'f' && digits == "8") return {};
  return {std::atoi(digits.c_str()), word[0]};
}

std::string Statement::opcode() const {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ".") + word;
  return all;
}

std::string Parser::take() {
  if (peek().empty()) refuse_text(line(), "the text ends in the middle of something");
  return tokens_[at_++].text;
}

bool Parser::accept(const std::string& word) {
  if (peek() != word) return false;
  at_++;
  return true;
}

void Parser::expect(const std::string& word) {
  if (!accept(word)) refuse_text(line(), "expected " + word + " and not " + peek());
}

int64_t Parser::integer() {
  bool minus = accept("-");
  Operand number;
  int at = line();
  std::string word = take();
  if (!number_of(word, &number) || number.literal != 'i') refuse_text(at, word + " is not an integer");
  return minus ? -number.number : number.number;
}

void Parser::skip_past(const std::string& word) {
  while (take() != word) {
  }
}

// skip_line passes the rest of the line of the token before.
void Parser::skip_line() {
  for (int now = tokens_[at_ - 1].line; !peek().empty() && line() == now;) at_++;
}

// skip_braces passes a block, its { being the next token.
void Parser::skip_braces() {
  int depth = 0;
  do {
    std::string word = take();
    depth += word == "{" ? 1 : word == "}" ? -1 : 0;
  } while (depth > 0);
}

void Parser::file_name(Text* text) {
  int number = static_cast<int>(integer());
  std::string name = take();
  text->files[number] = name.size() > 2 ? name.substr(1, name.size() - 2) : name;
  skip_line();
}

void Parser::limits(Function* function) {
  int64_t ctas = 1;
  while (!peek().empty() && peek() != "{") {
    int at = line();
    std::string word = take();
    if (word == ".maxntid" || word == ".reqntid") {
      int64_t product = integer();
      while (accept(",")) product *= integer();
      function->max_threads = static_cast<int>(product);
    } else if (word == ".minnctapersm") {
      ctas = std::max<int64_t>(1, integer());
    } else if (word == ".maxnreg") {
      function->max_registers = static_cast<int>(integer());
    } else if (word == ".maxnctapersm") {
      integer();
    } else {
      refuse_text(at, "unknown directive " + word + " of an entry");
    }
  }
  constexpr int64_t all = 65536;  // registers of a multiprocessor
  int64_t share = all / (ctas * std::max(1, function->max_threads)) / 8 * 8;
  function->max_registers = static_cast<int>(std::min<int64_t>(function->max_registers, share));
}

void Parser::function(Text* text) {
  Function function;
  function.line = line();
  function.name = take();
  if (accept("(") && !accept(")")) {
    do {
      function.parameters.push_back(variable());
    } while (accept(","));
    expect(")");
  }
  limits(&function);
  body(&function);
  text->functions.push_back(std::move(function));
}

void Parser::directive(Text* text) {
  int at = line();
  std::string word = take();
  if (word == ".version") {
    std::vector<std::string> parts = split(take(), '.');
    text->version = std::atoi(parts[0].c_str()) * 10 + (parts.size() > 1 ? std::atoi(parts[1].c_str()) : 0);
  } else if (word == ".target") {
    std::string name = take();
    if (name.compare(0, 3, "sm_") != 0) refuse_text(at, "unknown target " + name);
    text->target = std::atoi(name.c_str() + 3);
    while (accept(",")) take();
  } else if (word == ".address_size") {
    if (integer() != 64) refuse_text(at, ".address_size must be 64");
  } else if (word == ".file") {
    file_name(text);
  } else if (word == ".section") {
    take();
    skip_braces();
  } else if (word == ".pragma") {
    skip_past(";");
  } else if (word == ".entry") {
    function(text);
  } else if (word == ".func") {  // may stand there; what calls it is refused
    while (peek() != "{" && peek() != ";") take();
    if (!accept(";")) skip_braces();
  } else {
    refuse_text(at, "unknown directive " + word);
  }
}

Text Parser::text() {
  Text text;
  while (!peek().empty()) {
    size_t start = at_;
    bool is_extern = false;
    while (peek() == ".visible" || peek() == ".extern" || peek() == ".weak" || peek() == ".common") {
      is_extern |= take() == ".extern";
    }
    if (peek() == ".global" || peek() == ".const" || peek() == ".shared") {
      text.variables.push_back(variable());
      text.variables.back().is_extern = is_extern;
      expect(";");
    } else {
      directive(&text);
    }
    if (at_ == start) refuse_text(line(), "cannot read " + peek());
  }
  if (text.version == 0) refuse_text(1, "no .version: this is not PTX");
  if (text.target == 0) refuse_text(1, "no .target");
  return text;
}

Text parse(const std::string& ptx) { return Parser(ptx).text(); }

}  // namespace fake
