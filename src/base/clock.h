// The one clock of the program: monotonic, in seconds or nanoseconds.
#pragma once

#include <cstdint>
#include <string>

namespace evener {

/// std::chrono::steady_clock in nanoseconds.
std::int64_t now_ns();
double now_s();

/// Monotonic seconds that go on while the machine is suspended: for readers of counters that may have wrapped around
/// meanwhile.
double boot_now_s();

/// Seconds since construction.
class Stopwatch {
 public:
  Stopwatch() : begin_s_(now_s()) {}
  double seconds() const { return now_s() - begin_s_; }

 private:
  double begin_s_;
};

/// UTC as "2026-11-21T10:15:00Z", for records.
std::string utc_now_text();

}  // namespace evener
