#include "job/follow/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "report/folder_page.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr double kBetweenLooks_s = 0.5;
/// The share of time that making pages may take, lest it disturb the measurements of the runs that are followed.
constexpr double kShareOfTime = 0.05;

/// 64 bits of FNV-1a, as text.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace

void FollowedPage::refresh() {
  if (now_s() < next_s_) return;
  const Stopwatch clock;
  std::string state = report::folder_state(folders_);
  if (page_.empty() || state != state_) {
    page_ = report::folder_page(folders_);
    version_ = hash_of(state);
    state_ = std::move(state);
  }
  next_s_ = now_s() + std::max(kBetweenLooks_s, clock.seconds() / kShareOfTime);
}

std::string FollowedPage::version() {
  const std::lock_guard lock(mutex_);
  refresh();
  return version_;
}

std::string FollowedPage::page() {
  const std::lock_guard lock(mutex_);
  if (page_.empty()) refresh();
  return page_;
}

HttpResponse answer_follower(FollowedPage& page, const std::string& title, const HttpRequest& request) {
  const std::string kHtml = "text/html; charset=utf-8";
  HttpResponse response;
  if (request.path == "/") {
    response = {.content_type = kHtml, .body = report::following_page(title)};
  } else if (request.path == "/version") {
    response = {.content_type = "text/plain", .body = page.version()};
  } else if (request.path == "/page") {
    response = {.content_type = kHtml, .body = page.page()};
  } else {
    return http_error(404, "there are /, /version and /page");
  }
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

FollowingServer::FollowingServer(std::vector<fs::path> folders, int port)
    : title_(folders.front().string() + " - evener report"),
      page_(std::move(folders)),
      server_(open_http_server({.port = port, .connections = 64})) {}

std::string FollowingServer::address() const {
  return fmt::format("http://{}:{}/", HttpOptions().host, server_->port());
}

void FollowingServer::run() {
  server_->run([this](const HttpRequest& request) { return answer_follower(page_, title_, request); },
               [this] { return stopped_ || stop_requested(); });
}

void follow(const std::vector<fs::path>& folders, int port, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  for (const fs::path& folder : folders) {
    if (fs::is_directory(folder)) continue;
    throw Error(fmt::format("'{}' is no folder; begin the run or the sweep first, whose --out it is", folder.string()));
  }
  FollowingServer server(folders, port);
  observer.tell(server.address() + "\n");
  observer.note(fmt::format("the report is on {} and follows what it shows; Ctrl-C ends it", server.address()));
  server.run();
}

}  // namespace evener::job
