// The interface of training steps. There are several implementations (parallel/step_kinds.cpp); a replica chooses one
// when it is made, by what its trainer offers and what the run asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "data/batch.h"
#include "engine/sums.h"
#include "engine/trainer.h"
#include "parallel/pipeline.h"

namespace evener::parallel {

/// The result of a training step, the same on every rank that trained. A device that runs ahead of its results reports
/// those of earlier steps here.
struct StepResult {
  engine::Sums sums;            // over the whole batches of the `steps` steps reported
  std::vector<double> seconds;  // of each replica: reading, forward and backward, without waiting for others
  bool applied = false;         // false: the next step's loss was not finite, and the weights were left unchanged
  std::int64_t steps = 1;       // steps whose results became known
  std::int64_t images = 0;      // images of the batch just given to the replicas
  std::optional<std::uint32_t> culprit = {};  // with `applied` false: a sample whose loss isn't finite

  /// Fills sums, steps, applied and culprit from a trainer's report.
  void take(engine::StepReport report);
};

/// A replica's share of a batch.
struct StepShare {
  const data::Batch* batch = nullptr;
  std::int64_t begin = 0, whole = 0;  // its beginning in the batch, and the batch's samples
  std::vector<std::int64_t> parts;    // its samples of each micro-batch, in order; may be 0
};

/// What a replica's protocol works with; the references must outlive the protocol.
struct StepContext {
  engine::Trainer& trainer;
  engine::Capabilities capabilities;  // of the trainer
  Channels& channels;
  Throttle& throttle;
  const std::vector<int>& members;      // ranks that train, ascending
  engine::Sums nothing = {};            // sums over no samples, with the criterion's names
  std::vector<std::size_t> sizes = {};  // values of each trained parameter
  std::size_t replicas = 1;             // each has a rank for each of its stages
  Pipeline* pipeline = nullptr;         // of a replica with several stages
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;
  int accumulate = 1;            // micro-batches of a whole batch
  bool synchronised = false;     // batch-norm sums over replicas: even one with no samples takes part
  bool always_exchange = false;  // all-reduce gradients even in a group of one
  bool emulates_speed = false;   // the throttle emulates a slower device
};

class StepProtocol {
 public:
  virtual ~StepProtocol() = default;
  /// Does one step. A collective: every member calls it with its share of the same batch.
  virtual void step(const StepShare& share, double learning_rate, StepResult& result) = 0;
  /// Waits for the results of steps that have not been reported yet. A collective of the members.
  virtual void settle(StepResult& result) = 0;
};

/// Makes the protocol that suits the context. Throws Error if the replicas have to exchange gradients and the trainer
/// doesn't expose them.
std::unique_ptr<StepProtocol> choose_protocol(StepContext context);

}  // namespace evener::parallel
