// Which engine trains where the user names none. Inside task/ only.
#pragma once

#include <string>
#include <vector>

#include "base/simd_level.h"
#include "engine/engine.h"
#include "network/network.h"
#include "placement/plan.h"

namespace evener::task {

/// What is to be trained, and where.
struct EngineQuestion {
  const network::Network& network;
  const engine::TrainerOptions& trainer;      // with the device of the first replica
  std::vector<const placement::Plan*> plans;  // the plans of which one will be run
  std::string before;                         // the engine of the run that is resumed; "" = a new run
};

struct EngineChoice {
  std::string name;    // "native" or "torch"
  std::string reason;  // in a few words; "" = nothing to say
};

/// Chooses the native engine for OpenCL and for naive kernels, which torch does not have, and on CPUs where it is
/// faster and can do everything that is asked for on every replica of every plan; otherwise torch. A resumed run keeps
/// its engine, so that it learns what it would have learnt without a break, unless that engine can't do what is asked
/// for now. `native`: null where its module can't be used. `level`: the SIMD level of this processor.
EngineChoice choose_engine(const EngineQuestion& question, const engine::Engine* native, SimdLevel level);

}  // namespace evener::task
