#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <tuple>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "weights/weights_file.h"

namespace evener::weights {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "the format is little-endian, and data is not swapped here");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kDeepestHeader = 4;  // file > tensor > shape; anything deeper is an attack or another format

struct ElementType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype = {};  // absent: HostTensor can't hold it
};
constexpr std::array<ElementType, 23> kTypes = {{{"BOOL", 8},
                                                 {"F4", 4},
                                                 {"F6_E2M3", 6},
                                                 {"F6_E3M2", 6},
                                                 {"U8", 8, DType::kU8},
                                                 {"I8", 8, DType::kI8},
                                                 {"F8_E5M2", 8},
                                                 {"F8_E4M3", 8},
                                                 {"F8_E8M0", 8},
                                                 {"F8_E4M3FNUZ", 8},
                                                 {"F8_E5M2FNUZ", 8},
                                                 {"I16", 16},
                                                 {"U16", 16},
                                                 {"F16", 16, DType::kF16},
                                                 {"BF16", 16, DType::kBF16},
                                                 {"I32", 32, DType::kI32},
                                                 {"U32", 32},
                                                 {"F32", 32, DType::kF32},
                                                 {"C64", 64},
                                                 {"F64", 64, DType::kF64},
                                                 {"I64", 64, DType::kI64},
                                                 {"U64", 64},
                                                 {"C128", 128}}};

const ElementType& type_of(DType dtype) {
  return *std::ranges::find(kTypes, dtype, &ElementType::dtype);
}

struct Entry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // within the data part
};

// What is known of a file after its header was read and checked.
struct Header {
  Metadata metadata;
  std::vector<Entry> entries;  // in the order of their data
  std::uint64_t data_begin = 0;
};

class HeaderReader {
 public:
  explicit HeaderReader(const std::filesystem::path& path) : path_(path), file_(open_for_reading(path)) {}

  const Descriptor& file() const { return file_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("'" + path_.string() + "' is not a usable safetensors file: " + what);
  }

  Header read() {
    const std::uint64_t file_bytes = size_of(file_, path_);
    const std::string text = header_text(file_bytes);
    Header header;
    header.data_begin = kLengthBytes + text.size();
    const json root = parse(text);
    for (const auto& [name, value] : root.items()) {
      if (name == "__metadata__") {
        header.metadata = metadata(value);
      } else {
        header.entries.push_back(entry(name, value));
      }
    }
    check_offsets(header.entries, file_bytes - header.data_begin);
    return header;
  }

 private:
  std::string header_text(std::uint64_t file_bytes) const {
    if (file_bytes < kLengthBytes) {
      fail("it has only " + std::to_string(file_bytes) + " bytes, fewer than the 8 of the header's length");
    }
    std::uint64_t length = 0;
    if (read_at(file_, path_, 0, &length, kLengthBytes) != kLengthBytes) fail("it was cut short while being read");
    if (length > kLongestHeader) {
      require_downloaded(path_);
      fail("its first 8 bytes give a header of " + std::to_string(length) + " bytes, more than the " +
           std::to_string(kLongestHeader) + " allowed; it is probably another kind of file");
    }
    if (length > file_bytes - kLengthBytes) {
      fail("the header should have " + std::to_string(length) + " bytes, but only " +
           std::to_string(file_bytes - kLengthBytes) + " follow; the file is cut short");
    }
    std::string text(length, '\0');
    if (read_at(file_, path_, kLengthBytes, text.data(), length) != length) fail("it was cut short while being read");
    return text;
  }

  json parse(const std::string& text) const {
    if (text.empty() || text.front() != '{') fail("the header does not start with '{'");
    std::set<std::string> names;
    // Called for each key: names must differ, and the nesting stays shallow however the header was made.
    const json::parser_callback_t check = [&](int depth, json::parse_event_t event, json& value) {
      if (static_cast<std::size_t>(depth) > kDeepestHeader) fail("the header is nested too deeply");
      if (event == json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second) {
        fail("the header names '" + value.get<std::string>() + "' twice");
      }
      return true;
    };
    try {
      return json::parse(text, check);
    } catch (const json::exception& error) {
      fail(std::string("the header is not valid JSON: ") + error.what());
    }
  }

