// The opcodes follow CPython's Lib/pickletools.py, which documents them one by one.
#include "weights/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/names.h"

namespace evener::weights::pickle {
namespace {

/// Reads the bytes of a pickle from front to back. Throws Error where they end too soon.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) {
      throw Error(fmt::format("its pickle is cut short: {} bytes are needed at byte {}, {} are left", count, position_,
                              bytes_.size() - position_));
    }
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }

  /// Returns the bytes up to the next line feed, which is skipped.
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) throw Error("its pickle is cut short within a name");
    const std::string_view taken = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return taken;
  }

  /// Little-endian.
  template <class T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

// Real files have some twenty values per tensor; these limits keep the memory for a hostile file below some 200 MB.
constexpr std::size_t kMostValues = 2'000'000;
constexpr std::size_t kMostStack = 1'000'000;
constexpr std::size_t kMostMemo = 1'000'000;

constexpr std::size_t kMostForeignNames = 10'000;

constexpr std::string_view kOrderedDict = "collections.OrderedDict", kDefaultDict = "collections.defaultdict";

class Machine {
 public:
  Machine(std::string_view bytes, std::span<const std::string_view> known) : bytes_(bytes), known_(known) {}

  Pickle run() {
    for (auto opcode = bytes_.number<std::uint8_t>(); opcode != '.'; opcode = bytes_.number<std::uint8_t>())
      step(opcode);
    result_.root = pop();
    if (!stack_.empty() || !marks_.empty()) throw Error("its pickle ends with values left over");
    result_.size = bytes_.position();
    return std::move(result_);
  }

