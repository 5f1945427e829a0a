// Chooses among networks that were each tried for some seconds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "network/cost.h"
#include "network/zoo.h"
#include "train/automatic.h"
#include "train/steps/training_memory.h"

namespace evener::training {
namespace {

constexpr std::int64_t kSmallImage = 48;  // pixels of the longer side: there networks for small images are at home
constexpr double kFewestBoxPixels = 8;    // a detector's finest map has a value for every 16 pixels
constexpr double kMemoryShare = 0.7;      // of what is free, that a training may take
constexpr std::int64_t kUsualBatch = 64, kSmallBatch = 16, kFewestSteps = 20;

struct Sketch {
  std::string model;
  ImageSize size;
};

/// Networks and sizes for classes without weights.
std::vector<Sketch> from_scratch(const ChoiceFacts& facts) {
  const data::ImageShape& image = facts.image;
  const std::int64_t longer = std::max(image.width, image.height);
  if (longer <= kSmallImage && !facts.size) {
    const std::int64_t values = image.channels * image.width * image.height;
    const ImageSize own{image.width, image.height};
    return {{fmt::format("mlp:{}-256-{}", values, facts.classes), own}, {"resnet20", own}, {"resnet32", own}};
  }
  return {{"resnet20", scaled_size(image, 64, 4)},
          {"resnet18", scaled_size(image, 128, 4)},
          {"resnet18", scaled_size(image, 224, 4)}};
}

std::vector<Sketch> detectors(const ChoiceFacts& facts) {
  const std::string model = facts.network.empty() ? "ssdlite_mobilenet_v2" : facts.network;
  if (model == "ssdlite320_mobilenet_v3_large") return {{model, ImageSize{320, 320}}};
  return {{model, scaled_size(facts.image, 224, 8)},
          {model, scaled_size(facts.image, 320, 8)},
          {model, scaled_size(facts.image, 448, 8)}};
}

std::vector<Sketch> with_weights(const ChoiceFacts& facts) {
  const std::int64_t side = std::max(facts.trained_size.width, facts.trained_size.height);
  if (side < 128) return {{facts.network, facts.trained_size}};  // weights of small images know only these
  std::vector<Sketch> sketches;
  for (const std::int64_t parts : {4, 5, 7}) {  // of 224: 128, 160 and 224
    const ImageSize size{facts.trained_size.width * parts / 7 / 32 * 32,
                         facts.trained_size.height * parts / 7 / 32 * 32};
    if (parts < 7) sketches.push_back({facts.network, size});
  }
  sketches.push_back({facts.network, facts.trained_size});
  return sketches;
}

std::vector<Sketch> sketches_for(const ChoiceFacts& facts) {
  std::vector<Sketch> sketches = facts.has_boxes         ? detectors(facts)
                                 : facts.network.empty() ? from_scratch(facts)
                                                         : with_weights(facts);
  if (facts.size) {
    for (Sketch& sketch : sketches) sketch.size = *facts.size;
  }
  std::vector<Sketch> different;
  for (Sketch& sketch : sketches) {
    const bool is_known = std::ranges::any_of(different, [&](const Sketch& other) {
      return other.model == sketch.model && other.size.width == sketch.size.width &&
             other.size.height == sketch.size.height;
    });
    if (!is_known) different.push_back(std::move(sketch));
  }
  return different;
}

std::int64_t usual_batch(const ChoiceFacts& facts) {
  if (facts.batch > 0) return facts.batch;
  if (facts.has_boxes) return kSmallBatch;
  return static_cast<std::int64_t>(facts.train_images) >= kFewestSteps * kUsualBatch ? kUsualBatch : kSmallBatch;
}

/// The options for training from scratch, for a classifier of the zoo and for a detector.
std::vector<std::pair<std::string, std::string>> recipe(const ChoiceFacts& facts, const std::string& model) {
  std::vector<std::pair<std::string, std::string>> options;
  if (facts.has_boxes) {
    options.emplace_back("--augment", "flip,iou-crop");
  } else if (facts.network.empty()) {
    // adamw: on the silhouettes and the digits it was more accurate after the same epochs than sgd at any rate that was
    // tried.
    options = {{"--optimizer", "adamw"}, {"--lr", "0.001"}, {"--schedule", "cosine"}};
    // Photos may be mirrored for augmentation; letters and digits may not, and these are mostly grey images.
    if (!model.starts_with("mlp:") && facts.image.channels == 3) options.emplace_back("--augment", "flip,crop:4");
  }
  if (facts.has_fast_bf16) options.emplace_back("--precision", "bf16");
  return options;
}

/// Fills in what the network costs, with the largest batch, up to the usual one, that memory has room for.
void cost(NetworkCandidate& candidate, const ChoiceFacts& facts) {
  const data::ImageShape shape{facts.image.channels, candidate.size.height, candidate.size.width};
  const network::Network network = network::build(
      candidate.model,
      {network::Shape{shape.channels, shape.height, shape.width}, std::max<std::int64_t>(1, facts.classes)});
  candidate.macs = static_cast<double>(network::forward_macs(network));
  engine::TrainerOptions trainer;
  trainer.precision = facts.has_fast_bf16 ? Precision::kBf16 : Precision::kFp32;
  trainer.optimizer.kind = engine::OptimizerKind::kAdamW;  // keeps the most
  const double room = kMemoryShare * static_cast<double>(facts.free_bytes);
  for (candidate.batch = usual_batch(facts);; candidate.batch /= 2) {
    TrainingWork work;
    work.engine = candidate.model.starts_with("mlp:") ? "native" : "torch";
    work.trainer = trainer;
    work.image = shape;
    work.images = facts.images;
    work.train_images = std::max<std::size_t>(1, facts.train_images);
    work.batch = candidate.batch;
    work.threads = facts.cores;
    work.images_are_loaded = false;
    MemoryEstimate estimate = estimated_memory(network, work);
    // Images that memory has no room for are decoded again in each epoch.
    estimate.image_bytes = std::min(estimate.image_bytes, facts.free_bytes / 2);
    candidate.bytes = estimate.total_bytes();
    const auto needed = static_cast<double>(candidate.bytes - estimate.image_bytes);
    if (needed <= room) return;
    if (candidate.batch <= 4 || facts.batch > 0) break;
  }
  candidate.refusal =
      fmt::format("takes about {} of memory, and {} are free", bytes_text(static_cast<std::uint64_t>(candidate.bytes)),
                  bytes_text(static_cast<std::uint64_t>(facts.free_bytes)));
}

void refuse_small_boxes(std::vector<NetworkCandidate>& candidates, const ChoiceFacts& facts) {
  if (!facts.box_side) return;
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
    NetworkCandidate& candidate = candidates[i];
    const double pixels = *facts.box_side * static_cast<double>(std::max(candidate.size.width, candidate.size.height));
    if (pixels >= kFewestBoxPixels || !candidate.refusal.empty()) continue;
    candidate.refusal = fmt::format("boxes of a class would be {:.0f} pixels small", pixels);
  }
}

/// The least steps in which a network learns something from scratch, and the epochs after which a trial has seen
/// enough.
constexpr double kEnoughSteps = 2000;
constexpr double kEnoughEpochs = 10, kEnoughTuningEpochs = 3;
/// Multiply-adds that a core does a second, cautiously; training takes three times those of the forward pass.
constexpr double kGuessedMacsPerCore = 5e9, kTrainingFactor = 3;

constexpr const char* kBlindWords = ", the same box in blank images";

/// Whether a trial was long enough to show how good the network can be: from scratch fewer epochs show too little.
bool says_much(const ChoiceFacts& facts, const CandidateTrial& trial) {
  constexpr double kTellingEpochs = 2;
  return !facts.network.empty() || trial.epochs >= kTellingEpochs;
}

double enough_epochs(const ChoiceFacts& facts, const NetworkCandidate& candidate) {
  if (!facts.network.empty() && !facts.has_boxes) return kEnoughTuningEpochs;
  const double steps = std::ceil(static_cast<double>(facts.train_images) / static_cast<double>(candidate.batch));
  return std::clamp(kEnoughSteps / std::max(1.0, steps), 1.0, kEnoughEpochs);
}

std::string quality_text(const ChoiceFacts& facts, double quality) {
  return facts.has_boxes ? fmt::format("{:.3f}", quality) : fmt::format("{:.1f} %", 100 * quality);
}

/// Whether the validation says anything of the network. That of a detector does not while it finds next to nothing, or
/// the same box in blank images.
bool is_worth_comparing(const ChoiceFacts& facts, const CandidateTrial& trial) {
  constexpr double kNothing = 0.1;
  return trial.quality && !trial.is_blind && (!facts.has_boxes || *trial.quality >= kNothing);
}

/// The quality of each candidate, where its trial's validation says anything.
class Qualities {
 public:
  Qualities(const ChoiceFacts& facts, std::span<const CandidateTrial> trials) : facts_(facts), trials_(trials) {
    for (const CandidateTrial& trial : trials) {
      any_ = any_ || trial.quality;
      if (is_worth_comparing(facts, trial)) best_ = std::max(best_.value_or(0), *trial.quality);
    }
  }

