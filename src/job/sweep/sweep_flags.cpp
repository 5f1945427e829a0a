#include "job/sweep/sweep_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::job {
namespace {

constexpr int kFewestWithUntil = 5;

/// 0.02 for "ci=2%".
double width_of(const std::string& text) {
  std::string_view rest = text;
  double percent = 0;
  if (rest.starts_with("ci=")) {
    rest.remove_prefix(3);
    if (rest.ends_with("%")) rest.remove_suffix(1);
    percent = to_number<double>(rest).value_or(0);
  }
  if (std::isfinite(percent) && percent > 0 && percent <= 100) return percent / 100;
  throw UsageError(fmt::format("--until is {}; it has to be ci=P%, such as ci=2%", quoted_text(text)));
}

}  // namespace

void SweepFlags::fill(record::SweepRecord& sweep) const {
  sweep.repeats = runs->value_or(*repeats);
  sweep.warmup = *warmup;
  if (!until->empty()) sweep.until_width = width_of(*until);
  sweep.max_runs = *max_runs;
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
    return;
  }
  const std::string path = words.front();
  words.erase(words.begin());
  own_options_from_words(words, flags);
  flags.plan = plan_from_file(path, flags);
}

}  // namespace evener::job
