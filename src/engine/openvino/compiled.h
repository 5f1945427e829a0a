// A graph of OpenVINO compiled for a device, and the calls on it.
#pragma once

#include <deque>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "engine/model_file.h"
#include "engine/openvino/whole_numbers.h"

namespace evener::engine::openvino_engine {

/// The library's one entry; it loads plugins when they are first needed.
ov::Core& core();

/// "CPU", "GPU.1", "NPU".
std::string device_name(Device device);
/// Why OpenVINO can't compute there; "" if it can.
std::string device_refusal(Device device);

/// What a graph gives out, and how it is fed.
struct Feeding {
  ModelInput input;
  std::vector<std::string> outputs;      // names, in the order of the graph's results
  std::vector<LinearMap> meanings = {};  // of the numbers that the graph gives; empty = they are the values
};

/// Puts what is done to images before `graph`, compiles it with `count` streams of execution, and gives a runner for
/// each. The graph's input has the batch of the options. Threads that compute keep to the options' CPUs. Throws Error.
std::vector<std::unique_ptr<Runner>> compile(const std::shared_ptr<ov::Model>& graph, const Feeding& feeding,
                                             const RunnerOptions& options, int count);

}  // namespace evener::engine::openvino_engine
