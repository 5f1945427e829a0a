#include "weights/onnx_parts.h"

#include <map>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "weights/weights_file.h"

namespace evener::weights {
namespace {

namespace fs = std::filesystem;

/// Numbers of the fields in ONNX's schema.
constexpr std::uint64_t kGraph = 7;                     // of a model
constexpr std::uint64_t kNode = 1, kInitializer = 5;    // of a graph
constexpr std::uint64_t kAttribute = 5;                 // of a node
constexpr std::uint64_t kTensor = 5, kSubgraph = 6;     // of an attribute
constexpr std::uint64_t kName = 8, kExternalData = 13;  // of a tensor
constexpr std::uint64_t kKey = 1, kValue = 2;           // of an entry of its external data

/// A field of a message; `bytes` are those of a nested message, text or array.
struct Field {
  std::uint64_t number = 0;
  std::optional<std::string_view> bytes;
};

class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  /// Absent at the end, and where something is damaged.
  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag) return std::nullopt;
    const std::uint64_t kind = *tag & 7;
    Field field{.number = *tag >> 3, .bytes = {}};
    if (kind == 0) return varint() ? std::optional(field) : std::nullopt;
    const std::optional<std::uint64_t> length = kind == 1   ? std::optional<std::uint64_t>(8)
                                                : kind == 5 ? std::optional<std::uint64_t>(4)
                                                : kind == 2 ? varint()
                                                            : std::nullopt;
    if (!length || *length > bytes_.size()) return std::nullopt;
    if (kind == 2) field.bytes = bytes_.substr(0, *length);
    bytes_.remove_prefix(*length);
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view bytes_;
};

void each_nested(std::string_view message, auto act) {
  Message fields(message);
  while (const auto field = fields.next()) {
    if (field->bytes) act(field->number, *field->bytes);
  }
}

void add_tensor(std::string_view message, std::vector<ExternalTensor>& found) {
  std::string name;
  std::map<std::string_view, std::string_view> entries;
  each_nested(message, [&](std::uint64_t number, std::string_view bytes) {
    if (number == kName) name = bytes;
    if (number != kExternalData) return;
    std::string_view key, value;
    each_nested(bytes, [&](std::uint64_t part, std::string_view text) {
      if (part == kKey) key = text;
      if (part == kValue) value = text;
    });
    entries[key] = value;
  });
  const auto location = entries.find("location");
  if (location == entries.end()) return;
  const auto number = [&](std::string_view key) {
    const auto entry = entries.find(key);
    return entry == entries.end() ? 0 : to_number<std::uint64_t>(entry->second).value_or(0);
  };
  found.push_back({std::move(name), std::string(location->second), number("offset"), number("length")});
}

/// Graphs within nodes ("If", "Loop") are walked through from a list: nothing recurses over the nesting.
void add_graph(std::string_view graph, std::vector<std::string_view>& graphs, std::vector<ExternalTensor>& found) {
  each_nested(graph, [&](std::uint64_t number, std::string_view bytes) {
    if (number == kInitializer) add_tensor(bytes, found);
    if (number != kNode) return;
    each_nested(bytes, [&](std::uint64_t part, std::string_view attribute) {
      if (part != kAttribute) return;
      each_nested(attribute, [&](std::uint64_t kind, std::string_view value) {
        if (kind == kTensor) add_tensor(value, found);
        if (kind == kSubgraph) graphs.push_back(value);
      });
    });
  });
}

}  // namespace

std::vector<ExternalTensor> external_tensors(std::string_view onnx) {
  std::vector<ExternalTensor> found;
  std::vector<std::string_view> graphs;
  each_nested(onnx, [&](std::uint64_t number, std::string_view bytes) {
    if (number == kGraph) graphs.push_back(bytes);
  });
  while (!graphs.empty()) {
    const std::string_view graph = graphs.back();
    graphs.pop_back();
    add_graph(graph, graphs, found);
  }
  return found;
}

void require_external_data(const fs::path& onnx) {
  std::error_code unreadable;
  if (!fs::is_regular_file(onnx, unreadable) || fs::file_size(onnx, unreadable) == 0) return;
  const MappedFile file(onnx);
  const std::span<const std::uint8_t> bytes = file.bytes();
  for (const ExternalTensor& tensor : external_tensors({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    const fs::path beside = onnx.parent_path() / tensor.file;
    const std::string where = "'" + onnx.string() + "' has values of its network in " + quoted_text(tensor.file);
    if (!fs::is_regular_file(beside, unreadable)) {
      throw Error(where + " beside it, which is missing: copy that file there as well");
    }
    require_downloaded(beside);
    const std::uint64_t size = fs::file_size(beside, unreadable);
    if (tensor.offset <= size && tensor.bytes <= size - tensor.offset) continue;
    throw Error(where + ", which is too short: tensor " + quoted_text(tensor.name) + " ends at byte " +
                std::to_string(tensor.offset + tensor.bytes) + ", and the file has " + std::to_string(size) +
                "; copy that file again");
  }
}

}  // namespace evener::weights
