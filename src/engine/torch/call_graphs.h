// The work of a runner's calls on a device, captured once for each shape of images and replayed from then on: what a
// call of few images takes is mostly the start of its kernels.
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

  /// `forward` reads no value on the host and leaves `images` alone. `make_graph`: empty where there are no graphs.
  CallGraphs(const Streams& streams, Forward forward, std::function<std::unique_ptr<StepGraph>()> make_graph);

  /// Gives the work of a call to the compute stream, which is the current one. The outputs are overwritten by a later
  /// call whose work is given to it.
  std::vector<at::Tensor> run(const at::Tensor& images);
  /// How calls were computed; "" where nothing else was possible, or tried yet.
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