  bool any() const { return any_; }
  /// Absent where none is worth comparing.
  std::optional<double> best() const { return best_; }
  /// 0 of what is not worth comparing, where another one is.
  std::optional<double> of(std::size_t candidate) const {
    if (!best_ || candidate >= trials_.size() || !trials_[candidate].quality) return std::nullopt;
    return is_worth_comparing(facts_, trials_[candidate]) ? *trials_[candidate].quality : 0;
  }
  bool is_surely_below_best(std::size_t candidate) const {
    return is_surely_worse(of(candidate).value_or(0), *best_, facts_.val_images);
  }
  bool tells(std::size_t candidate) const {
    return trials_[candidate].is_blind || says_much(facts_, trials_[candidate]);
  }

 private:
  const ChoiceFacts& facts_;
  std::span<const CandidateTrial> trials_;
  std::optional<double> best_;
  bool any_ = false;
};

std::string judgement(const ChoiceFacts& facts, const CandidateTrial& trial, double best) {
  const std::string quality = quality_text(facts, *trial.quality);
  if (*trial.quality == best) return fmt::format("its validation in the trial ({}) is the best", quality);
  if (!says_much(facts, trial) && is_surely_worse(*trial.quality, best, facts.val_images)) {
    return fmt::format("its trial was too short to judge it by ({} after {:.1f} epochs)", quality, trial.epochs);
  }
  return fmt::format("its validation in the trial ({}) is not surely worse than the best one's", quality);
}

}  // namespace

