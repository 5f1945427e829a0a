// The interface of the module "fetch": HTTP(S) requests, checksums and archives. No types of its libraries appear here.
// The rules of downloads (which answers are accepted, when one is resumed, where files are kept) are in data/fetch/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace evener {

enum class ChecksumKind { kMd5, kSha256 };

/// The head of a response, after redirects. Texts are "" for headers that the server didn't send.
struct ResponseHead {
  int status = 0;
  std::optional<std::uint64_t> content_bytes;  // of the body that follows, as announced
  std::string content_type, content_range, etag, last_modified;
};

struct HttpRequest {
  std::string url = {};
  std::uint64_t first_byte = 0;  // above 0: only the bytes from there on are asked for
  std::string if_range = {};     // ... and only if the file still has this ETag or date
  int stalled_after_s = 30;      // without a connection, or below 1 byte/s
  // An exception from one of these ends the transfer and comes out of get().
  std::function<void(const ResponseHead&)> on_head = {};  // once, before the body
  std::function<void(std::string_view)> on_bytes = {};    // of the body
  std::function<bool()> stop = [] { return false; };      // asked about once a second or more often
};

enum class HttpEnd {
  kDone,
  kStopped,       // `stop` said so
  kNoHost,        // the name of the host (or of the proxy) is not known
  kNoConnection,  // refused or unreachable
  kBrokenOff,     // ended before the announced length
  kStalled,
  kNotTrusted,   // TLS: no valid certificate
  kBadRedirect,  // too many, or to where it may not go
  kFailed        // anything else
};

struct HttpResult {
  HttpEnd end = HttpEnd::kFailed;
  std::string text;  // what the library says, e.g. "Could not resolve host: example.org"
};

class Digest {
 public:
  virtual ~Digest() = default;
  virtual void add(std::string_view bytes) = 0;
  /// Finishes the checksum and returns it in lower-case hexadecimal.
  virtual std::string hex() = 0;
};

struct ArchiveLimits {
  std::uint64_t bytes = std::uint64_t{1} << 32;  // of all entries together, unpacked
  int entries = 100'000;
};

/// Gives the bytes of an archive: fills the buffer as far as possible and returns how many bytes it wrote; 0 = the end.
using ArchiveSource = std::function<std::size_t(char* buffer, std::size_t count)>;

/// A gzipped tar archive as a stream of regular files; writes nothing and follows no links. The archive is not trusted:
/// names that lead out of it, wrong headers and sizes are errors.
class ArchiveReader {
 public:
  struct Entry {
    std::string name;  // as in the archive: "folder/file"; never absolute, without ".."
    std::uint64_t bytes = 0;
  };

  virtual ~ArchiveReader() = default;
  /// Goes to the next regular file, skipping the rest of the present one. Returns false at the end. Throws Error with
  /// the reason.
  virtual bool next(Entry& entry) = 0;
  /// The next piece of the present file; "" after its last byte. Valid until the next call.
  virtual std::string_view read() = 0;
};

class Web {
 public:
  virtual ~Web() = default;
  virtual HttpResult get(const HttpRequest& request) = 0;
  virtual std::unique_ptr<Digest> digest(ChecksumKind kind) = 0;
  virtual std::unique_ptr<ArchiveReader> archive(ArchiveSource source, const ArchiveLimits& limits = {}) = 0;
};

/// The module's instance; throws Error where the module can't be used.
Web& web();

}  // namespace evener
