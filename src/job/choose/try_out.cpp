#include "job/choose/try_out.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/message.h"
#include "base/stop.h"
#include "parallel/launcher.h"
#include "task/detect/blank_images.h"
#include "task/training/train.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// A folder for the checkpoints of a trial, which goes with it.
class PassingFolder {
 public:
  PassingFolder() : path_(fs::temp_directory_path() / ("evener-trial-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~PassingFolder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using TrialMessage = std::tuple<std::optional<double>, double, double, double, bool>;

std::optional<double> quality_of(const record::EpochRecord& epoch) {
  if (const auto map = epoch.figures.find("val_map_50"); map != epoch.figures.end()) return map->second;
  return epoch.val_accuracy;
}

bool is_blind(const record::EpochRecord& epoch) {
  const auto share = epoch.figures.find(task::kFoundInBlank);
  return share != epoch.figures.end() && share->second >= task::kBlindShare;
}

/// The message of a trial; the process that does it has nothing else to do.
std::string train_briefly(const TrainFlags& flags, const fs::path& folder, double seconds) {
  task::TrainObserver silent;
  const task::TrainOptions options = options_of_trial(flags, folder);
  task::TrainJob job(task::PreparedTraining(options, silent));
  job.end_by(now_s() + seconds);
  parallel::LaunchOptions launch;
  launch.shared_bytes = job.shared_bytes();
  launch.always_group = options.always_exchange;
  const auto body = [&](const parallel::RankContext& context) {
    const task::TrainResult result = job.run(context);
    if (context.rank != 0) return std::string();
    const CandidateTrial trial = trial_of(result);
    return pack_message(TrialMessage(trial.quality, trial.seconds, trial.epochs, trial.epoch_s, trial.is_blind));
  };
  return parallel::run_ranks(job.plan(), body, launch).front();
}

/// A copy of the options that were given in `flags`, which a trial may change.
void take_words(const TrainFlags& flags, TrainFlags& own) {
  own.begin_s = flags.begin_s;
  own.chooses = flags.chooses;
  for (std::size_t g = 0; g < flags.groups.size(); ++g) {
    const auto &given = flags.groups[g]->options(), &taking = own.groups[g]->options();
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]->given()) taking[i]->read(given[i]->given_words());
    }
  }
  if (!may_fork() && !own.placement.replicas.given()) own.placement.replicas.preset("threads");
}

}  // namespace

CandidateTrial trial_of(const task::TrainResult& result) {
  if (result.status == record::Status::kDiverged) throw Error(result.status_reason);
  if (result.status == record::Status::kInterrupted) throw Interrupted("interrupted while networks were tried out");
  CandidateTrial trial;
  for (const record::EpochRecord& epoch : result.epochs) {
    trial.seconds += *epoch.seconds;
    trial.epochs += epoch.share;
    const std::optional<double> quality = quality_of(epoch);
    if (quality && *quality > trial.quality.value_or(-1)) {
      trial.quality = quality;
      trial.is_blind = is_blind(epoch);
    }
    if (!epoch.head_only) trial.epoch_s = *epoch.seconds / epoch.share + epoch.validate_seconds.value_or(0);
  }
  return trial;
}

task::TrainOptions options_of_trial(const TrainFlags& flags, const fs::path& folder) {
  constexpr int kNeverReached = 100'000;
  task::TrainOptions options = train_options(flags, plan_of(flags));
  options.out = folder;
  options.epochs = kNeverReached;
  options.patience = 0;
  options.schedule = {};
  return options;
}

void take_candidate(const Candidate& candidate, TrainFlags& flags) {
  std::vector<std::pair<std::string, std::string>> words = candidate.options;
  words.emplace_back("--size", fmt::format("{}x{}", candidate.size.width, candidate.size.height));
  words.emplace_back("--batch", std::to_string(candidate.batch));
  flags.model.model.read({candidate.model});
  for (const auto& [name, word] : words) {
    OptionBase* option = flags.options().find(name);
    if (option != nullptr && !option->given()) option->read({word});
  }
  choose_detector_defaults(flags);
}

CandidateTrial try_out(const TrainFlags& flags, const Candidate& candidate, double seconds) {
  const PassingFolder folder;
  try {
    const std::string message = in_child([&] {
      TrainFlags own;
      take_words(flags, own);
      take_candidate(candidate, own);
      return train_briefly(own, folder.path(), seconds);
    });
    const auto [quality, trained_s, epochs, epoch_s, is_blind] =
        unpack_message<TrialMessage>(message, "the result of a trial");
    return {quality, trained_s, epochs, epoch_s, "", is_blind};
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    if (stop_requested())
      throw Interrupted("interrupted while networks were tried out; nothing was trained or written");
    CandidateTrial failed;
    failed.failure = error.what();
    return failed;
  }
}

}  // namespace evener::job
