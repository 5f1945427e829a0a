// Reads a gzipped tar archive as a stream of regular files; writes nothing and follows no links. The archive is not
// trusted: names that lead out of it, wrong headers and sizes are errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace evener::data {

struct TarLimits {
  std::uint64_t bytes = std::uint64_t{1} << 32;  // of the whole archive, unpacked
  int entries = 100'000;
};

class TarGzReader {
 public:
  /// Gives the bytes of the archive: fills the buffer as far as possible and returns how many bytes it wrote; 0 = the
  /// end.
  using Source = std::function<std::size_t(char* buffer, std::size_t count)>;

  explicit TarGzReader(Source source, const TarLimits& limits = {});
  ~TarGzReader();
  TarGzReader(const TarGzReader&) = delete;
  TarGzReader& operator=(const TarGzReader&) = delete;

  struct Entry {
    std::string name;  // as in the archive: "folder/file"; never absolute, without ".."
    std::uint64_t bytes = 0;
  };

  /// Goes to the next regular file, skipping the rest of the present one. Returns false at the end. Throws Error with
  /// the reason.
  bool next(Entry& entry);
  /// The next piece of the present file; "" after its last byte. Valid until the next call.
  std::string_view read();

 private:
  class Gunzip;
  bool read_header(Entry& entry, char& type);
  void skip(std::uint64_t bytes);

  std::unique_ptr<Gunzip> gunzip_;
  int entries_left_;
  std::uint64_t left_ = 0, padding_ = 0;  // of the present entry
  std::string piece_;
};

}  // namespace evener::data
