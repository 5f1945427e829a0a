// Answers that come from elsewhere and take their time: whoever asks looks again later and never waits longer than he
// says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

struct Answer {
  std::string text;                          // what came; empty: nothing yet, or error
  std::string error;                         // why nothing came
  double at_s = 0;                           // in the middle between asking and the answer, by the clock that was given
  std::optional<double> their_clock_s = {};  // what they say the time is, seconds since 1970
};

class Poller {
 public:
  virtual ~Poller() = default;
  /// Asks if nothing is asked, and gives the answer once it is there. `wait_s`: how long it may wait for that.
  virtual Answer poll(double wait_s) = 0;
};

/// A command, run by the shell; its answer is what it writes on stdout. After `limit_s` it is killed.
std::unique_ptr<Poller> ask_command(std::string command, double limit_s);
/// GET of an http:// or https:// address, past any proxy. Throws UsageError for another one, and Error where the module
/// that asks isn't there.
std::unique_ptr<Poller> ask_http(const std::string& url, double limit_s);

}  // namespace evener::measure
