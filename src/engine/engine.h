// An engine makes a Network compute: it trains networks, runs them, or both. Engines are modules.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "engine/capabilities.h"
#include "engine/matrix_product.h"
#include "engine/model_file.h"
#include "engine/runner.h"
#include "engine/trainer.h"
#include "engine/trainer_options.h"
#include "network/network.h"

namespace evener::engine {

/// The device has too little memory for what was asked of it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// What an engine says nothing about it refuses: an engine need only have trainers, or runners.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  /// Why the engine can't train this ("" = it can): a layer, a criterion, a precision or a device that it does not
  /// support.
  virtual std::string trainer_refusal(const network::Network& network, const TrainerOptions& options) const;
  /// Memory for TrainerOptions::shared with so many replicas; 0: this engine exchanges gradients.
  virtual std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas) const;
  /// Throws Error with the refusal, and OutOfMemory.
  virtual std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options);

  /// Why the engine can't run this ("" = it can).
  virtual std::string runner_refusal(const network::Network& network, const RunnerOptions& options) const;
  /// `state`: parameters and buffers as Trainer::state has them. Throws Error with the refusal, or naming a tensor that
  /// is missing or of another shape, and OutOfMemory.
  virtual std::unique_ptr<Runner> make_runner(const network::Network& network, const TensorMap& state,
                                              const RunnerOptions& options);
  /// As many runners, each for a thread of its own, that compute side by side on the same device: together they give
  /// the most images per second. An engine that can keeps the weights once for all of them.
  virtual std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                            const RunnerOptions& options, int count);

  /// Opens a file in which another program keeps a network. Throws Error naming the file and what is wrong with it,
  /// such as an operator that is not known. Reading a foreign file may crash the process, so that
  /// task/inference/inference_model.cpp does it in a child first.
  virtual std::unique_ptr<ModelFile> open_model_file(const std::filesystem::path& path);

  /// Why the engine can't multiply matrices so ("" = it can).
  virtual std::string matrix_refusal(const MatrixOptions& options) const;
  /// Throws Error with the refusal, and OutOfMemory.
  virtual std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);
};

/// The engine that runs networks on such a device where nobody asks for another: OpenVINO on CPUs, or LibTorch where
/// that can't be used, which computes on GPUs.
std::string usual_runner_engine(DeviceKind kind);

/// For replicas that are threads of one process, before it starts its first thread: glibc would give each thread a heap
/// of its own, made of pieces of 64 MB, and take larger blocks from the system at every step.
void share_one_heap();

/// Opens the engine's module. Throws Error with one of the three refusals.
std::unique_ptr<Engine> open_engine(const std::string& name);

}  // namespace evener::engine
