#include "weights/torch_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"
#include "weights/pickle.h"
#include "weights/zip_reader.h"

namespace evener::weights {
namespace {

using pickle::Kind;
using pickle::Pickle;
using pickle::Value;

static_assert(std::endian::native == std::endian::little, "files are little-endian, and data is not swapped here");

/// The bytes of the number 0x1950a86a20f9469cfc6c, the first value in a file before the zip format.
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

struct ElementKind {
  std::string_view storage;  // "torch.FloatStorage"
  std::uint64_t bytes;
  std::optional<DType> dtype;  // absent: HostTensor can't hold it
  bool is_bool = false;
};

constexpr std::array<ElementKind, 13> kKinds = {{{"torch.DoubleStorage", 8, DType::kF64},
                                                 {"torch.FloatStorage", 4, DType::kF32},
                                                 {"torch.HalfStorage", 2, DType::kF16},
                                                 {"torch.BFloat16Storage", 2, DType::kBF16},
                                                 {"torch.LongStorage", 8, DType::kI64},
                                                 {"torch.IntStorage", 4, DType::kI32},
                                                 {"torch.ByteStorage", 1, DType::kU8},
                                                 {"torch.BoolStorage", 1, DType::kU8, true},
                                                 {"torch.ShortStorage", 2, {}},
                                                 {"torch.CharStorage", 1, DType::kI8},
                                                 {"torch.ComplexFloatStorage", 8, {}},
                                                 {"torch.ComplexDoubleStorage", 16, {}},
                                                 {"torch.QInt8Storage", 1, {}}}};

// PyTorch used the first one until version 0.3.
constexpr std::array<std::string_view, 4> kFunctions = {
    "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter", "torch.Size"};

constexpr std::int64_t kLegacyVersion = 1001;

/// A typed piece of a file.
struct Storage {
  const ElementKind* kind = nullptr;
  std::string_view bytes;
  std::uint64_t count = 0;  // elements
};

class StorageSource {
 public:
  virtual ~StorageSource() = default;
  /// The storage that a kPersistent value of `pickle` describes; its bytes are valid as long as this object.
  virtual Storage find(const Pickle& pickle, const Value& persistent) = 0;
  /// The size of all storages together, unpacked.
  virtual std::uint64_t total_bytes() const = 0;
};

/// An opened file: the pickle of the saved object, and the storages that it refers to.
struct TorchContent {
  std::unique_ptr<ZipReader> archive;  // of the zip format
  std::string buffer;                  // an unpacked pickle
  Pickle object;
  std::unique_ptr<StorageSource> storages;
};

/// The content of a persistent value: ('storage', type, key, location, count[, view]).
struct Description {
  const ElementKind* kind;
  std::string_view key;
  std::uint64_t count;
  const Value* view;  // nullptr: none
};

Description describe(const Pickle& pickle, const Value& persistent) {
  const Value& tuple = pickle[persistent.items.at(0)];
  const auto item = [&](std::size_t i) -> const Value& { return pickle[tuple.items[i]]; };
  if (tuple.kind == Kind::kTuple && !tuple.items.empty() && item(0).kind == Kind::kText && item(0).text == "module") {
    throw Error("it holds a whole model with its source code, not a state dict; save model.state_dict() with PyTorch");
  }
  const bool good = tuple.kind == Kind::kTuple && (tuple.items.size() == 5 || tuple.items.size() == 6) &&
                    item(0).kind == Kind::kText && item(0).text == "storage" && item(1).kind == Kind::kGlobal &&
                    item(2).kind == Kind::kText && item(4).kind == Kind::kInt && item(4).integer >= 0;
  if (!good) throw Error("it describes a tensor's memory in an unknown way");
  const auto* const kind = std::ranges::find(kKinds, item(1).text, &ElementKind::storage);
  if (kind == kKinds.end())
    throw Error("it keeps a tensor in " + quoted_text(item(1).text) + ", which is no kind of memory");
  const Value* view = tuple.items.size() == 6 && item(5).kind != Kind::kNone ? &item(5) : nullptr;
  return {kind, item(2).text, static_cast<std::uint64_t>(item(4).integer), view};
}

std::uint64_t bytes_of(std::uint64_t count, const ElementKind& kind, std::string_view key) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, kind.bytes, &bytes)) {
    throw Error("the memory " + quoted_text(key) + " of its tensors would have " + std::to_string(count) +
                " elements, more than there can be");
  }
  return bytes;
}

