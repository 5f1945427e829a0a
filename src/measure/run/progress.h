// The progress of work on many images, in words.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "measure/run/observer.h"

namespace evener::measure {

/// Limits how often a line of progress is drawn, to what people can read.
class RedrawPace {
 public:
  /// `last_s`: when the line was drawn last, by now_s(); 0 = never.
  explicit RedrawPace(double last_s = 0) : last_s_(last_s) {}
  /// Whether the line is to be drawn now. Where lines can't be redrawn, it is due every `other_s` seconds.
  bool is_due(const Observer& line, double other_s = std::numeric_limits<double>::infinity());

 private:
  double last_s_ = 0;
};

/// Shows progress to an observer. Where lines can't be redrawn, work of less than two seconds is not mentioned.
class LoadingProgress {
 public:
  /// `unit`: of the speed, as in img/s.
  explicit LoadingProgress(Observer& observer, const char* unit = "img") : observer_(observer), unit_(unit) {}
  /// `what`: "reading images". Another text begins another piece of work.
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

/// An estimated time in words: "less than 1 s", "42 s", "4 min 05 s".
std::string time_left_text(double seconds);

}  // namespace evener::measure
