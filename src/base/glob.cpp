#include "base/glob.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace evener {
namespace {

enum class Kind { kOne, kAnyOne, kSet, kStar, kStarStar, kFolders };

struct Token {
  Kind kind = Kind::kOne;
  std::string_view text;  // the character, or the inside of the brackets
};

/// The end of the set that begins at `begin` ('['), or npos. A ']' right after '[' or '[!' belongs to the set.
std::size_t end_of_set(std::string_view pattern, std::size_t begin) {
  std::size_t first = begin + 1;
  if (first < pattern.size() && pattern[first] == '!') ++first;
  return first < pattern.size() ? pattern.find(']', first + 1) : std::string_view::npos;
}

std::vector<Token> tokens_of(std::string_view pattern) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < pattern.size();) {
    const bool begins_part = i == 0 || pattern[i - 1] == '/';
    const std::size_t set_end = pattern[i] == '[' ? end_of_set(pattern, i) : std::string_view::npos;
    if (begins_part && pattern.substr(i, 3) == "**/") {
      tokens.push_back({Kind::kFolders, {}});
      i += 3;
    } else if (pattern.substr(i, 2) == "**") {
      tokens.push_back({Kind::kStarStar, {}});
      i += 2;
    } else if (pattern[i] == '*') {
      tokens.push_back({Kind::kStar, {}});
      ++i;
    } else if (pattern[i] == '?') {
      tokens.push_back({Kind::kAnyOne, {}});
      ++i;
    } else if (set_end != std::string_view::npos) {
      tokens.push_back({Kind::kSet, pattern.substr(i + 1, set_end - i - 1)});
      i = set_end + 1;
    } else {
      tokens.push_back({Kind::kOne, pattern.substr(i, 1)});
      ++i;
    }
  }
  return tokens;
}

bool in_set(std::string_view set, char c) {
  const bool negated = set.starts_with('!');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != negated;
}

bool takes_one(const Token& token, char c) {
  switch (token.kind) {
    case Kind::kOne:
      return token.text[0] == c;
    case Kind::kSet:
      return c != '/' && in_set(token.text, c);
    default:
      return token.kind == Kind::kAnyOne && c != '/';
  }
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  // reached[i]: the tokens so far can take exactly the first i characters.
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (const Token& token : tokens_of(pattern)) {
    std::vector<bool> next(path.size() + 1, false);
    bool open = false;  // a star that began further left can still grow
    for (std::size_t i = 0; i <= path.size(); ++i) {
      switch (token.kind) {
        case Kind::kStar:
          open = reached[i] || (open && path[i - 1] != '/');
          next[i] = open;
          break;
        case Kind::kStarStar:
          open = open || reached[i];
          next[i] = open;
          break;
        case Kind::kFolders:
          next[i] = reached[i] || (open && path[i - 1] == '/');
          open = open || reached[i];
          break;
        default:
          next[i] = i > 0 && reached[i - 1] && takes_one(token, path[i - 1]);
      }
    }
    reached = std::move(next);
  }
  return reached[path.size()];
}

}  // namespace evener
