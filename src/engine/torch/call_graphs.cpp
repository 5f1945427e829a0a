#include "engine/torch/call_graphs.h"

#include <algorithm>
#include <utility>

#include "engine/torch/device.h"
#include "engine/torch/errors.h"

namespace evener::engine::torch_engine {
namespace {

/// Number of shapes whose graphs are kept, each with the memory of its activations.
constexpr std::size_t kMostShapes = 4;
/// Calls of a shape before its graph is captured: they allocate memory and choose algorithms.
constexpr int kWarmUpCalls = 2;

}  // namespace

CallGraphs::CallGraphs(const Streams& streams, Forward forward, std::function<std::unique_ptr<StepGraph>()> make_graph)
    : streams_(streams), forward_(std::move(forward)), make_graph_(std::move(make_graph)) {}

std::vector<at::Tensor> CallGraphs::run(const at::Tensor& images) {
  if (!make_graph_) return forward_(images);
  Entry& entry = entry_of(images);
  if (!entry.graph && entry.calls++ < kWarmUpCalls) return forward_(images);
  if (!entry.graph) capture(entry, images);
  if (!make_graph_) return forward_(images);
  entry.images.copy_(images, /*non_blocking=*/true);
  entry.graph->replay();
  return entry.outputs;
}

CallGraphs::Entry& CallGraphs::entry_of(const at::Tensor& images) {
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.type == images.scalar_type() && images.sizes() == at::IntArrayRef(entry.shape);
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    if (entries_.size() == kMostShapes) drop_oldest();
    entries_.emplace_front();
    entries_.front().shape = images.sizes().vec();
    entries_.front().type = images.scalar_type();
  }
  return entries_.front();
}

void CallGraphs::drop_oldest() {
  if (entries_.back().graph) {
    Moment through(streams_);  // passed when replays that may be under way have ended
    through.record(streams_.compute());
    through.wait();
  }
  entries_.pop_back();
}

/// Captures a call without doing it. If that fails, calls go on kernel by kernel.
void CallGraphs::capture(Entry& entry, const at::Tensor& images) {
  entry.images = at::empty_like(images);
  // A graph has memory of its own, but cached memory of eager calls can't be released during a capture: it is released
  // before.
  release_memory(streams_.device());
  auto graph = make_graph_();
  try {
    graph->capture([this, &entry] { entry.outputs = forward_(entry.images); });
    entry.graph = std::move(graph);
    note_ = "calls of the same size were replayed as a graph";
  } catch (const c10::Error& error) {
    note_ = "calls were started kernel by kernel: capturing one failed: " + first_line(error);
    make_graph_ = nullptr;
    entry.images.reset();
    entry.outputs.clear();
  }
}

}  // namespace evener::engine::torch_engine
