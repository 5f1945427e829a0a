#include "train/steps/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/names.h"

namespace evener::training {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError("schedule '" + text + "': " + why +
                   ". Known: constant, cosine, one-cycle, step:EPOCHS[:FACTOR] (step:30:0.1 divides the rate by 10 "
                   "every 30 epochs)");
}

double number(const std::string& text, const std::string& part) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(part, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (part.empty() || used != part.size() || !std::isfinite(value)) refuse(text, "'" + part + "' is not a number");
  return value;
}

/// From `from` to `to` along half a cosine; `part` in [0, 1].
double cosine_between(double from, double to, double part) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

double one_cycle(double peak, double step, double steps) {
  constexpr double kRise = 0.3, kFirst = 1.0 / 25, kLast = kFirst / 1e4;
  const double top = kRise * steps - 1, end = steps - 1;
  if (step < top) return cosine_between(kFirst * peak, peak, step / top);
  return cosine_between(peak, kLast * peak, end > top ? std::min(1.0, (step - top) / (end - top)) : 1.0);
}

}  // namespace

double Schedule::rate(double base, std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs) const {
  const double position = static_cast<double>(step) / static_cast<double>(steps_per_epoch);  // in epochs
  if (position < warmup_epochs) {
    const double warmup_steps = warmup_epochs * static_cast<double>(steps_per_epoch);
    // A warm-up may be shorter than a step.
    return base * std::min(1.0, static_cast<double>(step + 1) / warmup_steps);
  }
  switch (kind) {
    case Kind::kConstant:
      return base;
    case Kind::kStep:
      return base * std::pow(drop_factor, std::floor(position / drop_epochs));
    case Kind::kCosine: {
      const double length = std::max(static_cast<double>(epochs) - warmup_epochs, 1e-9);
      return cosine_between(base, 0, std::min(1.0, (position - warmup_epochs) / length));
    }
    case Kind::kOneCycle:
      return one_cycle(base, static_cast<double>(step), static_cast<double>(epochs * steps_per_epoch));
  }
  return base;
}

std::string new_end_text(const Schedule& schedule, double base, std::int64_t step, std::int64_t steps_per_epoch,
                         std::int64_t epochs_before, std::int64_t epochs) {
  const bool cosine = schedule.kind == Schedule::Kind::kCosine;
  if (!cosine && schedule.kind != Schedule::Kind::kOneCycle) return "";
  if (epochs == epochs_before || step == 0) return "";
  const double was = schedule.rate(base, step - 1, steps_per_epoch, epochs_before);
  const double is = schedule.rate(base, step, steps_per_epoch, epochs);
  return fmt::format(
      "the {} schedule now ends after epoch {} instead of {}: the rate goes on with {:.3g}, after {:.3g} in the last "
      "step",
      cosine ? "cosine" : "one-cycle", epochs, epochs_before, is, was);
}

Schedule parse_schedule(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  Schedule schedule;
  const std::string kind = parts.empty() ? "" : parts[0];
  if (kind == "constant" || kind == "cosine" || kind == "one-cycle") {
    if (parts.size() > 1) refuse(text, "'" + kind + "' takes no numbers");
    schedule.kind = kind == "cosine"     ? Schedule::Kind::kCosine
                    : kind == "constant" ? Schedule::Kind::kConstant
                                         : Schedule::Kind::kOneCycle;
    return schedule;
  }
  if (kind != "step") {
    const std::string near = nearest_name(kind, {"constant", "step", "cosine", "one-cycle"});
    refuse(text, "unknown kind" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  schedule.kind = Schedule::Kind::kStep;
  if (parts.size() > 3) refuse(text, "too many numbers");
  if (parts.size() > 1) {
    const double epochs = number(text, parts[1]);
    if (epochs < 1 || epochs != std::floor(epochs) || epochs > 1e6)
      refuse(text, "the epochs are a whole number from 1 on");
    schedule.drop_epochs = static_cast<int>(epochs);
  }
  if (parts.size() > 2) {
    schedule.drop_factor = number(text, parts[2]);
    if (schedule.drop_factor <= 0 || schedule.drop_factor > 1) refuse(text, "the factor lies in (0, 1]");
  }
  return schedule;
}

}  // namespace evener::training
