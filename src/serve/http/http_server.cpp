#include "serve/http/http_server.h"

#include <nlohmann/json.hpp>

#include "base/module.h"

namespace evener::serving {

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string none;
  const auto found = headers.find(name);
  return found == headers.end() ? none : found->second;
}

HttpResponse http_error(int status, const std::string& what) {
  const nlohmann::json body = {{"error", what}};
  return {.status = status, .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

HttpResponse try_later(const std::string& what) {
  HttpResponse response = http_error(503, what);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::unique_ptr<HttpServer> open_http_server(const HttpOptions& options) {
  static const std::unique_ptr<HttpServers> servers(static_cast<HttpServers*>(require_module("http").create()));
  return servers->open(options);
}

}  // namespace evener::serving
