#include "engine/openvino/model_file.h"

#include <algorithm>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/manager.hpp>
#include <utility>

#include "base/error.h"
#include "base/tensor.h"
#include "engine/openvino/compiled.h"
#include "engine/openvino/describe.h"
#include "engine/openvino/errors.h"
#include "engine/openvino/graph_layers.h"
#include "engine/openvino/two_classes.h"
#include "weights/onnx_parts.h"

namespace evener::engine::openvino_engine {
namespace {

namespace fs = std::filesystem;

ModelPort port_of(const ov::Output<const ov::Node>& port, std::size_t index, const char* kind) {
  ModelPort described;
  const auto& names = port.get_names();
  described.name = names.empty() ? kind + std::to_string(index) : *std::ranges::min_element(names);
  described.shape = extents_of(port.get_partial_shape());
  described.type = port.get_element_type().get_type_name();
  return described;
}

/// The metadata of an ONNX file, which OpenVINO keeps in the graph's runtime information under the name of the format.
std::map<std::string, std::string> metadata_of(const ov::Model& graph) {
  std::map<std::string, std::string> metadata;
  const auto found = graph.get_rt_info().find("framework");
  if (found == graph.get_rt_info().end() || !found->second.is<ov::AnyMap>()) return metadata;
  for (const auto& [key, value] : found->second.as<ov::AnyMap>()) {
    if (value.is<std::string>()) metadata.emplace(key, value.as<std::string>());
  }
  return metadata;
}

/// Replaces shapes that the graph computes by constants where they are known.
void fold_constants(const std::shared_ptr<ov::Model>& graph) {
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::ConstantFolding>();
  manager.run_passes(graph);
}

class OpenVinoModelFile : public ModelFile {
 public:
  OpenVinoModelFile(fs::path path, std::shared_ptr<ov::Model> graph)
      : path_(std::move(path)), graph_(std::move(graph)) {
    const ov::Model& model = *graph_;
    for (std::size_t i = 0; i < model.inputs().size(); ++i) inputs_.push_back(port_of(model.input(i), i, "input"));
    for (std::size_t i = 0; i < model.outputs().size(); ++i) outputs_.push_back(port_of(model.output(i), i, "output"));
    metadata_ = metadata_of(model);
  }

  const std::vector<ModelPort>& inputs() const override { return inputs_; }
  const std::vector<ModelPort>& outputs() const override { return outputs_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  std::vector<std::unique_ptr<Runner>> make_runners(const ModelInput& input, const RunnerOptions& options,
                                                    int count) const override {
    if (const std::string refusal = device_refusal(options.device); !refusal.empty()) throw Error(refusal);
    const std::string name = "'" + path_.string() + "'";
    const auto graph = of_batch(input, options.batch);
    std::vector<LinearMap> meanings;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      meanings.push_back(meaning_of(std::as_const(*graph).output(i)));
      if (outputs_[i].name != input.two_classes_of) continue;
      give_two_classes(*graph, i, meanings.back(), input.one_is_probability);
      meanings.back() = {};
    }
    Feeding feeding{input, {}, std::move(meanings)};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const ov::PartialShape given = graph->output(i).get_partial_shape();
      const bool batched = given.rank().is_static() && given.size() > 0 &&
                           (given[0].is_dynamic() || given[0].get_length() == options.batch);
      if (!batched) {
        throw Error(name + " gives '" + outputs_[i].name + "' as " + given.to_string() + " for a batch of " +
                    std::to_string(options.batch) + ": its results don't belong to single images. Try --batch 1");
      }
      feeding.outputs.push_back(outputs_[i].name);
    }
    return compile(graph, feeding, options, count);
  }

  std::vector<ModelLayer> layers() const override {
    const auto graph = graph_->clone();
    fold_constants(graph);
    return layers_of(*graph);
  }

  DescribedNetwork describe(const ModelInput& input) const override {
    const std::string name = path_.filename().string();
    return with_errors("'" + path_.string() + "' can't become a network of ours", [&] {
      const auto graph = of_batch(input, 1);
      std::vector<std::string> names;
      const ov::ResultVector results = graph->get_results();
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (is_added(outputs_[i].name)) {
          graph->remove_result(results.at(i));
        } else {
          names.push_back(outputs_[i].name);
        }
      }
      fold_constants(graph);
      return openvino_engine::describe(graph, name, input, names);
    });
  }

 private:
  /// Whether the output is no part of the network: what `evener export` adds for a calibrated one.
  bool is_added(const std::string& output) const {
    const auto found = metadata_.find(output);
    return output == "unknown" && found != metadata_.end() && found->second == "inside";
  }

  std::shared_ptr<ov::Model> of_batch(const ModelInput& input, std::int64_t batch) const {
    auto graph = graph_->clone();
    graph->set_friendly_name(path_.filename().string());
    std::vector<std::int64_t> sample = input.shape;
    if (input.is_image && input.channels == ChannelPlace::kLast) {
      std::rotate(sample.begin(), sample.begin() + 1, sample.end());
    }
    ov::PartialShape shape{batch};
    for (const std::int64_t extent : sample) shape.push_back(extent);
    with_errors("'" + path_.string() + "' can't take inputs " + shape.to_string(), [&] { graph->reshape(shape); });
    return graph;
  }

  const fs::path path_;
  const std::shared_ptr<ov::Model> graph_;
  std::vector<ModelPort> inputs_, outputs_;
  std::map<std::string, std::string> metadata_;
};

/// Throws Error where a file with weights beside this one is missing: OpenVINO's own messages wouldn't name it.
void require_parts(const fs::path& path) {
  if (path.extension() == ".onnx") weights::require_external_data(path);
  const fs::path values = fs::path(path).replace_extension(".bin");
  if (path.extension() == ".xml" && fs::exists(path) && !fs::exists(values)) {
    throw Error("'" + path.string() + "' has its weights in '" + values.filename().string() +
                "' beside it, which is missing: copy that file there as well");
  }
}

}  // namespace

std::unique_ptr<ModelFile> read_model_file(const fs::path& path) {
  const std::string name = "'" + path.string() + "'";
  require_parts(path);
  auto graph = with_errors(name + " can't be read", [&] { return core().read_model(path.string()); });
  if (graph->inputs().size() != 1) {
    throw Error(name + " takes " + std::to_string(graph->inputs().size()) +
                " inputs; models with one input, for images, volumes or points, are run");
  }
  return std::make_unique<OpenVinoModelFile>(path, std::move(graph));
}

}  // namespace evener::engine::openvino_engine