class ZipStorages : public StorageSource {
 public:
  ZipStorages(const ZipReader& archive, std::string folder) : archive_(archive), folder_(std::move(folder)) {
    for (const ZipEntry& entry : archive.entries()) total_bytes_ += entry.size;
  }

  Storage find(const Pickle& pickle, const Value& persistent) override {
    const Description asked = describe(pickle, persistent);
    if (asked.view != nullptr) throw Error("it describes a tensor's memory in an unknown way");
    const std::string_view bytes = content(asked.key);
    const std::uint64_t needed = bytes_of(asked.count, *asked.kind, asked.key);
    if (needed != bytes.size()) {
      throw Error("the memory " + quoted_text(asked.key) + " of its tensors should have " + std::to_string(needed) +
                  " bytes, but has " + std::to_string(bytes.size()));
    }
    return {asked.kind, bytes, asked.count};
  }
  std::uint64_t total_bytes() const override { return total_bytes_; }

 private:
  std::string_view content(std::string_view key) {
    const std::string name = folder_ + "data/" + std::string(key);
    const ZipEntry* entry = archive_.find(name);
    if (entry == nullptr) throw Error("its archive has no entry " + quoted_text(name) + ", the memory of a tensor");
    if (!entry->deflated) {
      std::string unused;
      return archive_.read(*entry, unused);
    }
    const auto [place, fresh] = unpacked_.try_emplace(name);
    if (fresh) archive_.read(*entry, place->second);
    return place->second;
  }

  const ZipReader& archive_;
  std::string folder_;
  std::map<std::string, std::string> unpacked_;
  std::uint64_t total_bytes_ = 0;
};

class LegacyStorages : public StorageSource {
 public:
  /// `keys` in the order of the data: each an element count of 64 bits, then the elements.
  LegacyStorages(std::string_view data, const Pickle& keys, const Pickle& object) : total_bytes_(data.size()) {
    const std::map<std::string_view, const ElementKind*> kinds = kinds_of(object);
    if (keys[keys.root].kind != Kind::kList) throw Error("it has no list of its tensors' memory");
    for (const pickle::Ref ref : keys[keys.root].items) {
      const std::string_view key = keys[ref].text;
      const auto kind = kinds.find(key);
      if (kind == kinds.end()) throw Error("it has memory " + quoted_text(key) + " that no tensor uses");
      const Storage storage = take(data, key, *kind->second);
      if (!storages_.emplace(std::string(key), storage).second)
        throw Error("it has the memory " + quoted_text(key) + " twice");
    }
    if (!data.empty()) throw Error(std::to_string(data.size()) + " bytes follow its last tensor and belong to none");
  }

  Storage find(const Pickle& pickle, const Value& persistent) override {
    const Description asked = describe(pickle, persistent);
    const auto found = storages_.find(asked.key);
    if (found == storages_.end()) throw Error("it lacks the memory " + quoted_text(asked.key) + " of a tensor");
    const Storage& whole = found->second;
    if (whole.kind != asked.kind || whole.count != asked.count) {
      throw Error("the memory " + quoted_text(asked.key) + " of its tensors should have " +
                  std::to_string(asked.count) + " elements of " + std::string(asked.kind->storage) + ", but has " +
                  std::to_string(whole.count) + " of " + std::string(whole.kind->storage));
    }
    return asked.view == nullptr ? whole : part(pickle, *asked.view, whole);
  }
  std::uint64_t total_bytes() const override { return total_bytes_; }

 private:
  static std::map<std::string_view, const ElementKind*> kinds_of(const Pickle& object) {
    std::map<std::string_view, const ElementKind*> kinds;
    for (const Value& value : object.values) {
      if (value.kind != Kind::kPersistent) continue;
      const Description described = describe(object, value);
      kinds.emplace(described.key, described.kind);
    }
    return kinds;
  }

  static Storage take(std::string_view& data, std::string_view key, const ElementKind& kind) {
    std::uint64_t count = 0;
    if (data.size() < sizeof count)
      throw Error("it is cut short before the memory " + quoted_text(key) + " of its tensors");
    std::memcpy(&count, data.data(), sizeof count);
    data.remove_prefix(sizeof count);
    const std::uint64_t needed = bytes_of(count, kind, key);
    if (needed > data.size()) {
      throw Error("the memory " + quoted_text(key) + " of its tensors should have " + std::to_string(needed) +
                  " bytes, but only " + std::to_string(data.size()) + " follow; the file is cut short");
    }
    const Storage storage{&kind, data.substr(0, needed), count};
    data.remove_prefix(needed);
    return storage;
  }

