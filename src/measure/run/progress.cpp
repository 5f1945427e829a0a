#include "measure/run/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/names.h"

namespace evener::measure {
namespace {

constexpr double kRedraw_s = 0.2;
constexpr double kFirstText_s = 2, kNextText_s = 10;  // where texts stay

}  // namespace

std::string progress_bar(double share) {
  constexpr int kWidth = 20;
  const int filled = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kWidth - filled), '.') + "]";
}

std::string time_left_text(double seconds) {
  if (seconds < 0.95) return "less than 1 s";
  return seconds < 59.5 ? fmt::format("{:.0f} s", seconds) : duration_text(seconds);
}

bool RedrawPace::is_due(const Observer& line, double other_s) {
  const double now = now_s();
  if (now - last_s_ < (line.redraws() ? kRedraw_s : other_s)) return false;
  last_s_ = now;
  return true;
}

void LoadingProgress::update(const char* what, std::size_t done, std::size_t images) {
  const double now = now_s();
  if (what != what_) {
    what_ = what;
    begin_s_ = now;
    pace_ = RedrawPace(observer_.redraws() ? now : now + kFirstText_s - kNextText_s);
  }
  if (done == 0 || !pace_.is_due(observer_, kNextText_s)) return;
  const double share = static_cast<double>(done) / static_cast<double>(images);
  const double images_per_s = static_cast<double>(done) / std::max(now - begin_s_, 1e-9);
  observer_.show(fmt::format("{} {} {:3.0f} %  {} of {}  {} {}/s  {} left", what, progress_bar(share), 100 * share,
                             done, images, si_text(images_per_s), unit_,
                             time_left_text(static_cast<double>(images - done) / images_per_s)));
}

}  // namespace evener::measure
