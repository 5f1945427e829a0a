// Chooses among networks that were each tried for some seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/choose/candidates.h"

namespace evener::job {

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