std::string NetworkCandidate::text() const {
  return fmt::format("{} at {}x{}", model, size.width, size.height);
}

std::vector<NetworkCandidate> candidates_for(const ChoiceFacts& facts) {
  std::vector<NetworkCandidate> candidates;
  for (Sketch& sketch : sketches_for(facts)) {
    NetworkCandidate candidate;
    candidate.model = sketch.model;
    candidate.size = sketch.size;
    candidate.options = recipe(facts, sketch.model);
    cost(candidate, facts);
    candidates.push_back(std::move(candidate));
  }
  std::ranges::stable_sort(candidates, {}, &NetworkCandidate::macs);
  refuse_small_boxes(candidates, facts);
  if (std::ranges::none_of(candidates, [](const NetworkCandidate& each) { return each.refusal.empty(); })) {
    throw UsageError(fmt::format("no network could be chosen: {} {}; give --size with less", candidates.front().text(),
                                 candidates.front().refusal));
  }
  return candidates;
}

double epoch_seconds(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                     std::span<const CandidateTrial> trials, std::size_t candidate) {
  if (candidate < trials.size() && trials[candidate].epoch_s > 0) return trials[candidate].epoch_s;
  std::optional<double> second_per_mac;
  for (std::size_t i = 0; i < trials.size(); ++i) {  // dearer ones come later
    if (trials[i].epoch_s > 0) second_per_mac = trials[i].epoch_s / candidates[i].macs;
  }
  const double images =
      kTrainingFactor * static_cast<double>(facts.train_images) + static_cast<double>(facts.val_images);
  return candidates[candidate].macs * second_per_mac.value_or(images / (kGuessedMacsPerCore * facts.cores));
}

