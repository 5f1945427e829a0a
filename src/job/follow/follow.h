// Serves the report of runs or a sweep over HTTP, updated as their folders change.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "job/http/http_server.h"
#include "job/observer.h"

namespace evener::job {

/// The current page, made anew when its folders have changed. Thread-safe.
class FollowedPage {
 public:
  explicit FollowedPage(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  /// An identifier of the current page, which changes whenever the page does.
  std::string version();
  std::string page();

 private:
  void refresh();

  const std::vector<std::filesystem::path> folders_;
  std::mutex mutex_;
  std::string state_, version_, page_;
  double next_s_ = 0;  // the folders are not looked at again before then
};

/// Answers "/", "/version" and "/page".
HttpResponse answer_follower(FollowedPage& page, const std::string& title, const HttpRequest& request);

/// A server of the page on 127.0.0.1.
class FollowingServer {
 public:
  /// Listens from now on. Throws as open_http_server does.
  FollowingServer(std::vector<std::filesystem::path> folders, int port);

  /// "http://127.0.0.1:8080/".
  std::string address() const;
  /// Answers until stop() or a signal.
  void run();
  /// Thread-safe.
  void stop() { stopped_ = true; }

 private:
  const std::string title_;
  FollowedPage page_;
  const std::unique_ptr<HttpServer> server_;
  std::atomic<bool> stopped_ = false;
};

/// Serves the page on 127.0.0.1 until `stop` or a signal. Tells `observer` the address on a line of its own. Throws
/// Error where one of the folders doesn't exist, and as open_http_server does.
void follow(const std::vector<std::filesystem::path>& folders, int port, Observer& observer,
            const StopFlag* stop = nullptr);

}  // namespace evener::job
