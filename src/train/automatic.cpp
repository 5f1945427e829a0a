#include "train/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/message.h"
#include "base/names.h"
#include "base/simd_level.h"
#include "base/stop.h"
#include "data/boxes.h"
#include "infer/model/cache_folder.h"
#include "infer/model/metadata.h"
#include "infer/model/trained_model.h"
#include "measure/run/passing_folder.h"
#include "network/zoo.h"
#include "options/data_flags.h"
#include "parallel/launcher.h"
#include "train/steps/blank_images.h"
#include "train/steps/train.h"
#include "train/training.h"
#include "weights/weights_file.h"

namespace evener::training {
namespace {

namespace fs = std::filesystem;

using TrialMessage = std::tuple<std::optional<double>, double, double, double, bool>;

std::optional<double> quality_of(const record::EpochRecord& epoch) {
  if (const auto map = epoch.figures.find("val_map_50"); map != epoch.figures.end()) return map->second;
  return epoch.val_accuracy;
}

bool is_blind(const record::EpochRecord& epoch) {
  const auto share = epoch.figures.find(kFoundInBlank);
  return share != epoch.figures.end() && share->second >= kBlindShare;
}

/// The message of a trial; the process that does it has nothing else to do.
std::string train_briefly(const TrainFlags& flags, const fs::path& folder, double seconds) {
  TrainObserver silent;
  const TrainOptions options = options_of_trial(flags, folder);
  TrainJob job(PreparedTraining(options, silent));
  job.end_by(now_s() + seconds);
  parallel::LaunchOptions launch;
  launch.shared_bytes = job.shared_bytes();
  launch.always_group = options.always_exchange;
  const auto body = [&](const parallel::RankContext& context) {
    const TrainResult result = job.run(context);
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

constexpr double kUsualMinutes = 10;
/// The share of the time for all trials together, and the least time of a trial: a shorter one shows nothing.
constexpr double kTrialShare = 0.2, kMostTrials_s = 180, kLeastTrial_s = 1;

bool has_boxes(const data::OpenedData& data) {
  return data.dataset->target_kind() == data::TargetKind::kBoxes;
}

/// The network that weights of a name are taken for.
std::string network_for(const std::string& word, bool for_boxes) {
  if (word == "coco") return "ssdlite320_mobilenet_v3_large";
  return for_boxes ? "ssdlite_mobilenet_v2" : "mobilenet_v2";
}

/// The detector that is built on a classifier of the zoo; "" = none is.
std::string detector_on(const std::string& classifier) {
  for (const network::ModelInfo& model : network::known_models()) {
    if (!classifier.empty() && network::classifier_of(model.name) == classifier) return model.name;
  }
  return "";
}

/// The network whose weights are in `file`: as the file says, or by the names and shapes of its tensors; where
/// `for_boxes`, of a classifier the detector that is built on it. Throws Error where the file can't be read, and
/// UsageError where the network isn't known.
std::string network_of_weights(const fs::path& file, bool for_boxes) {
  const weights::SafetensorsFile read = weights::read_weights(file);
  std::string model = inference::model_facts(read.metadata).model;
  const auto fitting = model.empty() ? inference::fitting_networks(read) : std::vector<inference::FittingNetwork>();
  if (!fitting.empty()) model = fitting.front().model;
  if (model.empty()) {
    throw UsageError("which network the weights in '" + file.string() +
                     "' are of can't be told by their names and shapes; name it: evener train MODEL --weights ...");
  }
  if (!for_boxes || !network::classifier_of(model).empty()) return model;
  const std::string detector = detector_on(model);
  if (detector.empty()) {
    throw UsageError("the data has boxes, and no detector is built on " + model + ", whose weights '" + file.string() +
                     "' has; take those of mobilenet_v2 or mobilenet_v3_large, or a detector's");
  }
  return detector;
}

/// The name of published weights that lie in the cache already; "" = none do.
std::string weights_at_hand(bool for_boxes) {
  for (const char* word : {"coco", "imagenet"}) {
    if (!for_boxes && std::string(word) == "coco") continue;
    try {
      const auto named = inference::named_weights(word, network_for(word, for_boxes));
      std::error_code none;
      if (named && fs::exists(named->file, none)) return word;
    } catch (const UsageError&) {
      continue;  // there is no folder to keep any in
    }
  }
  return "";
}

/// The share of the longer side that the median box of the class with the smallest boxes has.
std::optional<double> smallest_box(const data::Dataset& dataset) {
  const auto longer = static_cast<double>(std::max(dataset.shape().width, dataset.shape().height));
  double least = std::numeric_limits<double>::infinity();
  for (const data::ClassBoxes& each : data::count_boxes(dataset).classes) {
    if (each.boxes == 0) continue;
    least = std::min(least, static_cast<double>(std::min(each.median_width, each.median_height)) / longer);
  }
  if (least > 1) return std::nullopt;
  return least;
}

std::string facts_text(const ChoiceFacts& facts, const TrainFlags& flags) {
  const std::string weights = flags.model.weights->empty() ? "no weights" : "weights in " + *flags.model.weights;
  return fmt::format(
      "choosing a {} for {} images with {} of {} classes, the first of {}x{} pixels; {}; {} cores, "
      "{} of memory free, {:.3g} minutes left",
      facts.has_boxes ? "detector" : "classifier", facts.images, facts.has_boxes ? "boxes" : "one", facts.classes,
      facts.image.width, facts.image.height, weights, facts.cores,
      bytes_text(static_cast<std::uint64_t>(facts.free_bytes)), std::max(0.0, facts.seconds) / 60);
}

/// Trains the candidate for about `seconds` after its images are read (and, with weights of other classes, its last
/// layer is fitted), in a process of its own that leaves `flags` as they are. A failure is returned in
/// CandidateTrial::failure. Throws Interrupted.
CandidateTrial try_out(const TrainFlags& flags, const NetworkCandidate& candidate, double seconds) {
  const measure::PassingFolder folder(measure::new_temporary_folder("evener-trial"));  // for its checkpoints
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

/// Tries them from the cheapest to the dearest, each for an equal part of what is left of the time for that.
std::vector<CandidateTrial> try_all(TrainFlags& flags, const ChoiceFacts& facts,
                                    const std::vector<NetworkCandidate>& candidates, measure::Observer& observer) {
  const double end_s = now_s() + seconds_for_trials(facts.seconds);
  std::vector<CandidateTrial> trials(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].refusal.empty()) continue;
    const double seconds = (end_s - now_s()) / static_cast<double>(candidates.size() - i);
    if (i > 0 && seconds < kLeastTrial_s) {
      trials[i].failure = "no time was left for it; --minutes more has some";
      continue;
    }
    observer.show(
        fmt::format("trying {} for {}", candidates[i].text(), duration_text(std::max(seconds, kLeastTrial_s))));
    trials[i] = try_out(flags, candidates[i], std::max(seconds, kLeastTrial_s));
    observer.finish();
  }
  return trials;
}

/// Errors in the data get the same messages as in a training.
void require_some_success(const std::vector<NetworkCandidate>& candidates, const std::vector<CandidateTrial>& trials) {
  std::string failure;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!candidates[i].refusal.empty()) continue;
    if (trials[i].failure.empty()) return;
    if (failure.empty()) failure = trials[i].failure;
  }
  throw Error(failure);
}

/// "evener train resnet18 --data photos/ --size 128x96 ...": the command that would have asked for what was chosen.
std::string command_text(const TrainFlags& flags) {
  std::string text = "evener train " + *flags.model.model;
  const OptionGroup* const groups[] = {&flags.data, &flags.model, &flags.optimisation, &flags.placement};
  for (const OptionGroup* group : groups) {
    for (const OptionBase* option : group->options()) {
      if (option->is_positional() || !option->given() || option->kind() == ValueKind::kSwitch) continue;
      for (const std::string& word : option->given_words()) text += " " + option->name() + " " + word;
    }
  }
  return text;
}

/// One line of the trials, for the record.
std::string trials_text(const std::vector<NetworkCandidate>& candidates, const std::vector<CandidateTrial>& trials) {
  std::string text;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateTrial& trial = trials[i];
    text += (text.empty() ? "" : "; ") + candidates[i].text();
    const std::string& refusal = candidates[i].refusal.empty() ? trial.failure : candidates[i].refusal;
    if (!refusal.empty()) {
      text += ": " + refusal;
    } else {
      text += fmt::format(": {:.1f} s, {}", trial.seconds, trial.quality ? fmt::format("{:.4f}", *trial.quality) : "-");
    }
  }
  return text;
}

}  // namespace

