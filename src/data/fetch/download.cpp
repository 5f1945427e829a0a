#include "data/fetch/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/stop.h"

namespace evener::data {
namespace {

namespace fs = std::filesystem;

/// The unfinished download NAME.part: locked by one process at a time, resumed later, renamed when it is whole.
/// NAME.part.from beside it keeps which version of the file the server gave, so that pieces of two versions never mix.
class PartFile {
 public:
  /// Where the bytes came from, and the server's mark of that version (ETag or date; "" = none).
  struct Origin {
    std::string url, version;
  };

  /// Opens or creates "<target>.part". Throws Error: not writable, or another process downloads the same file.
  explicit PartFile(fs::path target)
      : target_(std::move(target)), path_(target_.string() + ".part"), origin_path_(path_.string() + ".from") {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_.valid()) fail(errno);
    // Some network file systems have no locks; there a second process is not noticed, and the checksum tells.
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error("'" + path_.string() +
                  "' is being written by another process, which downloads the same file; wait until that one is done, "
                  "or choose another folder with --out");
    }
    size_ = size_of(file_, path_);
  }

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Where the bytes so far came from; {"", ""} if that isn't known.
  PartFile::Origin origin() const {
    constexpr std::uint64_t kLongest = 1U << 16;
    Origin origin;
    std::error_code missing;
    if (!fs::is_regular_file(origin_path_, missing)) return origin;
    std::istringstream lines(read_file(origin_path_, kLongest));
    std::getline(lines, origin.url);
    std::getline(lines, origin.version);
    return origin;
  }

  void set_origin(const Origin& origin) {
    write_file_atomically(origin_path_, origin.url + "\n" + origin.version + "\n");
  }

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      size_ += static_cast<std::uint64_t>(written);
    }
  }

  /// Empties the file, to download it from the start.
  void restart() {
    if (::ftruncate(file_.get(), 0) != 0) fail(errno);
    size_ = 0;
  }

  /// Removes the file; afterwards only the destructor may be called.
  void discard() {
    ::unlink(path_.c_str());
    ::unlink(origin_path_.c_str());
    file_.close();
  }

  /// Syncs the file to the disk and renames it to its final name.
  void finish() {
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(errno);
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
    ::unlink(origin_path_.c_str());
    file_.close();
  }

  /// Removes the file if it is empty; otherwise it stays, to be resumed.
  ~PartFile() {
    if (file_.valid() && size_ == 0) discard();
  }

  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

 private:
  [[noreturn]] void fail(int error_number) const {
    throw Error("can't write '" + path_.string() + "': " + file_error_text(error_number, path_));
  }

  std::filesystem::path target_, path_, origin_path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// An address failed, for the reason in its text; the next address may work.
struct AddressError {
  std::string reason;
};
/// The part file is of another version than the server's file.
struct PartError {
  std::string reason;
};

std::string file_name(const Download& download) {
  return download.path.filename().string();
}

fs::path folder_of(const Download& download) {
  return download.path.has_parent_path() ? download.path.parent_path() : fs::path(".");
}

std::string status_text(int status) {
  switch (status) {
    case 401:
    case 403:
      return fmt::format("the server refuses to give it (status {})", status);
    case 404:
    case 410:
      return fmt::format("the server does not have it (status {})", status);
    case 407:
      return "the proxy wants a password (status 407); set https_proxy=http://USER:PASSWORD@HOST:PORT";
    case 429:
    case 503:
      return fmt::format("the server is overloaded (status {}); try again later", status);
    default:
      return fmt::format("the server answered with status {}", status);
  }
}

std::string end_text(const HttpResult& result, int stalled_after_s) {
  switch (result.end) {
    case HttpEnd::kNoHost:
      return "its name can't be resolved: is there a network, is a proxy needed (https_proxy)?";
    case HttpEnd::kNoConnection:
      return "no connection: is there a network, is a proxy needed (https_proxy)?";
    case HttpEnd::kBrokenOff:
      return "the connection broke off";
    case HttpEnd::kStalled:
      return fmt::format("nothing came for {} s", stalled_after_s);
    case HttpEnd::kNotTrusted:
      return "no trustworthy connection: " + result.text +
             "; is the package ca-certificates installed? SSL_CERT_FILE names a file with certificates of your own";
    case HttpEnd::kBadRedirect:
      return "it leads to where it may not lead: " + result.text;
    case HttpEnd::kDone:
    case HttpEnd::kStopped:
    case HttpEnd::kFailed:
      break;
  }
  return result.text;
}

