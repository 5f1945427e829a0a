// The module that downloads: requests by libcurl, checksums by libcrypto, archives by libarchive, and the factory
// function that base/module.h looks for.
#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <memory>

#include "base/error.h"
#include "base/module_entry.h"
#include "base/names.h"
#include "base/web.h"

namespace evener::data::fetch_module {
namespace {

constexpr long kMostRedirects = 5;
constexpr long kBufferBytes = 1L << 18;

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, FreeHandle>;
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

/// The data of the callbacks. No exception may pass through libcurl, which is C, so it is kept in `error` and thrown
/// afterwards.
struct Transfer {
  const HttpRequest& request;
  CURL* handle;
  ResponseHead head = {};
  bool head_given = false;
  std::exception_ptr error = nullptr;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return text;
}

// Each answer (of a redirect, of a proxy) begins with its status line, and forgets the one before.
void take_header(ResponseHead& head, std::string_view line) {
  if (line.starts_with("HTTP/")) head = {};
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = lower(std::string(line.substr(0, colon))),
                    value = std::string(trimmed(line.substr(colon + 1)));
  if (name == "content-type") head.content_type = lower(value);
  if (name == "content-range") head.content_range = lower(value);
  if (name == "etag") head.etag = value;
  if (name == "last-modified") head.last_modified = value;
}

void give_head(Transfer& transfer) {
  transfer.head_given = true;
  long status = 0;
  curl_off_t bytes = -1;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(transfer.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  transfer.head.status = static_cast<int>(status);
  if (bytes >= 0) transfer.head.content_bytes = static_cast<std::uint64_t>(bytes);
  transfer.request.on_head(transfer.head);
}

// Runs `work`; false, with the exception kept, if it threw.
template <class Work>
bool guarded(Transfer& transfer, const Work& work) {
  try {
    work();
    return true;
  } catch (...) {
    transfer.error = std::current_exception();
    return false;
  }
}

std::size_t on_header(char* text, std::size_t size, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const std::size_t bytes = size * count;
  return guarded(transfer, [&] { take_header(transfer.head, {text, bytes}); }) ? bytes : 0;
}

std::size_t on_body(char* text, std::size_t size, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const std::size_t bytes = size * count;
  const bool taken = guarded(transfer, [&] {
    if (!transfer.head_given) give_head(transfer);
    transfer.request.on_bytes({text, bytes});
  });
  return taken ? bytes : bytes + 1;  // any other count ends the transfer
}

int on_progress(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(data);
  bool stop = false;
  return guarded(transfer, [&] { stop = transfer.request.stop(); }) && !stop ? 0 : 1;
}

// What began with TLS stays with TLS; plain HTTP is for mirrors that the user names.
void allow_protocols(CURL* handle, bool secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS,
                   secure ? long{CURLPROTO_HTTPS} : long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
#endif
}

void append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (!longer) throw Error("no memory left for a download");
  static_cast<void>(list.release());
  list.reset(longer);
}

HeaderList headers_of(const HttpRequest& request) {
  HeaderList list;
  append(list, "Accept-Encoding: identity");  // checksums are those of the files as they lie there
  if (request.first_byte > 0 && !request.if_range.empty()) append(list, "If-Range: " + request.if_range);
  return list;
}

void set_callbacks(CURL* handle, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
}

void set_request(CURL* handle, const HttpRequest& request) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "evener");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, kMostRedirects);
  allow_protocols(handle, lower(request.url).starts_with("https:"));
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.stalled_after_s));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stalled_after_s));
  // Not CURLOPT_RESUME_FROM: with it an answer with the whole file is an error.
  if (request.first_byte > 0) {
    curl_easy_setopt(handle, CURLOPT_RANGE, (std::to_string(request.first_byte) + "-").c_str());
  }
  // The variable that other programs on OpenSSL follow, for networks with certificates of their own.
  if (const char* file = std::getenv("SSL_CERT_FILE"); file && *file) curl_easy_setopt(handle, CURLOPT_CAINFO, file);
}

HttpEnd end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpEnd::kDone;
    case CURLE_ABORTED_BY_CALLBACK:
      return HttpEnd::kStopped;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpEnd::kNoHost;
    case CURLE_COULDNT_CONNECT:
      return HttpEnd::kNoConnection;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpEnd::kStalled;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return HttpEnd::kBrokenOff;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpEnd::kNotTrusted;
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return HttpEnd::kBadRedirect;
    default:
      return HttpEnd::kFailed;
  }
}

HttpResult http_get(const HttpRequest& request) {
  const Handle handle(curl_easy_init());
  if (!handle) throw Error("libcurl could not be started (no memory?)");
  Transfer transfer{request, handle.get()};
  char text[CURL_ERROR_SIZE] = "";
  const HeaderList headers = headers_of(request);
  set_request(handle.get(), request);
  set_callbacks(handle.get(), transfer);
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, text);

  const CURLcode code = curl_easy_perform(handle.get());
  if (transfer.error) std::rethrow_exception(transfer.error);
  if (code == CURLE_OK && !transfer.head_given) give_head(transfer);  // there was no body
  return {end_of(code), text[0] != '\0' ? text : curl_easy_strerror(code)};
}

class EvpDigest : public Digest {
 public:
  explicit EvpDigest(ChecksumKind kind) : context_(EVP_MD_CTX_new()) {
    const EVP_MD* type = kind == ChecksumKind::kMd5 ? EVP_md5() : EVP_sha256();
    if (context_ && EVP_DigestInit_ex(context_.get(), type, nullptr) == 1) return;
    // A system in FIPS mode has no MD5.
    throw Error(std::string("libcrypto can't compute ") + (kind == ChecksumKind::kMd5 ? "MD5" : "SHA-256") +
                " on this system; check the file by hand");
  }

  void add(std::string_view bytes) override {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw Error("libcrypto: a checksum failed");
  }

  std::string hex() override {
    unsigned char value[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context_.get(), value, &size) != 1) throw Error("libcrypto: a checksum failed");
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text += "0123456789abcdef"[value[i] >> 4];
      text += "0123456789abcdef"[value[i] & 15];
    }
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

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

class CurlWeb : public Web {
 public:
  HttpResult get(const HttpRequest& request) override { return http_get(request); }
  std::unique_ptr<ArchiveReader> archive(ArchiveSource source, const ArchiveLimits& limits) override {
    return std::make_unique<TarGz>(std::move(source), limits);
  }
  std::unique_ptr<Digest> digest(ChecksumKind kind) override { return std::make_unique<EvpDigest>(kind); }
};

const char* version() {
  static const std::string text = std::string("libcurl ") + curl_version_info(CURLVERSION_NOW)->version + ", " +
                                  OpenSSL_version(OPENSSL_VERSION) + ", " + archive_version_string();
  return text.c_str();
}

const char* unusable_reason() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  return code == CURLE_OK ? "" : curl_easy_strerror(code);
}

}  // namespace
}  // namespace evener::data::fetch_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module = evener::module_entry<evener::Web, evener::data::fetch_module::CurlWeb>(
    evener::data::fetch_module::version, evener::data::fetch_module::unusable_reason);
}
