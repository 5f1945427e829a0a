// Chooses the network of `evener train` where none is named, or "auto", before the training begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/this_work.h"
#include "data/codecs/picture.h"
#include "options/data_flags.h"
#include "train/options.h"
#include "train/steps/train.h"
#include "train/training.h"

namespace evener::training {

// Lists the networks worth trying where none is named, by the data and this machine.

/// What the choice of a network depends on.
struct ChoiceFacts {
  bool has_boxes = false;
  std::size_t images = 0, train_images = 0, val_images = 0;
  std::int64_t classes = 0;
  data::ImageShape image;          // of the first image
  std::optional<double> box_side;  // a box's shorter side divided by its image's longer side, for the class of the
                                   // smallest boxes; absent: no boxes
  std::string network;             // the network of the weights; "" = any, trained from scratch
  std::optional<ImageSize> size;   // by --size; absent = to be chosen
  ImageSize trained_size;          // image size with which the weights were trained
  std::int64_t batch = 0;          // by --batch, or suitable for the weights; 0 = to be chosen
  double seconds = 0;              // the time for trials and training together
  std::int64_t free_bytes = 0;     // of memory
  int cores = 1;
  bool has_fast_bf16 = false;  // the processor computes products of bf16 much faster than those of fp32
};

/// A network with an image size, and options that go well with them.
struct NetworkCandidate {
  std::string model;
  ImageSize size;
  std::int64_t batch = 0;
  std::vector<std::pair<std::string, std::string>> options;  // further options: {"--lr", "0.05"}
  double macs = 0;                                           // multiply-adds forward, of one image
  std::int64_t bytes = 0;                                    // peak memory of a training
  std::string refusal;                                       // why it can't be taken; "" = it can

  /// "resnet18 at 128x96".
  std::string text() const;
};

/// The networks worth a try, by growing cost; at least one. Throws UsageError where no network fits.
std::vector<NetworkCandidate> candidates_for(const ChoiceFacts& facts);

/// The result of trying a candidate.
struct CandidateTrial {
  std::optional<double> quality;  // validation accuracy, or mAP@0.5; absent: nothing to validate on, or not tried
  double seconds = 0;             // how long the trial trained
  double epochs = 0;              // how many epochs it trained, the fit of a last layer included
  double epoch_s = 0;             // seconds of an epoch with its validation; 0 = unknown
  std::string failure;            // why the trial failed; "" = it didn't
  bool is_blind = false;          // a detector that finds the same box on blank images: its quality says nothing
};

struct NetworkChoice {
  std::size_t candidate = 0;
  std::string reason;  // a sentence or two
};

/// Seconds of an epoch of `candidate`: as its trial measured, or else scaled by multiply-adds from the costliest
/// candidate that was tried, or where none was, by a cautious guess of the cores' speed.
double epoch_seconds(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                     std::span<const CandidateTrial> trials, std::size_t candidate);

/// Whether `quality` on `images` images is significantly below `best` (95 %).
bool is_surely_worse(double quality, double best, std::size_t images);

/// Chooses among the candidates that can train enough epochs in `left_s`: the one with the best validation; or the one
/// with the most multiply-adds, where its trial was too short to tell or no validation says anything. Blind detectors
/// don't count. Where the time suffices for no candidate, the cheapest of those that aren't significantly worse than
/// the best.
NetworkChoice choose_network(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                             std::span<const CandidateTrial> trials, double left_s);

/// What was tried, a line each with a title above: time against accuracy.
std::vector<std::string> trials_table(const ChoiceFacts& facts, std::span<const NetworkCandidate> candidates,
                                      std::span<const CandidateTrial> trials);

/// Sets those options of the candidate in `flags` that the user didn't give.
void take_candidate(const NetworkCandidate& candidate, TrainFlags& flags);

/// The options of a trial: so many epochs that only the time limit ends it, a constant learning rate, and no early
/// stopping.
TrainOptions options_of_trial(const TrainFlags& flags, const std::filesystem::path& folder);

/// Turns the result of a trial's training into a CandidateTrial. The seconds of an epoch with its validation are those
/// of the last epoch, extrapolated if the time limit cut it short. Throws Error for a training that diverged,
/// Interrupted for one that was interrupted.
CandidateTrial trial_of(const TrainResult& result);

/// The name that asks for a network to be chosen, as an empty name does.
inline constexpr const char* kAutomatic = "auto";

/// Whether the network is to be chosen.
bool is_automatic(const TrainFlags& flags);

/// To be called before --weights is looked up as a name and options are completed. Looks at the kind of the data
/// without decoding it, and sets the network: that of --weights, or where there are none, one whose published weights
/// were downloaded before. Does nothing where a network is named. Throws UsageError, Error.
void choose_by_weights(TrainFlags& flags);

/// To be called after options are completed. Tries networks, or sizes of images, for a share of --minutes, tells
/// `observer` of it, and sets the options of the best. With --dry-run it tries none. Does nothing where a network was
/// named.
void choose_by_trying(TrainFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The facts for the choice: about the data, without decoding it, the options, the time that is left and this machine.
ChoiceFacts facts_of(const TrainFlags& flags);

/// How many of `seconds`, the time for everything, go to all trials together.
double seconds_for_trials(double seconds);

}  // namespace evener::training
