// How a replica does a step of the training, alone or with the others. There are several ways, one class each; which
// one a run takes is decided once, when the replica is made, by what its trainer offers and what the run asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "data/batch.h"
#include "engine/capabilities.h"
#include "engine/sums.h"
#include "engine/trainer.h"
#include "parallel/channels.h"
#include "parallel/throttle.h"

namespace evener::parallel {

class Pipeline;

/// What a training step came to, the same on every rank that trained. A device that is driven ahead of its results
/// reports those of earlier steps.
struct StepResult {
  engine::Sums sums;            // of the whole batches of `steps` steps
  std::vector<double> seconds;  // each replica's own time: reading, forward, backward; without waiting for others
  bool applied = false;         // false: the loss after those was not finite, so the weights were left as they were
  std::int64_t steps = 1;       // that became known
  std::int64_t images = 0;      // of the batch that was just given to the replicas
  std::optional<std::uint32_t> culprit = {};  // where it wasn't applied: a sample that has such a loss, if known

  /// Takes over what a trainer reports of whole steps.
  void take(engine::StepReport report);
};

/// A replica's share of a batch.
struct StepShare {
  const data::Batch* batch = nullptr;
  std::int64_t begin = 0, whole = 0;  // where it begins in the batch, and how many samples that has
  std::vector<std::int64_t> parts;    // samples that are of each micro-batch, in their order; these may be none
};

/// What a replica lends to its protocol; all of it outlives that.
struct StepContext {
  engine::Trainer& trainer;
  engine::Capabilities capabilities;  // of the trainer
  Channels& channels;
  Throttle& throttle;
  const std::vector<int>& members;      // ranks that train, ascending
  engine::Sums nothing = {};            // the sums of no samples, under the criterion's names
  std::vector<std::size_t> sizes = {};  // values of each trained parameter
  std::size_t replicas = 1;             // each of as many ranks as it has stages
  Pipeline* pipeline = nullptr;         // of a replica with several stages
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;
  int accumulate = 1;            // micro-batches that a whole batch is computed in
  bool synchronised = false;     // batch-norm: also empty parts take part in its sums
  bool always_exchange = false;  // gradients, also in a group of one
  bool emulates_speed = false;   // the throttle is that of a slower device
};

/// What the mean of a batch's losses is over: its samples, or the matched anchors of a detector, which members of the
/// group add up here.
std::int64_t loss_count(const StepContext& context, const StepShare& share);
/// Of each sample's gradient: 1 over that.
double gradient_weight(const StepContext& context, const StepShare& share);

class StepProtocol {
 public:
  virtual ~StepProtocol() = default;
  /// One step. Every member of the group calls it with its share of the same batch.
  virtual void step(const StepShare& share, double learning_rate, StepResult& result) = 0;
  /// Waits for the results of steps that are not known yet. Every member of the group calls it.
  virtual void settle(StepResult& result) = 0;
};

/// The way that the context allows and asks for. Throws Error where the replicas would have to exchange gradients and
/// the trainer gives none away.
std::unique_ptr<StepProtocol> choose_protocol(StepContext context);

}  // namespace evener::parallel