CandidateTrial trial_of(const TrainResult& result) {
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

TrainOptions options_of_trial(const TrainFlags& flags, const fs::path& folder) {
  constexpr int kNeverReached = 100'000;
  TrainOptions options = train_options(flags, plan_of(flags));
  options.out = folder;
  options.epochs = kNeverReached;
  options.patience = 0;
  options.schedule = {};
  return options;
}

void take_candidate(const NetworkCandidate& candidate, TrainFlags& flags) {
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

ChoiceFacts facts_of(const TrainFlags& flags) {
  const data::OpenedData data = look_at_data(flags);
  ChoiceFacts facts;
  facts.has_boxes = has_boxes(data);
  facts.images = data.dataset->size();
  facts.train_images = data.split.train.size();
  facts.val_images = data.split.val.size();
  facts.classes = static_cast<std::int64_t>(data.dataset->classes().size());
  facts.image = data.dataset->shape();
  if (facts.has_boxes) facts.box_side = smallest_box(*data.dataset);
  if (*flags.model.model != kAutomatic) facts.network = *flags.model.model;
  if (flags.data.size.given()) facts.size = parse_image_size(*flags.data.size);
  if (!facts.network.empty() && !flags.data.size->empty()) facts.trained_size = parse_image_size(*flags.data.size);
  const bool has_usual_batch = !facts.network.empty() && !facts.has_boxes;
  if (flags.optimisation.batch.given() || has_usual_batch) facts.batch = flags.optimisation.batch_size().value_or(0);
  facts.seconds = flags.end_by_s().value_or(now_s()) - now_s();
  facts.free_bytes = static_cast<std::int64_t>(memory_limits().available_bytes);
  facts.cores = usable_cores();
  facts.has_fast_bf16 = has_bfloat16_tiles();
  return facts;
}

double seconds_for_trials(double seconds) {
  return std::min(kMostTrials_s, kTrialShare * seconds);
}

bool is_automatic(const TrainFlags& flags) {
  return flags.model.model->empty() || *flags.model.model == kAutomatic;
}

void choose_by_weights(TrainFlags& flags) {
  if (!is_automatic(flags) || flags.data.location->empty()) return;
  if (flags.output.resumes()) {
    if ((*flags.output.resume)->empty()) throw UsageError("--resume without a folder goes on with a network: name it");
    return;  // the run has one
  }
  if (*flags.optimisation.epochs == 0) {
    throw UsageError("--epochs 0 evaluates the weights of a network: name it, as in evener train resnet18 ...");
  }
  if (!hosts_to_start(flags).empty() || *flags.placement.hosts_started > 0) {
    throw UsageError(
        "a network is chosen by trying some on this host; for several hosts name it: the same command without --hosts "
        "and with --dry-run says which would be taken");
  }
  if (!flags.optimisation.minutes->has_value()) flags.optimisation.minutes.preset(kUsualMinutes);
  flags.model.model.read({kAutomatic});
  flags.chooses = true;
  const data::OpenedData data = look_at_data(flags);
  const bool boxes = has_boxes(data);
  // A part to validate on that is large enough to tell networks apart, unless the data has parts or the user a wish.
  if (const std::string split = flags.data.split.given() ? "" : suitable_split(flags, data); !split.empty()) {
    flags.data.split.read({split});
    flags.decisions.push_back(fmt::format("the data has no part of its own to validate on: --split {}", split));
  }
  std::string weights = *flags.model.weights;
  if (weights.empty() && std::max(data.dataset->shape().width, data.dataset->shape().height) > 48) {
    weights = weights_at_hand(boxes);
    if (!weights.empty()) {
      flags.model.weights.read({weights});
      flags.decisions.push_back(fmt::format("--weights {}: they were downloaded before", weights));
    } else {
      flags.decisions.push_back(
          "no weights are given: from scratch. With --weights imagenet the network begins with what others have learnt "
          "of photos, which is worth most where there are few");
    }
  }
  if (weights.empty()) return;
  std::error_code none;
  const bool is_name = (weights == "imagenet" || weights == "coco") && !fs::exists(weights, none);
  if (fs::is_directory(weights, none)) weights = inference::weights_in(weights).string();
  flags.model.model.read({is_name ? network_for(weights, boxes) : network_of_weights(weights, boxes)});
}

void choose_by_trying(TrainFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  if (!flags.chooses) return;
  const WorkScope scope(this_work_until(stop));
  for (const std::string& text : flags.decisions) observer.note(text);
  const ChoiceFacts facts = facts_of(flags);
  observer.note(facts_text(facts, flags));
  const std::vector<NetworkCandidate> candidates = candidates_for(facts);
  std::vector<CandidateTrial> trials(candidates.size());
  if (!*flags.output.dry_run) {
    trials = try_all(flags, facts, candidates, observer);
    require_some_success(candidates, trials);
    for (const std::string& line : trials_table(facts, candidates, trials)) observer.note(line);
    flags.decisions.push_back("tried: " + trials_text(candidates, trials));
  }
  const NetworkChoice choice = choose_network(facts, candidates, trials, flags.end_by_s().value_or(now_s()) - now_s());
  take_candidate(candidates[choice.candidate], flags);
  flags.tried_epoch_s = trials[choice.candidate].epoch_s;
  const std::string equal = "without choosing: " + command_text(flags);
  for (const std::string& text : {choice.reason, equal}) {
    flags.decisions.push_back(text);
    observer.note(text);
  }
}

}  // namespace evener::training
