#include "lexer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace fake {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '$' || c == '%';
}

// skip_blank passes white space and comments and counts lines.
size_t skip_blank(const std::string& s, size_t i, int* line) {
  while (i < s.size()) {
    if (s.compare(i, 2, "//") == 0) {
      while (i < s.size() && s[i] != '\n') i++;
    } else if (s.compare(i, 2, "/*") == 0) {
      size_t end = s.find("*/", i + 2);
      if (end == std::string::npos) refuse_text(*line, "a comment that does not end");
      for (; i < end + 2; i++) *line += s[i] == '\n';
    } else if (s[i] == '\0' || std::isspace(static_cast<unsigned char>(s[i]))) {
      *line += s[i++] == '\n';
    } else {
      break;
    }
  }
  return i;
}

size_t end_of_token(const std::string& s, size_t i, int line) {
  if (s[i] == '"') {
    size_t end = s.find('"', i + 1);
    if (end == std::string::npos) refuse_text(line, "a string that does not end");
    return end + 1;
  }
  size_t j = i;
  while (j < s.size() && (is_word(s[j]) || s.compare(j, 2, "::") == 0)) j += s[j] == ':' ? 2 : 1;
  return j > i ? j : i + 1;
}

}  // namespace

std::vector<Token> tokens_of(const std::string& ptx) {
  std::vector<Token> tokens;
  int line = 1;
  size_t i = 0;
  while ((i = skip_blank(ptx, i, &line)) < ptx.size()) {
    size_t end = end_of_token(ptx, i, line);
    tokens.push_back({ptx.substr(i, end - i), line});
    i = end;
  }
  tokens.push_back({"", line});
  return tokens;
}

bool number_of(const std::string& word, Operand* number) {
  if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0]))) return false;
  number->kind = Operand::kNumber;
  char* end = nullptr;
  char second = word.size() > 1 ? word[1] : 0;
  if (word[0] == '0' && std::strchr("fFdD", second) && second) {
    bool wide = second == 'd' || second == 'D';
    number->literal = wide ? 'd' : 'f';
    number->number = static_cast<int64_t>(std::strtoull(word.c_str() + 2, &end, 16));
    return *end == 0 && word.size() == (wide ? 18u : 10u);
  }
  if (word.find('.') != std::string::npos) {
    double value = std::strtod(word.c_str(), &end);
    std::memcpy(&number->number, &value, 8);
    number->literal = 'd';
    return *end == 0;
  }
  bool binary = word[0] == '0' && (second == 'b' || second == 'B');
  number->number = static_cast<int64_t>(
      binary ? std::strtoull(word.c_str() + 2, &end, 2) : std::strtoull(word.c_str(), &end, 0));
  if (*end == 'U') end++;
  return *end == 0;
}

std::vector<std::string> split(const std::string& word, char at) {
  std::vector<std::string> parts(1);
  for (char c : word) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace fake
