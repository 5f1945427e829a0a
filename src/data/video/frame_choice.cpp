#include "data/video/frame_choice.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace evener::data {

bool FrameChoice::is_default() const {
  return !is_told && every == 1 && every_s == 0 && most == std::numeric_limits<std::size_t>::max();
}

FrameChoice parse_every(const std::string& text) {
  const auto refuse = [&]() {
    return UsageError("--every '" + text + "': give a number of frames, such as 10, or a time, such as 1s or 200ms");
  };
  FrameChoice choice;
  if (text.empty()) return choice;
  choice.is_told = true;
  std::size_t digits = 0;
  double value = 0;
  try {
    value = std::stod(text, &digits);
  } catch (const std::exception&) {
    throw refuse();
  }
  const std::string unit = text.substr(digits);
  constexpr double kMost = 1e9;
  if (!(value > 0) || value > kMost || (unit != "" && unit != "s" && unit != "ms")) throw refuse();
  if (unit.empty()) {
    if (value != std::floor(value)) throw refuse();
    choice.every = static_cast<std::size_t>(value);
  } else {
    choice.every_s = unit == "s" ? value : value / 1000;
  }
  return choice;
}

bool FrameChooser::takes(double time_s) {
  if (seen_ == 0) begin_s_ = time_s;
  const std::size_t number = seen_++;
  if (choice_.every_s == 0) return number % choice_.every == 0;
  // Times are rounded to the stream's ticks: a frame a little before a span's begin is the one that was meant.
  constexpr double kRounding_s = 1e-3;
  const auto span = static_cast<std::int64_t>(std::floor((time_s - begin_s_ + kRounding_s) / choice_.every_s));
  if (span < next_span_) return false;
  next_span_ = span + 1;
  return true;
}

std::vector<std::size_t> chosen_frames(const std::vector<FramePlace>& frames, const FrameChoice& choice,
                                       std::size_t most) {
  FrameChooser chooser(choice);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < frames.size() && chosen.size() < most; ++i) {
    if (chooser.takes(frames[i].time_s)) chosen.push_back(i);
  }
  return chosen;
}

std::string frame_name(const std::string& video, double time_s) {
  return fmt::format("{}@{:.3f}s", video, time_s);
}

}  // namespace evener::data
