// Downloading one file so that what lies under its name is whole and right: written to NAME.part, gone on with after a
// break, renamed when its length and checksum fit. How a request is made stands behind web.h, in the module "fetch".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/web.h"

namespace evener::data {

/// No address gave the file.
class DownloadFailed : public Error {
 public:
  using Error::Error;
};

struct Checksum {
  ChecksumKind kind = ChecksumKind::kSha256;
  /// Lower-case hexadecimal; fewer digits than the kind has: the beginning, as in torchvision's names of files.
  std::string hex;
};

struct Download {
  std::vector<std::string> urls;  // tried in this order
  std::filesystem::path path;     // where it goes; its folder need not exist
  std::optional<std::uint64_t> bytes;
  std::optional<Checksum> checksum;
  /// A file of unknown length may have so many.
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;
  int stalled_after_s = 30;
};

struct FetchProgress {
  const char* what = "";  // "downloading", "checking"
  std::string file;       // without its folder
  std::uint64_t done_bytes = 0;
  std::optional<std::uint64_t> total_bytes;
};

/// Who wants to know how it goes.
struct FetchListener {
  std::function<void(const FetchProgress&)> progress = [](const FetchProgress&) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

/// The file with a right checksum lies at `download.path` afterwards; false: it did before. Throws Error with every
/// address's reason and what to do, Interrupted after stop_requested(); what came so far stays in NAME.part then.
bool fetch_file(const Download& download, const FetchListener& listener = {});

/// Checksum of a file in hexadecimal. Throws Interrupted after stop_requested().
std::string checksum_of(const std::filesystem::path& path, ChecksumKind kind, const FetchListener& listener = {});

/// "MD5", "SHA-256".
const char* checksum_name(ChecksumKind kind);

}  // namespace evener::data
