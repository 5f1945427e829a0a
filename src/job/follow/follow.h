// A report that follows runs or a sweep: the page of their folders as they are now, over HTTP.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "job/http/http_server.h"
#include "job/observer.h"

namespace evener::job {

/// The page that is shown now, made anew where its folders have changed. Thread-safe.
class FollowedPage {
 public:
  explicit FollowedPage(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  /// Of the newest page, which is another text whenever the page is another.
  std::string version();
  std::string page();

 private:
  void refresh();

  const std::vector<std::filesystem::path> folders_;
  std::mutex mutex_;
  std::string state_, version_, page_;
  double next_s_ = 0;  // not looked at again before
};

/// Answers "/", "/version" and "/page".
HttpResponse answer_follower(FollowedPage& page, const std::string& title, const HttpRequest& request);

/// Serves on 127.0.0.1 until `stop` or a signal. Tells `observer` the address as a line of its own. Throws Error where
/// one of the folders doesn't exist, and as open_http_server does.
void follow(const std::vector<std::filesystem::path>& folders, int port, Observer& observer,
            const StopFlag* stop = nullptr);

}  // namespace evener::job
