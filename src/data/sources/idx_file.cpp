#include "data/sources/idx_file.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/sources/byte_reader.h"

namespace evener::data {

namespace {

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// The product, or more than any file holds.
std::uint64_t product(const std::vector<std::int64_t>& extents) {
  unsigned __int128 count = 1;
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;
  for (const std::int64_t extent : extents) {
    count *= static_cast<std::uint64_t>(extent);
    if (count > kTooMany) return kTooMany;
  }
  return static_cast<std::uint64_t>(count);
}

}  // namespace

std::optional<IdxName> parse_idx_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string rest = name;
  for (char& c : rest) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // Takes the last word off where it is one of these; "" where it isn't.
  const auto take = [&rest](std::initializer_list<std::string_view> words) -> std::string {
    const std::size_t separator = rest.find_last_of("-_.");
    const std::size_t begin = separator == std::string::npos ? 0 : separator + 1;
    const std::string last = rest.substr(begin);
    if (std::ranges::find(words, last) == words.end()) return "";
    rest.resize(begin == 0 ? 0 : begin - 1);
    return last;
  };
  take({"gz"});
  const std::string ending = take({"idx"}), bytes = take({"ubyte", "byte"}), kind = take({"idx1", "idx3"});
  const std::string what = take({"images", "labels"}), part = take({"train", "t10k", "test"});
  const bool is_marked = !ending.empty() || !bytes.empty() || !kind.empty();
  if (!is_marked || what.empty() || part.empty() || name.starts_with('.')) return std::nullopt;
  const std::size_t prefix_length = rest.empty() ? 0 : rest.size() + 1;
  return IdxName{name.substr(0, prefix_length), part != "train", what == "images"};
}

IdxArray parse_idx(std::string_view file, int dimensions) {
  if (file.empty()) throw Error("the file is empty");
  ByteReader reader(file);
  std::uint8_t word[4];
  const auto next_word = [&] {
    if (reader.read(word, 4) != 4) throw Error("cut short within its header");
    return big_endian(word);
  };
  const std::uint32_t expected = 0x0800U + static_cast<std::uint32_t>(dimensions);
  if (const std::uint32_t magic = next_word(); magic != expected) {
    throw Error("wrong magic number " + hex(magic) + ", expected " + hex(expected) + " (unsigned bytes in " +
                std::to_string(dimensions) + " dimension" + (dimensions == 1 ? "" : "s") + ")");
  }
  IdxArray array;
  for (int d = 0; d < dimensions; ++d) array.extents.push_back(next_word());
  const std::uint64_t count = product(array.extents);
  if (count > reader.possible_bytes()) {
    throw Error("its header announces " + extents_text(array.extents) + " values, more than its " +
                std::to_string(file.size()) + " bytes can hold: cut short or damaged");
  }
  const std::uint64_t found = reader.read_values(count, array.values);
  if (found != count) {
    throw Error("cut short: its header announces " + extents_text(array.extents) + " values, it has " +
                std::to_string(found));
  }
  if (reader.read(word, 1) != 0) {
    throw Error("it has more data than the " + extents_text(array.extents) + " values its header announces");
  }
  return array;
}

}  // namespace evener::data
