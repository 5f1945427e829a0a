// Downloads one file so that a file under the final name is always whole and right: it is written to NAME.part, resumed
// after an interruption, and renamed when its length and checksum fit. The requests are made by the module "fetch",
// behind web.h.
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
  /// Lower-case hexadecimal. Fewer digits than the kind has are the beginning of the checksum, as in torchvision's file
  /// names.
  std::string hex;
};

struct Download {
  std::vector<std::string> urls;  // tried in this order
  std::filesystem::path path;     // where it goes; its folder need not exist
  std::optional<std::uint64_t> bytes;
  std::optional<Checksum> checksum;
  /// The most bytes of a file of unknown length.
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;
  int stalled_after_s = 30;
};

struct FetchProgress {
  const char* what = "";  // "downloading", "checking"
  std::string file;       // without its folder
  std::uint64_t done_bytes = 0;
  std::optional<std::uint64_t> total_bytes;
};

/// Callbacks for the progress of a download.
struct FetchListener {
  std::function<void(const FetchProgress&)> progress = [](const FetchProgress&) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

/// Makes sure that the file, with the right checksum, lies at `download.path`. Returns false where it was there
/// already. Throws Error with the reason for every address and what to do, and Interrupted after stop_requested(); what
/// was downloaded stays in NAME.part.
bool fetch_file(const Download& download, const FetchListener& listener = {});

/// Checksum of a file in hexadecimal. Throws Interrupted after stop_requested().
std::string checksum_of(const std::filesystem::path& path, ChecksumKind kind, const FetchListener& listener = {});

/// "MD5", "SHA-256".
const char* checksum_name(ChecksumKind kind);

}  // namespace evener::data
