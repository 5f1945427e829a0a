// A graph of OpenVINO compiled for a device, and the calls on it.
#pragma once

#include <memory>
#include <openvino/core/except.hpp>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/model_file.h"
#include "engine/openvino/graphs.h"

namespace evener::engine::openvino_engine {

/// The library's one entry; it loads plugins when they are first needed.
ov::Core& core();

/// "CPU", "GPU.1", "NPU".
std::string device_name(Device device);
/// Why OpenVINO can't compute on the device; "" if it can.
std::string device_refusal(Device device);

/// The inputs and outputs of a graph.
struct Feeding {
  ModelInput input;
  std::vector<std::string> outputs;  // names, in the order of the graph's results
  /// Maps from an output's whole numbers to values, one per output; empty = outputs are values already.
  std::vector<LinearMap> meanings = {};
};

/// Adds preprocessing of images to the front of `graph`, compiles it with `count` streams, and returns a runner for
/// each. The batch of the graph's input must be that of the options. Threads that compute run on the options' CPUs
/// only. Throws Error.
std::vector<std::unique_ptr<Runner>> compile(const std::shared_ptr<ov::Model>& graph, const Feeding& feeding,
                                             const RunnerOptions& options, int count);

/// The lines of the text that tell a user something, as one line.
std::string plain_text(const std::string& message);

/// Calls `body`; an exception of OpenVINO becomes Error, whose message begins with `what`.
template <class Body>
auto with_errors(const std::string& what, const Body& body) {
  try {
    return body();
  } catch (const ov::Exception& error) {
    throw Error(what + ": " + plain_text(error.what()));
  } catch (const std::bad_alloc&) {
    throw Error(what + ": out of memory");
  }
}

}  // namespace evener::engine::openvino_engine
