#include "weights/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "weights/torch_storage.h"

namespace evener::weights {
namespace {

using pickle::Kind;
using pickle::Pickle;
using pickle::Value;

constexpr std::size_t kMostExtents = 64;
// Tensors that share memory (tied weights) become copies. This limits their total size as a multiple of the memory in
// the file, lest a small file with a tensor of stride 0 fill the machine's memory.
constexpr std::uint64_t kMostCopies = 4;
constexpr std::uint64_t kCopyAllowance_bytes = 1 << 20;

/// Keys under which training programs keep the state dict in their checkpoints, the surest first.
constexpr std::array<std::string_view, 7> kWrappers = {"state_dict", "model_state_dict", "net_state_dict", "model",
                                                       "net",        "weights",          "params"};
constexpr const char* kRemedy =
    "load it with PyTorch and write its weights alone: torch.save(model.state_dict(), FILE)";

[[noreturn]] void fail(const std::string& what) {
  throw Error(what);
}

bool calls(const Pickle& pickle, const Value& value, std::string_view function) {
  return value.kind == Kind::kCall && pickle[value.items[0]].text == function;
}

/// The call that builds a tensor, also from within a parameter; nullptr if `value` is something else.
const Value* tensor_call(const Pickle& pickle, const Value& value) {
  const Value* call = &value;
  if (calls(pickle, value, "torch._utils._rebuild_parameter")) {
    const Value& arguments = pickle[value.items[1]];
    if (arguments.items.empty()) return nullptr;
    call = &pickle[arguments.items[0]];
  }
  const bool is_tensor =
      calls(pickle, *call, "torch._utils._rebuild_tensor_v2") || calls(pickle, *call, "torch._utils._rebuild_tensor");
  return is_tensor ? call : nullptr;
}

/// A name for an entry of a state dict that is no tensor, for messages.
std::string kind_text(const Pickle& pickle, const Value& value) {
  switch (value.kind) {
    case Kind::kForeign:
      return std::string(value.text);
    case Kind::kCall:
      return std::string(pickle[value.items[0]].text);
    case Kind::kText:
      return "a text";
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSet:
    case Kind::kDict:
      return "a container";
    default:
      return "a number";
  }
}

/// Where the elements of a tensor lie in its storage.
struct Layout {
  std::uint64_t offset = 0;
  std::vector<std::int64_t> shape, strides;  // in elements