  /// A view (key, offset, count) on a storage.
  static Storage part(const Pickle& pickle, const Value& view, const Storage& whole) {
    const auto number = [&](std::size_t i) {
      const bool good = view.kind == Kind::kTuple && view.items.size() == 3 &&
                        pickle[view.items[i]].kind == Kind::kInt && pickle[view.items[i]].integer >= 0;
      if (!good) throw Error("it describes a part of a tensor's memory in an unknown way");
      return static_cast<std::uint64_t>(pickle[view.items[i]].integer);
    };
    const std::uint64_t offset = number(1), count = number(2);
    if (offset > whole.count || count > whole.count - offset) throw Error("it has a tensor outside of its memory");
    return {whole.kind, whole.bytes.substr(offset * whole.kind->bytes, count * whole.kind->bytes), count};
  }

  std::map<std::string, Storage, std::less<>> storages_;
  std::uint64_t total_bytes_;
};

/// The folder within the archive that holds data.pkl, with a '/' at its end.
std::string folder_of(const ZipReader& archive) {
  constexpr std::string_view kPickle = "data.pkl";
  const ZipEntry* pickle = nullptr;
  bool script = false;
  for (const ZipEntry& entry : archive.entries()) {
    script = script || entry.name.ends_with("/constants.pkl");
    const bool outermost = std::ranges::count(entry.name, '/') <= 1;
    if (outermost && (entry.name == kPickle || entry.name.ends_with("/data.pkl"))) pickle = &entry;
  }
  if (script) {
    throw Error(
        "it is a TorchScript program (torch.jit.save), not a state dict; load it with PyTorch and save "
        "module.state_dict()");
  }
  if (pickle == nullptr) throw Error("it is a zip archive without a data.pkl, so PyTorch did not write it");
  return std::string(pickle->name.substr(0, pickle->name.size() - kPickle.size()));
}

std::string_view content(const ZipReader& archive, const std::string& name, std::string& buffer) {
  const ZipEntry* entry = archive.find(name);
  return entry == nullptr ? std::string_view() : archive.read(*entry, buffer);
}

TorchContent open_torch_zip(std::string_view bytes) {
  TorchContent result;
  result.archive = std::make_unique<ZipReader>(bytes);
  const std::string folder = folder_of(*result.archive);
  std::string order;
  if (content(*result.archive, folder + "byteorder", order) == "big")
    throw Error("its data is big-endian, which is not read here");
  result.object = pickle::parse(content(*result.archive, folder + "data.pkl", result.buffer), torch_names());
  result.storages = std::make_unique<ZipStorages>(*result.archive, folder);
  return result;
}

TorchContent open_torch_legacy(std::string_view bytes) {
  const auto next = [&bytes] {
    pickle::Pickle pickle = pickle::parse(bytes, torch_names());
    bytes.remove_prefix(pickle.size);
    return pickle;
  };
  const Pickle magic = next();
  if (magic[magic.root].kind != Kind::kLong || magic[magic.root].text != kLegacyMagic)
    throw Error("PyTorch did not write it");
  const Pickle version = next();
  if (version[version.root].kind != Kind::kInt || version[version.root].integer != kLegacyVersion) {
    throw Error("it has another version of PyTorch's old format than 1001");
  }
  const Pickle system = next();
  const Value* little = system.find(system[system.root], "little_endian");
  if (little != nullptr && little->kind == Kind::kBool && little->integer == 0) {
    throw Error("its data is big-endian, which is not read here");
  }
  TorchContent result;
  result.object = next();
  const Pickle keys = next();
  result.storages = std::make_unique<LegacyStorages>(bytes, keys, result.object);
  return result;
}

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

std::span<const std::string_view> torch_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list(kFunctions.begin(), kFunctions.end());
    for (const ElementKind& kind : kKinds) list.push_back(kind.storage);
    return list;
  }();
  return names;
}

SafetensorsFile parse_torch_file(std::string_view bytes) {
  return StateDictReader(is_legacy_torch(bytes) ? open_torch_legacy(bytes) : open_torch_zip(bytes)).read();
}

}  // namespace evener::weights
