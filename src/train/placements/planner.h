// Compares placements for one training: measures what the time allows, predicts the rest, names the best and says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/energy.h"
#include "train/placements/candidates.h"
#include "train/placements/goal.h"
#include "train/placements/probe.h"

namespace evener::training {

/// What is to be trained.
struct Work {
  double train_images = 0, validation_images = 0;
  double batch = 1;                // of all replicas together; at most train_images
  double gradient_bytes = 0;       // all-reduced in a step
  int small_exchanges = 0;         // small all-reduces in a step: batch-norm statistics, commands, losses
  double forward_share = 1.0 / 3;  // the forward pass's share of a training step's operations
  /// Estimates the memory of all replicas together, for a plan without stages.
  std::function<double(const placement::Plan&)> memory_bytes = {};
  /// How many times as fast each replica's loader is in this plan as the measured loader, since replicas on GPUs have
  /// more loader threads; empty = 1.
  std::function<double(const placement::Plan&)> loader_speedup = {};
};
/// Describes the training that `trials` would do. `trials` must outlive the result.
Work work_of(const Trials& trials);

/// Where a figure comes from. kPredicted: computed from measurements of single replicas and of the all-reduce.
enum class Basis { kMeasured, kPredicted };

/// A placement with its figures: a row of the table.
struct Row {
  std::string text;     // the placement, and behind it the precision: "cpu/t2 bf16"
  std::string refusal;  // why it can't be used; then the figures are empty
  placement::Plan plan;
  std::optional<Precision> precision;
  Basis basis = Basis::kMeasured;
  double images_per_s = 0;      // in training
  std::optional<double> noise;  // half of the 95 % interval over the speed; absent if predicted
  double train_s = 0;           // of an epoch's training
  double validate_s = 0;        // of an epoch's validation
  Basis validate_basis = Basis::kMeasured;
  double memory_bytes = 0;        // estimated, of all replicas
  std::optional<double> ceiling;  // several ranks: the highest possible speed over the fastest's
  std::optional<double> reached;  // several ranks: the actual speed over the fastest one's

  /// The machine's power while the placement trains.
  struct Power {
    double watts = 0;                  // of all devices that are seen, idle ones included
    double used_watts = 0;             // of those that the placement computes on
    std::optional<double> noise = {};  // half of the 95 % interval over the power; absent if derived
    record::EnergyClass kind = record::EnergyClass::kMeasured;  // kDerived: from another row's
    std::string of = {};                                        // the other row
  };
  std::optional<Power> power;
  std::string power_reason;  // why it is absent

  /// For placements with stages: figures of a simulated step.
  struct Pipeline {
    double predicted_images_per_s = 0;
    double bubble = 0;  // share of the stages' time spent waiting
    int micro_batches = 1;
    /// Time per image in a micro-batch, over the time per image in a whole batch on one stage's device. Absent if that
    /// device was not measured alone, or if the stages' devices differ.
    std::optional<double> cost_of_parts;
    std::vector<std::int64_t> memory_bytes = {};  // predicted for each stage of a replica
  };
  std::optional<Pipeline> pipeline;
  bool asked = true;  // the user named it; false: from usual_placements()

  double epoch_s() const { return train_s + validate_s; }
  /// Of training an image; absent where the power is.
  std::optional<double> joules_per_image() const {
    return power ? std::optional(power->watts / images_per_s) : std::nullopt;
  }
  std::optional<double> used_joules_per_image() const {
    return power ? std::optional(power->used_watts / images_per_s) : std::nullopt;
  }
};

struct Comparison {
  Goal goal;                        // what was chosen by: of the one asked for what is known
  std::vector<Row> rows;            // the best by the goal first, unusable ones last
  std::optional<std::size_t> best;  // index of the chosen row; absent: none is usable, or keeps to the limits
  std::string reason;               // for the choice, or why there is none
  bool decided = false;             // beyond the noise, no other row is as fast
  std::vector<std::string> notes;   // warnings of plans, what wasn't measured, and what limits the speed
  std::string others;               // the note about other programs' load; "" = little
  double loader_images_per_s = 0;   // of a single loader
  double seconds = 0;               // duration of the comparison
  std::string energy_refusal;       // why no energy is known
  bool within_limits = true;        // a row surely meets the goal's deadline and budget
};

/// Compares `candidates` in about `seconds`. Calls `tell` with each placement before it is measured.
Comparison compare(const std::vector<Candidate>& candidates, const Work& work, Probe& probe, double seconds,
                   const Goal& goal, const std::function<void(const std::string&)>& tell);

/// A row judged by a goal; less is better.
struct Judged {
  double value = 0;             // seconds, joules, joule-seconds or the cost, of an image
  std::optional<double> noise;  // half of the 95 % interval over the value; absent: unknown
};
/// Absent where the row can't be used, or its energy is not known and the goal needs it.
std::optional<Judged> judge(const Row& row, const Goal& goal);

struct RowChoice {
  std::size_t row = 0;  // index of the chosen row
  std::string reason;
  bool decided = false;       // beyond the noise, no other row is as good
  bool within_limits = true;  // it surely meets the deadline and the budget
};
/// Chooses from rows that are sorted by the goal, the best first and at least one of them usable: the best, or the
/// simplest of those that are nearly as good. If the noise leaves open which row is the best, the reason says so. A
/// placement with stages is chosen only if it beats every placement without stages by more than the noise. Where there
/// is a deadline or a budget, only rows count that surely meet it; where none does, the choice is the one nearest to
/// it. `goal` must not need energy where no row has any.
RowChoice choose(const std::vector<Row>& rows, const Goal& goal = {});

/// For each row the row that beats it: better in time or in energy by more than the noise of both, and at least as good
/// in the other. Absent for the rows on the Pareto front, and for those whose energy is not known.
std::vector<std::optional<std::size_t>> beaten_by(const std::vector<Row>& rows);

bool is_staged(const Row& row);

/// See Row::Pipeline::cost_of_parts. `alone_s`: the seconds of a whole batch on one stage's device. Absent if the
/// stages' devices or threads differ.
std::optional<double> cost_of_parts(const Row& row, const StageForecast& forecast, double alone_s);

/// A sentence for each usable pipeline: its speed against the fastest placement without stages, and the reason. `rows`
/// are sorted, the fastest first.
std::vector<std::string> pipeline_notes(const std::vector<Row>& rows);

}  // namespace evener::training