  Metadata metadata(const json& value) const {
    if (value.is_null()) return {};  // some writers write null for no metadata
    if (!value.is_object()) fail("'__metadata__' is not a table of texts");
    Metadata result;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("'__metadata__' has a value for '" + key + "' that is not a text");
      result[key] = text.get<std::string>();
    }
    return result;
  }

  Entry entry(const std::string& name, const json& value) const {
    const auto fail_tensor = [&](const std::string& what) { fail("tensor '" + name + "' " + what); };
    if (!value.is_object()) fail_tensor("is not described by a table");
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") fail_tensor("has an unknown key '" + key + "'");
    }
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (!value.contains(key)) fail_tensor(std::string("has no '") + key + "'");
    }
    Entry result{name, &type(name, value["dtype"]), shape(name, value["shape"])};
    const json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail_tensor("has 'data_offsets' that are not two whole numbers");
    }
    result.begin = offsets[0].get<std::uint64_t>();
    result.end = offsets[1].get<std::uint64_t>();
    if (result.end < result.begin) fail_tensor("ends before it begins");
    check_size(result);
    return result;
  }

  const ElementType& type(const std::string& name, const json& value) const {
    std::vector<std::string> known;
    for (const ElementType& type : kTypes) {
      if (value == std::string(type.name)) return type;
      known.emplace_back(type.name);
    }
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    fail("tensor '" + name + "' has an " + unknown_name_message("element type", text, known));
  }

  std::vector<std::int64_t> shape(const std::string& name, const json& value) const {
    if (!value.is_array() || value.size() > kMostDimensions) {
      fail("tensor '" + name + "' has a 'shape' that is not a list of at most 64 whole numbers");
    }
    std::vector<std::int64_t> result;
    for (const json& extent : value) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
        fail("tensor '" + name + "' has an extent of " + extent.dump() + " in its shape");
      }
      result.push_back(extent.get<std::int64_t>());
    }
    return result;
  }

  void check_size(const Entry& entry) const {
    std::int64_t count = 0;
    try {
      count = element_count(entry.shape);
    } catch (const Error& error) {
      fail("tensor '" + entry.name + "': " + error.what());
    }
    std::uint64_t needed = 0;
    const bool overflow = __builtin_mul_overflow(static_cast<std::uint64_t>(count), entry.type->bits, &needed);
    needed = needed / 8 + (needed % 8 > 0 ? 1 : 0);
    if (overflow || needed != entry.end - entry.begin) {
      fail("tensor '" + entry.name + "' of shape " + shape_text(entry.shape) + " and type " +
           std::string(entry.type->name) + " needs " + (overflow ? "more than 2^61" : std::to_string(needed)) +
           " bytes, but its data has " + std::to_string(entry.end - entry.begin));
    }
  }

  // The data part must be covered exactly: no overlap, no hole, nothing outside, nothing left over.
  void check_offsets(std::vector<Entry>& entries, std::uint64_t data_bytes) const {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    std::uint64_t covered = 0;
    for (const Entry& entry : entries) {
      const std::string what = "the data of tensor '" + entry.name + "'";
      if (entry.end > data_bytes) {
        fail(what + " should end at byte " + std::to_string(entry.end) + ", but only " + std::to_string(data_bytes) +
             " follow the header; the file is cut short");
      }
      if (entry.begin < covered) fail(what + " overlaps another tensor's");
      if (entry.begin > covered) {
        fail("there is a hole of " + std::to_string(entry.begin - covered) + " bytes before " + what);
      }
      covered = entry.end;
    }
    if (covered != data_bytes) {
      fail(std::to_string(data_bytes - covered) + " bytes follow the last tensor and belong to none");
    }
  }

  std::filesystem::path path_;
  Descriptor file_;
};

