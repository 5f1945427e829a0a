// What it costs that a training is recorded: the same training by turns with all that `evener train` does beside it
// (samples of processor, memory and energy twice a second, phases, record.json after each epoch), with that but hardly
// a sample, and as the task alone. All save the same checkpoints.
//   bench_recording ROUNDS MODEL [--option VALUE ...]      options of `evener train`, such as --data and --epochs
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "parallel/launcher.h"
#include "record/repeats.h"
#include "train/training.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

enum Way { kBare, kRarelySampled, kRecorded };
constexpr std::array kNames = {"task alone", "recorded, a sample in 10 s", "recorded"};

void give_options(training::TrainFlags& flags, const Words& words, const fs::path& out, Way way) {
  const auto give = [&](const std::string& name, const std::string& value) { flags.options().give(name, {value}); };
  give("MODEL", words.at(0));
  for (std::size_t n = 1; n + 1 < words.size(); n += 2) give(words[n], words[n + 1]);
  give("--out", out.string());
  if (way == kRarelySampled) give("--sample-interval", "10000");
  flags.options().check();
  complete(flags, nullptr);
}

/// Seconds from the options to the last file.
double time_of(const Words& words, const fs::path& out, Way way) {
  fs::remove_all(out);
  training::TrainFlags flags;
  give_options(flags, words, out, way);
  const Stopwatch clock;
  if (way != kBare) {
    training::TrainWatcher nobody;
    training::train(flags, nobody);
    return clock.seconds();
  }
  fs::create_directories(out);
  training::TrainOptions options = training::train_options(flags, training::plan_of(flags));
  options.out = out;
  training::TrainObserver nobody;
  training::TrainJob job(training::PreparedTraining(options, nobody));
  parallel::LaunchOptions launch;
  launch.shared_bytes = job.shared_bytes();
  const auto body = [&](const parallel::RankContext& rank) {
    job.run(rank);
    return std::string();
  };
  parallel::run_ranks(job.plan(), body, launch);
  return clock.seconds();
}

void tell(const char* what, const std::vector<record::BlockValue>& base, const std::vector<record::BlockValue>& with) {
  const record::RunComparison comparison = record::compare_runs(base, with);
  if (!comparison.interval) return;
  fmt::print("{}: {:+.2f} % ({:+.2f} to {:+.2f})\n", what, 100 * (*comparison.ratio - 1),
             100 * (comparison.interval->low - 1), 100 * (comparison.interval->high - 1));
}

void compare(int rounds, const Words& words) {
  const fs::path out = fs::temp_directory_path() / fmt::format("evener-recording-{}", now_s());
  std::mt19937 chance(1);
  std::array<std::vector<record::BlockValue>, kNames.size()> seconds;
  std::array order = {kBare, kRarelySampled, kRecorded};
  time_of(words, out, kBare);  // warms up
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, chance);
    for (const Way way : order) {
      seconds[way].push_back({round, time_of(words, out, way)});
      fmt::print("round {}: {}: {:.3f} s\n", round + 1, kNames[way], seconds[way].back().value);
    }
  }
  fs::remove_all(out);
  tell("all recording", seconds[kBare], seconds[kRecorded]);
  tell("samples twice a second alone", seconds[kRarelySampled], seconds[kRecorded]);
}

}  // namespace
}  // namespace evener

int main(int count, char** words) {
  int rounds = 0;
  const std::string first = count > 2 ? words[1] : "";
  std::from_chars(first.data(), first.data() + first.size(), rounds);
  if (rounds < 1) {
    fmt::print(stderr, "usage: {} ROUNDS MODEL [--option VALUE ...]\n", words[0]);
    return 2;
  }
  try {
    evener::compare(rounds, {words + 2, words + count});
  } catch (const evener::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
