// Compares placements for one training: measures what the time allows, predicts the rest, names the best and says why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/candidates.h"
#include "plan/probe.h"

namespace evener::plan {

/// What is to be trained.
struct Work {
  double train_images = 0, validation_images = 0;
  double batch = 1;                // of all replicas; no more than train_images
  double gradient_bytes = 0;       // that are exchanged in a step
  int small_exchanges = 0;         // beside them: batch-norm statistics, commands, losses
  double forward_share = 1.0 / 3;  // of a training step's operations
  /// Memory of a plan without stages, of all its replicas, estimated.
  std::function<double(const placement::Plan&)> memory_bytes = {};
  /// How many times as many images as one replica's on the CPU the loaders of such a plan's replicas prepare, each;
  /// empty = no more.
  std::function<double(const placement::Plan&)> loader_speedup = {};
};
/// `trials` must outlive it.
Work work_of(const task::Trials& trials);

/// Where a figure comes from. Predicted: from replicas that were measured alone, and from the exchange.
enum class Basis { kMeasured, kPredicted };

/// One placement of the table.
struct Row {
  std::string text;
  std::string refusal;  // why it can't be used; then the rest is empty
  placement::Plan plan;
  Basis basis = Basis::kMeasured;
  double images_per_s = 0;      // in training
  std::optional<double> noise;  // half of the 95 % interval, as a share; absent: predicted, or too little was measured
  double train_s = 0;           // of an epoch
  double validate_s = 0;        // of an epoch
  Basis validate_basis = Basis::kMeasured;
  double memory_bytes = 0;        // estimated, of all replicas
  std::optional<double> ceiling;  // of groups: the most they could be, in multiples of their fastest member
  std::optional<double> reached;  // of groups: what they are, in the same
  std::optional<double> joules_per_image;

  /// Of a placement with stages, by the simulation of its schedule.
  struct Pipeline {
    double predicted_images_per_s = 0;
    double bubble = 0;  // the share of the stages' time that they wait
    int micro_batches = 1;
    /// What an image takes in a micro-batch, as a multiple of what it takes in a whole batch on one stage's device.
    /// Absent: that was not tried, or stages differ.
    std::optional<double> cost_of_parts;
    std::vector<std::int64_t> memory_bytes = {};  // that each stage of a replica takes, predicted
  };
  std::optional<Pipeline> pipeline;
  bool asked = true;  // by name; else it is one of the usual ones

  double epoch_s() const { return train_s + validate_s; }
};

struct Comparison {
  std::vector<Row> rows;            // the fastest first, those that can't be used last
  std::optional<std::size_t> best;  // index of the row chosen; absent: none can be used
  std::string reason;               // of the choice
  bool decided = false;             // whether no other can be faster, as far as the noise lets one say
  std::vector<std::string> notes;   // what was too short, what limits
  std::string others;               // what others used meanwhile, where that was much; one of the notes
  double loader_images_per_s = 0;   // of one replica's loader
  double seconds = 0;               // that it took
  std::string energy_refusal;       // why no energy is known
};

/// Compares `candidates` in about `seconds`. `tell` hears what is being done.
Comparison compare(const std::vector<Candidate>& candidates, const Work& work, Probe& probe, double seconds,
                   const std::function<void(const std::string&)>& tell);

struct RowChoice {
  std::size_t row = 0;  // its index
  std::string reason;
  bool decided = false;  // as in Comparison
};
/// Chooses among rows that are sorted: the fastest, or the simplest of those that are nearly as fast. Where the noise
/// leaves open which is the fastest, the reason says so and claims none. Stages are taken only where they are faster
/// than all that has none by more than the noise.
RowChoice choose(const std::vector<Row>& rows);
/// Whether the noise leaves no doubt that `row` is faster than `other`.
bool faster_than_noise(const Row& row, const Row& other);

}  // namespace evener::plan
