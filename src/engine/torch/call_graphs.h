// Captures the work of a runner's calls on a device in a graph, once for each shape of images, and replays it from then
// on: most of the time of a call with few images goes into launching its kernels.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "engine/torch/step_graph.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

class CallGraphs {
 public:
  using Forward = std::function<std::vector<at::Tensor>(const at::Tensor& images)>;

  /// `forward` must neither read a value on the host nor change `images`. `make_graph`: empty where the device has no
  /// graphs.
  CallGraphs(const Streams& streams, Forward forward, std::function<std::unique_ptr<StepGraph>()> make_graph);

  /// Enqueues the work of a call on the compute stream, which must be the current one. Later calls may overwrite the
  /// outputs, so work that reads them must be enqueued before.
  std::vector<at::Tensor> run(const at::Tensor& images);
  /// A sentence about how calls were computed; "" where there are no graphs, or none was tried yet.
  const std::string& note() const { return note_; }

 private:
  struct Entry {
    std::vector<std::int64_t> shape;
    at::ScalarType type = at::kByte;
    int calls = 0;  // that were computed kernel by kernel
    at::Tensor images;
    std::vector<at::Tensor> outputs;
    std::unique_ptr<StepGraph> graph;  // null: not captured yet
  };
  Entry& entry_of(const at::Tensor& images);
  void drop_oldest();
  void capture(Entry& entry, const at::Tensor& images);

  const Streams& streams_;
  const Forward forward_;
  std::function<std::unique_ptr<StepGraph>()> make_graph_;
  std::list<Entry> entries_;  // the last used first
  std::string note_;
};

}  // namespace evener::engine::torch_engine
