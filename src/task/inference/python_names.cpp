#include "task/inference/python_names.h"

#include <cctype>
#include <cstddef>
#include <optional>

namespace evener::task {
namespace {

/// Reads a text from its beginning.
class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  /// Goes past the character, and spaces before it, if it is the next one.
  bool takes(char wanted) {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool takes_number(std::size_t number) {
    takes('\0');  // spaces alone
    const std::string digits = std::to_string(number);
    const bool quoted = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    if (quoted) return string() == digits;
    if (text_.substr(at_, digits.size()) != digits) return false;
    at_ += digits.size();
    return true;
  }

  /// A string between quotation marks of either kind. A backslash stands for the character after it.
  std::optional<std::string> string() {
    const char quote = takes('\'') ? '\'' : takes('"') ? '"' : '\0';
    if (quote == '\0') return std::nullopt;
    std::string value;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return value;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
    }
    return std::nullopt;
  }

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> names_in_python(std::string_view text) {
  PythonReader reader(text);
  const bool numbered = reader.takes('{');
  if (!numbered && !reader.takes('[')) return {};
  const char end = numbered ? '}' : ']';
  std::vector<std::string> names;
  while (!reader.takes(end)) {
    if (numbered && (!reader.takes_number(names.size()) || !reader.takes(':'))) return {};
    const auto name = reader.string();
    if (!name) return {};
    names.push_back(*name);
    if (reader.takes(',')) continue;
    return reader.takes(end) ? names : std::vector<std::string>();
  }
  return names;
}

}  // namespace evener::task
