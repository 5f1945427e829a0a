// The engine, with files of other programs that OpenVINO reads (.onnx, .tflite, .xml with .bin), and the module's
// entry, which base/module.h looks for.
#include <algorithm>
#include <cstdint>
#include <openvino/core/model.hpp>
#include <openvino/core/version.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/unsqueeze.hpp>
#include <openvino/opsets/opset14.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/manager.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/module_entry.h"
#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/model_file.h"
#include "engine/openvino/compiled.h"
#include "engine/openvino/graphs.h"
#include "network/passes/fold_batch_norm.h"
#include "weights/onnx_parts.h"
#include "weights/weights_file.h"

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;
namespace fs = std::filesystem;

/// The number of values in a constant input, maybe after a conversion of its type; 0 for other inputs, and for integers
/// such as shapes and axes.
std::int64_t constant_values(const ov::Node* node) {
  while (ov::is_type<op::Convert>(node)) node = node->get_input_node_ptr(0);
  const auto* const constant = ov::as_type<const op::Constant>(node);
  if (constant == nullptr) return 0;
  const ov::element::Type& type = constant->get_element_type();
  const bool is_index = type == ov::element::i64 || type == ov::element::i32;
  return is_index ? 0 : static_cast<std::int64_t>(ov::shape_size(constant->get_shape()));
}

bool is_constant(const ov::Node* node) {
  while (ov::is_type<op::Convert>(node)) node = node->get_input_node_ptr(0);
  return ov::is_type<op::Constant>(node);
}

std::vector<std::int64_t> extents_of(const ov::PartialShape& shape) {
  std::vector<std::int64_t> extents;
  if (shape.rank().is_dynamic()) return extents;
  for (const ov::Dimension& extent : shape) extents.push_back(extent.is_static() ? extent.get_length() : -1);
  return extents;
}

/// In the order of computation, without constants, inputs and results.
std::vector<ModelLayer> layers_of(const ov::Model& graph) {
  std::vector<ModelLayer> layers;
  for (const auto& node : graph.get_ordered_ops()) {
    if (is_constant(node.get()) || ov::is_type_any_of<op::Parameter, op::Result>(node)) continue;
    ModelLayer layer{.name = node->get_friendly_name(), .kind = node->get_type_name(), .shape = {}};
    if (node->get_output_size() > 0) layer.shape = extents_of(node->get_output_partial_shape(0));
    for (std::size_t i = 0; i < node->get_input_size(); ++i)
      layer.parameters += constant_values(node->get_input_node_ptr(i));
    layers.push_back(std::move(layer));
  }
  return layers;
}

ModelPort port_of(const ov::Output<const ov::Node>& port, std::size_t index, const char* kind) {
  ModelPort described;
  const auto& names = port.get_names();
  described.name = names.empty() ? kind + std::to_string(index) : *std::ranges::min_element(names);
  described.shape = extents_of(port.get_partial_shape());
  described.type = port.get_element_type().get_type_name();
  return described;
}

/// The metadata of an ONNX file, or of a file that was quantised here, which OpenVINO keeps in the graph's runtime
/// information under the name of the format.
std::map<std::string, std::string> metadata_of(const ov::Model& graph) {
  std::map<std::string, std::string> metadata;
  if (!graph.has_rt_info("framework")) return metadata;
  try {
    for (const auto& [key, value] : graph.get_rt_info<ov::AnyMap>("framework")) {
      if (value.is<std::string>()) metadata.emplace(key, value.as<std::string>());
    }
  } catch (const ov::Exception&) {  // another program's, of another form
  }
  return metadata;
}

/// Replaces shapes that the graph computes by constants where they are known.
void fold_constants(const std::shared_ptr<ov::Model>& graph) {
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::ConstantFolding>();
  manager.run_passes(graph);
}

/// Outputs for one image that lack a batch, such as a list of boxes of any length, get one.
void give_batch(ov::Model& graph) {
  for (const auto& result : graph.get_results()) {
    const ov::Output<ov::Node> value = result->input_value(0);
    const ov::PartialShape& shape = value.get_partial_shape();
    if (shape.rank().is_dynamic() || (shape.size() > 0 && shape[0] == 1)) continue;
    const auto first = ov::op::v0::Constant::create(ov::element::i64, {1}, {0});
    result->input(0).replace_source_output(std::make_shared<ov::op::v0::Unsqueeze>(value, first));
    result->validate_and_infer_types();
  }
}

/// RT-DETR's second input, the size of photos in pixels: boxes come in pixels of the network's image instead.
void fix_photo_size(const std::shared_ptr<ov::Model>& graph) {
  const auto parameters = graph->get_parameters();
  if (parameters.size() != 2) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const ov::PartialShape sizes = parameters[i]->get_partial_shape(), image = parameters[1 - i]->get_partial_shape();
    const bool is_size = sizes.rank().is_static() && sizes.size() == 2 && sizes[1] == 2 &&
                         (parameters[i]->get_element_type() == ov::element::i64 ||
                          parameters[i]->get_element_type() == ov::element::i32 ||
                          parameters[i]->get_element_type() == ov::element::f32);
    const bool is_image = image.rank().is_static() && image.size() == 4 && image[2].is_static() && image[3].is_static();
    if (!is_size || !is_image) continue;
    const std::vector<std::int64_t> values = {image[3].get_length(), image[2].get_length()};
    const auto size = ov::op::v0::Constant::create(parameters[i]->get_element_type(), {1, 2}, values);
    parameters[i]->output(0).replace(size->output(0));
    graph->remove_parameter(parameters[i]);
    graph->validate_nodes_and_infer_types();
    return;
  }
}

