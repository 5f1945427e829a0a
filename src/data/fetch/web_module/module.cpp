// The module's door: the factory function that base/module.h looks for, and the Web behind it.
#include <curl/curl.h>
#include <openssl/crypto.h>

#include "base/module_entry.h"
#include "data/fetch/web_module/digest.h"
#include "data/fetch/web_module/http.h"

namespace evener::data::fetch_module {
namespace {

class CurlWeb : public Web {
 public:
  HttpResult get(const HttpRequest& request) override { return http_get(request); }
  std::unique_ptr<Digest> digest(ChecksumKind kind) override { return make_digest(kind); }
};

const char* version() {
  static const std::string text =
      std::string("libcurl ") + curl_version_info(CURLVERSION_NOW)->version + ", " + OpenSSL_version(OPENSSL_VERSION);
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