bool is_surely_worse(double quality, double best, std::size_t images) {
  // A right and a wrong prediction are added to each, as otherwise the interval is too narrow for few images (Agresti
  // and Caffo 2000).
  const auto n = static_cast<double>(images) + 2;
  const auto moved = [&](double share) { return (share * static_cast<double>(images) + 1) / n; };
  const double a = moved(quality), b = moved(best);
  return b - a > 1.96 * std::sqrt((a * (1 - a) + b * (1 - b)) / n);
}

NetworkChoice choose_network(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                             std::span<const CandidateTrial> trials, double left_s) {
  const Qualities qualities(facts, trials);
  std::optional<std::size_t> enough, cheapest;
  bool passed_over_dearer = false, dropped_worse = false, is_largest = false;
  // Candidates are sorted by growing cost.
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].refusal.empty()) continue;
    if (qualities.best() && !qualities.of(i)) continue;
    const bool tells = !qualities.best() || qualities.tells(i);
    if (tells && qualities.best() && qualities.is_surely_below_best(i)) {
      dropped_worse = true;
      continue;
    }
    if (!cheapest) cheapest = i;
    const double epochs = left_s / epoch_seconds(facts, candidates, trials, i);
    if (epochs < enough_epochs(facts, candidates[i])) {
      passed_over_dearer = true;
    } else if (!enough || !tells || !qualities.best() || *qualities.of(i) >= *qualities.of(*enough)) {
      is_largest = !tells || !qualities.best();
      enough = i;
    }
  }
  const std::size_t chosen = enough.value_or(cheapest.value_or(0));
  const NetworkCandidate& candidate = candidates[chosen];
  const double epoch_s = epoch_seconds(facts, candidates, trials, chosen);
  NetworkChoice choice{chosen, fmt::format("{} was chosen", candidate.text())};
  if (qualities.best()) {
    choice.reason += ": " + judgement(facts, trials[chosen], *qualities.best());
  } else if (qualities.any()) {
    choice.reason += ": no trial came far enough to go by its validation, so that its costs alone decide";
  } else {
    choice.reason += ": nothing was validated, so that its costs alone decide";
  }
  if (enough) {
    choice.reason += fmt::format(
        ", and {} ({:.0f} of about {})",
        is_largest ? "it is the largest such that the time has epochs enough for" : "the time has epochs enough for it",
        std::floor(left_s / epoch_s), duration_text(epoch_s));
  } else {
    choice.reason += fmt::format(
        ", and it is the fastest such; an epoch takes about {}, so that the time is short: give --minutes more",
        duration_text(epoch_s));
  }
  if (enough && passed_over_dearer) choice.reason += "; larger ones would need more --minutes";
  if (dropped_worse) choice.reason += "; others were surely worse after as long";
  return choice;
}

std::vector<std::string> trials_table(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                                      std::span<const CandidateTrial> trials) {
  std::size_t widest = 0;
  for (const NetworkCandidate& each : candidates) widest = std::max(widest, each.text().size());
  std::vector<std::string> lines = {fmt::format("  {:<{}}  {:>9}  {:>9}  {:>9}  {}", "tried", widest, "trained",
                                                "an epoch", "memory",
                                                facts.has_boxes ? "validation mAP@0.5" : "validation")};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateTrial trial = i < trials.size() ? trials[i] : CandidateTrial{};
    const std::string& refusal = candidates[i].refusal.empty() ? trial.failure : candidates[i].refusal;
    const std::string result = !refusal.empty() ? "not tried: " + refusal
                               : trial.quality
                                   ? quality_text(facts, *trial.quality) + (trial.is_blind ? kBlindWords : "")
                                   : "nothing to validate on";
    lines.push_back(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>9}  {}", candidates[i].text(), widest,
                                trial.seconds > 0 ? duration_text(trial.seconds) : "-",
                                trial.epoch_s > 0 ? duration_text(trial.epoch_s) : "-",
                                bytes_text(static_cast<std::uint64_t>(candidates[i].bytes)), result));
  }
  return lines;
}

}  // namespace evener::training