/// "bytes 100-199/200"; the total may be "*".
struct ContentRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> total;
};

std::optional<ContentRange> parse_content_range(const std::string& text) {
  constexpr std::string_view kUnit = "bytes ";
  ContentRange range;
  if (!text.starts_with(kUnit)) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + kUnit.size(), end, range.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::uint64_t total = 0;
  if (text.substr(slash + 1) == "*") return range;
  const auto last = std::from_chars(text.data() + slash + 1, end, total);
  if (last.ec != std::errc() || last.ptr != end) return std::nullopt;
  range.total = total;
  return range;
}

/// One request to one address, into the part.
class Attempt {
 public:
  Attempt(const Download& download, const std::string& url, PartFile& part, const FetchListener& listener)
      : download_(download), url_(url), part_(part), listener_(listener), total_(download.bytes) {}

  void run() {
    HttpRequest request;
    request.url = url_;
    request.first_byte = part_.size();
    request.stalled_after_s = download_.stalled_after_s;
    // Version marks of different addresses can't be compared: there only length and checksum tell.
    if (const PartFile::Origin origin = part_.origin(); origin.url == url_) request.if_range = origin.version;
    request.on_head = [this](const ResponseHead& head) { accept(head); };
    request.on_bytes = [this](std::string_view bytes) { take(bytes); };
    request.stop = [] { return stop_requested(); };
    const HttpResult result = web().get(request);
    if (result.end == HttpEnd::kStopped) throw Interrupted("");
    if (result.end != HttpEnd::kDone) throw AddressError{end_text(result, download_.stalled_after_s)};
    if (total_ && part_.size() < *total_) {
      throw AddressError{fmt::format("it ended after {} of {} bytes", part_.size(), *total_)};
    }
  }

 private:
  void accept(const ResponseHead& head) {
    if (head.status == 416) throw PartError{"the server has no more than what is there"};
    if (head.status != 200 && head.status != 206) throw AddressError{status_text(head.status)};
    if (head.content_type.starts_with("text/html")) {
      throw AddressError{"a web page came instead of the file (of a proxy, or one that asks to log in?)"};
    }
    if (head.status == 206) {
      accept_rest(head);
    } else {
      accept_whole(head);
    }
    const bool weak = head.etag.empty() || head.etag.starts_with("W/");  // not good enough for parts of files
    part_.set_origin({url_, weak ? head.last_modified : head.etag});
  }

  void accept_rest(const ResponseHead& head) {
    const auto range = parse_content_range(head.content_range);
    if (!range || range->first != part_.size() || part_.size() == 0) {
      throw PartError{
          fmt::format("the server gives the bytes '{}' instead of those from {} on", head.content_range, part_.size())};
    }
    if (range->total) check_total(*range->total);
    listener_.note(fmt::format("{}: going on after {}", file_name(download_), bytes_text(part_.size())));
  }

  void accept_whole(const ResponseHead& head) {
    if (head.content_bytes) check_total(*head.content_bytes);
    if (part_.size() == 0) return;
    listener_.note(file_name(download_) + ": the server gives it from its beginning only, or has a new version; " +
                   bytes_text(part_.size()) + " are loaded again");
    part_.restart();
  }

  void check_total(std::uint64_t total) {
    if (download_.bytes && total != *download_.bytes) {
      throw AddressError{
          fmt::format("the server announces {} bytes, the file has {}: it is another version of it, or something else",
                      total, *download_.bytes)};
    }
    if (total > limit()) throw AddressError{too_much(total)};
    total_ = total;
    if (download_.bytes) return;
    // A part that is longer is of another version, and goes.
    require_writable_directory(folder_of(download_), total - std::min(total, part_.size()));
  }

  void take(std::string_view bytes) {
    // libcurl itself reads no further than an announced length.
    if (part_.size() + bytes.size() > limit()) {
      part_.restart();
      throw AddressError{too_much(limit() + 1)};
    }
    part_.append(bytes);
    listener_.progress({"downloading", file_name(download_), part_.size(), total_});
  }

  std::uint64_t limit() const { return download_.bytes.value_or(download_.limit_bytes); }
  std::string too_much(std::uint64_t bytes) const {
    return fmt::format("{} bytes or more came or were announced, {} at most are accepted", bytes, limit());
  }

