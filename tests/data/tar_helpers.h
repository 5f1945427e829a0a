// Makes tar archives for tests, right and wrong ones.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace evener::data::test {

/// One entry: header, content, padding. `type`: '0' a file, '5' a folder, '2' a link. `claimed_bytes` < 0: the
/// content's.
inline std::string tar_entry(const std::string& name, const std::string& content, char type = '0',
                             long long claimed_bytes = -1) {
  constexpr std::size_t kBlock = 512;
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  char size[13], sum[9];
  std::snprintf(size, sizeof(size), "%011llo",
                claimed_bytes < 0 ? static_cast<unsigned long long>(content.size())
                                  : static_cast<unsigned long long>(claimed_bytes));
  put(0, name);
  put(100, "0000644");
  put(124, size);
  put(148, "        ");
  header[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned total = 0;
  for (const char c : header) total += static_cast<unsigned char>(c);
  std::snprintf(sum, sizeof(sum), "%06o", total);
  put(148, std::string(sum) + '\0' + ' ');
  const std::size_t padding = (kBlock - content.size() % kBlock) % kBlock;
  return header + content + std::string(padding, '\0');
}

/// What an archive ends with.
inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace evener::data::test
