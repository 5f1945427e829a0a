#include "data/npy.h"

#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"

namespace evener::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

std::optional<DType> dtype_of(std::string_view text) {
  static const std::map<std::string_view, DType> known = {
      {"|u1", DType::kU8}, {"<f2", DType::kF16}, {"<f4", DType::kF32}, {"<f8", DType::kF64}};
  const auto found = known.find(text);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// Returns the text that follows 'key': in the header, which is a Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) throw Error("the header has no '" + std::string(key) + "'");
  std::string_view rest = header.substr(at + quoted.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

std::string_view quoted_value(std::string_view value) {
  const std::size_t end = value.starts_with('\'') ? value.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) throw Error("the type is no single name: arrays of records can't be read");
  return value.substr(1, end - 1);
}

/// "(10, 3, 224, 224)", "(10,)".
std::vector<std::int64_t> extents(std::string_view value) {
  const std::size_t end = value.find(')');
  if (!value.starts_with('(') || end == std::string_view::npos) throw Error("the shape is damaged");
  value = value.substr(1, end - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    while (value.starts_with(' ') || value.starts_with(',')) value.remove_prefix(1);
    if (value.empty()) return shape;
    std::int64_t extent = -1;
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() == 16) throw Error("the shape is damaged");
    shape.push_back(extent);
    value.remove_prefix(static_cast<std::size_t>(rest - value.data()));
  }
}

std::size_t checked_bytes(const HostTensor& array, std::size_t available) {
  std::uint64_t bytes = size_bytes(array.dtype);
  for (const std::int64_t extent : array.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      throw Error("the shape is too large");
  }
  if (bytes != available) {
    throw Error("an array " + shape_text(array.shape) + " takes " + std::to_string(bytes) +
                " bytes, but the file has " + std::to_string(available));
  }
  return bytes;
}

}  // namespace

HostTensor parse_npy(std::string_view file) {
  if (!file.starts_with(kMagic) || file.size() < 12) throw Error("it is no .npy file of NumPy");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(file[at])); };
  const bool is_long = byte(6) >= 2;
  const std::size_t header_bytes = byte(8) | byte(9) << 8 | (is_long ? byte(10) << 16 | byte(11) << 24 : 0);
  const std::size_t begin = is_long ? 12 : 10;
  if (header_bytes > file.size() - begin) throw Error("it is cut short in its header");
  const std::string_view header = file.substr(begin, header_bytes);
  const std::string_view type = quoted_value(value_of(header, "descr"));
  const auto dtype = dtype_of(type);
  if (!dtype) throw Error("its values are of type " + quoted_text(type) + "; u1, f2, f4 and f8 are read");
  if (value_of(header, "fortran_order").starts_with("True")) {
    throw Error("it is stored column by column; save numpy.ascontiguousarray(a)");
  }
  HostTensor array{*dtype, extents(value_of(header, "shape")), {}};
  const std::string_view data = file.substr(begin + header_bytes);
  array.bytes.resize(checked_bytes(array, data.size()));
  std::memcpy(array.bytes.data(), data.data(), data.size());
  return array;
}

HostTensor read_npy(const std::string& path) {
  const std::string file = read_file(path, std::uint64_t{1} << 36);
  try {
    return parse_npy(file);
  } catch (const Error& error) {
    throw Error("'" + path + "' can't be read: " + error.what());
  }
}

}  // namespace evener::data
