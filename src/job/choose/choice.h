// The choice among networks that were tried for some seconds each.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/choose/candidates.h"

namespace evener::job {

/// What trying a candidate came to.
struct CandidateTrial {
  std::optional<double> quality;  // validation accuracy, or mAP@0.5; absent: nothing to validate on, or not tried
  double seconds = 0;             // that the trial trained
  double epochs = 0;              // that it came to, the fit of a last layer included
  double epoch_s = 0;             // of an epoch with its validation; 0 = unknown
  std::string failure;            // why there is no more; "" = it was tried
  bool is_blind = false;          // a detector that found the same box in blank images: its quality says nothing
};

struct NetworkChoice {
  std::size_t candidate = 0;
  std::string reason;  // a sentence or two
};

/// Seconds of an epoch: as tried, or by the multiply-adds of the dearest that was; of none by a cautious guess of what
/// the cores do.
double epoch_seconds(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                     std::span<const CandidateTrial> trials, std::size_t candidate);

/// Whether `quality` on so many images is below `best` by more than chance would have it (95 %).
bool is_surely_worse(double quality, double best, std::size_t images);

/// Of those for which `left_s` has epochs enough: the one of the best validation; or the one with the most
/// multiply-adds, where its trial was too short to tell, and where no validation says anything. A blind detector is no
/// better than none. Where the time suffices for none, the cheapest of those that aren't surely worse than the best.
NetworkChoice choose_network(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                             std::span<const CandidateTrial> trials, double left_s);

/// What was tried, a line each with a title above: time against accuracy.
std::vector<std::string> trials_table(const ChoiceFacts& facts, std::span<const Candidate> candidates,
                                      std::span<const CandidateTrial> trials);

}  // namespace evener::job
