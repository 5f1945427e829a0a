// How far work on many images is, in words.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "job/observer.h"

namespace evener::job {

/// Lets a line be drawn no more often than people can read it.
class RedrawPace {
 public:
  /// `last_s`: when the line was drawn last, by now_s(); 0 = never.
  explicit RedrawPace(double last_s = 0) : last_s_(last_s) {}
  /// Whether the line is to be drawn now. Where it can't be redrawn, one comes every `other_s` seconds.
  bool is_due(const Observer& line, double other_s = std::numeric_limits<double>::infinity());

 private:
  double last_s_ = 0;
};

/// Shows it to an observer. Where it can't be redrawn, work of less than two seconds is not talked about.
class LoadingProgress {
 public:
  /// `unit`: what is counted, for its speed.
  explicit LoadingProgress(Observer& observer, const char* unit = "img") : observer_(observer), unit_(unit) {}
  /// `what`: "reading images". Another text begins another work.
  void update(const char* what, std::size_t done, std::size_t images);

 private:
  Observer& observer_;
  const char* const unit_;
  const char* what_ = nullptr;
  double begin_s_ = 0;
  RedrawPace pace_;
};

/// "[#####...............]" for a quarter.
std::string progress_bar(double share);

/// Of a time that is an estimate: "less than 1 s", "42 s", "4 min 05 s".
std::string time_left_text(double seconds);

}  // namespace evener::job
