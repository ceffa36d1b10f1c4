// lexer.h is PTX text as words, numbers being words too.
#pragma once

#include <string>
#include <vector>

#include "text.h"

namespace fake {

// Token is a word (letters, digits, and . _ $ %, and the :: of cache hints), a string
// with its quotes, or one character of punctuation. The last token is empty.
struct Token {
  std::string text;
  int line = 0;
};

std::vector<Token> tokens_of(const std::string& ptx);

// number_of reads a literal of PTX: 12, 0x1F, 0b11, 017, 3.5, 0f3F800000, 0d..., each
// with an optional U.
bool number_of(const std::string& word, Operand* number);

std::vector<std::string> split(const std::string& word, char at);

}  // namespace fake
