// Asynchronous questions to slow sources: the caller polls for the answer and never waits longer than it says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

struct Answer {
  std::string text;                          // the answer; empty: nothing yet, or an error
  std::string error;                         // why there is no answer
  double at_s = 0;                           // midpoint of question and answer, by boot_now_s()
  std::optional<double> their_clock_s = {};  // the source's own time, seconds since 1970
};

class Poller {
 public:
  virtual ~Poller() = default;
  /// Asks unless a question is pending, and returns the answer once it is there. `wait_s`: how long to wait for it.
  virtual Answer poll(double wait_s) = 0;
};

/// Asks by running a shell command, whose stdout is the answer. It is killed after `limit_s` seconds.
std::unique_ptr<Poller> ask_command(std::string command, double limit_s);
/// Asks with GET from an http:// or https:// address, without a proxy; `limit_s`: time limit in seconds. Throws
/// UsageError for another address, and Error if the module for HTTP isn't installed.
std::unique_ptr<Poller> ask_http(const std::string& url, double limit_s);

}  // namespace evener::measure