  const Download& download_;
  const std::string& url_;
  PartFile& part_;
  const FetchListener& listener_;
  std::optional<std::uint64_t> total_;
};

/// What is wrong with the file at `path`; "" if it has the right length and checksum.
std::string check(const Download& download, const fs::path& path, const FetchListener& listener) {
  const std::uint64_t bytes = fs::file_size(path);
  if (download.bytes && bytes != *download.bytes) {
    return fmt::format("it has {} bytes instead of {}", bytes, *download.bytes);
  }
  if (!download.checksum) return "";
  const Checksum& expected = *download.checksum;
  const std::string hex = checksum_of(path, expected.kind, listener);
  if (hex.starts_with(expected.hex)) return "";
  return fmt::format("its {} is {}, expected {}{}", checksum_name(expected.kind), hex, expected.hex,
                     expected.hex.size() < hex.size() ? "..." : "");
}

/// Loads what is missing and checks it. Throws AddressError or PartError.
void load(const Download& download, const std::string& url, PartFile& part, const FetchListener& listener) {
  if (download.bytes && part.size() > *download.bytes) part.restart();
  const bool went_on = part.size() > 0;
  if (!download.bytes || part.size() < *download.bytes) Attempt(download, url, part, listener).run();
  const std::string wrong = check(download, part.path(), listener);
  if (wrong.empty()) return;
  part.restart();
  if (went_on) throw PartError{wrong};
  throw AddressError{wrong + ": damaged on its way, or another version of the file"};
}

/// Tries one address; a part that doesn't fit is thrown away once.
void try_address(const Download& download, const std::string& url, PartFile& part, const FetchListener& listener) {
  try {
    load(download, url, part, listener);
  } catch (const PartError& error) {
    listener.note(file_name(download) + ": what was there from before does not fit (" + error.reason +
                  "); beginning anew");
    part.restart();
    try {
      load(download, url, part, listener);
    } catch (const PartError& again) {
      throw AddressError{again.reason};
    }
  }
}

std::string kept_text(const PartFile& part) {
  if (part.size() == 0) return "";
  return fmt::format("; {} are kept in '{}', the same command goes on from there", bytes_text(part.size()),
                     part.path().string());
}

void fetch_into(PartFile& part, const Download& download, const FetchListener& listener) {
  std::string failures;
  for (const std::string& url : download.urls) {
    try {
      try_address(download, url, part, listener);
      part.finish();
      return;
    } catch (const AddressError& error) {
      failures += "\n  " + url + ": " + error.reason;
    } catch (const Interrupted&) {
      throw Interrupted("stopped while '" + file_name(download) + "' was being downloaded" + kept_text(part));
    }
  }
  throw DownloadFailed(
      fmt::format("can't download '{}':{}\n  try again later{}; or get it on another machine and put it at '{}'",
                  file_name(download), failures, kept_text(part), download.path.string()));
}

}  // namespace

const char* checksum_name(ChecksumKind kind) {
  return kind == ChecksumKind::kMd5 ? "MD5" : "SHA-256";
}

std::string checksum_of(const fs::path& path, ChecksumKind kind, const FetchListener& listener) {
  constexpr std::size_t kBlockBytes = 1U << 20;
  const Descriptor file = open_for_reading(path);
  const std::uint64_t total = size_of(file, path);
  const std::unique_ptr<Digest> digest = web().digest(kind);
  std::string block(kBlockBytes, '\0');
  for (std::uint64_t done = 0;;) {
    if (stop_requested()) throw Interrupted("stopped while '" + path.string() + "' was being checked");
    const std::size_t got = read_at(file, path, done, block.data(), block.size());
    if (got == 0) return digest->hex();
    digest->add({block.data(), got});
    done += got;
    listener.progress({"checking", path.filename().string(), done, total});
  }
}

bool fetch_file(const Download& download, const FetchListener& listener) {
  std::error_code missing;
  if (fs::exists(download.path, missing)) {
    const std::string wrong = check(download, download.path, listener);
    if (wrong.empty()) return false;
    throw Error("'" + download.path.string() + "' is there, but " + wrong +
                ": it is damaged or another file; remove it and run the same command again");
  }
  require_writable_directory(folder_of(download));
  PartFile part(download.path);
  if (download.bytes && *download.bytes > part.size()) {
    require_writable_directory(folder_of(download), *download.bytes - part.size());
  }
  fetch_into(part, download, listener);
  return true;
}

}  // namespace evener::data
