#include "data/sources/idx_file.h"

#include <cctype>
#include <cstdio>
#include <iterator>
#include <regex>

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
  static const std::regex kPattern(
      "([^.].*[-_.])?(train|t10k|test)[-_](images|labels)([-._]idx[13])?([-._]u?byte)?([.]idx)?([.]gz)?",
      std::regex::icase | std::regex::optimize);
  const std::string name = path.filename().string();
  std::smatch found;
  if (name.find("mages") == std::string::npos && name.find("abels") == std::string::npos) return std::nullopt;
  if (name.size() > 200 || !std::regex_match(name, found, kPattern)) return std::nullopt;
  if (!found[4].matched && !found[5].matched && !found[6].matched) return std::nullopt;
  const auto second_letter = [&found](std::size_t group) { return std::tolower(*std::next(found[group].first)); };
  return IdxName{found[1].str(), second_letter(2) != 'r', second_letter(3) == 'm'};
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