 private:
  void step(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80: {  // PROTO
        const int protocol = bytes_.number<std::uint8_t>();
        if (protocol >= 2 && protocol <= 5) return;
        throw Error(fmt::format("its pickle has protocol {}, not 2 to 5", protocol));
      }
      case 0x95:  // FRAME: a hint for readers of streams
        bytes_.number<std::uint64_t>();
        return;
      case '(':  // MARK
        if (marks_.size() >= kMostStack) throw Error("its pickle is nested too deeply");
        marks_.push_back(stack_.size());
        return;
      case '0':  // POP
        pop();
        return;
      case '1':  // POP_MARK
        take_marked();
        return;
      case 'N':
        return push({});
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push({.kind = Kind::kBool, .integer = opcode == 0x88});
      case 'J':  // BININT
        return push({.kind = Kind::kInt, .integer = bytes_.number<std::int32_t>()});
      case 'K':  // BININT1
        return push({.kind = Kind::kInt, .integer = bytes_.number<std::uint8_t>()});
      case 'M':  // BININT2
        return push({.kind = Kind::kInt, .integer = bytes_.number<std::uint16_t>()});
      case 0x8a:  // LONG1
        return push_long(bytes_.take(bytes_.number<std::uint8_t>()));
      case 0x8b:  // LONG4
        return push_long(bytes_.take(bytes_.number<std::uint32_t>()));
      case 'G':  // BINFLOAT, big-endian
        return push(
            {.kind = Kind::kFloat, .number = std::bit_cast<double>(__builtin_bswap64(bytes_.number<std::uint64_t>()))});
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(bytes_.number<std::uint8_t>());
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
      case 'X':  // BINUNICODE
        return push_text(bytes_.number<std::uint32_t>());
      case 0x8d:  // BINUNICODE8
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return push_text(bytes_.number<std::uint64_t>());
      case ')':
        return push({.kind = Kind::kTuple});
      case 't':
        return push({.kind = Kind::kTuple, .items = take_marked()});
      case 0x85:
      case 0x86:
      case 0x87:
        return push({.kind = Kind::kTuple, .items = take_top(opcode - 0x84u)});
      case ']':
        return push({.kind = Kind::kList});
      case '}':
        return push({.kind = Kind::kDict});
      case 0x8f:  // EMPTY_SET
        return push({.kind = Kind::kSet});
      case 0x91:  // FROZENSET
        return push({.kind = Kind::kSet, .items = take_marked()});
      case 'a':
      case 'e':
        return append(Kind::kList, opcode == 'a' ? take_top(1) : take_marked());
      case 0x90:  // ADDITEMS
        return append(Kind::kSet, take_marked());
      case 's':
      case 'u':
        return append(Kind::kDict, opcode == 's' ? take_top(2) : take_marked());
      case 'q':  // BINPUT
        return remember(bytes_.number<std::uint8_t>());
      case 'r':  // LONG_BINPUT
        return remember(bytes_.number<std::uint32_t>());
      case 0x94:  // MEMOIZE
        return remember(static_cast<std::uint32_t>(memo_.size()));
      case 'h':  // BINGET
        return recall(bytes_.number<std::uint8_t>());
      case 'j':  // LONG_BINGET
        return recall(bytes_.number<std::uint32_t>());
      case 'c': {  // GLOBAL
        const std::string_view module = bytes_.line();
        return push_global(module, bytes_.line());
      }
      case 0x93: {  // STACK_GLOBAL
        const std::vector<Ref> names = take_top(2);
        const Value &module = result_[names[0]], &name = result_[names[1]];
        if (module.kind != Kind::kText || name.kind != Kind::kText)
          throw Error("its pickle names something without a text");
        return push_global(module.text, name.text);
      }
      case 'R':     // REDUCE
      case 0x81: {  // NEWOBJ, the same with a class
        const std::vector<Ref> call = take_top(2);
        return reduce(call[0], call[1]);
      }
      case 0x92: {  // NEWOBJ_EX, with arguments by name
        const std::vector<Ref> call = take_top(3);
        if (result_[call[0]].kind != Kind::kForeign) throw Error("its pickle makes an object of something unknown");
        return push_ref(call[0]);
      }
      case 'b': {  // BUILD: attributes, which weights have no need of
        pop();
        const Kind kind = result_[top()].kind;
        if (kind == Kind::kDict || kind == Kind::kForeign) return;
        throw Error("its pickle sets the state of something that has none");
      }
      case 'Q':  // BINPERSID
        return push({.kind = Kind::kPersistent, .items = take_top(1)});
      default:
        throw Error(fmt::format("its pickle uses opcode 0x{:02x} at byte {}, which files of weights have no need of",
                                opcode, bytes_.position() - 1));
    }
  }

  void push_text(std::uint64_t length) { push({.kind = Kind::kText, .text = bytes_.take(length)}); }

  void push(Value value) {
    if (result_.values.size() >= kMostValues) {
      throw Error(fmt::format("its pickle has more than {} values, too many for a file of weights", kMostValues));
    }
    result_.values.push_back(std::move(value));
    push_ref(static_cast<Ref>(result_.values.size() - 1));
  }
  void push_ref(Ref ref) {
    if (stack_.size() >= kMostStack) throw Error("its pickle is nested too deeply");
    stack_.push_back(ref);
  }

  void push_long(std::string_view bytes) {
    if (bytes.size() > sizeof(std::int64_t)) return push({.kind = Kind::kLong, .text = bytes});
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    std::int64_t value = negative ? -1 : 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    push({.kind = Kind::kInt, .integer = value});
  }

  void push_global(std::string_view module, std::string_view name) {
    // "__builtin__" was Python 2's; nothing of it is on any list, so no translation is needed.
    std::string whole = std::string(module) + "." + std::string(name);
    for (const std::string_view dict : {kOrderedDict, kDefaultDict}) {
      if (whole == dict) return push({.kind = Kind::kGlobal, .text = dict});
    }
    const auto found = std::find(known_.begin(), known_.end(), whole);
    if (found != known_.end()) return push({.kind = Kind::kGlobal, .text = *found});
    const auto [place, fresh] = foreign_.try_emplace(std::move(whole));
    if (fresh) {
      if (foreign_.size() > kMostForeignNames) throw Error("its pickle uses too many names for a file of weights");
      place->second = result_.foreign_names.emplace_back(place->first);
    }
    push({.kind = Kind::kForeign, .text = place->second});
  }

  void reduce(Ref function, Ref arguments) {
    if (result_[arguments].kind != Kind::kTuple) throw Error("its pickle calls something without arguments");
    // Foreign objects aren't needed: their arguments are dropped, and the function's own value stands for its result.
    if (result_[function].kind == Kind::kForeign) return push_ref(function);
    if (result_[function].kind != Kind::kGlobal) throw Error("its pickle calls something that is no function");
    if (result_[function].text == kOrderedDict) return push({.kind = Kind::kDict, .items = pairs_of(arguments)});
    if (result_[function].text == kDefaultDict) return push({.kind = Kind::kDict});
    push({.kind = Kind::kCall, .items = {function, arguments}});
  }

  /// The arguments of OrderedDict: Python 2 passes a list of pairs, Python 3 passes nothing and sets the items later.
  std::vector<Ref> pairs_of(Ref arguments) {
    const std::vector<Ref>& given = result_[arguments].items;
    std::vector<Ref> items;
    if (given.empty()) return items;
    const auto is_sequence = [](const Value& value) { return value.kind == Kind::kList || value.kind == Kind::kTuple; };
    const Value& list = result_[given[0]];
    if (given.size() != 1 || !is_sequence(list))
      throw Error("its pickle makes an OrderedDict of something else than pairs");
    for (const Ref ref : list.items) {
      const Value& pair = result_[ref];
      if (!is_sequence(pair) || pair.items.size() != 2)
        throw Error("its pickle makes an OrderedDict of something else than pairs");
      // One list may be passed again and again.
      if (++pairs_ > kMostValues) throw Error("its pickle makes too many OrderedDicts for a file of weights");
      items.insert(items.end(), pair.items.begin(), pair.items.end());
    }
    return items;
  }

  void append(Kind kind, const std::vector<Ref>& items) {
    Value& target = result_.values[top()];
    if (target.kind == Kind::kForeign) return;  // a subclass of a container
    if (target.kind != kind) throw Error("its pickle adds elements to something that is no container of that kind");
    if (kind == Kind::kDict && items.size() % 2 != 0) throw Error("its pickle has a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void remember(std::uint32_t key) {
    memo_[key] = top();
    if (memo_.size() > kMostMemo) throw Error("its pickle remembers too many values for a file of weights");
  }
  void recall(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) throw Error(fmt::format("its pickle recalls value {}, which it never stored", key));
    push_ref(found->second);
  }

  /// The stack's lowest reachable height: opcodes must not reach below the last mark.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Ref top() const {
    if (stack_.size() <= floor()) throw Error("its pickle takes a value that isn't there");
    return stack_.back();
  }
  Ref pop() {
    const Ref ref = top();
    stack_.pop_back();
    return ref;
  }
  std::vector<Ref> take_top(std::size_t count) {
    if (stack_.size() - floor() < count) throw Error("its pickle takes a value that isn't there");
    std::vector<Ref> taken(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return taken;
  }
  std::vector<Ref> take_marked() {
    if (marks_.empty()) throw Error("its pickle takes values up to a mark that isn't there");
    std::vector<Ref> taken = take_top(stack_.size() - marks_.back());
    marks_.pop_back();
    return taken;
  }

  Bytes bytes_;
  std::span<const std::string_view> known_;
  std::map<std::string, std::string_view> foreign_;
  Pickle result_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;     // heights of the stack
  std::size_t pairs_ = 0;              // passed to OrderedDict so far
  std::map<std::uint32_t, Ref> memo_;  // a tree: no choice of keys makes it slow
};

}  // namespace

const Value* Pickle::find(const Value& dict, std::string_view key) const {
  const Value* found = nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& name = values[dict.items[i]];
    if (name.kind == Kind::kText && name.text == key) found = &values[dict.items[i + 1]];
  }
  return found;
}

Pickle parse(std::string_view bytes, std::span<const std::string_view> known) {
  return Machine(bytes, known).run();
}

}  // namespace evener::weights::pickle
