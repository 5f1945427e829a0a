// Chooses among networks that were each tried for some seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/image_shape.h"
#include "job/options/data_flags.h"

namespace evener::job {

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
struct Candidate {
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
std::vector<Candidate> candidates_for(const ChoiceFacts& facts);

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
double epoch_seconds(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                     std::span<const CandidateTrial> trials, std::size_t candidate);

/// Whether `quality` on `images` images is significantly below `best` (95 %).
bool is_surely_worse(double quality, double best, std::size_t images);

/// Chooses among the candidates that can train enough epochs in `left_s`: the one with the best validation; or the one
/// with the most multiply-adds, where its trial was too short to tell or no validation says anything. Blind detectors
/// don't count. Where the time suffices for no candidate, the cheapest of those that aren't significantly worse than
/// the best.
NetworkChoice choose_network(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                             std::span<const CandidateTrial> trials, double left_s);

/// What was tried, a line each with a title above: time against accuracy.
std::vector<std::string> trials_table(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                                      std::span<const CandidateTrial> trials);

}  // namespace evener::job
