#include "data/fetch/web_module/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/error.h"

namespace evener::data::fetch_module {
namespace {

constexpr std::size_t kPiece = 1U << 18;

void check_name(const std::string& name) {
  const auto refuse = [&name](const char* why) {
    throw Error("the archive has an entry '" + name + "', whose name " + why + ": not unpacked");
  };
  if (name.empty()) refuse("is empty");
  if (name.front() == '/') refuse("is absolute");
  if (name.find('\\') != std::string::npos) refuse("has a backslash");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.compare(begin, end - begin, "..") == 0) refuse("leads out of its folder");
    begin = end + 1;
  }
}

class TarGz final : public ArchiveReader {
 public:
  TarGz(ArchiveSource source, const ArchiveLimits& limits)
      : source_(std::move(source)), left_bytes_(limits.bytes), left_entries_(limits.entries) {
    if (!archive_) throw Error("libarchive could not be started (no memory?)");
    check(archive_read_support_filter_gzip(archive_.get()));
    check(archive_read_support_format_tar(archive_.get()));
    check(archive_read_open(archive_.get(), this, nullptr, give_bytes, nullptr));
  }

  bool next(Entry& entry) override {
    archive_entry* header = nullptr;
    while (true) {
      const int result = archive_read_next_header(archive_.get(), &header);
      if (result == ARCHIVE_EOF) return false;
      check(result);
      if (--left_entries_ < 0) throw Error("the archive has more entries than are accepted");
      // Before the entry is passed over, which unpacks it.
      const auto bytes = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(header), 0));
      if (bytes > left_bytes_) throw Error("the archive unpacks to more than is accepted");
      left_bytes_ -= bytes;
      // Folders and links are passed over.
      if (archive_entry_filetype(header) != AE_IFREG || archive_entry_hardlink(header) != nullptr) continue;
      const char* name = archive_entry_pathname(header);
      entry = {name != nullptr ? name : "", bytes};
      check_name(entry.name);
      left_of_entry_ = bytes;
      return true;
    }
  }

  std::string_view read() override {
    const std::size_t count = std::min<std::uint64_t>(left_of_entry_, piece_.size());
    if (count == 0) return {};
    const la_ssize_t got = archive_read_data(archive_.get(), piece_.data(), count);
    if (got < 0) check(static_cast<int>(got));
    if (got == 0) throw Error("the archive is cut short");
    left_of_entry_ -= static_cast<std::uint64_t>(got);
    return {piece_.data(), static_cast<std::size_t>(got)};
  }

 private:
  struct Free {
    void operator()(archive* opened) const { archive_read_free(opened); }
  };

  /// No exception may pass through libarchive, which is C, so it is kept and thrown afterwards.
  static la_ssize_t give_bytes(archive* /*opened*/, void* self, const void** bytes) {
    auto& reader = *static_cast<TarGz*>(self);
    try {
      *bytes = reader.input_.data();
      return static_cast<la_ssize_t>(reader.source_(reader.input_.data(), reader.input_.size()));
    } catch (...) {
      reader.error_ = std::current_exception();
      return -1;
    }
  }

  void check(int result) {
    if (error_) std::rethrow_exception(error_);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    const char* reason = archive_error_string(archive_.get());
    throw Error(fmt::format("the archive is damaged: {}", reason != nullptr ? reason : "unknown reason"));
  }

  ArchiveSource source_;
  std::uint64_t left_bytes_;
  int left_entries_;
  std::exception_ptr error_ = nullptr;
  std::uint64_t left_of_entry_ = 0;
  std::string input_ = std::string(std::size_t{1} << 16, '\0'), piece_ = std::string(kPiece, '\0');
  const std::unique_ptr<archive, Free> archive_{archive_read_new()};
};

}  // namespace

std::unique_ptr<ArchiveReader> open_tar_gz(ArchiveSource source, const ArchiveLimits& limits) {
  return std::make_unique<TarGz>(std::move(source), limits);
}

}  // namespace evener::data::fetch_module
