// Restricted reader of Python pickles (protocols 2 to 5): plain values, containers, and names from a given list.
// Nothing is ever called or imported: a call of a listed name becomes a kCall value that describes it, and an object
// made by any other name becomes a kForeign value without content. Files are untrusted: every length is checked, the
// numbers of values and memo entries are limited, and nothing recurses over the nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evener::weights::pickle {

/// A value of a Pickle, by its index: containers may share their elements, and even hold themselves.
using Ref = std::uint32_t;

enum class Kind : std::uint8_t {
  kNone,
  kBool,        // integer
  kInt,         // integer
  kLong,        // beyond 64 bits: its little-endian bytes in text
  kFloat,       // number
  kText,        // text; Python 2's strings, and bytes, too
  kTuple,       // items
  kList,        // items
  kSet,         // items
  kDict,        // items: key, value, key, value, ...; an OrderedDict and a defaultdict too
  kGlobal,      // text: "module.name"
  kForeign,     // text: "module.name" of another program's class or function, or of an object made by it
  kCall,        // items: the function (kGlobal) and its arguments (kTuple)
  kPersistent,  // items: what the pickle says of an object stored elsewhere
};

struct Value {
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double number = 0;
  std::string_view text = {};  // into the bytes that were parsed, or Pickle::foreign_names
  std::vector<Ref> items = {};
};

struct Pickle {
  std::vector<Value> values;
  std::deque<std::string> foreign_names;  // "module.name", each once, in the order of the file; of kForeign values
  Ref root = 0;
  std::size_t size = 0;  // bytes up to and with the end mark; others may follow

  const Value& operator[](Ref ref) const { return values[ref]; }
  /// The value under the text `key` of a kDict (the last one, as in Python), or nullptr.
  const Value* find(const Value& dict, std::string_view key) const;
};

/// Parses the pickle at the beginning of `bytes`, which have to outlive the result. `known`: the names, "module.name",
/// whose calls become kCall values; all others become kForeign. Throws Error saying what is wrong.
Pickle parse(std::string_view bytes, std::span<const std::string_view> known);

}  // namespace evener::weights::pickle