// Larger elements first, then by name, as the reference implementation does: so every tensor starts aligned.
std::vector<const TensorMap::value_type*> writing_order(const TensorMap& tensors) {
  std::vector<const TensorMap::value_type*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_bytes(a->second.dtype) > size_bytes(b->second.dtype);
  });
  return order;
}

std::uint64_t bytes_of(const TensorDescription& tensor) {
  return static_cast<std::uint64_t>(element_count(tensor.shape)) * size_bytes(tensor.dtype);
}

std::string header_for(const std::filesystem::path& path, const std::vector<TensorDescription>& tensors,
                       const Metadata& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorDescription& tensor : tensors) {
    if (tensor.name == "__metadata__") {
      throw Error("can't write '" + path.string() + "': tensor '" + tensor.name + "' of shape " +
                  shape_text(tensor.shape) + " has a reserved name");
    }
    const std::uint64_t end = offset + bytes_of(tensor);
    header[tensor.name] = {
        {"dtype", std::string(type_of(tensor.dtype).name)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts at a multiple of 8
    return text;
  } catch (const json::exception& error) {  // a name that is not UTF-8
    throw Error("can't write '" + path.string() + "': " + error.what());
  }
}

/// Throws Error if a tensor has other bytes than its shape says.
void check_bytes(const std::filesystem::path& path, const std::string& name, const HostTensor& tensor) {
  const std::uint64_t expected = bytes_of({name, tensor.dtype, tensor.shape});
  if (tensor.bytes.size() == expected) return;
  throw Error("can't write '" + path.string() + "': tensor '" + name + "' of shape " + shape_text(tensor.shape) +
              " needs " + std::to_string(expected) + " bytes, but has " + std::to_string(tensor.bytes.size()));
}

}  // namespace

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  HeaderReader reader(path);
  Header header = reader.read();
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  for (Entry& entry : header.entries) {
    if (!entry.type->dtype) {
      result.passed_over.push_back({std::move(entry.name), std::string(entry.type->name), std::move(entry.shape)});
      continue;
    }
    HostTensor tensor{*entry.type->dtype, std::move(entry.shape), std::vector<std::byte>(entry.end - entry.begin)};
    const std::size_t got =
        read_at(reader.file(), path, header.data_begin + entry.begin, tensor.bytes.data(), tensor.bytes.size());
    if (got != tensor.bytes.size()) reader.fail("it was cut short while tensor '" + entry.name + "' was being read");
    result.tensors.emplace(std::move(entry.name), std::move(tensor));
  }
  return result;
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  return HeaderReader(path).read().metadata;
}

void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata) {
  const auto order = writing_order(tensors);
  std::vector<TensorDescription> descriptions;
  for (const auto* item : order) {
    check_bytes(path, item->first, item->second);
    descriptions.push_back({item->first, item->second.dtype, item->second.shape});
  }
  write_safetensors(path, descriptions, metadata, [&order](std::ostream& out) {
    for (const auto* item : order) {
      const auto& bytes = item->second.bytes;
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  });
}

const SafetensorsLayout::Tensor* SafetensorsLayout::find(const std::string& name) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

SafetensorsLayout read_safetensors_layout(const std::filesystem::path& path) {
  Header header = HeaderReader(path).read();
  SafetensorsLayout layout;
  layout.metadata = std::move(header.metadata);
  for (Entry& entry : header.entries) {
    if (!entry.type->dtype) continue;
    layout.tensors.push_back({std::move(entry.name), *entry.type->dtype, std::move(entry.shape),
                              header.data_begin + entry.begin, entry.end - entry.begin});
  }
  return layout;
}

std::uint64_t data_bytes(const std::vector<TensorDescription>& tensors) {
  std::uint64_t sum = 0;
  for (const TensorDescription& tensor : tensors) sum += bytes_of(tensor);
  return sum;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<TensorDescription>& tensors,
                       const Metadata& metadata, const std::function<void(std::ostream&)>& fill) {
  const std::string header = header_for(path, tensors, metadata);
  write_file_atomically(path, [&](std::ostream& out) {
    const std::uint64_t length = header.size();
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    fill(out);
  });
}

}  // namespace evener::weights
