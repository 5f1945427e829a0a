// Reads arbitrary bytes as a tar archive: gzipped as they come, and packed first, so that the tar reader itself sees
// them.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "data/fetch/tar_gz.h"

namespace {

void read_all(const std::string& archive) {
  constexpr std::uint64_t kLimitBytes = 1U << 22;
  std::size_t position = 0;
  evener::data::TarGzReader reader(
      [&](char* buffer, std::size_t count) {
        const std::size_t given = std::min(count, archive.size() - position);
        std::memcpy(buffer, archive.data() + position, given);
        position += given;
        return given;
      },
      {kLimitBytes, 1000});
  std::uint64_t total = 0;
  for (evener::data::TarGzReader::Entry entry; reader.next(entry);) {
    if (entry.name.empty() || entry.name.front() == '/' || entry.name.starts_with("../")) std::abort();
    std::uint64_t bytes = 0;
    for (auto piece = reader.read(); !piece.empty(); piece = reader.read()) bytes += piece.size();
    if (bytes != entry.bytes) std::abort();
    total += bytes;
  }
  if (total > kLimitBytes) std::abort();
}

// Gives every block the checksum of a header, which chance would hardly find.
std::string with_checksums(std::string tar) {
  constexpr std::size_t kBlock = 512, kAt = 148, kLength = 8;
  for (std::size_t block = 0; block + kBlock <= tar.size(); block += kBlock) {
    if (tar.compare(block, kBlock, std::string(kBlock, '\0')) == 0) continue;
    tar.replace(block + kAt, kLength, std::string(kLength, ' '));
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(tar[block + i]);
    char text[kLength + 1];
    std::snprintf(text, sizeof(text), "%06o", sum);
    tar.replace(block + kAt, 6, text);
    tar[block + kAt + 6] = '\0';
  }
  return tar;
}

std::string packed(const std::string& bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(bytes), size);
  for (const std::string& archive : {file, packed(with_checksums(file))}) {
    try {
      read_all(archive);
    } catch (const evener::Error&) {
    }
  }
  return 0;
}