class OpenVinoModelFile : public ModelFile, public QuantizableFile {
 public:
  /// `takes_any_batch`: although the graph's input has a batch of 1.
  OpenVinoModelFile(fs::path path, std::shared_ptr<ov::Model> graph, bool takes_any_batch)
      : path_(std::move(path)), graph_(std::move(graph)) {
    const ov::Model& model = *graph_;
    for (std::size_t i = 0; i < model.inputs().size(); ++i) inputs_.push_back(port_of(model.input(i), i, "input"));
    if (takes_any_batch) inputs_.front().shape.front() = -1;
    for (std::size_t i = 0; i < model.outputs().size(); ++i) {
      outputs_.push_back(port_of(model.output(i), i, "output"));
      outputs_.back().made_by = maker_of(model.output(i).get_node()->get_input_node_ptr(0));
    }
    metadata_ = metadata_of(model);
  }

  const std::vector<ModelPort>& inputs() const override { return inputs_; }
  const std::vector<ModelPort>& outputs() const override { return outputs_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  bool scales_pixels() const override { return openvino_engine::scales_pixels(*graph_); }

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
    if (options.batch == 1) give_batch(*graph);
    Feeding feeding{input, {}, std::move(meanings)};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const ov::PartialShape given = graph->output(i).get_partial_shape();
      const bool batched = given.rank().is_static() && given.size() > 0 &&
                           (given[0].is_dynamic() || given[0].get_length() == options.batch);
      if (!batched && options.batch != 1) {
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

  std::vector<std::string> quantizable_layers() const override { return openvino_engine::quantizable_layers(*graph_); }

  std::unique_ptr<Runner> make_range_runner(const ModelInput& input, const RunnerOptions& options) const override {
    return with_errors("'" + path_.string() + "'", [&] {
      const auto graph = of_batch(input, 1);
      const std::vector<std::string> names = give_extents(*graph);
      if (names.empty()) throw Error("it has no convolution and no matrix product that could be quantised");
      return std::move(compile(graph, {input, names}, options, 1).front());
    });
  }

  void write_quantized(const FileQuantization& how, const fs::path& xml) const override {
    with_errors("'" + xml.string() + "' can't be written", [&] {
      const auto graph = graph_->clone();
      quantize(*graph, how);
      ov::AnyMap facts(metadata_.begin(), metadata_.end());
      for (const auto& [key, value] : how.facts) facts[key] = value;
      graph->set_rt_info(facts, "framework");
      ov::serialize(graph, xml.string(), fs::path(xml).replace_extension(".bin").string());
    });
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

/// Throws Error where the file, or one with weights beside it, is missing or was not downloaded: OpenVINO's own
/// messages wouldn't tell.
void require_parts(const fs::path& path) {
  weights::require_downloaded(path);
  if (path.extension() == ".onnx") weights::require_external_data(path);
  const fs::path values = fs::path(path).replace_extension(".bin");
  if (path.extension() == ".xml" && fs::exists(path) && !fs::exists(values)) {
    throw Error("'" + path.string() + "' has its weights in '" + values.filename().string() +
                "' beside it, which is missing: copy that file there as well");
  }
  if (path.extension() == ".xml") weights::require_downloaded(values);
}

/// See Engine::open_model_file.
std::unique_ptr<ModelFile> read_model_file(const fs::path& path) {
  const std::string name = "'" + path.string() + "'";
  require_parts(path);
  auto graph = with_errors(name + " can't be read", [&] { return core().read_model(path.string()); });
  with_errors(name + " can't be read", [&] { fix_photo_size(graph); });
  if (graph->inputs().size() != 1) {
    throw Error(name + " takes " + std::to_string(graph->inputs().size()) +
                " inputs; models with one input, for images, volumes or points, are run");
  }
  const auto freed = with_free_batch(graph);
  return std::make_unique<OpenVinoModelFile>(path, freed ? freed : std::move(graph), freed != nullptr);
}

class OpenVinoEngine : public Engine {
 public:
  const char* name() const override { return "openvino"; }

  std::string runner_refusal(const network::Network& /*network*/, const RunnerOptions& options) const override {
    const std::string refusal = call_refusal(options);
    return refusal.empty() ? device_refusal(options.device) : refusal;
  }

  std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                    const RunnerOptions& options, int count) override {
    if (const std::string refusal = runner_refusal(network, options); !refusal.empty()) throw Error(refusal);
    network::NetworkWithState folded = network::fold_batch_norm(network, state);
    const auto weights = std::make_shared<const TensorMap>(std::move(folded.state));
    const auto graph = with_errors("OpenVINO can't describe " + network.model(),
                                   [&] { return lower(folded.network, weights, options.batch, options.any_size); });
    Feeding feeding;
    feeding.input.shape = network.input_shape();
    feeding.input.is_image = network.input_shape().size() == 3;
    for (const network::Output& output : network.outputs()) feeding.outputs.push_back(output.name);
    return compile(graph, feeding, options, count);
  }

  std::unique_ptr<ModelFile> open_model_file(const std::filesystem::path& path) override {
    return read_model_file(path);
  }
};

const char* version() {
  static const std::string text = std::string("OpenVINO ") + ov::get_openvino_version().buildNumber;
  return text.c_str();
}
}  // namespace

EVENER_MODULE(Engine, OpenVinoEngine, version);

}  // namespace evener::engine::openvino_engine
