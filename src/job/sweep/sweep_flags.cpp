#include "job/sweep/sweep_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "job/sweep/run_length.h"

namespace evener::job {
namespace {

constexpr int kFewestWithUntil = 5;

/// 0.02 for "2%", and for "2"; absent for anything but a number above 0 and up to 100.
std::optional<double> share_of(std::string_view percent) {
  if (percent.ends_with("%")) percent.remove_suffix(1);
  const double share = to_number<double>(percent).value_or(0) / 100;
  return std::isfinite(share) && share > 0 && share <= 1 ? std::optional(share) : std::nullopt;
}

/// 0.02 for "ci=2%".
double width_of(const std::string& text) {
  constexpr std::string_view kBegin = "ci=";
  const auto share = text.starts_with(kBegin) ? share_of(std::string_view(text).substr(kBegin.size())) : std::nullopt;
  if (share) return *share;
  throw UsageError(fmt::format("--until is {}; it has to be ci=P%, such as ci=2%", quoted_text(text)));
}

double steady_deviation(const std::string& text) {
  if (const auto share = share_of(text)) return *share;
  throw UsageError(fmt::format("--steady is {}; it has to be P%, such as 2%", quoted_text(text)));
}

}  // namespace

void SweepFlags::fill(record::SweepRecord& sweep) const {
  sweep.repeats = runs->value_or(*repeats);
  sweep.warmup = *warmup;
  if (!until->empty()) sweep.until_width = width_of(*until);
  sweep.max_runs = *max_runs;
  if (!steady->empty()) sweep.steady_deviation = steady_deviation(*steady);
  sweep.setup = *setup;
  sweep.prepare = *prepare;
  sweep.cleanup = *cleanup;
  sweep.cool_down = *cool_down;
  sweep.run_limit_s = *run_limit;
  sweep.time_limit_s = *time_limit;
  sweep.energy_repeats = *energy_repeats;
  sweep.order_seed = *order_seed;
}

void SweepFlags::check_together() const {
  if (runs.given() && repeats.given()) throw UsageError("--runs and --repeats say the same: give one");
  if (!steady->empty()) steady_deviation(*steady);
  if (until->empty()) return;
  width_of(*until);
  const int first = runs->value_or(*repeats);
  if (first < kFewestWithUntil) {
    throw UsageError(
        fmt::format("--until judges the spread by the first runs, and {} are too few: give --repeats {} or "
                    "more",
                    first, kFewestWithUntil));
  }
  if (*max_runs < first) throw UsageError(fmt::format("--max-runs {} is less than --repeats {}", *max_runs, first));
}

void complete(SweepFlags& flags) {
  std::vector<std::string> words = *flags.what;
  if (words.empty()) return;
  if (!words.front().ends_with(".toml") || !std::filesystem::exists(words.front())) {
    flags.plan = plan_from_words(words, flags);
    if (!flags.scale->empty()) throw UsageError("--scale names a part of an experiment's file, and none was given");
  } else {
    const std::string path = words.front();
    words.erase(words.begin());
    own_options_from_words(words, flags);
    flags.plan = plan_from_file(path, flags);
  }
  if (!flags.steady->empty()) run_length_of(flags.plan);
}

}  // namespace evener::job