  bool dense() const {
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  /// Whether the last element lies within `count`; the shape has no zero.
  bool fits(std::uint64_t count) const {
    std::uint64_t last = offset;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::uint64_t reach = 0;
      const bool overflow = __builtin_mul_overflow(static_cast<std::uint64_t>(shape[i] - 1),
                                                   static_cast<std::uint64_t>(strides[i]), &reach) ||
                            __builtin_add_overflow(last, reach, &last);
      if (overflow) return false;
    }
    return last < count;
  }
};

/// Copies elements of `bytes` bytes from a strided layout into a dense one.
void gather(const char* from, const Layout& layout, std::uint64_t bytes, std::byte* to) {
  std::vector<std::int64_t> index(layout.shape.size(), 0);
  std::uint64_t at = layout.offset;
  while (true) {
    std::memcpy(to, from + at * bytes, bytes);
    to += bytes;
    std::size_t axis = index.size();
    while (axis > 0) {
      --axis;
      at += static_cast<std::uint64_t>(layout.strides[axis]);
      if (++index[axis] < layout.shape[axis]) break;
      at -= static_cast<std::uint64_t>(layout.strides[axis]) * static_cast<std::uint64_t>(layout.shape[axis]);
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (index.empty()) return;
  }
}

class StateDictReader {
 public:
  explicit StateDictReader(TorchContent content)
      : content_(std::move(content)),
        left_bytes_(kMostCopies * content_.storages->total_bytes() + kCopyAllowance_bytes) {}

  SafetensorsFile read() {
    const Value& dict = state_dict();
    SafetensorsFile file;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const Value& key = pickle()[dict.items[i]];
      if (key.kind != Kind::kText) fail("a key of its state dict is not a text");
      const std::string name(key.text);
      const Value& value = pickle()[dict.items[i + 1]];
      const Value* call = tensor_call(pickle(), value);
      if (call == nullptr) {
        file.passed_over.push_back({name, kind_text(pickle(), value)});
        continue;
      }
      try {
        read_tensor(name, *call, file);
      } catch (const Error& error) {
        fail("tensor '" + printable(name) + "' " + error.what());
      }
    }
    file.foreign_names.assign(pickle().foreign_names.begin(), pickle().foreign_names.end());
    return file;
  }

 private:
  const Pickle& pickle() const { return content_.object; }

  bool holds_tensor(const Value& dict) const {
    if (dict.kind != Kind::kDict) return false;
    for (std::size_t i = 1; i < dict.items.size(); i += 2) {
      if (tensor_call(pickle(), pickle()[dict.items[i]]) != nullptr) return true;
    }
    return false;
  }

  /// The state dict: what a checkpoint keeps under one of the usual keys, or else the object itself. The keys come
  /// first, since a checkpoint may have tensors beside the weights, such as the best accuracy.
  const Value& state_dict() const {
    const Value& root = pickle()[pickle().root];
    if (root.kind == Kind::kForeign) fail_whole("it holds", root);
    if (root.kind != Kind::kDict) fail(std::string("it holds no state dict; ") + kRemedy);
    for (const std::string_view key : kWrappers) {
      const Value* inner = pickle().find(root, key);
      if (inner != nullptr && holds_tensor(*inner)) return *inner;
    }
    if (holds_tensor(root)) return root;
    const std::vector<const Value*> others = dicts_with_tensors(root);
    if (others.size() == 1) return *others.front();
    for (const std::string_view key : kWrappers) {
      const Value* inner = pickle().find(root, key);
      if (inner != nullptr && inner->kind == Kind::kForeign) fail_whole("its '" + std::string(key) + "' is", *inner);
    }
    fail((others.empty() ? "it holds no state dict: none of its keys"
                         : "which of its state dicts is meant is unclear: its keys") +
         keys_text(root) + (others.empty() ? " leads to tensors" : "") +
         ". Load it with PyTorch and save the one with torch.save(checkpoint[\"KEY\"], FILE)");
  }

  [[noreturn]] static void fail_whole(const std::string& where, const Value& object) {
    fail(where + " an object of " + quoted_text(object.text) + ", a whole model and not its state dict; " + kRemedy);
  }

  std::vector<const Value*> dicts_with_tensors(const Value& root) const {
    std::vector<const Value*> found;
    for (std::size_t i = 1; i < root.items.size(); i += 2) {
      const Value& value = pickle()[root.items[i]];
      if (holds_tensor(value) && std::ranges::find(found, &value) == found.end()) found.push_back(&value);
    }
    return found;
  }

  std::string keys_text(const Value& root) const {
    std::string keys;
    for (std::size_t i = 0; i < root.items.size() && i < 20; i += 2) {
      keys += (i > 0 ? ", '" : " '") + printable(pickle()[root.items[i]].text) + "'";
    }
    return keys;
  }

  /// Reads a tensor; messages of its errors follow the tensor's name.
  void read_tensor(const std::string& name, const Value& call, SafetensorsFile& file) {
    const std::vector<pickle::Ref>& arguments = pickle()[call.items[1]].items;
    if (arguments.size() < 4 || pickle()[arguments[0]].kind != Kind::kPersistent) fail("is built in an unknown way");
    const Layout layout = layout_of(arguments);
    const Storage storage = content_.storages->find(pickle(), pickle()[arguments[0]]);
    if (!storage.kind->dtype) {
      file.passed_over.push_back({name, std::string(storage.kind->storage), layout.shape});
    } else if (!file.tensors.emplace(name, tensor(layout, storage)).second) {
      fail("is there twice");
    }
  }

  HostTensor tensor(const Layout& layout, const Storage& storage) {
    HostTensor result{*storage.kind->dtype, layout.shape, {}};
    const auto count = static_cast<std::uint64_t>(element_count(layout.shape));
    if (count == 0) return result;
    if (!layout.fits(storage.count)) {
      fail("of shape " + shape_text(layout.shape) + " does not lie within the " + std::to_string(storage.count) +
           " elements of its memory");
    }
    const std::uint64_t element = storage.kind->bytes;
    if (count > left_bytes_ / element) {
      fail("of shape " + shape_text(layout.shape) + " is too much: the tensors would be more than " +
           std::to_string(kMostCopies) + " times as large as the file's data");
    }
    left_bytes_ -= count * element;
    result.bytes.resize(count * element);
    if (layout.dense()) {
      std::memcpy(result.bytes.data(), storage.bytes.data() + layout.offset * element, result.bytes.size());
    } else {
      gather(storage.bytes.data(), layout, element, result.bytes.data());
    }
    if (storage.kind->is_bool) {
      for (std::byte& value : result.bytes) value = std::byte{value != std::byte{0}};
    }
    return result;
  }

  /// Parses the arguments (storage, offset, size, stride, requires_grad, hooks, ...).
  Layout layout_of(const std::vector<pickle::Ref>& arguments) const {
    Layout layout;
    layout.offset = static_cast<std::uint64_t>(whole_number(pickle()[arguments[1]]));
    layout.shape = whole_numbers(pickle()[arguments[2]]);
    layout.strides = whole_numbers(pickle()[arguments[3]]);
    if (layout.shape.size() != layout.strides.size()) fail("has another number of strides than of extents");
    return layout;
  }

  std::int64_t whole_number(const Value& value) const {
    if (value.kind != Kind::kInt || value.integer < 0) fail("has an offset, extent or stride that is no whole number");
    return value.integer;
  }

  std::vector<std::int64_t> whole_numbers(const Value& given) const {
    const Value* tuple = &given;
    if (calls(pickle(), given, "torch.Size") && pickle()[given.items[1]].items.size() == 1) {
      tuple = &pickle()[pickle()[given.items[1]].items[0]];
    }
    if (tuple->kind != Kind::kTuple || tuple->items.size() > kMostExtents)
      fail("has a shape or strides that are no list");
    std::vector<std::int64_t> numbers;
    for (const pickle::Ref ref : tuple->items) numbers.push_back(whole_number(pickle()[ref]));
    return numbers;
  }

  TorchContent content_;
  std::uint64_t left_bytes_;
};

}  // namespace

bool is_legacy_torch(std::string_view bytes) {
  // The magic number follows two to thirteen bytes of opcodes, depending on the pickle's protocol.
  return bytes.starts_with('\x80') && bytes.substr(0, 32).find(kLegacyMagic) != std::string_view::npos;
}

SafetensorsFile parse_torch_file(std::string_view bytes) {
  return StateDictReader(is_legacy_torch(bytes) ? open_torch_legacy(bytes) : open_torch_zip(bytes)).read();
}

}  // namespace evener::weights
